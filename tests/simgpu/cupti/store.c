/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/simgpu/cupti/attributes.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/overhead.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"

#define RECORD_ALIGN 8u
#define TELLING UINT64_MAX
#define LATE_BUFFERS 3 /* mode late: so many full ones go out together */

struct buffer {
    struct buffer *next;
    uint8_t *data; /* the client's, on loan */
    size_t bytes;
    size_t used;
    size_t incomplete_count;
    struct sim_slot *slots;
    struct place *owner; /* NULL: full, or its thread has ended */
};

/* Where a thread, or all of them, put their records. */
struct place {
    struct buffer *current;
};

struct thread {
    struct place own;
    uint64_t request_ns; /* its own: when it asked for a buffer, not told yet; 0: all is told */
};

struct sim_slot {
    struct sim_slot *next; /* of its buffer */
    struct sim_slot *previous;
    struct buffer *buffer; /* NULL: a forced flush took it away */
    uint8_t *times;        /* start and end, in the record */
};

static struct {
    pthread_once_t once;
    pthread_key_t thread_key; /* set in the once function */

    pthread_mutex_t lock; /* guards all below, buffers, places and slots; a leaf */
    pthread_cond_t has_work;
    bool is_per_thread;
    struct place shared;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    _Atomic uint64_t request_count;
    struct buffer *buffers;
    size_t dropped_count;
    size_t delivering_count; /* buffers in the client's function right now */
    pthread_cond_t has_delivered;
    uint32_t period_ms;
    bool has_worker;
} store = {.once = PTHREAD_ONCE_INIT,
           .lock = PTHREAD_MUTEX_INITIALIZER,
           .has_delivered = PTHREAD_COND_INITIALIZER};

/* A thread that ends leaves its buffer to the next flush. */
static void leave_thread(void *arg)
{
    struct thread *thread = arg;

    pthread_mutex_lock(&store.lock);
    if (thread->own.current)
        thread->own.current->owner = NULL;
    pthread_mutex_unlock(&store.lock);
    free(thread);
}

static void init_once(void)
{
    pthread_condattr_t attributes;

    pthread_key_create(&store.thread_key, leave_thread);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&store.has_work, &attributes);
    pthread_condattr_destroy(&attributes);
}

static struct thread *this_thread(void)
{
    struct thread *thread;

    pthread_once(&store.once, init_once);
    thread = pthread_getspecific(store.thread_key);

    if (!thread) {
        thread = calloc(1, sizeof(*thread));
        pthread_setspecific(store.thread_key, thread);
    }
    return thread;
}

static struct place *place_locked(struct thread *thread)
{
    return store.is_per_thread ? &thread->own : &store.shared;
}

/* Take a buffer out of the list, and away from its thread and its slots. */
static void detach_locked(struct buffer *buffer)
{
    struct buffer **link = &store.buffers;

    while (*link != buffer)
        link = &(*link)->next;
    *link = buffer->next;
    if (buffer->owner)
        buffer->owner->current = NULL;
    for (struct sim_slot *slot = buffer->slots; slot; slot = slot->next)
        slot->buffer = NULL;
}

/* Give one buffer back. Without the lock. */
static void deliver(struct buffer *buffer, CUpti_BuffersCallbackCompleteFunc completed)
{
    size_t valid_bytes = buffer->used;

    if (sim_settings_has(SIM_MODE_TOO_VALID))
        valid_bytes = 2 * buffer->bytes;
    if (completed)
        completed(NULL, 0, buffer->data, buffer->bytes, valid_bytes);
    free(buffer);
}

static bool is_due(const struct buffer *buffer, bool is_flush, bool is_forced)
{
    if (is_forced)
        return true;
    if (buffer->incomplete_count > 0)
        return false;
    return is_flush ? buffer->used > 0 || !buffer->owner : !buffer->owner;
}

/* Deliver all that are due, one by one, since the client's function runs without the lock. */
static void deliver_due_locked(bool is_flush, bool is_forced)
{
    struct buffer *buffer = store.buffers;

    while (buffer) {
        CUpti_BuffersCallbackCompleteFunc completed = store.completed;

        if (!is_due(buffer, is_flush, is_forced)) {
            buffer = buffer->next;
            continue;
        }
        detach_locked(buffer);
        store.delivering_count++;
        pthread_mutex_unlock(&store.lock);
        deliver(buffer, completed);
        pthread_mutex_lock(&store.lock);
        store.delivering_count--;
        pthread_cond_broadcast(&store.has_delivered);
        buffer = store.buffers; /* the list may be another one by now */
    }
}

