/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_IDLE_H
#define RKT_ANALYSIS_SIMULATE_SIM_IDLE_H

/*
 * sim_idle - why the device of a made-up rank had nothing to do: metrics.md, "Idle", instant by
 * instant from the model, and shared with nothing that reads records.
 *
 * Place:   sim_log -> [sim_idle] -> sim_truth.
 * Threads: one at a time; no state.
 */

#include "analysis/simulate/sim_log.h"

enum rkt_sim_idle_cause {
    RKT_SIM_IDLE_SYNC,
    RKT_SIM_IDLE_ALLOC,
    RKT_SIM_IDLE_INPUT,
    RKT_SIM_IDLE_HOST,
    RKT_SIM_IDLE_LAUNCH,
    RKT_SIM_IDLE_DEPENDENCY,
    RKT_SIM_IDLE_DEVICE,
    RKT_SIM_IDLE_CAUSE_COUNT
};

/* "sync" */
const char *rkt_sim_idle_name(enum rkt_sim_idle_cause cause);

/* Adds up the gaps from from_ns to the last work by cause; puts the log's works in order of
 * time. */
void rkt_sim_idle_sum(struct rkt_sim_log *log, int64_t from_ns,
                      int64_t by_cause_ns[RKT_SIM_IDLE_CAUSE_COUNT]);

#endif
