/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/segment.h"

#include "analysis/time_find.h"

unsigned rkt_segment_of_device(const struct rkt_rank_result *rank, int64_t start_ns,
                               int64_t *end_ns)
{
    size_t at = 0;
    int64_t edge_ns;
    bool is_inside;

    if (rank->step_count > 0)
        at = rkt_time_find_past(&rank->steps->window.end_ns, rank->step_count, sizeof(*rank->steps),
                                start_ns);
    if (at == rank->step_count)
        return RKT_SEGMENT_OUTSIDE;
    is_inside = rank->steps[at].window.start_ns <= start_ns;
    edge_ns = is_inside ? rank->steps[at].window.end_ns : rank->steps[at].window.start_ns;
    if (edge_ns < *end_ns)
        *end_ns = edge_ns;
    return is_inside ? rkt_segment_of_step((uint32_t)at) : RKT_SEGMENT_OUTSIDE;
}

uint32_t rkt_steady_segments(const struct rkt_rank_result *rank, size_t *mixed_out)
{
    uint32_t steady = 0;
    size_t mixed = 0;

    for (size_t i = 0; i < rank->step_count; i++) {
        if (rkt_step_counts(&rank->steps[i]))
            steady |= 1u << rkt_segment_of_step((uint32_t)i);
        else
            mixed += i >= RKT_SEGMENT_STEPS;
    }
    *mixed_out = steady & 1u << RKT_SEGMENT_LATER ? mixed : 0;
    return steady != 0 ? steady : (1u << RKT_SEGMENT_COUNT) - 1;
}