/* Enough for the worker to take the trouble. */
static bool has_due_locked(void)
{
    size_t wanted_count = sim_settings_has(SIM_MODE_LATE) ? LATE_BUFFERS : 1;
    size_t count = 0;

    for (const struct buffer *buffer = store.buffers; buffer; buffer = buffer->next)
        count += is_due(buffer, false, false);
    return count >= wanted_count;
}

static void wait_period_locked(void)
{
    struct timespec until;
    uint64_t until_ns;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until_ns = (uint64_t)until.tv_nsec + (uint64_t)store.period_ms * 1000000u;
    until.tv_sec += (time_t)(until_ns / 1000000000u);
    until.tv_nsec = (long)(until_ns % 1000000000u);
    while (pthread_cond_timedwait(&store.has_work, &store.lock, &until) == 0)
        ;
}

static void *worker_main(void *arg)
{
    (void)arg;
    prctl(PR_SET_NAME, "simgpu-cupti", 0, 0, 0);
    pthread_mutex_lock(&store.lock);
    for (;;) {
        if (store.period_ms > 0)
            wait_period_locked();
        else if (!has_due_locked())
            pthread_cond_wait(&store.has_work, &store.lock);
        if (has_due_locked())
            deliver_due_locked(false, false);
    }
    return NULL;
}

static void start_worker_locked(void)
{
    pthread_t worker;

    if (store.has_worker || pthread_create(&worker, NULL, worker_main, NULL) != 0)
        return;
    pthread_detach(worker);
    store.has_worker = true;
}

uint64_t sim_store_request_count(void)
{
    return atomic_load_explicit(&store.request_count, memory_order_relaxed);
}

void sim_store_set_client(CUpti_BuffersCallbackRequestFunc requested,
                          CUpti_BuffersCallbackCompleteFunc completed)
{
    bool is_per_thread = sim_attributes_are_buffers_per_thread();

    pthread_once(&store.once, init_once);
    pthread_mutex_lock(&store.lock);
    store.requested = requested;
    store.completed = completed;
    store.is_per_thread = is_per_thread;
    pthread_mutex_unlock(&store.lock);
}

/* NULL: the client gives none, or one too small. */
static struct buffer *ask_client(size_t needed_bytes)
{
    CUpti_BuffersCallbackRequestFunc requested;
    struct buffer *buffer = calloc(1, sizeof(*buffer));
    bool must_not_fail =
        sim_settings_version() < SIM_CUPTI_12_9 || sim_settings_has(SIM_MODE_NULL_ABORTS);
    size_t record_max = 0;

    pthread_mutex_lock(&store.lock);
    requested = store.requested;
    pthread_mutex_unlock(&store.lock);
    atomic_fetch_add_explicit(&store.request_count, 1, memory_order_relaxed);
    if (buffer && requested)
        requested(&buffer->data, &buffer->bytes, &record_max);
    if (buffer && buffer->data && buffer->bytes >= needed_bytes) {
        if (!sim_attributes_are_buffers_zeroed())
            memset(buffer->data, 0, buffer->bytes);
        return buffer;
    }
    if (must_not_fail && requested && buffer && !buffer->data)
        abort(); /* as those libraries crash */
    free(buffer);
    return NULL;
}

static void add_locked(struct buffer *buffer)
{
    struct buffer **link = &store.buffers;

    while (*link && !sim_settings_has(SIM_MODE_UNORDERED))
        link = &(*link)->next;
    buffer->next = *link;
    *link = buffer;
}

/* Ask the client for a buffer for this thread. False: it gave none. Where all fill the same one,
 * another thread may have been faster: then this one goes back empty. */
static bool request_buffer(struct thread *thread, size_t needed_bytes)
{
    struct buffer *buffer;
    struct place *place;

    if (thread->request_ns == 0)
        thread->request_ns = sim_stamp_now_ns();
    buffer = ask_client(needed_bytes);
    if (!buffer) {
        if (thread->request_ns != TELLING)
            thread->request_ns = 0; /* nobody is told of a request in vain */
        return false;
    }
    pthread_mutex_lock(&store.lock);
    start_worker_locked();
    add_locked(buffer);
    place = place_locked(thread);
    if (!place->current) {
        buffer->owner = place;
        place->current = buffer;
    } else {
        pthread_cond_signal(&store.has_work);
    }
    pthread_mutex_unlock(&store.lock);
    return true;
}

/* The buffer is full: it goes out as soon as all in it is complete. */
static void retire_locked(struct place *place)
{
    place->current->owner = NULL;
    place->current = NULL;
    pthread_cond_signal(&store.has_work);
}

