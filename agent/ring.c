/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ring.h"

#include <string.h>

size_t rkt_ring_bytes(uint32_t capacity)
{
    return sizeof(struct rkt_ring) + (size_t)capacity * sizeof(struct rkt_event);
}

void rkt_ring_init(struct rkt_ring *ring, uint32_t capacity)
{
    memset(ring, 0, sizeof(*ring));
    ring->capacity = capacity;
}

/* One producer, so a load and a store count as well as a locked add, and cost less. */
static void count_dropped(struct rkt_ring *ring, uint8_t kind)
{
    size_t index = kind < RKT_EVENT_KIND_COUNT ? kind : RKT_EVENT_NONE;
    uint64_t count = atomic_load_explicit(&ring->dropped_count[index], memory_order_relaxed);

    atomic_store_explicit(&ring->dropped_count[index], count + 1, memory_order_relaxed);
}

bool rkt_ring_push(struct rkt_ring *ring, const struct rkt_event *event)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    /* acquire: the consumer has finished reading the slots below tail */
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

    if (head - tail >= ring->capacity) {
        count_dropped(ring, event->kind);
        return false;
    }
    ring->events[head & (ring->capacity - 1)] = *event;
    /* release: makes the event visible to the consumer's acquire of head */
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

uint64_t rkt_ring_room(const struct rkt_ring *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t used = head - atomic_load_explicit(&ring->tail, memory_order_relaxed);

    return used < ring->capacity ? ring->capacity - used : 0;
}

size_t rkt_ring_pop(struct rkt_ring *ring, uint32_t capacity, struct rkt_event *events_out,
                    size_t max, bool *was_broken_out)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    /* acquire: see the events that were published below head */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t waiting = head - tail;
    size_t count;

    *was_broken_out = waiting > capacity;
    if (*was_broken_out) {
        atomic_store_explicit(&ring->tail, head, memory_order_release);
        return 0;
    }
    count = waiting < max ? (size_t)waiting : max;
    for (size_t i = 0; i < count; i++)
        events_out[i] = ring->events[(tail + i) & (capacity - 1)];
    /* release: the slots were read before the producer may fill them again */
    atomic_store_explicit(&ring->tail, tail + count, memory_order_release);
    return count;
}
