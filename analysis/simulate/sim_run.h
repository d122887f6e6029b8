/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_RUN_H
#define RKT_ANALYSIS_SIMULATE_SIM_RUN_H

/*
 * sim_run - a whole scenario, computed: when its meetings began and ended on every rank.
 *
 *     every rank, as far as it comes   ->  start = max(ready, own stream free)
 *     meetings for which all are there ->  end   = latest start + transfer, for all
 *     and again, to the end of the step
 *
 * No event is made here; sim_store runs each rank again with the ends that are known now.
 *
 * Memory:  8 bytes x steps x meetings, 48 x steps x ranks, and with starts
 *          8 x steps x places.
 * Threads: one.
 */

#include <stdbool.h>

#include "analysis/simulate/sim_rank.h"

struct rkt_sim_run {
    const struct rkt_scenario *scenario;
    struct rkt_sim_layout layout;
    int64_t *ends_ns;           /* [step][meeting] */
    int64_t *starts_ns;         /* [step][place]; NULL unless asked for */
    struct rkt_sim_step *steps; /* [step][rank] */
};

/* The scenario is on loan until release. */
enum rkt_status rkt_sim_run_init(struct rkt_sim_run *run, const struct rkt_scenario *scenario,
                                 bool keeps_starts, struct rkt_error *err);
void rkt_sim_run_release(struct rkt_sim_run *run);

static inline const int64_t *rkt_sim_run_ends(const struct rkt_sim_run *run, uint32_t step)
{
    return run->ends_ns + (size_t)step * run->layout.meeting_count;
}

static inline const struct rkt_sim_step *rkt_sim_run_step(const struct rkt_sim_run *run,
                                                          uint32_t step, uint32_t rank)
{
    return &run->steps[(size_t)step * run->scenario->rank_count + rank];
}

/* From the first rank's begin to the last rank's end, in job time. */
int64_t rkt_sim_run_length_ns(const struct rkt_sim_run *run);

#endif
