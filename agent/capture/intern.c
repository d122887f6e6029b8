/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/intern.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/strtab.h"

#define FIRST_SLOT_COUNT 1024u
#define HASH_FACTOR 0x9e3779b97f4a7c15u

struct entry {
    uint64_t hash;
    uint32_t id;
    uint32_t len_bytes;
    char bytes[];
};

/* Open addressing with a power of two of slots, at most half full. */
struct slots {
    struct slots *older; /* kept for readers that are still in it */
    size_t count;
    _Atomic(struct entry *) entry[];
};

struct table {
    _Atomic(struct slots *) slots;
    size_t entry_count; /* under the lock */
};

struct rkt_intern {
    struct rkt_region *region;
    struct table names;
    struct table shapes;
    uint32_t shape_count; /* under the lock */
    /* guards all changes; readers take none. Nothing else is locked while it is held. */
    pthread_mutex_t lock;
};

static uint64_t hash_bytes(const char *bytes, size_t len_bytes)
{
    uint64_t hash = len_bytes * HASH_FACTOR;
    uint64_t word;

    for (; len_bytes >= sizeof(word); bytes += sizeof(word), len_bytes -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        hash = (hash ^ word) * HASH_FACTOR;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, bytes, len_bytes);
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ (hash >> 29);
}

static struct slots *make_slots(size_t count, struct slots *older)
{
    struct slots *slots = calloc(1, sizeof(*slots) + count * sizeof(slots->entry[0]));

    if (!slots)
        return NULL;
    slots->older = older;
    slots->count = count;
    return slots;
}

static const struct entry *find(const struct table *table, uint64_t hash, const char *bytes,
                                size_t len_bytes)
{
    /* acquire, here and below: an entry or table that is seen is complete */
    const struct slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);

    for (size_t i = hash & (slots->count - 1);; i = (i + 1) & (slots->count - 1)) {
        const struct entry *entry = atomic_load_explicit(&slots->entry[i], memory_order_acquire);

        if (!entry)
            return NULL;
        if (entry->hash == hash && entry->len_bytes == len_bytes &&
            memcmp(entry->bytes, bytes, len_bytes) == 0)
            return entry;
    }
}

static void put(struct slots *slots, struct entry *entry)
{
    size_t i = entry->hash & (slots->count - 1);

    while (atomic_load_explicit(&slots->entry[i], memory_order_relaxed))
        i = (i + 1) & (slots->count - 1);
    atomic_store_explicit(&slots->entry[i], entry, memory_order_release);
}

/* Under the lock: room for one more entry; false when memory is out. */
static bool make_room(struct table *table)
{
    struct slots *old = atomic_load_explicit(&table->slots, memory_order_relaxed);
    struct slots *slots;

    if ((table->entry_count + 1) * 2 <= old->count)
        return true;
    slots = make_slots(old->count * 2, old);
    if (!slots)
        return false;
    for (size_t i = 0; i < old->count; i++) {
        struct entry *entry = atomic_load_explicit(&old->entry[i], memory_order_relaxed);

        if (entry)
            put(slots, entry);
    }
    atomic_store_explicit(&table->slots, slots, memory_order_release);
    return true;
}

/* Under the lock: an entry without an id that has its place secured; NULL when memory is out. */
static struct entry *prepare(struct table *table, uint64_t hash, const char *bytes,
                             size_t len_bytes)
{
    struct entry *entry = malloc(sizeof(*entry) + len_bytes);

    if (!entry || !make_room(table)) {
        free(entry);
        return NULL;
    }
    entry->hash = hash;
    entry->len_bytes = (uint32_t)len_bytes;
    memcpy(entry->bytes, bytes, len_bytes);
    return entry;
}

/* Under the lock: publish the entry under its id, or forget it when it got none. */
static uint32_t finish(struct table *table, struct entry *entry, uint32_t id)
{
    if (id == 0) {
        free(entry);
        return 0;
    }
    entry->id = id;
    put(atomic_load_explicit(&table->slots, memory_order_relaxed), entry);
    table->entry_count++;
    return id;
}

