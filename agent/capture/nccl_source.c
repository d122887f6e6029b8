/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nccl_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define SLOT_COUNT 1024u /* a thread has about five events open at once */
#define SLOT_BYTES 128u

enum slot_state {
    SLOT_FREE = 0,
    SLOT_BUSY = 1, /* one thread fills or reads it */
    SLOT_OPEN = 2,
    SLOT_STATE_BITS = 2,
};

/*
 * A handle is the address of the slot plus the use modulo SLOT_BYTES: never a number made into
 * a pointer, and a handle of an earlier use does not fit the tag any more.
 */
struct slot {
    alignas(SLOT_BYTES) _Atomic uint32_t tag; /* (use << SLOT_STATE_BITS) | state */
    struct rkt_event event;
};
static_assert(sizeof(struct slot) == SLOT_BYTES, "handles count in slots");

struct rkt_nccl_comm {
    struct rkt_nccl_comm *next;
    _Atomic uint64_t comm_id;
    uint32_t rank_count;
    uint32_t node_count;
    int *mask; /* NCCL's; NULL: closed. Under the mask lock, as `wanted` */
    int wanted;
};

struct rkt_nccl_source {
    struct rkt_nccl_comm *comms; /* all that ever were; under the mask lock */
    _Atomic uint32_t next_slot;
    _Atomic bool is_open;
    /* Guards the masks of NCCL against a communicator's end, for a few stores: NCCL may be
     * unmapped after that. Taken by init, finalize and a window's edge, never for an event. */
    pthread_mutex_t mask_lock;
    struct slot slots[SLOT_COUNT];
};

struct rkt_nccl_source *rkt_nccl_source_create(const struct rkt_capture_config *config)
{
    struct rkt_nccl_source *source = aligned_alloc(SLOT_BYTES, sizeof(*source));

    if (!source)
        return NULL;
    memset(source, 0, sizeof(*source));
    atomic_init(&source->is_open, !config->is_closed);
    if (pthread_mutex_init(&source->mask_lock, NULL) != 0) {
        free(source);
        return NULL;
    }
    return source;
}

void rkt_nccl_source_destroy(struct rkt_nccl_source *source)
{
    if (!source)
        return;
    pthread_mutex_destroy(&source->mask_lock);
    free(source);
}

/* NCCL reads it at any time, on any thread. */
static void write_mask(int *mask, int value)
{
    __atomic_store_n(mask, value, __ATOMIC_RELAXED);
}

void rkt_nccl_source_set_open(struct rkt_nccl_source *source, bool is_open)
{
    if (atomic_load_explicit(&source->is_open, memory_order_relaxed) == is_open)
        return;
    pthread_mutex_lock(&source->mask_lock);
    atomic_store_explicit(&source->is_open, is_open, memory_order_relaxed);
    for (struct rkt_nccl_comm *comm = source->comms; comm; comm = comm->next) {
        if (comm->mask)
            write_mask(comm->mask, is_open ? comm->wanted : 0);
    }
    pthread_mutex_unlock(&source->mask_lock);
}

uint64_t rkt_nccl_source_activity(const struct rkt_nccl_source *source)
{
    return atomic_load_explicit(&source->next_slot, memory_order_relaxed);
}

/* ---- communicators ---- */

static uint32_t to_count(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

static void push_comm(struct rkt_capture *capture, const struct rkt_nccl_comm *comm, int rank,
                      const char *name)
{
    const struct rkt_thread *thread = rkt_threads_get(capture->threads);
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_COMM,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .thread_id = thread ? thread->thread_id : 0,
        .comm = {.comm_id = atomic_load_explicit(&comm->comm_id, memory_order_relaxed),
                 .rank = rank,
                 .rank_count = comm->rank_count,
                 .node_count = comm->node_count},
    };

    if (name)
        event.name_id = rkt_intern_name(capture->intern, name, strlen(name));
    (void)rkt_threads_push(capture->threads, &event);
}

/* Known to set_open from here on. */
static void publish_comm(struct rkt_nccl_source *source, struct rkt_nccl_comm *comm)
{
    pthread_mutex_lock(&source->mask_lock);
    comm->next = source->comms;
    source->comms = comm;
    write_mask(comm->mask,
               atomic_load_explicit(&source->is_open, memory_order_relaxed) ? comm->wanted : 0);
    pthread_mutex_unlock(&source->mask_lock);
}

struct rkt_nccl_comm *rkt_nccl_comm_open(const struct rkt_nccl_comm_info *info)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    struct rkt_nccl_comm *comm = NULL;
    int saved_errno = errno;

    if (capture)
        comm = calloc(1, sizeof(*comm));
    errno = saved_errno;
    if (!comm) {
        write_mask(info->mask, 0);
        return NULL;
    }
    atomic_init(&comm->comm_id, info->comm_id);
    comm->rank_count = to_count(info->rank_count);
    comm->node_count = to_count(info->node_count);
    comm->mask = info->mask;
    comm->wanted = info->wanted;
    publish_comm(capture->nccl, comm);
    if (!info->is_unknown)
        push_comm(capture, comm, info->rank, info->name);
    return comm;
}

