/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CAUSE_H
#define RKT_ANALYSIS_CAUSE_H

/*
 * cause - why one rank has more work of its own than the others, and which kernel, call or
 * range it is.
 *
 * Threads: any; no state.
 */

#include "analysis/step_table.h"
#include "common/arena.h"

/* A rank's own work of one step by cause; joins and exposed communication are in none. */
void rkt_own_work_by_cause(const struct rkt_window *window,
                           int64_t by_cause_ns[RKT_CAUSE_OTHER + 1]);

/* The steps of a rank that are compared; they follow each other. */
struct rkt_step_span {
    uint32_t first_step; /* indexes in the rank's steps */
    uint32_t last_step;
};

/* The steady ones of the table; false: there is none. */
bool rkt_find_steady_span(const struct rkt_result *result, const struct rkt_step_table *table,
                          size_t rank, struct rkt_step_span *span_out);

/*
 * A name as it is compared between ranks: a word of it that is a hash ("f5w7lf5mgif3wsod3kk")
 * differs between them, and becomes "*". Returns the new length; a long name is cut.
 */
#define RKT_CAUSE_NAME_BYTES 1024u
size_t rkt_mask_hashes(const char *name, size_t len_bytes, char masked[RKT_CAUSE_NAME_BYTES]);

/*
 * Sets straggler->cause_detail: the name (kernel, copy, call, line, range: by its cause) that takes
 * longest on its rank above the median of the other ranks, over the steady steps of the table;
 * "asleep in backward" where a host cause is mostly that; "" where nothing named explains it. The
 * text is the arena's.
 */
enum rkt_status rkt_name_cause(const struct rkt_result *result, const struct rkt_step_table *table,
                               struct rkt_straggler *straggler, struct rkt_arena *arena,
                               struct rkt_error *err);

#endif
