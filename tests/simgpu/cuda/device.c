/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cuda/device.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/simgpu/cuda/clock.h"
#include "tests/simgpu/cuda/report.h"

#define LAUNCH_LATENCY_NS 4000u /* from the call to the earliest start */
#define WORK_GAP_NS 1000u       /* between two pieces of work of a stream */
#define GATE_POLL_NS 100000u    /* how often other ranks are looked at: delays no stamp */
#define NEVER UINT64_MAX

struct sim_mark {
    struct sim_device *device;
    uint32_t ref_count;
    bool is_reached;
    uint64_t time_ns;
};

struct node {
    struct node *next;
    struct sim_op op;
    uint64_t seq; /* over all streams of the device */
    uint64_t submit_ns;
    uint64_t start_ns;
    uint64_t end_ns; /* NEVER: not known yet */
    bool is_started;
};

struct sim_stream {
    struct sim_device *device;
    struct sim_stream *next;
    uint32_t id;
    bool is_destroyed;
    struct node *first;
    struct node *last;
    uint64_t free_ns; /* when the work so far is over */
    uint64_t submitted;
    uint64_t completed;
};

struct sim_device {
    pthread_mutex_t lock; /* guards all below, and all streams and marks; a leaf but for gates
                           * and hooks->complete */
    pthread_cond_t work;
    pthread_cond_t done;
    struct sim_stream *streams;
    uint64_t engine_free_ns[SIM_ENGINE_COUNT];
    uint64_t last_seq;
};

static uint64_t max_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void unref_locked(struct sim_mark *mark)
{
    if (mark && --mark->ref_count == 0)
        free(mark);
}

/* Earliest start of the operation at the head; NEVER while it waits for another stream. */
static uint64_t earliest_start(const struct sim_stream *stream, const struct node *node)
{
    const struct sim_op *op = &node->op;

    switch (op->kind) {
    case SIM_OP_WORK:
        return max_ns(max_ns(stream->free_ns + WORK_GAP_NS, node->submit_ns + LAUNCH_LATENCY_NS),
                      stream->device->engine_free_ns[op->engine]);
    case SIM_OP_WAIT:
        if (!op->mark->is_reached)
            return NEVER;
        return max_ns(max_ns(stream->free_ns, node->submit_ns), op->mark->time_ns);
    case SIM_OP_MARK:
    case SIM_OP_HOST:
        break;
    }
    return max_ns(stream->free_ns, node->submit_ns);
}

static void begin(struct sim_stream *stream, struct node *node, uint64_t start_ns)
{
    node->is_started = true;
    node->start_ns = start_ns;
    node->end_ns = start_ns + node->op.duration_ns;
    if (node->op.gate.ended) {
        node->end_ns = NEVER;
        node->op.gate.started(node->op.gate.arg, start_ns);
    }
    if (node->op.engine != SIM_ENGINE_NONE)
        stream->device->engine_free_ns[node->op.engine] = node->end_ns;
}

static void run_host_function(struct sim_stream *stream, const struct sim_op *op)
{
    pthread_mutex_unlock(&stream->device->lock);
    op->host_fn(op->host_arg);
    pthread_mutex_lock(&stream->device->lock);
}

static void finish_part(struct sim_span *span, const struct node *node)
{
    if (span->start_ns == 0 || node->start_ns < span->start_ns)
        span->start_ns = node->start_ns;
    span->end_ns = max_ns(span->end_ns, node->end_ns);
    if (--span->left > 0)
        return;
    sim_report_complete(span->slot, span->start_ns, span->end_ns);
    free(span);
}

static void finish(struct sim_stream *stream, struct node *node)
{
    struct sim_op *op = &node->op;

    if (op->kind == SIM_OP_HOST)
        run_host_function(stream, op);
    if (op->kind == SIM_OP_MARK) {
        op->mark->is_reached = true;
        op->mark->time_ns = node->end_ns;
    }
    if (op->gate.ended)
        op->gate.release(op->gate.arg);
    sim_report_complete(op->slot, node->start_ns, node->end_ns);
    if (op->span)
        finish_part(op->span, node);
    unref_locked(op->mark);
    stream->free_ns = node->end_ns;
    stream->first = node->next;
    if (!stream->first)
        stream->last = NULL;
    stream->completed++;
    free(node);
    pthread_cond_broadcast(&stream->device->done);
}

