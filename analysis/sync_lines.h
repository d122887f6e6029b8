/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SYNC_LINES_H
#define RKT_ANALYSIS_SYNC_LINES_H

/*
 * sync_lines - the lines of a program whose calls wait for the GPU, and how long.
 *
 * The torch hook tells of such calls (ranges of type SYNC_CALL). What such a call waited is the part
 * of it inside blocking API calls of its thread: `.item()` on a result that is there already waits
 * for nothing.
 *
 * Threads: any; no state.
 */

#include "analysis/rank_trace.h"
#include "common/arena.h"
#include "common/status.h"

/* One place in the program that makes one kind of call. */
struct rkt_sync_line {
    const char *site; /* "train.py:123" */
    const char *call; /* "Tensor.item" */
    int64_t wait_ns;
    uint64_t count; /* of calls, whether or not they waited */
};

/* How long this range of type SYNC_CALL waited; needs the trace's calls. */
int64_t rkt_sync_wait_ns(const struct rkt_rank_trace *trace, const struct rkt_range *range);

/*
 * The places that waited in host time [start_ns, end_ns), longest first; *lines_out is the arena's,
 * NULL when there are none. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_find_sync_lines(const struct rkt_rank_trace *trace, int64_t start_ns,
                                    int64_t end_ns, struct rkt_arena *arena,
                                    struct rkt_sync_line **lines_out, size_t *count_out);

#endif
