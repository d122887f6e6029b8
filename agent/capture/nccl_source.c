/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/nccl_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/capture/nccl_parts.h"
#include "agent/capture/visit.h"
#include "common/clock.h"

/*
 * A thread has about five events open at once; at the deeper levels the progress threads have
 * one per step under way. As many operations may be queued before the channels of the first of them
 * are seen.
 */
#define BASIC_SLOT_COUNT 1024u
#define DEEP_SLOT_COUNT 4096u

static int wanted_of_level(uint32_t level)
{
    if (level == RKT_NCCL_LEVEL_PROXY)
        return RKT_NCCL_MASK_PROXY;
    return level == RKT_NCCL_LEVEL_KERNEL ? RKT_NCCL_MASK_KERNEL : RKT_NCCL_MASK_BASIC;
}

struct rkt_nccl_source *rkt_nccl_source_create(const struct rkt_capture_config *config)
{
    struct rkt_nccl_source *source = calloc(1, sizeof(*source));
    uint32_t count =
        config->nccl_level == RKT_NCCL_LEVEL_BASIC ? BASIC_SLOT_COUNT : DEEP_SLOT_COUNT;

    if (!source)
        return NULL;
    source->wanted = wanted_of_level(config->nccl_level);
    source->pid = getpid();
    source->events = rkt_nccl_slots_create(count);
    source->operations = rkt_nccl_slots_create(count);
    atomic_init(&source->is_open, !config->is_closed);
    if (!source->events || !source->operations ||
        pthread_mutex_init(&source->mask_lock, NULL) != 0) {
        rkt_nccl_slots_destroy(source->operations);
        rkt_nccl_slots_destroy(source->events);
        free(source);
        return NULL;
    }
    return source;
}

void rkt_nccl_source_destroy(struct rkt_nccl_source *source)
{
    if (!source)
        return;
    while (source->comms) {
        struct rkt_nccl_comm *comm = source->comms;

        source->comms = comm->next;
        free(comm);
    }
    pthread_mutex_destroy(&source->mask_lock);
    rkt_nccl_slots_destroy(source->operations);
    rkt_nccl_slots_destroy(source->events);
    free(source);
}

/* ---- the mask ---- */

/* NCCL reads it at any time, on any thread. NOLINTNEXTLINE(readability-non-const-parameter): written */
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

bool rkt_nccl_source_needs_nvtx(const struct rkt_nccl_source *source)
{
    return !atomic_load_explicit(&source->has_plugin, memory_order_relaxed) &&
           atomic_load_explicit(&source->is_open, memory_order_relaxed);
}

/* ---- communicators ---- */

static uint32_t to_count(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

void rkt_nccl_comm_announce(struct rkt_capture *capture, struct rkt_nccl_comm *comm)
{
    const struct rkt_thread *thread = rkt_threads_get(capture->threads);
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_COMM,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .thread_id = thread ? thread->thread_id : 0,
        .name_id = comm->name_id,
        .comm = {.comm_id = atomic_load_explicit(&comm->comm_id, memory_order_relaxed),
                 .rank = comm->rank,
                 .rank_count = comm->rank_count,
                 .node_count = comm->node_count},
    };

    if (rkt_threads_push(capture->threads, &event))
        atomic_store_explicit(&comm->is_announced, true, memory_order_relaxed);
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
    struct rkt_capture *capture = rkt_capture_wait(RKT_CAPTURE_NCCL);
    struct rkt_visit visit = rkt_visit_begin();
    struct rkt_nccl_comm *comm = capture ? calloc(1, sizeof(*comm)) : NULL;

    if (!comm) {
        write_mask(info->mask, 0);
        rkt_visit_end(visit);
        return NULL;
    }
    atomic_init(&comm->comm_id, info->comm_id);
    comm->rank = info->rank;
    comm->rank_count = to_count(info->rank_count);
    comm->node_count = to_count(info->node_count);
    if (info->name)
        comm->name_id = rkt_intern_name(capture->intern, info->name, strlen(info->name));
    comm->mask = info->mask;
    comm->wanted = capture->nccl->wanted & info->known;
    atomic_init(&comm->is_announced, info->is_unknown);
    publish_comm(capture->nccl, comm);
    atomic_store_explicit(&capture->nccl->has_plugin, true, memory_order_relaxed);
    if (!info->is_unknown)
        rkt_nccl_comm_announce(capture, comm);
    rkt_visit_end(visit);
    return comm;
}

void rkt_nccl_comm_close(struct rkt_nccl_comm *comm)
{
    struct rkt_capture *capture = rkt_capture_started();

    /* Off or not: who turned it off may be at the masks. After a fork the lock may be nobody's. */
    if (!comm || !capture || getpid() != capture->nccl->pid)
        return;
    pthread_mutex_lock(&capture->nccl->mask_lock);
    comm->mask = NULL;
    pthread_mutex_unlock(&capture->nccl->mask_lock);
}

void rkt_nccl_comm_identify(struct rkt_nccl_comm *comm, uint64_t comm_id, int rank)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NCCL);
    uint64_t unknown = 0;

    if (!capture || comm_id == 0 ||
        !atomic_compare_exchange_strong_explicit(&comm->comm_id, &unknown, comm_id,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    comm->rank = rank;
    rkt_nccl_comm_announce(capture, comm);
}
