/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_LAYOUT_H
#define RKT_ANALYSIS_SIMULATE_SIM_LAYOUT_H

/*
 * sim_layout - who talks to whom in a scenario, and what each rank does in a step.
 *
 *     rank = (stage x copies + copy) x tensor ranks + slice           tp = 2, pp = 2, 8 ranks
 *     data      the copies of a slice of a stage: AllReduce of gradients        {0 2} {1 3} {4 6} {5 7}
 *     tensor    the slices of a copy: AllReduce within forward and backward     {0 1} {2 3} {4 5} {6 7}
 *     link      a slice and that of the next stage: sends                       {0 4} {1 5} {2 6} {3 7}
 *
 * A *meeting* is a collective, or a send with its receive: of one communicator, once a step.
 * Step n + 1 has the same meetings as step n.
 *
 * Threads: any, once made. Memory: some 50 bytes per communicator, and those of a plan.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/simulate/scenario.h"

enum rkt_sim_comm_kind {
    RKT_SIM_COMM_DATA,
    RKT_SIM_COMM_TENSOR,
    RKT_SIM_COMM_LINK,
};

struct rkt_sim_comm {
    enum rkt_sim_comm_kind kind;
    uint64_t id;
    uint32_t first_rank; /* member i is rank first_rank + i x stride */
    uint32_t stride;
    uint32_t rank_count;
    uint32_t meeting_count; /* of a step, in this order on every member */
    uint32_t first_meeting; /* among those of all communicators */
    size_t first_place;     /* places: one for each member of each meeting */
    uint64_t bytes;         /* of each meeting */
    int64_t transfer_ns;    /* likewise, without faults */
};

struct rkt_sim_layout {
    const struct rkt_scenario *scenario;
    struct rkt_sim_comm *comms;
    uint32_t comm_count;
    uint32_t meeting_count; /* of a step */
    size_t place_count;     /* likewise */
};

/* The scenario was checked, and is on loan until release. */
enum rkt_status rkt_sim_layout_init(struct rkt_sim_layout *layout,
                                    const struct rkt_scenario *scenario, struct rkt_error *err);
void rkt_sim_layout_release(struct rkt_sim_layout *layout);

/* How long a meeting takes once all are there. */
int64_t rkt_sim_transfer_ns(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                            uint32_t step);

/* "data" */
const char *rkt_sim_comm_kind_name(enum rkt_sim_comm_kind kind);

static inline uint32_t rkt_sim_comm_rank(const struct rkt_sim_comm *comm, uint32_t member)
{
    return comm->first_rank + member * comm->stride;
}

/* ---- what a rank does in a step ---- */

/* Of a rank: its communicators each have a stream of their own. */
enum rkt_sim_lane {
    RKT_SIM_LANE_DATA,
    RKT_SIM_LANE_TENSOR,
    RKT_SIM_LANE_PREVIOUS, /* the stage before */
    RKT_SIM_LANE_NEXT,
    RKT_SIM_LANE_COUNT
};

/* A rank's part in a meeting. */
struct rkt_sim_part {
    const struct rkt_sim_comm *comm;
    uint32_t index; /* of the meeting in its communicator's step */
    uint32_t member;
    enum rkt_sim_lane lane;
    bool is_send; /* of links */
};

enum rkt_sim_phase {
    RKT_SIM_PHASE_INPUT,
    RKT_SIM_PHASE_FORWARD,
    RKT_SIM_PHASE_BACKWARD,
    RKT_SIM_PHASE_OPTIMIZER,
    RKT_SIM_PHASE_COUNT
};

enum rkt_sim_op_kind {
    RKT_SIM_OP_INPUT,
    RKT_SIM_OP_KERNELS, /* [first, end) of the step's */
    RKT_SIM_OP_EXTRA,   /* what faults add to forward */
    RKT_SIM_OP_POST,    /* part `first` is launched */
    RKT_SIM_OP_JOIN,    /* what is launched from here on waits for part `first` */
    RKT_SIM_OP_MEETINGS /* all have been joined */
};

struct rkt_sim_op {
    enum rkt_sim_op_kind kind;
    enum rkt_sim_phase phase;
    uint32_t first;
    uint32_t end;
};

struct rkt_sim_plan {
    struct rkt_sim_op *ops;
    size_t op_count;
    struct rkt_sim_part *parts; /* in the order of their posts */
    uint32_t part_count;
};

/* Refers to the layout's communicators. */
enum rkt_status rkt_sim_plan_init(struct rkt_sim_plan *plan, const struct rkt_sim_layout *layout,
                                  uint32_t rank, struct rkt_error *err);
void rkt_sim_plan_release(struct rkt_sim_plan *plan);

#endif