static bool has_room(const struct place *place, size_t bytes)
{
    return place->current && place->current->bytes - place->current->used >= bytes;
}

/* The buffer with room for a record of this thread, and the lock held; NULL: dropped, and it is
 * not. */
static struct buffer *make_room_and_lock(struct thread *thread, size_t bytes)
{
    while (thread) {
        struct place *place;

        pthread_mutex_lock(&store.lock);
        place = place_locked(thread);
        if (has_room(place, bytes))
            return place->current;
        if (place->current)
            retire_locked(place);
        pthread_mutex_unlock(&store.lock);
        if (!request_buffer(thread, bytes))
            break;
    }
    pthread_mutex_lock(&store.lock);
    store.dropped_count++;
    pthread_mutex_unlock(&store.lock);
    return NULL;
}

static uint8_t *append_locked(struct buffer *buffer, const void *record, size_t bytes)
{
    uint8_t *place = buffer->data + buffer->used;

    memcpy(place, record, bytes);
    buffer->used += (bytes + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
    return place;
}

/* Only now that a record is in the new buffer, so that a tiny one cannot hold nothing else. */
static void tell_request(struct thread *thread)
{
    uint64_t request_ns = thread->request_ns;

    if (request_ns == 0 || request_ns == TELLING)
        return;
    thread->request_ns = TELLING;
    sim_overhead_ended(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, request_ns);
    thread->request_ns = 0;
}

bool sim_store_write(const void *record, size_t bytes)
{
    struct thread *thread = this_thread();
    struct buffer *buffer = make_room_and_lock(thread, bytes);

    if (!buffer)
        return false;
    append_locked(buffer, record, bytes);
    pthread_mutex_unlock(&store.lock);
    tell_request(thread);
    return true;
}

struct sim_slot *sim_store_reserve(const void *record, size_t bytes, size_t start_offset)
{
    struct sim_slot *slot = calloc(1, sizeof(*slot));
    struct thread *thread = this_thread();
    struct buffer *buffer = slot ? make_room_and_lock(thread, bytes) : NULL;

    if (!buffer) {
        free(slot);
        return NULL;
    }
    slot->times = append_locked(buffer, record, bytes) + start_offset;
    slot->buffer = buffer;
    slot->next = buffer->slots;
    if (slot->next)
        slot->next->previous = slot;
    buffer->slots = slot;
    buffer->incomplete_count++;
    pthread_mutex_unlock(&store.lock);
    tell_request(thread);
    return slot;
}

static void unlink_slot_locked(struct sim_slot *slot)
{
    if (slot->previous)
        slot->previous->next = slot->next;
    else
        slot->buffer->slots = slot->next;
    if (slot->next)
        slot->next->previous = slot->previous;
}

void sim_store_complete(struct sim_slot *slot, uint64_t start_ns, uint64_t end_ns)
{
    pthread_mutex_lock(&store.lock);
    if (slot->buffer) {
        memcpy(slot->times, &start_ns, sizeof(start_ns));
        memcpy(slot->times + sizeof(start_ns), &end_ns, sizeof(end_ns));
        unlink_slot_locked(slot);
        if (--slot->buffer->incomplete_count == 0 && !slot->buffer->owner)
            pthread_cond_signal(&store.has_work);
    }
    pthread_mutex_unlock(&store.lock);
    free(slot);
}

/* Mode empty. */
static void deliver_empty(void)
{
    struct buffer *buffer = ask_client(0);
    CUpti_BuffersCallbackCompleteFunc completed;

    if (!buffer)
        return;
    pthread_mutex_lock(&store.lock);
    completed = store.completed;
    pthread_mutex_unlock(&store.lock);
    deliver(buffer, completed);
}

void sim_store_flush(bool is_forced)
{
    pthread_once(&store.once, init_once);
    if (sim_settings_has(SIM_MODE_EMPTY))
        deliver_empty();
    pthread_mutex_lock(&store.lock);
    deliver_due_locked(true, is_forced);
    while (store.delivering_count > 0)
        pthread_cond_wait(&store.has_delivered, &store.lock);
    pthread_mutex_unlock(&store.lock);
}

void sim_store_set_period(uint32_t period_ms)
{
    pthread_once(&store.once, init_once);
    pthread_mutex_lock(&store.lock);
    store.period_ms = period_ms;
    pthread_cond_signal(&store.has_work);
    pthread_mutex_unlock(&store.lock);
}

size_t sim_store_take_dropped(void)
{
    size_t count;

    pthread_mutex_lock(&store.lock);
    count = store.dropped_count;
    store.dropped_count = 0;
    pthread_mutex_unlock(&store.lock);
    return count;
}
