/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ALLOCATOR_USE_H
#define RKT_ANALYSIS_ALLOCATOR_USE_H

/*
 * allocator_use - what PyTorch's allocator holds of a GPU's memory, and what of it is in use
 * (metrics.md, "The allocator's memory").
 *
 * Place:   counters that an import makes of "[memory]" events -> [allocator_use] -> finding,
 *          report.
 * Threads: any; no state.
 */

#include "analysis/rank_trace.h"

struct rkt_allocator_use {
    uint32_t device_id;
    uint64_t reserved_bytes;  /* the most that it held */
    uint64_t allocated_bytes; /* the most that was in use, maybe at another time */
    uint64_t gap_bytes;       /* the most that it held and nobody used, at one time */
    int64_t gap_ns;           /* when that was first, in rank time */
};

/*
 * Of the GPU of which most is held, in [start, end) of rank time; false where nothing says so. What
 * was said last before it holds.
 */
bool rkt_allocator_use_over(const struct rkt_rank_trace *trace, int64_t start_ns, int64_t end_ns,
                            struct rkt_allocator_use *use_out);

#endif
