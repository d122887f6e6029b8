/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SEGMENT_H
#define RKT_ANALYSIS_SEGMENT_H

/*
 * segment - the parts of a rank's run that its tables keep apart. Which of its steps are steady is
 * known only when all ranks have been compared, and its records are gone by then; the steps that
 * may turn out to be warm-up are among the first.
 *
 *     steps      0   1   2  ...  15   16 .. last     before the first, after the last
 *     segment    0   1   2       15   LATER          OUTSIDE
 *
 * Threads: any; no state. Cost: that of a search among the steps.
 */

#include "analysis/result.h"

enum {
    RKT_SEGMENT_STEPS = 16, /* so many have one each */
    RKT_SEGMENT_LATER = RKT_SEGMENT_STEPS,
    RKT_SEGMENT_OUTSIDE,
    RKT_SEGMENT_COUNT
};

/* Of an index in the rank's steps, or RKT_INDEX_NONE. */
static inline unsigned rkt_segment_of_step(uint32_t step)
{
    if (step == RKT_INDEX_NONE)
        return RKT_SEGMENT_OUTSIDE;
    return step < RKT_SEGMENT_STEPS ? step : RKT_SEGMENT_LATER;
}

/*
 * The step of a moment of the host, RKT_INDEX_NONE outside all: between two steps it is the earlier
 * one's, as launches are. Moments come in order of time; *next begins as 0.
 */
static inline uint32_t rkt_step_of_host(const struct rkt_rank_result *rank, int64_t time_ns,
                                        size_t *next)
{
    while (*next < rank->step_count && rank->steps[*next].host_start_ns <= time_ns)
        (*next)++;
    if (*next == 0 || time_ns >= rank->steps[rank->step_count - 1].host_end_ns)
        return RKT_INDEX_NONE;
    return (uint32_t)*next - 1;
}

static inline unsigned rkt_segment_of_host(const struct rkt_rank_result *rank, int64_t time_ns,
                                           size_t *next)
{
    return rkt_segment_of_step(rkt_step_of_host(rank, time_ns, next));
}

/*
 * The stretch of device time that begins at start_ns and lies in one step's window, or in none: its
 * segment, and in *end_ns, which the caller set to where it wants to end at the latest, its end.
 */
unsigned rkt_segment_of_device(const struct rkt_rank_result *rank, int64_t start_ns,
                               int64_t *end_ns);

/*
 * Bit s: segment s counts in statistics, now that steps are marked: those with steady steps, or
 * all where the rank has none. *mixed_out: steps of LATER that do not count, but are in it.
 */
uint32_t rkt_steady_segments(const struct rkt_rank_result *rank, size_t *mixed_out);

#endif
