/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_IDLE_H
#define RKT_ANALYSIS_SIMULATE_SIM_IDLE_H

/*
 * sim_idle - why the device of a made-up rank had nothing to do: metrics.md, "Idle", instant by instant
 * from the model, and shared with nothing that reads records.
 *
 * Place:   sim_rank -> [sim_idle] -> sim_truth.
 * Threads: one at a time. Memory: 48 bytes for each piece of work of a step.
 */

#include "analysis/simulate/sim_event.h"
#include "common/status.h"

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

struct rkt_sim_idle_work {
    struct rkt_sim_span run;
    struct rkt_sim_span launch; /* the call */
};

/* What the host did but launch and go on: SYNC is a call that waits for the device. */
struct rkt_sim_idle_host {
    struct rkt_sim_span span;
    enum rkt_sim_idle_cause cause; /* SYNC, ALLOC or INPUT */
};

struct rkt_sim_idle {
    struct rkt_sim_idle_work *works; /* of a step, in any order */
    size_t work_count;
    size_t work_cap;
    struct rkt_sim_idle_host *hosts; /* in order */
    size_t host_count;
    size_t host_cap;
    bool has_failed; /* memory was out */
};

void rkt_sim_idle_release(struct rkt_sim_idle *idle);

void rkt_sim_idle_add_work(struct rkt_sim_idle *idle, struct rkt_sim_idle_work work);
void rkt_sim_idle_add_host(struct rkt_sim_idle *idle, enum rkt_sim_idle_cause cause,
                           struct rkt_sim_span span);

/* Adds up the gaps from from_ns to the last work by cause, and empties it for the next step. */
void rkt_sim_idle_sum(struct rkt_sim_idle *idle, int64_t from_ns,
                      int64_t by_cause_ns[RKT_SIM_IDLE_CAUSE_COUNT]);

#endif
