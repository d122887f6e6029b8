/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_PLAN_H
#define RKT_ANALYSIS_SIMULATE_SIM_PLAN_H

/*
 * sim_plan - what a rank does in a step, one thing after the other.
 *
 * Stage 1 of 3 with four micro-batches (F, B: forward and backward of a micro-batch; < and > are
 * what it receives and sends):
 *
 *     all forwards first     <F0> <F1> <F2> <F3>   <B0> <B1> <B2> <B3>
 *     1F1B                   <F0> <F1 <>B0>< F2 <>B1>< F3 <>B2> <B3>       <> is one exchange, both ways
 *
 * Before its first backward a stage runs as many forwards as there are stages after it, and one
 * more. With experts there are two AllToAlls, and their kernels between them, behind each piece of
 * forward and before each piece of backward.
 *
 * Threads: any, once made. Memory: some 60 bytes per meeting.
 */

#include "analysis/simulate/sim_layout.h"

/* Of a rank: its communicators each have a stream of their own. */
enum rkt_sim_lane {
    RKT_SIM_LANE_DATA,
    RKT_SIM_LANE_TENSOR,
    RKT_SIM_LANE_PREVIOUS, /* the stage before */
    RKT_SIM_LANE_NEXT,
    RKT_SIM_LANE_EXPERT,
    RKT_SIM_LANE_COUNT
};

/* A rank's part in a meeting. */
struct rkt_sim_part {
    const struct rkt_sim_comm *comm;
    uint32_t index; /* of the meeting in its communicator's step */
    uint32_t member;
    enum rkt_sim_lane lane;
    bool gives; /* of links: sends, receives, or both at once */
    bool takes;
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
    RKT_SIM_OP_EXPERTS, /* their kernels, of turn `first` */
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
