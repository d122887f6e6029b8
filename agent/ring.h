/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_RING_H
#define RKT_AGENT_RING_H

/*
 * ring - bounded single-producer, single-consumer queue of events in shared memory.
 *
 * Place:   capture -> [ring] -> drain. Lives inside a region (region.h).
 * Threads: push by the thread that claimed the ring, pop by the sidecar; in two processes.
 * Memory:  none of its own; push and pop never allocate, lock or make a system call.
 * Full:    push drops the new event and counts it by kind. The producer never waits.
 * Trust:   the consumer believes nothing that the producer's process wrote: indexes are
 *          checked against the capacity before use.
 */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

enum rkt_ring_state {
    RKT_RING_FREE = 0,
    RKT_RING_CLAIMED = 1,
    RKT_RING_CLOSED = 2, /* its thread ended; free once it is empty, or as a last resort */
};

struct rkt_ring {
    /* set by the region's maker, then read only */
    uint32_t capacity; /* events; a power of two */
    uint32_t reserved;

    /* written by the producer; state also by the consumer (CLOSED to FREE) */
    alignas(64) _Atomic uint64_t head;
    _Atomic uint32_t state;     /* enum rkt_ring_state */
    _Atomic uint32_t thread_id; /* gettid of the producer */
    _Atomic uint64_t dropped_count[RKT_EVENT_KIND_COUNT];

    /* written by the consumer */
    alignas(64) _Atomic uint64_t tail;

    alignas(64) struct rkt_event events[];
};

/* Bytes of a ring with `capacity` events. */
size_t rkt_ring_bytes(uint32_t capacity);
void rkt_ring_init(struct rkt_ring *ring, uint32_t capacity);

/* Producer. Copies the event in; false when it was dropped. */
bool rkt_ring_push(struct rkt_ring *ring, const struct rkt_event *event);

/* Producer. How many pushes would be kept at least. */
uint64_t rkt_ring_room(const struct rkt_ring *ring);

/*
 * Consumer, which passes the capacity it made the ring with. Copies up to `max` events out,
 * oldest first; returns how many. An impossible head (a broken producer) empties the ring and
 * sets *was_broken_out.
 */
size_t rkt_ring_pop(struct rkt_ring *ring, uint32_t capacity, struct rkt_event *events_out,
                    size_t max, bool *was_broken_out);

#endif
