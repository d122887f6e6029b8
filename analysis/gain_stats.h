/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_GAIN_STATS_H
#define RKT_ANALYSIS_GAIN_STATS_H

/*
 * gain_stats - what the gains of one candidate over the steps say (metrics.md, "Stragglers").
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RKT_GAIN_SHARE_MIN 0.01 /* of a step: less is not looked at */

struct rkt_gain_stats {
    size_t step_count;
    int64_t mean_ns;
    int64_t median_ns;
    double noise_ns;         /* 3 standard deviations of a step's gain; 0 below 5 steps */
    bool is_more_than_noise; /* the median is, as a median of so many steps */
};

/* Reorders `gains_ns`, one for each step; none is RKT_NA. */
struct rkt_gain_stats rkt_gain_stats_of(int64_t *gains_ns, size_t count);

/* Whether a gain stands out in a step of step_ns. */
bool rkt_gain_stands_out(const struct rkt_gain_stats *stats, int64_t gain_ns, int64_t step_ns);

/*
 * Whether the median over the steps is above 0, and so far that chance would not make any of
 * `candidate_count` alike in 1 of 100 runs: Student's t for as many steps. Reorders `values`.
 */
bool rkt_is_beyond_chance(int64_t *values, size_t count, size_t candidate_count);

/*
 * Named in over half of at least five steps, and so often that chance would not have named any of
 * `candidate_count` alike in 1 of 100 runs.
 */
bool rkt_is_persistent(size_t named_count, size_t step_count, size_t candidate_count);

#endif
