/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_TRANSPORT_H
#define RKT_COMMON_TRANSPORT_H

/*
 * transport - messages between the sidecars of a run, the leaders of groups of them, and the
 * aggregator on rank 0.
 *
 * Place:   send -> [transport] -> receive. Four kinds: mpi (transport_mpi.c, the one owner of
 *          mpi.h), local (one process, a queue), fork (processes of one host that share an
 *          analysis), loop (tests: drops, delays, duplicates).
 * Order:   messages from one sender with one tag arrive in the order sent. Rank 0 holds a
 *          sidecar and the aggregator, a leader a sidecar and a relay, so a tag has one direction:
 *          what goes up is received by the aggregator or the relay, what goes down by a sidecar,
 *          or where the tag says so by the relay. A send to oneself is allowed.
 * Threads: one thread makes all calls of a process.
 * Waiting: no call blocks (create may: MPI_Init). Poll and sleep in between.
 * Lost peers: a send to a dead peer stalls without an error; callers keep timeouts. It takes
 *          nothing from what may be on its way to others.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum rkt_tag {
    RKT_TAG_FRAME = 1,        /* up: one whole frame */
    RKT_TAG_ACK = 2,          /* down: frames written (run_message.h) */
    RKT_TAG_CONTROL_UP = 3,   /* the run protocol (run_message.h) */
    RKT_TAG_CONTROL_DOWN = 4, /* the run protocol */
    RKT_TAG_CLOCK_UP = 5,     /* clock exchanges (run_message.h) */
    RKT_TAG_CLOCK_DOWN = 6,   /* clock exchanges */
    RKT_TAG_BUNDLE = 7,       /* up, leader to rank 0: frames of a group (bundle.h) */
    RKT_TAG_BUNDLE_ACK = 8,   /* down to the leader: frames written (bundle.h) */
    RKT_TAG_LEADER_DOWN = 9,  /* down to the leader: the run protocol, of its file */
    RKT_TAG_COUNT
};

/* Of a received message. */
struct rkt_arrival {
    int from;
    size_t len_bytes;
};

struct rkt_transport;

struct rkt_transport_ops {
    int (*rank)(struct rkt_transport *t);
    int (*size)(struct rkt_transport *t);
    /* Rank 0: ranks with equal numbers are on one node. */
    uint64_t (*node)(struct rkt_transport *t, int rank);
    /* Takes a copy. RKT_AGAIN (frames and bundles): too much is on its way there, try later. */
    enum rkt_status (*send)(struct rkt_transport *t, int to, enum rkt_tag tag, const void *data,
                            size_t len_bytes, struct rkt_error *err);
    /*
     * One message with this tag from anyone into buf. RKT_AGAIN: none waits.
     * RKT_ERR_RANGE: longer than buf_bytes; it was thrown away, only the sender is set.
     */
    enum rkt_status (*receive)(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                               size_t buf_bytes, struct rkt_arrival *arrival_out,
                               struct rkt_error *err);
    /* Completes sends that can be; true while some of them are still in flight. */
    bool (*progress)(struct rkt_transport *t);
    /* `is_clean`: every peer is alive and leaves too (MPI_Finalize); false: just go. */
    void (*destroy)(struct rkt_transport *t, bool is_clean);
};

struct rkt_transport {
    const struct rkt_transport_ops *ops;
};

static inline int rkt_transport_rank(struct rkt_transport *t)
{
    return t->ops->rank(t);
}

static inline int rkt_transport_size(struct rkt_transport *t)
{
    return t->ops->size(t);
}

static inline uint64_t rkt_transport_node(struct rkt_transport *t, int rank)
{
    return t->ops->node(t, rank);
}

/* The tags of which much may be on its way. */
static inline bool rkt_tag_is_of_frames(enum rkt_tag tag)
{
    return tag == RKT_TAG_FRAME || tag == RKT_TAG_BUNDLE;
}

static inline enum rkt_status rkt_transport_send(struct rkt_transport *t, int to, enum rkt_tag tag,
                                                 const void *data, size_t len_bytes,
                                                 struct rkt_error *err)
{
    return t->ops->send(t, to, tag, data, len_bytes, err);
}

static inline enum rkt_status rkt_transport_receive(struct rkt_transport *t, enum rkt_tag tag,
                                                    void *buf, size_t buf_bytes,
                                                    struct rkt_arrival *arrival_out,
                                                    struct rkt_error *err)
{
    return t->ops->receive(t, tag, buf, buf_bytes, arrival_out, err);
}

static inline bool rkt_transport_progress(struct rkt_transport *t)
{
    return t->ops->progress(t);
}

static inline void rkt_transport_destroy(struct rkt_transport *t, bool is_clean)
{
    if (t)
        t->ops->destroy(t, is_clean);
}

/* One process without MPI. */
enum rkt_status rkt_transport_local_create(struct rkt_transport **out, struct rkt_error *err);

/*
 * `size - 1` children, which go on from this call as it does; rank 0 is the parent. Rank 0 and a
 * child send to each other; a peer that ends is an error of receive. To be called while there is
 * one thread. Destroyed as clean it waits for the children, else it kills them.
 */
enum rkt_status rkt_transport_fork_create(int size, struct rkt_transport **out,
                                          struct rkt_error *err);

/* MPI_Init included; only in programs that link rkt_transport_mpi. */
enum rkt_status rkt_transport_mpi_create(struct rkt_transport **out, struct rkt_error *err);

#endif
