/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/strtab.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15u
#define TAG_SHIFT 32

/* What makes a shape, without padding. */
struct shape_key {
    uint32_t name_id;
    struct rkt_event_shape shape;
};

/* Open addressing with a power of two of slots: 0, or the hash's upper half and an id. */
struct table {
    _Atomic uint64_t *slots;
    uint64_t mask;
};

struct rkt_intern {
    /* set in create, then read only */
    struct rkt_region *region;
    void *memory; /* the slots of both tables, then the keys */
    size_t memory_bytes;
    struct table names;
    struct table shapes;
    uint32_t names_max;

    _Atomic uint32_t name_count;
    _Atomic uint32_t shape_count;
    struct shape_key *keys; /* [shape id - 1]; written before its slot, then read only */
};

static uint64_t hash_bytes(const char *bytes, size_t len_bytes)
{
    uint64_t hash = len_bytes * HASH_FACTOR;
    uint64_t word = 0;

    if (len_bytes < sizeof(word)) {
        memcpy(&word, bytes, len_bytes);
    } else { /* the last word overlaps the one before: a copy of known size is two instructions */
        const char *last = bytes + len_bytes - sizeof(word);

        for (; bytes < last; bytes += sizeof(word)) {
            memcpy(&word, bytes, sizeof(word));
            hash = (hash ^ word) * HASH_FACTOR;
            hash ^= hash >> 32;
        }
        memcpy(&word, last, sizeof(word));
    }
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ (hash >> 29);
}

/* The largest power of two that is at most `count`. */
static size_t power_of_two_in(size_t count)
{
    size_t power = 1;

    while (power <= count / 2)
        power *= 2;
    return power;
}

static size_t name_slot_count(uint32_t heap_bytes)
{
    return power_of_two_in(heap_bytes / RKT_INTERN_HEAP_BYTES_PER_SLOT);
}

size_t rkt_intern_bytes(uint32_t heap_bytes)
{
    return (name_slot_count(heap_bytes) + RKT_SHAPE_SLOT_COUNT) * sizeof(uint64_t) +
           RKT_SHAPES_MAX * sizeof(struct shape_key);
}

struct rkt_intern *rkt_intern_create(struct rkt_region *region)
{
    struct rkt_intern *intern = calloc(1, sizeof(*intern));
    uint32_t heap_bytes = rkt_region_heap_bytes(region);
    size_t name_slots = name_slot_count(heap_bytes);

    if (!intern)
        return NULL;
    intern->region = region;
    intern->memory_bytes = rkt_intern_bytes(heap_bytes);
    intern->memory = mmap(NULL, intern->memory_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (intern->memory == MAP_FAILED) {
        free(intern);
        return NULL;
    }
    intern->names = (struct table){.slots = intern->memory, .mask = name_slots - 1};
    intern->shapes =
        (struct table){.slots = intern->names.slots + name_slots, .mask = RKT_SHAPE_SLOT_COUNT - 1};
    intern->keys = (struct shape_key *)(void *)(intern->shapes.slots + RKT_SHAPE_SLOT_COUNT);
    intern->names_max = (uint32_t)(name_slots / 4 * 3);
    return intern;
}

void rkt_intern_destroy(struct rkt_intern *intern)
{
    if (!intern)
        return;
    munmap(intern->memory, intern->memory_bytes);
    free(intern);
}

/* One more of something of which there may be `max`; its number from 1, or 0. */
static uint32_t take_number(_Atomic uint32_t *count, uint32_t max)
{
    uint32_t now = atomic_load_explicit(count, memory_order_relaxed);

    do {
        if (now >= max)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(count, &now, now + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return now + 1;
}

/* ---- names ---- */

static bool is_name(const struct rkt_intern *intern, uint32_t id, const char *text,
                    size_t len_bytes)
{
    const char *known;
    size_t known_bytes;

    return rkt_region_name(intern->region, id, &known, &known_bytes) && known_bytes == len_bytes &&
           memcmp(known, text, len_bytes) == 0;
}

static uint32_t add_name(struct rkt_intern *intern, const char *text, size_t len_bytes)
{
    if (take_number(&intern->name_count, intern->names_max) == 0) {
        rkt_region_count_no_name(intern->region);
        return 0;
    }
    return rkt_region_append_name(intern->region, text, len_bytes);
}

uint32_t rkt_intern_name(struct rkt_intern *intern, const char *text, size_t len_bytes)
{
    uint32_t added_id = 0;
    uint64_t hash;

    if (len_bytes == 0)
        return 0;
    if (len_bytes > RKT_STRING_BYTES_MAX)
        len_bytes = RKT_STRING_BYTES_MAX;
    hash = hash_bytes(text, len_bytes);
    for (uint64_t i = hash;; i++) {
        _Atomic uint64_t *slot = &intern->names.slots[i & intern->names.mask];
        /* acquire: the name that the slot tells of */
        uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

        if (word == 0) {
            if (added_id == 0)
                added_id = add_name(intern, text, len_bytes);
            /* release: the name is there. Who loses to another name looks on behind it. */
            if (added_id == 0 || atomic_compare_exchange_strong_explicit(
                                     slot, &word, hash >> TAG_SHIFT << TAG_SHIFT | added_id,
                                     memory_order_acq_rel, memory_order_acquire))
                return added_id;
        }
        if (word >> TAG_SHIFT == hash >> TAG_SHIFT &&
            is_name(intern, (uint32_t)word, text, len_bytes))
            return (uint32_t)word;
    }
}

/* ---- shapes ---- */

/* Tells the sidecar first, so that no id goes out that nothing explains. */
static uint32_t add_shape(struct rkt_intern *intern, const struct shape_key *key,
                          struct rkt_event *event, struct rkt_ring *ring)
{
    uint32_t id;

    if (rkt_ring_room(ring) == 0) /* and so it has for the push: no other thread pushes there */
        return 0;
    id = take_number(&intern->shape_count, RKT_SHAPES_MAX);
    if (id == 0)
        return 0;
    event->shape.shape_id = id;
    (void)rkt_ring_push(ring, event);
    intern->keys[id - 1] = *key;
    return id;
}

static uint32_t intern_key(struct rkt_intern *intern, const struct shape_key *key,
                           struct rkt_event *event, struct rkt_ring *ring)
{
    uint64_t hash = hash_bytes((const char *)key, sizeof(*key));
    uint32_t added_id = 0;

    for (uint64_t i = hash;; i++) {
        _Atomic uint64_t *slot = &intern->shapes.slots[i & intern->shapes.mask];
        /* acquire: the key that the slot tells of */
        uint64_t word = atomic_load_explicit(slot, memory_order_acquire);

        if (word == 0) {
            if (added_id == 0)
                added_id = add_shape(intern, key, event, ring);
            /* release: the key is there */
            if (added_id == 0 || atomic_compare_exchange_strong_explicit(
                                     slot, &word, hash >> TAG_SHIFT << TAG_SHIFT | added_id,
                                     memory_order_acq_rel, memory_order_acquire))
                return added_id;
        }
        if (word >> TAG_SHIFT == hash >> TAG_SHIFT &&
            memcmp(&intern->keys[(uint32_t)word - 1], key, sizeof(*key)) == 0)
            return (uint32_t)word;
    }
}

uint32_t rkt_intern_shape(struct rkt_intern *intern, struct rkt_event *event, struct rkt_ring *ring)
{
    struct shape_key key;

    memset(&key, 0, sizeof(key));
    key.name_id = event->name_id;
    key.shape = event->shape;
    key.shape.shape_id = 0;
    event->shape.shape_id = intern_key(intern, &key, event, ring);
    return event->shape.shape_id;
}
