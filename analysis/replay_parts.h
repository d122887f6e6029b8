/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPLAY_PARTS_H
#define RKT_ANALYSIS_REPLAY_PARTS_H

/*
 * replay_parts - what the files of replay share; for nobody else.
 *
 *   replay_order.c  the order in which items and events can be worked through
 *   replay.c        life cycle, a run
 *   replay_walk.c   the critical path of a run
 */

#include "analysis/replay.h"

/* One thing to work through: an item, or an event all of whose parts are known. */
struct rkt_replay_op {
    uint32_t index;
    bool is_event;
};

struct rkt_replay_order {
    struct rkt_replay_op *ops;
    size_t count;
    uint32_t *rank_of_item;
    uint32_t *step_of_item;
    uint32_t *step_end_item; /* [step * rank_count + rank] */
    uint32_t *post_of_part;  /* the item that posts it */
};

struct rkt_replay {
    struct rkt_replay_graph graph;
    struct rkt_replay_order order;
    /* of the last run */
    int64_t *lane_ns;    /* by rank: how far it is */
    int64_t *host_ns;    /* by rank: where its host is; RKT_REPLAY_UNKNOWN */
    int64_t *own_end_ns; /* by item: the end of its own work */
    int64_t *after_ns;   /* by item: its lane after it */
    int64_t *post_ns;    /* by part */
    int64_t *end_ns;     /* by part */
};

/* The graph is on loan. RKT_ERR_INVALID as rkt_replay_create. */
enum rkt_status rkt_replay_order_init(struct rkt_replay_order *order,
                                      const struct rkt_replay_graph *graph, struct rkt_error *err);
void rkt_replay_order_release(struct rkt_replay_order *order);

static inline int64_t rkt_replay_start_of(const struct rkt_replay_inputs *inputs, size_t rank)
{
    return inputs->start_ns ? inputs->start_ns[rank] : 0;
}

static inline int64_t rkt_replay_own_of(const struct rkt_replay_inputs *inputs, size_t item,
                                        size_t rank)
{
    return inputs->other_ns && inputs->is_other[rank] ? inputs->other_ns[item]
                                                      : inputs->own_ns[item];
}

/* When this part alone could begin. */
static inline int64_t rkt_replay_ready_of(const struct rkt_replay *replay, size_t part)
{
    uint32_t before = replay->graph.parts[part].before;
    int64_t post_ns = replay->post_ns[part];

    if (before == RKT_REPLAY_NONE || replay->end_ns[before] < post_ns)
        return post_ns;
    return replay->end_ns[before];
}

#endif
