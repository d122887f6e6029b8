/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nccl_slots.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BYTES 128u
#define WORDS (sizeof(struct rkt_event) / sizeof(uint64_t))
#define PROBES 16u /* slots looked at before the oldest of them gives way */

enum slot_state {
    SLOT_FREE = 0, /* the event of the last use can still be looked at */
    SLOT_BUSY = 1, /* one thread fills or reads it */
    SLOT_OPEN = 2,
};
#define STATE_BITS 2
#define STATE_MASK ((1u << STATE_BITS) - 1)

/* The event is in words of their own, as one thread may look at it while the next use fills it. */
struct rkt_nccl_slot {
    alignas(SLOT_BYTES) _Atomic uint32_t tag; /* (use << STATE_BITS) | state */
    _Atomic uint64_t words[WORDS];
};
_Static_assert(sizeof(struct rkt_nccl_slot) == SLOT_BYTES, "handles count in slots");

struct rkt_nccl_slots {
    uint32_t count;
    alignas(SLOT_BYTES) _Atomic uint32_t next;
    struct rkt_nccl_slot slots[];
};

struct rkt_nccl_slots *rkt_nccl_slots_create(uint32_t count)
{
    struct rkt_nccl_slots *slots;
    size_t bytes = sizeof(*slots) + count * sizeof(slots->slots[0]);

    slots = aligned_alloc(SLOT_BYTES, bytes);
    if (!slots)
        return NULL;
    memset(slots, 0, bytes);
    slots->count = count;
    return slots;
}

void rkt_nccl_slots_destroy(struct rkt_nccl_slots *slots)
{
    free(slots);
}

/* release and acquire per word: who sees a word of the next use sees its tag after that, too */
static void write_words(struct rkt_nccl_slot *slot, const struct rkt_event *event)
{
    uint64_t words[WORDS];

    memcpy(words, event, sizeof(words));
    for (size_t i = 0; i < WORDS; i++)
        atomic_store_explicit(&slot->words[i], words[i], memory_order_release);
}

static void read_words(const struct rkt_nccl_slot *slot, struct rkt_event *event_out)
{
    uint64_t words[WORDS];

    for (size_t i = 0; i < WORDS; i++)
        words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
    memcpy(event_out, words, sizeof(words));
}

/*
 * A handle is the address of the slot plus the use modulo SLOT_BYTES: never a number made into
 * a pointer. A use comes round after SLOT_BYTES turns through all slots.
 */
static void *make_handle(struct rkt_nccl_slot *slot, uint32_t tag)
{
    return (char *)slot + (tag >> STATE_BITS) % SLOT_BYTES;
}

/* The slot that a handle points into; NULL for any other pointer. */
static size_t slot_index(const struct rkt_nccl_slots *slots, const void *handle)
{
    uintptr_t first = (uintptr_t)slots->slots;
    uintptr_t at = (uintptr_t)handle;

    if (at < first || at - first >= (uintptr_t)slots->count * SLOT_BYTES)
        return SIZE_MAX;
    return (at - first) / SLOT_BYTES;
}

static bool is_use(const struct rkt_nccl_slot *slot, uint32_t tag, const void *handle)
{
    return ((uintptr_t)handle - (uintptr_t)slot) == (tag >> STATE_BITS) % SLOT_BYTES;
}

static bool change_tag(struct rkt_nccl_slot *slot, uint32_t from, uint32_t to)
{
    /* acquire: what the last owner wrote; release: a looker sees that the use is over */
    return atomic_compare_exchange_strong_explicit(&slot->tag, &from, to, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Make a slot in state `from` BUSY under its next use; *tag_out is as BUSY. */
static bool claim(struct rkt_nccl_slot *slot, enum slot_state from, uint32_t *tag_out)
{
    uint32_t tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);

    if ((tag & STATE_MASK) != from)
        return false;
    *tag_out = (((tag >> STATE_BITS) + 1) << STATE_BITS) | SLOT_BUSY;
    return change_tag(slot, tag, *tag_out);
}

static struct rkt_nccl_slot *claim_any(struct rkt_nccl_slots *slots, uint32_t *tag_out,
                                       struct rkt_event *old_out)
{
    uint32_t first = atomic_fetch_add_explicit(&slots->next, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < PROBES; i++) {
        struct rkt_nccl_slot *slot = &slots->slots[(first + i) % slots->count];

        if (claim(slot, SLOT_FREE, tag_out))
            return slot;
    }
    for (uint32_t i = 0; i < PROBES; i++) {
        struct rkt_nccl_slot *slot = &slots->slots[(first + i) % slots->count];

        if (claim(slot, SLOT_OPEN, tag_out)) {
            read_words(slot, old_out);
            return slot;
        }
    }
    return NULL;
}

void *rkt_nccl_slots_put(struct rkt_nccl_slots *slots, const struct rkt_event *event,
                         struct rkt_event *old_out)
{
    struct rkt_nccl_slot *slot;
    uint32_t tag;

    old_out->kind = RKT_EVENT_NONE;
    slot = claim_any(slots, &tag, old_out);
    if (!slot)
        return NULL;
    write_words(slot, event);
    /* release: the event is visible to the thread that ends it */
    atomic_store_explicit(&slot->tag, (tag & ~STATE_MASK) | SLOT_OPEN, memory_order_release);
    return make_handle(slot, tag);
}

struct rkt_nccl_slot *rkt_nccl_slots_hold(struct rkt_nccl_slots *slots, const void *handle,
                                          struct rkt_event *event_out)
{
    size_t index = slot_index(slots, handle);
    struct rkt_nccl_slot *slot;
    uint32_t tag;

    if (index == SIZE_MAX)
        return NULL;
    slot = &slots->slots[index];
    tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);
    if ((tag & STATE_MASK) != SLOT_OPEN || !is_use(slot, tag, handle) ||
        !change_tag(slot, tag, (tag & ~STATE_MASK) | SLOT_BUSY))
        return NULL;
    read_words(slot, event_out);
    return slot;
}

/* The caller is the one who made it BUSY. release: its words, and that they were read. */
static void leave(struct rkt_nccl_slot *slot, enum slot_state state)
{
    uint32_t tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);

    atomic_store_explicit(&slot->tag, (tag & ~STATE_MASK) | state, memory_order_release);
}

void rkt_nccl_slots_give(struct rkt_nccl_slot *slot, const struct rkt_event *event)
{
    write_words(slot, event);
    leave(slot, SLOT_OPEN);
}

bool rkt_nccl_slots_take(struct rkt_nccl_slots *slots, const void *handle,
                         struct rkt_event *event_out)
{
    struct rkt_nccl_slot *slot = rkt_nccl_slots_hold(slots, handle, event_out);

    if (slot)
        leave(slot, SLOT_FREE);
    return slot != NULL;
}

bool rkt_nccl_slots_peek(const struct rkt_nccl_slots *slots, const void *handle,
                         struct rkt_event *event_out)
{
    size_t index = slot_index(slots, handle);
    const struct rkt_nccl_slot *slot;
    uint32_t tag;

    if (index == SIZE_MAX)
        return false;
    slot = &slots->slots[index];
    tag = atomic_load_explicit(&slot->tag, memory_order_acquire);
    if (tag == 0 || !is_use(slot, tag, handle))
        return false;
    read_words(slot, event_out);
    return atomic_load_explicit(&slot->tag, memory_order_relaxed) >> STATE_BITS ==
           tag >> STATE_BITS;
}
