/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_PHASE_BACKWARD_H
#define RKT_ANALYSIS_PHASE_BACKWARD_H

/*
 * phase_backward - which launches belong to the backward pass, and how that is known.
 *
 * Place: rank_trace -> [phase_backward] -> phase. Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rank_trace.h"
#include "analysis/result.h"

struct rkt_launch {
    int64_t start_ns; /* start_ns and end_ns lead: time_sort */
    int64_t end_ns;
    uint32_t work;
    uint32_t thread_id;
    bool is_backward;
};

/*
 * Sets is_backward of launches, which are sorted by start. Best first: the name of autograd's
 * thread, which speaks for each launch; marks, which speak for a time, on whatever thread;
 * autograd's operators. *source_out: the first that says so of any launch. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_find_backward(const struct rkt_rank_trace *trace, struct rkt_launch *launches,
                                  size_t count, enum rkt_phase_source *source_out);

#endif
