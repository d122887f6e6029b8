/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SYNC_LINES_H
#define RKT_ANALYSIS_SYNC_LINES_H

/*
 * sync_lines - the lines of a program whose calls wait for the GPU, and how long.
 *
 * The torch hook tells of such calls (ranges of type SYNC_CALL). What such a call waited is the
 * part of it inside blocking API calls of its thread: `.item()` on a result that is there already
 * waits for nothing.
 *
 * Threads: any; no state.
 */

#include "analysis/rank_trace.h"

/* One place in the program that makes one kind of call. */
struct rkt_sync_line {
    const char *site; /* "train.py:123" */
    const char *call; /* "Tensor.item" */
    int64_t wait_ns;
    uint64_t count; /* of calls, whether or not they waited */
};

/* How long this range of type SYNC_CALL waited; needs the trace's calls. */
int64_t rkt_sync_wait_ns(const struct rkt_rank_trace *trace, const struct rkt_range *range);

#endif
