/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPLAY_H
#define RKT_ANALYSIS_REPLAY_H

/*
 * replay - when steps would have ended, had ranks had other work of their own, or collectives
 * other transfers (metrics.md, "Replay").
 *
 *     lane 0   |- own -|P a|-- own --|P b|        (J b)|- own -|E|
 *     a                    |transfer|
 *     b                                  |transfer|                  begins when both have posted
 *     lane 1   |---- own ----|P a|- own -|P b|    (J b)|- own -|E|   and their streams are free
 *
 * A rank is a lane: a row of items, each so much own work and then what its kind says. A join holds
 * a lane up, and its host, which has to launch what the lane works on:
 *
 *     host     |--own--|l|--own--|l|-own-|l|  (its queue is full, or it synchronises: wait)  |-own-|l|
 *     lane              bound >|== own ==|           |== own ==|                     bound >|== own ==|
 *
 * Pure arithmetic on arrays; knows nothing of records.
 *
 * Threads: one at a time. Memory: its own; the graph stays the caller's for as long as the replay.
 * Cost: create and run O(items + parts); the order of work is found once, in create.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_REPLAY_NONE UINT32_MAX
#define RKT_REPLAY_UNKNOWN INT64_MIN

enum rkt_replay_kind {
    RKT_REPLAY_WORK,     /* no more than own work */
    RKT_REPLAY_POST,     /* the rank's part in an event may begin from here on */
    RKT_REPLAY_JOIN,     /* the lane goes on when that part has ended */
    RKT_REPLAY_STEP_END, /* the next item belongs to the next step */
};

struct rkt_replay_item {
    uint32_t part; /* of POST and JOIN */
    uint8_t kind;  /* enum rkt_replay_kind */
};

/*
 * A rank's part in an event, a collective. It begins at its post, and after `before` has ended.
 * All parts of an AllReduce give and take; the root of a Broadcast only gives, the others only
 * take: who does not take waits for nobody, who does not give holds nobody up.
 */
struct rkt_replay_part {
    uint32_t rank;
    uint32_t event;
    uint32_t before; /* on its stream, say; RKT_REPLAY_NONE */
    bool gives;
    bool takes;
};

/* Where the host of an item's rank is: at the last launch of what the lane works on up to the
 * item. */
struct rkt_replay_host {
    int64_t bound_ns; /* own work ends no earlier after where the host was at the item before; or
                       * RKT_REPLAY_UNKNOWN */
    int64_t own_ns;   /* of the host, from there to where it is at this item; RKT_REPLAY_UNKNOWN: it
                       * is as far ahead of the lane as in the run */
    int64_t lead_ns;  /* by which it is ahead of the lane in the run; RKT_REPLAY_UNKNOWN */
    int64_t wait_ns;  /* it is here no earlier after the item wait_back items before, ... */
    uint32_t wait_back; /* ... unless that is 0 */
};

struct rkt_replay_graph {
    size_t rank_count;
    size_t step_count;                   /* as many STEP_ENDs has each rank */
    const struct rkt_replay_item *items; /* rank after rank, in order of the lane */
    const size_t *first_item;            /* by rank, and the end of the last */
    const struct rkt_replay_part *parts; /* event after event; each is posted once */
    const size_t *first_part;            /* by event, and the end of the last */
    size_t event_count;
};

struct rkt_replay_inputs {
    const int64_t *own_ns;   /* by item, not negative */
    const int64_t *other_ns; /* by item: in its place for the ranks of is_other; or NULL */
    const bool *is_other;    /* by rank */
    const struct rkt_replay_host *hosts; /* by item; NULL: no host holds its lane up */
    const int64_t *other_host_ns;        /* by item: as other_ns, for the hosts' own work */
    bool others_wait;                    /* the hosts of is_other, too, wait as they did */
    const int64_t *transfer_ns;          /* by event; NULL: all 0 */
    const int64_t *start_ns;             /* by rank: where its lane begins; NULL: all at 0 */
};

struct rkt_replay;

/* RKT_ERR_INVALID: the graph cannot run to its end (a part that is not posted, ranks that wait for
 * each other). */
enum rkt_status rkt_replay_create(const struct rkt_replay_graph *graph,
                                  struct rkt_replay **replay_out, struct rkt_error *err);
void rkt_replay_destroy(struct rkt_replay *replay); /* NULL is fine */

/*
 * ends_out[step * rank_count + rank]: when the rank's step ended, its own work and all that it
 * posted in the step; no earlier than the step before.
 */
void rkt_replay_run(struct rkt_replay *replay, const struct rkt_replay_inputs *inputs,
                    int64_t *ends_out);

/* A piece of a critical path: own work of an item, or the transfer of an event. */
struct rkt_replay_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t rank;  /* of the item; of a transfer the rank that waits for it */
    uint32_t item;  /* RKT_REPLAY_NONE: a transfer */
    uint32_t event; /* of a transfer */
};
typedef void (*rkt_replay_piece_fn)(void *ctx, const struct rkt_replay_piece *piece);

struct rkt_replay_path {
    const struct rkt_replay_inputs *inputs; /* of the last run, and its result */
    const int64_t *ends;
    size_t step;
    int64_t from_ns;
};

/*
 * What the end of the step hung on in the last run, from its latest rank back to from_ns. Pieces
 * come last first and tile [from_ns, end).
 */
void rkt_replay_walk(const struct rkt_replay *replay, const struct rkt_replay_path *path,
                     rkt_replay_piece_fn fn, void *ctx);

#endif