/* Whether the end of a started operation is known; what an open gate wrote is none. */
static bool knows_end(struct node *node)
{
    uint64_t end_ns;

    if (node->end_ns == NEVER && node->op.gate.ended(node->op.gate.arg, &end_ns))
        node->end_ns = end_ns;
    return node->end_ns != NEVER;
}

/* One step of the operation at the head. True: it is over, look again. Else *wake_ns says when. */
static bool advance(struct sim_stream *stream, uint64_t now_ns, uint64_t *wake_ns)
{
    struct node *node = stream->first;

    if (!node)
        return false;
    if (!node->is_started) {
        uint64_t start_ns = earliest_start(stream, node);

        if (start_ns > now_ns) {
            *wake_ns = start_ns;
            return false;
        }
        begin(stream, node, start_ns);
    }
    if (!knows_end(node)) {
        *wake_ns = now_ns + GATE_POLL_NS;
        return false;
    }
    if (node->end_ns > now_ns) {
        *wake_ns = node->end_ns;
        return false;
    }
    finish(stream, node);
    return true;
}

static void free_destroyed_streams(struct sim_device *device)
{
    for (struct sim_stream **link = &device->streams; *link;) {
        struct sim_stream *stream = *link;

        if (stream->is_destroyed && !stream->first) {
            *link = stream->next;
            free(stream);
        } else {
            link = &stream->next;
        }
    }
}

/* Bring all streams up to now; returns when to look again. */
static uint64_t run_until_now(struct sim_device *device)
{
    uint64_t now_ns = sim_clock_now_ns();
    uint64_t earliest_ns;
    bool has_advanced;

    do { /* again, since the end of one stream's operation may let another's begin */
        earliest_ns = NEVER;
        has_advanced = false;
        for (struct sim_stream *stream = device->streams; stream; stream = stream->next) {
            uint64_t wake_ns = NEVER;

            while (advance(stream, now_ns, &wake_ns))
                has_advanced = true;
            if (wake_ns < earliest_ns)
                earliest_ns = wake_ns;
        }
    } while (has_advanced);
    free_destroyed_streams(device);
    return earliest_ns;
}

static void wait_for_work(struct sim_device *device, uint64_t wake_ns)
{
    struct timespec until = {.tv_sec = (time_t)(wake_ns / 1000000000u),
                             .tv_nsec = (long)(wake_ns % 1000000000u)};

    if (wake_ns == NEVER)
        pthread_cond_wait(&device->work, &device->lock);
    else
        pthread_cond_timedwait(&device->work, &device->lock, &until);
}

