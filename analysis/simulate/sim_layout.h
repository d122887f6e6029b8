/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_LAYOUT_H
#define RKT_ANALYSIS_SIMULATE_SIM_LAYOUT_H

/*
 * sim_layout - who talks to whom in a scenario.
 *
 *     rank = (stage x copies + copy) x tensor ranks + slice           tp = 2, pp = 2, 8 ranks
 *     data      the copies of a slice of a stage: AllReduce of gradients        {0 2} {1 3} {4 6} {5 7}
 *     tensor    the slices of a copy: AllReduce within forward and backward     {0 1} {2 3} {4 5} {6 7}
 *     link      a slice and that of the next stage: sends                       {0 4} {1 5} {2 6} {3 7}
 *     expert    ep copies of a slice of a stage: AllToAll, ep = 2               {0 2} {1 3} {4 6} {5 7}
 *
 * A *meeting* is a collective, or a send with its receive: of one communicator, once a step.
 * Step n + 1 has the same meetings as step n.
 *
 * Experts: tokens are dealt out by one AllToAll, and come back by the next. Meetings 2k and 2k + 1
 * of a communicator have the same loads; both take as long as the expert that has most.
 *
 * Threads: any, once made. Memory: some 50 bytes per communicator.
 */

#include <stdbool.h>
#include <stddef.h>

#include "analysis/simulate/scenario.h"

enum rkt_sim_comm_kind {
    RKT_SIM_COMM_DATA,
    RKT_SIM_COMM_TENSOR,
    RKT_SIM_COMM_LINK,
    RKT_SIM_COMM_EXPERT,
    RKT_SIM_COMM_KIND_COUNT
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
    uint64_t bytes;         /* of each meeting, where experts' loads are even */
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

/* How long meeting `index` of the communicator's step takes once all are there. */
int64_t rkt_sim_transfer_ns(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                            uint32_t step, uint32_t index);
/* The most that a rank gives or takes in it, its own share included. */
uint64_t rkt_sim_bytes(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                       uint32_t step, uint32_t index);

/* ---- experts ---- */

/* What the rank's experts get in meetings 2 `turn` and 2 `turn` + 1 of their communicator, in
 * millionths of an even share. */
uint64_t rkt_sim_load_ppm(const struct rkt_scenario *scenario, uint32_t rank, uint32_t step,
                          uint32_t turn);
/* What each member sends to that one then: float32. */
uint64_t rkt_sim_token_count(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                             uint32_t member, uint32_t step, uint32_t turn);

/* "data" */
const char *rkt_sim_comm_kind_name(enum rkt_sim_comm_kind kind);

/* 1F1B: how many forwards a stage runs before those that a backward follows. */
static inline uint32_t rkt_sim_ahead(const struct rkt_scenario *scenario, uint32_t stage)
{
    uint32_t after = scenario->stage_count - 1 - stage;

    return after < scenario->micro_batches ? after : scenario->micro_batches;
}

static inline uint32_t rkt_sim_comm_rank(const struct rkt_sim_comm *comm, uint32_t member)
{
    return comm->first_rank + member * comm->stride;
}

#endif