void rkt_nccl_comm_close(struct rkt_nccl_comm *comm)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);

    if (!comm || !capture) /* once off, nobody writes masks any more */
        return;
    pthread_mutex_lock(&capture->nccl->mask_lock);
    comm->mask = NULL;
    pthread_mutex_unlock(&capture->nccl->mask_lock);
}

void rkt_nccl_comm_identify(struct rkt_nccl_comm *comm, uint64_t comm_id, int rank)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    uint64_t unknown = 0;

    if (capture && comm_id != 0 &&
        atomic_compare_exchange_strong_explicit(&comm->comm_id, &unknown, comm_id,
                                                memory_order_relaxed, memory_order_relaxed))
        push_comm(capture, comm, rank, NULL);
}

/* ---- events ---- */

struct rkt_event rkt_nccl_event(const struct rkt_nccl_comm *comm, enum rkt_nccl_type type)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_NCCL,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)type,
        .nccl = {.comm_id = atomic_load_explicit(&comm->comm_id, memory_order_relaxed),
                 .seq = UINT64_MAX,
                 .count = UINT64_MAX,
                 .peer = -1,
                 .datatype = RKT_DATATYPE_UNKNOWN},
    };
}

/* A free slot, now BUSY; NULL when there is none. *tag_out is as OPEN will be. */
static struct slot *take_slot(struct rkt_nccl_source *source, uint32_t *tag_out)
{
    uint32_t first = atomic_fetch_add_explicit(&source->next_slot, 1, memory_order_relaxed);

    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        struct slot *slot = &source->slots[(first + i) % SLOT_COUNT];
        uint32_t tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);

        if ((tag & ((1u << SLOT_STATE_BITS) - 1)) != SLOT_FREE)
            continue;
        /* acquire: the last user has read the slot */
        if (atomic_compare_exchange_strong_explicit(&slot->tag, &tag, tag | SLOT_BUSY,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *tag_out = tag | SLOT_OPEN;
            return slot;
        }
    }
    return NULL;
}

void *rkt_nccl_event_start(const struct rkt_event *event)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    uint64_t now_ns = rkt_now_raw_ns();
    const struct rkt_thread *thread;
    struct slot *slot;
    uint32_t tag;

    if (!capture || !atomic_load_explicit(&capture->nccl->is_open, memory_order_relaxed))
        return NULL;
    slot = take_slot(capture->nccl, &tag);
    if (!slot) {
        rkt_threads_push_loss(capture->threads, RKT_LOSS_TOO_MANY_OPEN, RKT_EVENT_NCCL, 1, 0);
        return NULL;
    }
    thread = rkt_threads_get(capture->threads);
    slot->event = *event;
    slot->event.thread_id = thread ? thread->thread_id : 0;
    slot->event.start_ns = now_ns;
    /* release: the event is visible to the thread that stops it */
    atomic_store_explicit(&slot->tag, tag, memory_order_release);
    return (char *)slot + (tag >> SLOT_STATE_BITS) % SLOT_BYTES;
}

/* The slot of a handle that is still open, now BUSY; NULL for any other handle. */
static struct slot *find_slot(struct rkt_nccl_source *source, const void *handle)
{
    const char *first = (const char *)source->slots;
    const char *at = handle;
    struct slot *slot;
    uint32_t tag;

    if (at < first || at >= first + sizeof(source->slots))
        return NULL;
    slot = &source->slots[(size_t)(at - first) / SLOT_BYTES];
    tag = atomic_load_explicit(&slot->tag, memory_order_relaxed);
    if ((tag & ((1u << SLOT_STATE_BITS) - 1)) != SLOT_OPEN ||
        (tag >> SLOT_STATE_BITS) % SLOT_BYTES != (size_t)(at - first) % SLOT_BYTES)
        return NULL;
    /* acquire: the event, as its starter wrote it */
    if (!atomic_compare_exchange_strong_explicit(&slot->tag, &tag, tag ^ SLOT_OPEN ^ SLOT_BUSY,
                                                 memory_order_acquire, memory_order_relaxed))
        return NULL;
    return slot;
}

void rkt_nccl_event_stop(void *handle)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event;
    struct slot *slot;
    uint32_t use;

    if (!capture || !handle)
        return;
    slot = find_slot(capture->nccl, handle);
    if (!slot)
        return;
    event = slot->event;
    use = (atomic_load_explicit(&slot->tag, memory_order_relaxed) >> SLOT_STATE_BITS) + 1;
    /* release: the slot was read */
    atomic_store_explicit(&slot->tag, use << SLOT_STATE_BITS, memory_order_release);
    event.end_ns = now_ns;
    (void)rkt_threads_push(capture->threads, &event);
}
