/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_LOG_H
#define RKT_ANALYSIS_SIMULATE_SIM_LOG_H

/*
 * sim_log - what a made-up rank did in a step and when, by the model: nothing here was recorded.
 *
 * Place:   sim_rank -> [sim_log] -> sim_account, sim_idle, sim_works.
 * Threads: one at a time. Memory: 72 bytes for each piece of work of a step.
 */

#include "analysis/simulate/sim_event.h"

struct rkt_sim_log_work {
    enum rkt_sim_name name;
    enum rkt_sim_phase phase; /* in which it was launched */
    uint32_t stream_id;
    uint32_t shape_id; /* of a kernel's launch; 0 not recorded */
    bool is_pinned;    /* of a copy, likewise the next */
    uint64_t bytes;
    struct rkt_sim_span run;
    struct rkt_sim_span launch; /* the call */
};

/* What the host did but launch and go on. */
struct rkt_sim_log_host {
    enum rkt_sim_name name; /* of the call; NONE: input */
    struct rkt_sim_span span;
};

/* An operator that is recorded. */
struct rkt_sim_log_operator {
    enum rkt_sim_name name;
    enum rkt_sim_name inputs; /* NONE not recorded */
    enum rkt_sim_phase phase;
    struct rkt_sim_span span;
};

/* What the allocator holds from then on. */
struct rkt_sim_log_memory {
    int64_t at_ns;
    uint64_t reserved_bytes;
    uint64_t allocated_bytes;
};

struct rkt_sim_log {
    struct rkt_sim_log_work *works; /* in any order */
    size_t work_count;
    size_t work_cap;
    struct rkt_sim_log_host *hosts; /* in order */
    size_t host_count;
    size_t host_cap;
    struct rkt_sim_log_operator *operators; /* in order of their ends */
    size_t operator_count;
    size_t operator_cap;
    struct rkt_sim_log_memory *memory; /* in order */
    size_t memory_count;
    size_t memory_cap;
    bool has_failed; /* memory was out */
};

void rkt_sim_log_release(struct rkt_sim_log *log);

/* For the next step. */
void rkt_sim_log_reset(struct rkt_sim_log *log);

void rkt_sim_log_add_work(struct rkt_sim_log *log, struct rkt_sim_log_work work);
void rkt_sim_log_add_host(struct rkt_sim_log *log, enum rkt_sim_name name,
                          struct rkt_sim_span span);
void rkt_sim_log_add_operator(struct rkt_sim_log *log, struct rkt_sim_log_operator op);
void rkt_sim_log_add_memory(struct rkt_sim_log *log, struct rkt_sim_log_memory memory);

#endif
