/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPLAY_GRAPH_H
#define RKT_ANALYSIS_REPLAY_GRAPH_H

/*
 * replay_graph - a row of steps of all ranks, as a graph that can be replayed (replay.h).
 *
 *     lanes of all ranks (lane.h)  +  what was matched (result->collectives)  ->  items, events
 *
 * An event is a collective, with those of its members that posted it in these steps; a kernel that
 * matched nothing is one of its own. A join with what was posted before these steps waits for
 * nothing. Transfer: the shortest of those that waited, from start, or from the end of what came
 * before it on its stream; needs no clock.
 *
 * Place:   match, collective, lane -> [replay_graph] -> whatif, critical_path.
 * Threads: one at a time. Memory: its own; the result stays as long.
 */

#include "analysis/lane.h"
#include "analysis/replay.h"
#include "analysis/step_table.h"

#define RKT_NO_COLLECTIVE UINT32_MAX

/* Rows of the step table that follow each other, in which all compared ranks have their steps one
 * after the other. */
struct rkt_row_span {
    size_t first;
    size_t count;
};

/* The first span at or after row `from`; count 0: there is none. */
struct rkt_row_span rkt_next_row_span(const struct rkt_step_table *steps, size_t from);

struct rkt_replay_graph_of_steps {
    struct rkt_replay_graph graph; /* what follows, as replay wants it */
    struct rkt_row_span rows;      /* its steps */
    uint32_t *ranks;               /* by rank of the graph: position in the result */
    struct rkt_replay_item *items;
    const struct rkt_lane_item **sources; /* by item: what it was made of */
    size_t *first_item;
    struct rkt_replay_part *parts;
    size_t *first_part;
    uint32_t *collective_of;           /* by event; RKT_NO_COLLECTIVE */
    struct rkt_replay_inputs measured; /* of this run; the following four */
    int64_t *own_ns;                   /* idle time that the host's work stands for left out */
    struct rkt_replay_host *hosts;
    int64_t *transfer_ns;
    int64_t *start_ns;
    int64_t *host_own_ns; /* by item: of hosts */
    size_t weak_count;    /* events that were matched weakly */
};

/* Every compared rank has a lane. RKT_ERR_NOMEM, or RKT_ERR_RANGE past 2^32 items. */
enum rkt_status rkt_replay_graph_create(const struct rkt_result *result,
                                        const struct rkt_step_table *steps,
                                        struct rkt_row_span rows,
                                        struct rkt_replay_graph_of_steps **graph_out,
                                        struct rkt_error *err);
void rkt_replay_graph_destroy(struct rkt_replay_graph_of_steps *graph); /* NULL is fine */

#endif
