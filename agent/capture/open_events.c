/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/open_events.h"

#include <stdatomic.h>
#include <stdlib.h>

enum slot_state {
    SLOT_FREE = 0,
    SLOT_BUSY = 1, /* one thread fills or reads it */
    SLOT_OPEN = 2,
    SLOT_STATE_BITS = 2,
};
#define SLOT_STATE_MASK ((1u << SLOT_STATE_BITS) - 1)

struct slot {
    /* (use << SLOT_STATE_BITS) | state: a handle of an earlier use does not fit */
    _Atomic uint64_t tag;
    struct rkt_event event;
};

struct rkt_open_events {
    _Atomic uint32_t next_slot;
    struct slot slots[RKT_OPEN_EVENTS_MAX];
};

struct rkt_open_events *rkt_open_events_create(void)
{
    return calloc(1, sizeof(struct rkt_open_events));
}

void rkt_open_events_destroy(struct rkt_open_events *open)
{
    free(open);
}

/* A free slot, now BUSY; RKT_OPEN_EVENTS_MAX when there is none. *tag_out is as OPEN will be. */
static size_t take_slot(struct rkt_open_events *open, uint64_t *tag_out)
{
    uint32_t first = atomic_fetch_add_explicit(&open->next_slot, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < RKT_OPEN_EVENTS_MAX; i++) {
        size_t at = (first + i) % RKT_OPEN_EVENTS_MAX;
        uint64_t tag = atomic_load_explicit(&open->slots[at].tag, memory_order_relaxed);

        if ((tag & SLOT_STATE_MASK) != SLOT_FREE)
            continue;
        /* acquire: the last user has read the slot */
        if (atomic_compare_exchange_strong_explicit(&open->slots[at].tag, &tag, tag | SLOT_BUSY,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *tag_out = tag | SLOT_OPEN;
            return at;
        }
    }
    return RKT_OPEN_EVENTS_MAX;
}

/* Take the event out of a slot that is open under this tag; false when it is not. */
static bool empty_slot(struct slot *slot, uint64_t tag, struct rkt_event *event_out)
{
    uint64_t use = tag >> SLOT_STATE_BITS;

    /* acquire: the event, as its beginner wrote it */
    if ((tag & SLOT_STATE_MASK) != SLOT_OPEN ||
        !atomic_compare_exchange_strong_explicit(&slot->tag, &tag,
                                                 (use << SLOT_STATE_BITS) | SLOT_BUSY,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    *event_out = slot->event;
    /* release: the slot was read */
    atomic_store_explicit(&slot->tag, (use + 1) << SLOT_STATE_BITS, memory_order_release);
    return true;
}

/* A handle is tag * RKT_OPEN_EVENTS_MAX + slot; never 0, since the tag says OPEN. */
uint64_t rkt_open_events_begin(struct rkt_open_events *open, const struct rkt_event *event)
{
    uint64_t tag;
    size_t at = take_slot(open, &tag);

    if (at == RKT_OPEN_EVENTS_MAX)
        return 0;
    open->slots[at].event = *event;
    /* release: the event is visible to who ends it */
    atomic_store_explicit(&open->slots[at].tag, tag, memory_order_release);
    return tag * RKT_OPEN_EVENTS_MAX + at;
}

bool rkt_open_events_end(struct rkt_open_events *open, uint64_t handle, struct rkt_event *event_out)
{
    return empty_slot(&open->slots[handle % RKT_OPEN_EVENTS_MAX], handle / RKT_OPEN_EVENTS_MAX,
                      event_out);
}

bool rkt_open_events_take(struct rkt_open_events *open, struct rkt_event *event_out)
{
    for (size_t i = 0; i < RKT_OPEN_EVENTS_MAX; i++) {
        struct slot *slot = &open->slots[i];
        uint64_t tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);

        if (!empty_slot(slot, tag, event_out))
            continue;
        event_out->end_ns = event_out->start_ns;
        event_out->flags |= RKT_FLAG_NO_END;
        return true;
    }
    return false;
}
