/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/capture/visit.h"
#include "common/clock.h"

#define SEEN_SLOT_COUNT 4096u /* thread ids whose name went out; a power of two */
#define SEEN_MAX (SEEN_SLOT_COUNT / 2)
#define NAME_BYTES 32 /* the kernel's names have at most 15 */
/* A thread without a ring looks for one at every 64th event only: it has to look at all. */
#define RETRY_INTERVAL 64u

#define KEPT_COUNT 256u /* a power of two */
#define KEPT_IS_WRITTEN UINT32_MAX
#define KEPT_WORDS 2 /* 16 bytes, as the kernel has for a name */

/* The name of a thread that may end. Written by it alone, or by another with the same place. */
struct kept_name {
    _Atomic uint32_t thread_id; /* 0: none; KEPT_IS_WRITTEN: somebody is at it */
    _Atomic uint64_t word[KEPT_WORDS];
};

struct rkt_threads {
    struct rkt_region *region;
    struct rkt_intern *intern;
    pthread_key_t key;
    _Atomic bool is_disowned;
    _Atomic uint32_t without_ring_count;
    _Atomic uint32_t seen_count;
    _Atomic uint32_t seen[SEEN_SLOT_COUNT]; /* open addressing; 0 is free, never removed */
    struct kept_name kept[KEPT_COUNT];
    struct rkt_thread entry[]; /* one for each ring */
};

/* The key's destructor: the thread ends. */
static void release_thread(void *arg)
{
    struct rkt_thread *thread = arg;

    if (!atomic_load_explicit(&thread->owner->is_disowned, memory_order_relaxed))
        rkt_region_release(thread->ring);
}

struct rkt_threads *rkt_threads_create(struct rkt_region *region, struct rkt_intern *intern)
{
    size_t count = rkt_region_ring_count(region);
    struct rkt_threads *threads = calloc(1, sizeof(*threads) + count * sizeof(threads->entry[0]));

    if (!threads)
        return NULL;
    threads->region = region;
    threads->intern = intern;
    if (pthread_key_create(&threads->key, release_thread) != 0) {
        free(threads);
        return NULL;
    }
    return threads;
}

void rkt_threads_destroy(struct rkt_threads *threads)
{
    if (!threads)
        return;
    pthread_key_delete(threads->key);
    free(threads);
}

void rkt_threads_disown(struct rkt_threads *threads)
{
    atomic_store_explicit(&threads->is_disowned, true, memory_order_relaxed);
}

static struct rkt_thread *entry_of(struct rkt_threads *threads, const struct rkt_ring *ring)
{
    const char *first = (const char *)rkt_region_ring(threads->region, 0);
    size_t ring_bytes = rkt_ring_bytes(rkt_region_ring_capacity(threads->region));

    return &threads->entry[(size_t)((const char *)ring - first) / ring_bytes];
}

static struct rkt_thread *claim(struct rkt_threads *threads)
{
    uint32_t thread_id = (uint32_t)gettid();
    struct rkt_ring *ring = rkt_region_claim(threads->region, thread_id);
    struct rkt_thread *thread;

    if (!ring) {
        atomic_fetch_add_explicit(&threads->without_ring_count, 1, memory_order_relaxed);
        return NULL;
    }
    thread = entry_of(threads, ring);
    thread->owner = threads;
    thread->ring = ring;
    thread->thread_id = thread_id;
    thread->open_count = 0;
    thread->too_deep_count = 0;
    rkt_nvtx_stack_reset(&thread->nvtx);
    thread->asleep = (struct rkt_asleep){0};
    if (pthread_setspecific(threads->key, thread) != 0) {
        rkt_region_release(ring);
        return NULL;
    }
    atomic_store_explicit(&threads->without_ring_count, 0, memory_order_relaxed);
    rkt_threads_note_name(threads, thread_id);
    return thread;
}

struct rkt_thread *rkt_threads_get(struct rkt_threads *threads)
{
    struct rkt_thread *thread = pthread_getspecific(threads->key);
    struct rkt_visit visit;
    uint32_t waiting;

    if (thread)
        return thread;
    waiting = atomic_load_explicit(&threads->without_ring_count, memory_order_relaxed);
    if (waiting % RETRY_INTERVAL != 0) {
        atomic_fetch_add_explicit(&threads->without_ring_count, 1, memory_order_relaxed);
        return NULL;
    }
    visit = rkt_visit_begin();
    thread = claim(threads);
    rkt_visit_end(visit);
    return thread;
}

bool rkt_threads_stamp(struct rkt_threads *threads, struct rkt_event *event)
{
    struct rkt_thread *thread = rkt_threads_get(threads);

    if (!thread) {
        rkt_region_count_no_ring(threads->region);
        return false;
    }
    event->thread_id = thread->thread_id;
    return rkt_ring_push(thread->ring, event);
}