static void *device_main(void *arg)
{
    struct sim_device *device = arg;

    prctl(PR_SET_NAME, "simgpu-device", 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    pthread_mutex_lock(&device->lock);
    for (;;)
        wait_for_work(device, run_until_now(device));
    return NULL;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct sim_device *sim_device_create(void)
{
    struct sim_device *device = calloc(1, sizeof(*device));
    pthread_t thread;

    if (!device)
        return NULL;
    pthread_mutex_init(&device->lock, NULL);
    init_condition(&device->work);
    init_condition(&device->done);
    if (pthread_create(&thread, NULL, device_main, device) != 0) {
        free(device);
        return NULL;
    }
    pthread_detach(thread);
    return device;
}

struct sim_stream *sim_stream_create(struct sim_device *device, uint32_t id)
{
    struct sim_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->device = device;
    stream->id = id;
    pthread_mutex_lock(&device->lock);
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    return stream;
}

void sim_stream_destroy(struct sim_stream *stream)
{
    struct sim_device *device = stream->device;

    pthread_mutex_lock(&device->lock);
    stream->is_destroyed = true;
    pthread_cond_signal(&device->work);
    pthread_mutex_unlock(&device->lock);
}

uint32_t sim_stream_id(const struct sim_stream *stream)
{
    return stream->id;
}

static bool is_full_locked(const struct sim_stream *stream)
{
    return stream->submitted - stream->completed >= SIM_STREAM_PENDING_MAX;
}

static void append_locked(struct sim_stream *stream, struct node *node)
{
    struct sim_device *device = stream->device;

    while (is_full_locked(stream))
        pthread_cond_wait(&device->done, &device->lock);
    node->submit_ns = node->op.submit_ns ? node->op.submit_ns : sim_clock_now_ns();
    node->seq = ++device->last_seq;
    if (stream->last) {
        stream->last->next = node; /* the device comes to it by itself */
    } else {
        stream->first = node;
        pthread_cond_signal(&device->work);
    }
    stream->last = node;
    stream->submitted++;
}

bool sim_stream_submit(struct sim_stream *stream, const struct sim_op *op, uint64_t *ticket_out)
{
    struct node *node = calloc(1, sizeof(*node));

    if (!node)
        return false;
    node->op = *op;
    pthread_mutex_lock(&stream->device->lock);
    append_locked(stream, node);
    *ticket_out = stream->submitted;
    pthread_mutex_unlock(&stream->device->lock);
    return true;
}

void sim_stream_wait(struct sim_stream *stream, uint64_t ticket)
{
    struct sim_device *device = stream->device;

    pthread_mutex_lock(&device->lock);
    while (stream->completed < ticket)
        pthread_cond_wait(&device->done, &device->lock);
    pthread_mutex_unlock(&device->lock);
}

void sim_stream_wait_all(struct sim_stream *stream)
{
    uint64_t ticket;

    pthread_mutex_lock(&stream->device->lock);
    ticket = stream->submitted;
    pthread_mutex_unlock(&stream->device->lock);
    sim_stream_wait(stream, ticket);
}

bool sim_stream_is_idle(struct sim_stream *stream)
{
    bool is_idle;

    pthread_mutex_lock(&stream->device->lock);
    is_idle = stream->submitted == stream->completed;
    pthread_mutex_unlock(&stream->device->lock);
    return is_idle;
}

bool sim_stream_is_full(struct sim_stream *stream)
{
    bool is_full;

    pthread_mutex_lock(&stream->device->lock);
    is_full = is_full_locked(stream);
    pthread_mutex_unlock(&stream->device->lock);
    return is_full;
}

static bool has_work_locked(const struct sim_device *device, uint64_t last_seq)
{
    for (const struct sim_stream *stream = device->streams; stream; stream = stream->next)
        if (stream->first && stream->first->seq <= last_seq)
            return true;
    return false;
}

void sim_device_wait_all(struct sim_device *device)
{
    uint64_t last_seq;

    pthread_mutex_lock(&device->lock);
    last_seq = device->last_seq;
    while (has_work_locked(device, last_seq))
        pthread_cond_wait(&device->done, &device->lock);
    pthread_mutex_unlock(&device->lock);
}

struct sim_mark *sim_mark_create(struct sim_device *device)
{
    struct sim_mark *mark = calloc(1, sizeof(*mark));

    if (mark) {
        mark->device = device;
        mark->ref_count = 1;
    }
    return mark;
}

void sim_mark_ref(struct sim_mark *mark)
{
    pthread_mutex_lock(&mark->device->lock);
    mark->ref_count++;
    pthread_mutex_unlock(&mark->device->lock);
}

void sim_mark_unref(struct sim_mark *mark)
{
    pthread_mutex_t *lock;

    if (!mark)
        return;
    lock = &mark->device->lock;
    pthread_mutex_lock(lock);
    unref_locked(mark);
    pthread_mutex_unlock(lock);
}

bool sim_mark_is_reached(struct sim_mark *mark)
{
    return sim_mark_time_ns(mark) != 0;
}

void sim_mark_wait(struct sim_mark *mark)
{
    struct sim_device *device = mark->device;

    pthread_mutex_lock(&device->lock);
    while (!mark->is_reached)
        pthread_cond_wait(&device->done, &device->lock);
    pthread_mutex_unlock(&device->lock);
}

uint64_t sim_mark_time_ns(struct sim_mark *mark)
{
    uint64_t time_ns;

    pthread_mutex_lock(&mark->device->lock);
    time_ns = mark->time_ns;
    pthread_mutex_unlock(&mark->device->lock);
    return time_ns;
}
