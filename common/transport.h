/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_TRANSPORT_H
#define RKT_COMMON_TRANSPORT_H

/*
 * transport - messages between the sidecars of a run and the aggregator on rank 0.
 *
 * Place:   send -> [transport] -> receive. Three kinds: mpi (transport_mpi.c, the one owner
 *          of mpi.h), local (one process, a queue), loop (tests: drops, delays, duplicates).
 * Order:   messages from one sender with one tag arrive in the order sent.
 * Threads: one thread makes all calls of a process.
 * Waiting: no call blocks (create may: MPI_Init). Poll and sleep in between.
 * Lost peers: a send to a dead peer stalls without an error; callers keep timeouts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum rkt_tag {
    RKT_TAG_FRAME = 1,   /* to rank 0: one whole frame */
    RKT_TAG_ACK = 2,     /* from rank 0: u32 count of frames written */
    RKT_TAG_CONTROL = 3, /* both ways: struct of the run protocol (agent/run_message.h) */
    RKT_TAG_CLOCK = 4,   /* both ways: clock exchanges */
};

struct rkt_transport;

struct rkt_transport_ops {
    int (*rank)(struct rkt_transport *t);
    int (*size)(struct rkt_transport *t);
    /* Takes a copy of the bytes. RKT_AGAIN: too much in flight, try later. */
    enum rkt_status (*send)(struct rkt_transport *t, int to, enum rkt_tag tag, const void *data,
                            size_t len_bytes, struct rkt_error *err);
    /*
     * One message with this tag from anyone into buf. RKT_AGAIN: none waits.
     * RKT_ERR_RANGE: longer than buf_bytes; it was thrown away, *from_out is set.
     */
    enum rkt_status (*receive)(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                               size_t buf_bytes, int *from_out, size_t *len_out,
                               struct rkt_error *err);
    /* Completes sends that can be; true while some of them are still in flight. */
    bool (*progress)(struct rkt_transport *t);
    /* `is_clean`: every peer is alive and leaves too (MPI_Finalize); false: just go. */
    void (*destroy)(struct rkt_transport *t, bool is_clean);
};

struct rkt_transport {
    const struct rkt_transport_ops *ops;
};

/* One process without MPI. */
enum rkt_status rkt_transport_local_create(struct rkt_transport **out, struct rkt_error *err);

/* MPI_Init included; only in programs that link rkt_transport_mpi. */
enum rkt_status rkt_transport_mpi_create(struct rkt_transport **out, struct rkt_error *err);

#endif
