/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_RANK_PARTS_H
#define RKT_ANALYSIS_SIMULATE_SIM_RANK_PARTS_H

/*
 * sim_rank_parts - what the files of sim_rank share; for nobody else.
 *
 *   sim_rank.c       life cycle, steps, meetings
 *   sim_rank_work.c  what host and device do in a step
 */

#include "analysis/simulate/sim_account.h"
#include "analysis/simulate/sim_rank.h"

struct rkt_sim_rank {
    const struct rkt_sim_layout *layout;
    const struct rkt_scenario *scenario;
    uint32_t rank;
    rkt_sim_event_fn fn;
    void *ctx;
    enum rkt_status status; /* of the first event that was not taken */
    struct rkt_error err;

    struct rkt_sim_plan plan;
    uint32_t step;
    const int64_t *ends_ns; /* of the step's meetings, by communicator */
    size_t op;              /* the next of the plan */
    bool is_done;
    enum rkt_sim_phase phase;
    int64_t phase_start_ns;

    uint32_t correlation_id;
    int64_t host_ns;        /* where the host is */
    int64_t stream_free_ns; /* and what it waits for has happened */
    int64_t lane_free_ns[RKT_SIM_LANE_COUNT];
    int64_t step_start_ns;
    int64_t window_end_ns; /* of the step before */
    int64_t read_ns;       /* when its GPU is read next */

    uint64_t reserved_bytes; /* by its allocator */
    uint64_t allocated_bytes;

    int64_t *pending_ns; /* ends of the last launches, a ring */
    uint32_t pending_next;
    int64_t *ready_ns;                /* by part */
    uint32_t *comm_ids;               /* their correlation ids */
    struct rkt_sim_span *comm_calls;  /* and their launches */
    enum rkt_sim_phase *comm_phases;  /* in which these were */
    struct rkt_sim_log log;           /* of the step */
    struct rkt_sim_meeting *meetings; /* by part, then in order of their starts */
    uint32_t post_count;              /* parts that are launched */
    uint32_t taken_count;             /* of these, those that the caller knows of */

    struct rkt_sim_step truth;
};

/* ---- events: nothing more once one was not taken ---- */

void rkt_sim_give(struct rkt_sim_rank *sim, const struct rkt_event *event);
void rkt_sim_give_event(struct rkt_sim_rank *sim, struct rkt_event event);
/* With the correlation id of the last call. */
void rkt_sim_give_correlated(struct rkt_sim_rank *sim, struct rkt_event event);
/* From start_ns to where the host is. */
void rkt_sim_give_range(struct rkt_sim_rank *sim, enum rkt_range_type type, int64_t start_ns,
                        uint64_t value);

/* ---- what a plan's operations do ---- */

void rkt_sim_run_input(struct rkt_sim_rank *sim);
void rkt_sim_run_kernels(struct rkt_sim_rank *sim, const struct rkt_sim_op *op);
void rkt_sim_run_experts(struct rkt_sim_rank *sim, uint32_t turn);
void rkt_sim_run_extra(struct rkt_sim_rank *sim);
void rkt_sim_post(struct rkt_sim_rank *sim, uint32_t number);

/* What is read of the GPU from the last time on; a lower clock makes kernels longer. */
void rkt_sim_read_gpu(struct rkt_sim_rank *sim);

#endif
