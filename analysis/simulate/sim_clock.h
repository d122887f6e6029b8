/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_CLOCK_H
#define RKT_ANALYSIS_SIMULATE_SIM_CLOCK_H

/*
 * sim_clock - what the clocks of a scenario's nodes show at a moment of job time.
 *
 * Node 0's MONOTONIC_RAW is job time plus RKT_SIM_RAW_BASE_NS: the reference. Another
 * node's is off by a constant and runs at another rate, both drawn from the seed. REALTIME is RAW
 * plus a constant, on every node.
 *
 * Threads: any; no state.
 */

#include "analysis/simulate/scenario.h"

#define RKT_SIM_RAW_BASE_NS INT64_C(100000000000000)
#define RKT_SIM_REAL_BASE_NS INT64_C(1717243200000000000)

struct rkt_sim_clock {
    int64_t offset_ns; /* node minus reference, at job time 0 */
    int64_t drift_ppb; /* the node's rate minus the reference's */
};

struct rkt_sim_clock rkt_sim_clock_of(const struct rkt_scenario *scenario, uint32_t node);

int64_t rkt_sim_clock_raw_ns(const struct rkt_sim_clock *clock, int64_t job_ns);
int64_t rkt_sim_clock_real_ns(const struct rkt_sim_clock *clock, int64_t job_ns);

/* Even in [0, range), from the scenario's seed and a key. */
uint64_t rkt_sim_draw(const struct rkt_scenario *scenario, uint64_t key, uint64_t range);

#endif
