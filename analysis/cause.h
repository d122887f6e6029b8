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

/*
 * Sets straggler->cause_detail: the name (kernel, copy, call, line, range: by its cause) that takes
 * longest on its rank above the median of the other ranks, over the steady steps of the table;
 * "" where nothing named explains it. The text is the arena's.
 */
enum rkt_status rkt_name_cause(const struct rkt_result *result, const struct rkt_step_table *table,
                               struct rkt_straggler *straggler, struct rkt_arena *arena,
                               struct rkt_error *err);

#endif