bool rkt_threads_push(struct rkt_threads *threads, const struct rkt_event *event)
{
    struct rkt_thread *thread = rkt_threads_get(threads);

    if (!thread) {
        rkt_region_count_no_ring(threads->region);
        return false;
    }
    return rkt_ring_push(thread->ring, event);
}

/* The upper bits of the product are mixed best. */
static uint32_t hash_of(uint32_t thread_id)
{
    return thread_id * 2654435761u >> 20;
}

void rkt_threads_keep_name(struct rkt_threads *threads)
{
    uint32_t thread_id = (uint32_t)gettid();
    struct kept_name *kept = &threads->kept[hash_of(thread_id) % KEPT_COUNT];
    uint32_t before = atomic_load_explicit(&kept->thread_id, memory_order_relaxed);
    uint64_t word[KEPT_WORDS] = {0};
    struct rkt_visit visit = rkt_visit_begin();

    /* release: who reads a word of ours sees that the id is being written, or ours */
    if (prctl(PR_GET_NAME, word, 0, 0, 0) == 0 && before != KEPT_IS_WRITTEN &&
        atomic_compare_exchange_strong_explicit(&kept->thread_id, &before, KEPT_IS_WRITTEN,
                                                memory_order_acquire, memory_order_relaxed)) {
        for (size_t i = 0; i < KEPT_WORDS; i++)
            atomic_store_explicit(&kept->word[i], word[i], memory_order_release);
        atomic_store_explicit(&kept->thread_id, thread_id, memory_order_release);
    }
    rkt_visit_end(visit);
}

/* Bytes of the name, without the zero; 0: it was not kept, or is just being written over. */
static size_t find_kept_name(const struct rkt_threads *threads, uint32_t thread_id, char *name)
{
    const struct kept_name *kept = &threads->kept[hash_of(thread_id) % KEPT_COUNT];
    uint64_t word[KEPT_WORDS];

    if (atomic_load_explicit(&kept->thread_id, memory_order_acquire) != thread_id)
        return 0;
    for (size_t i = 0; i < KEPT_WORDS; i++)
        word[i] = atomic_load_explicit(&kept->word[i], memory_order_acquire);
    /* no other thread has begun to write meanwhile */
    if (atomic_load_explicit(&kept->thread_id, memory_order_relaxed) != thread_id)
        return 0;
    memcpy(name, word, sizeof(word));
    return strnlen(name, sizeof(word));
}

/* True the first time that this id is asked for. */
static bool is_first_seen(struct rkt_threads *threads, uint32_t thread_id)
{
    uint32_t at = hash_of(thread_id);

    for (;; at++) {
        _Atomic uint32_t *slot = &threads->seen[at % SEEN_SLOT_COUNT];
        uint32_t value = atomic_load_explicit(slot, memory_order_relaxed);

        if (value == thread_id)
            return false;
        if (value != 0)
            continue;
        if (atomic_load_explicit(&threads->seen_count, memory_order_relaxed) >= SEEN_MAX)
            return false;
        if (atomic_compare_exchange_strong_explicit(slot, &value, thread_id, memory_order_relaxed,
                                                    memory_order_relaxed)) {
            atomic_fetch_add_explicit(&threads->seen_count, 1, memory_order_relaxed);
            return true;
        }
        if (value == thread_id)
            return false;
    }
}

static size_t read_name(uint32_t thread_id, char *name)
{
    char path[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%u/comm", thread_id);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* it has ended */
    got = read(fd, name, NAME_BYTES);
    close(fd);
    if (got > 0 && name[got - 1] == '\n')
        got--;
    return got > 0 ? (size_t)got : 0;
}

void rkt_threads_note_name(struct rkt_threads *threads, uint32_t thread_id)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_NAME,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = RKT_NAMED_THREAD,
        .thread_id = thread_id,
        .name.object_id = thread_id,
    };
    char name[NAME_BYTES];
    struct rkt_visit visit;
    size_t name_bytes;

    if (thread_id == 0 || !is_first_seen(threads, thread_id))
        return;
    visit = rkt_visit_begin();
    name_bytes = read_name(thread_id, name);
    if (name_bytes == 0)
        name_bytes = find_kept_name(threads, thread_id, name);
    event.name_id = rkt_intern_name(threads->intern, name, name_bytes);
    event.start_ns = event.end_ns = rkt_now_raw_ns();
    if (event.name_id != 0)
        (void)rkt_threads_push(threads, &event);
    rkt_visit_end(visit);
}

void rkt_threads_push_loss(struct rkt_threads *threads, enum rkt_loss_reason reason,
                           enum rkt_event_kind lost_kind, uint64_t count, uint64_t bytes)
{
    uint64_t now_ns = rkt_now_raw_ns();
    struct rkt_event event = {
        .kind = RKT_EVENT_LOSS,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .type = (uint8_t)reason,
        .start_ns = now_ns,
        .end_ns = now_ns,
        .loss = {.count = count, .bytes = bytes, .lost_kind = (uint32_t)lost_kind},
    };

    (void)rkt_threads_push(threads, &event);
}