struct rkt_intern *rkt_intern_create(struct rkt_region *region)
{
    struct rkt_intern *intern = calloc(1, sizeof(*intern));

    if (!intern)
        return NULL;
    intern->region = region;
    atomic_init(&intern->names.slots, make_slots(FIRST_SLOT_COUNT, NULL));
    atomic_init(&intern->shapes.slots, make_slots(FIRST_SLOT_COUNT, NULL));
    pthread_mutex_init(&intern->lock, NULL);
    if (!intern->names.slots || !intern->shapes.slots) {
        rkt_intern_destroy(intern);
        return NULL;
    }
    return intern;
}

static void free_table(struct table *table)
{
    struct slots *slots = atomic_load_explicit(&table->slots, memory_order_acquire);

    /* The newest holds every entry. */
    for (size_t i = 0; slots && i < slots->count; i++)
        free(atomic_load_explicit(&slots->entry[i], memory_order_relaxed));
    while (slots) {
        struct slots *older = slots->older;

        free(slots);
        slots = older;
    }
}

void rkt_intern_destroy(struct rkt_intern *intern)
{
    if (!intern)
        return;
    free_table(&intern->names);
    free_table(&intern->shapes);
    pthread_mutex_destroy(&intern->lock);
    free(intern);
}

static uint32_t add_name(struct rkt_intern *intern, uint64_t hash, const char *text,
                         size_t len_bytes)
{
    const struct entry *known;
    struct entry *entry;
    int saved_errno = errno;
    uint32_t id = 0;

    pthread_mutex_lock(&intern->lock);
    known = find(&intern->names, hash, text, len_bytes);
    if (known) {
        id = known->id;
    } else {
        entry = prepare(&intern->names, hash, text, len_bytes);
        if (entry)
            id = finish(&intern->names, entry,
                        rkt_region_append_name(intern->region, text, len_bytes));
    }
    pthread_mutex_unlock(&intern->lock);
    errno = saved_errno;
    return id;
}

uint32_t rkt_intern_name(struct rkt_intern *intern, const char *text, size_t len_bytes)
{
    const struct entry *known;
    uint64_t hash;

    if (len_bytes == 0)
        return 0;
    if (len_bytes > RKT_STRING_BYTES_MAX)
        len_bytes = RKT_STRING_BYTES_MAX;
    hash = hash_bytes(text, len_bytes);
    known = find(&intern->names, hash, text, len_bytes);
    return known ? known->id : add_name(intern, hash, text, len_bytes);
}

/* What makes a shape, without padding. */
struct shape_key {
    uint32_t name_id;
    struct rkt_event_shape shape;
};

static uint32_t add_shape(struct rkt_intern *intern, uint64_t hash, const struct shape_key *key,
                          struct rkt_event *event, struct rkt_ring *ring)
{
    const char *bytes = (const char *)key;
    const struct entry *known;
    struct entry *entry;
    int saved_errno = errno;
    uint32_t id = 0;

    pthread_mutex_lock(&intern->lock);
    known = find(&intern->shapes, hash, bytes, sizeof(*key));
    if (known) {
        id = known->id;
    } else if (intern->shape_count < RKT_SHAPES_MAX) {
        entry = prepare(&intern->shapes, hash, bytes, sizeof(*key));
        event->shape.shape_id = intern->shape_count + 1;
        if (entry && rkt_ring_push(ring, event))
            id = ++intern->shape_count;
        if (entry)
            id = finish(&intern->shapes, entry, id);
    }
    pthread_mutex_unlock(&intern->lock);
    errno = saved_errno;
    return id;
}

uint32_t rkt_intern_shape(struct rkt_intern *intern, struct rkt_event *event, struct rkt_ring *ring)
{
    struct shape_key key;
    const struct entry *known;
    uint64_t hash;

    memset(&key, 0, sizeof(key));
    key.name_id = event->name_id;
    key.shape = event->shape;
    key.shape.shape_id = 0;
    hash = hash_bytes((const char *)&key, sizeof(key));
    known = find(&intern->shapes, hash, (const char *)&key, sizeof(key));
    event->shape.shape_id = known ? known->id : add_shape(intern, hash, &key, event, ring);
    return event->shape.shape_id;
}
