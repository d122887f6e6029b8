/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_source.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture/cupti_api_names.h"
#include "agent/capture/cupti_buffers.h"
#include "agent/capture/cupti_library.h"
#include "agent/capture/cupti_reader.h"
#include "agent/capture/cupti_round.h"
#include "agent/capture/cupti_switch.h"
#include "agent/capture/visit.h"
#include "agent/capture/window.h"
#include "common/clock.h"

#define FLUSH_INTERVAL_S 1
#define STOP_WAIT_NS 2000000000u /* at most so long for all that is left at exit */

/* In this order: buffers can be requested from the first one on. MEMCPY brings MEMCPY2. */
static const CUpti_ActivityKind KINDS[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};

struct rkt_cupti_source {
    /* set by start before CUPTI knows of us, then read only */
    struct rkt_capture *capture;
    struct rkt_cupti_library library;
    struct rkt_cupti_buffers *buffers;
    struct rkt_cupti_api_names *api_names;

    struct rkt_cupti_switch kinds;
    struct rkt_cupti_reader reader;
    struct rkt_cupti_round round;        /* the flush thread's; stop's after it has ended */
    _Atomic uint64_t buffer_event_count; /* buffers asked for or given back */

    _Atomic bool was_started;
    _Atomic bool is_on;
    _Atomic bool thread_has_fate; /* the flush thread leaves by itself, or is being joined */
    /* The flush thread should end. No descriptor: a job that closes all of them may have a file
     * of its own under that number when we would write to it. */
    sem_t wake;
    sem_t ended; /* it is about to: it can be joined without a limit */
    pthread_t flush_thread;
};

/* ---- callbacks ---- */

static struct rkt_cupti_source *source_of_process(void)
{
    return rkt_capture_started()->cupti; /* CUPTI calls only after the start */
}

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *record_count_max)
{
    struct rkt_cupti_source *source = source_of_process();

    *buffer = rkt_cupti_buffers_take(source->buffers, size);
    atomic_fetch_add_explicit(&source->buffer_event_count, 1, memory_order_relaxed);
    *record_count_max = 0;                           /* as many as fit */
    rkt_threads_keep_name(source->capture->threads); /* it may end before its records come */
}

/*
 * What comes back is believed as far as it is what was given. The size is compared as well: when
 * another tool freed a buffer of ours, one of its own may lie at that address.
 */
static void buffer_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
                             size_t valid_bytes)
{
    struct rkt_cupti_source *source = source_of_process();
    struct rkt_visit visit = rkt_visit_begin();

    (void)context;
    (void)stream_id;
    if (size == RKT_CUPTI_BUFFER_BYTES && rkt_cupti_buffers_is_readable(source->buffers, buffer)) {
        if (valid_bytes > RKT_CUPTI_BUFFER_BYTES)
            valid_bytes = RKT_CUPTI_BUFFER_BYTES;
        if (rkt_capture_is_on() && valid_bytes > 0)
            rkt_cupti_reader_read(&source->reader, buffer, valid_bytes);
        rkt_cupti_buffers_put_back(source->buffers, buffer, valid_bytes);
    } else if (rkt_capture_is_on() && valid_bytes > 0) {
        rkt_cupti_reader_count_unread(&source->reader, valid_bytes);
    }
    atomic_fetch_add_explicit(&source->buffer_event_count, 1, memory_order_relaxed);
    rkt_visit_end(visit);
}

/* ---- the flush thread ---- */

static void make_round(struct rkt_cupti_source *source)
{
    rkt_cupti_round_make(&source->round,
                         atomic_load_explicit(&source->buffer_event_count, memory_order_relaxed),
                         rkt_region_pushed_count(source->capture->region));
}

/* The sidecar is gone: the thread ends before the process does, and nobody will join it. */
static void leave(struct rkt_cupti_source *source)
{
    rkt_cupti_switch_set(&source->kinds, RKT_CUPTI_OFF_END, true);
    if (!atomic_exchange_explicit(&source->thread_has_fate, true, memory_order_relaxed))
        (void)pthread_detach(pthread_self());
}

static bool is_woken_in_time(struct rkt_cupti_source *source)
{
    struct timespec limit;

    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += FLUSH_INTERVAL_S;
    while (sem_clockwait(&source->wake, CLOCK_MONOTONIC, &limit) != 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}

static bool is_sidecar_gone(const struct rkt_capture *capture)
{
    struct pollfd waiter = {.fd = capture->socket_fd, .events = POLLRDHUP};

    return poll(&waiter, 1, 0) > 0;
}

static void *flush_until_woken(void *arg)
{
    struct rkt_cupti_source *source = arg;
    bool has_flushed = false;

    while (!is_woken_in_time(source)) {
        if (is_sidecar_gone(source->capture)) {
            rkt_capture_turn_off("the sidecar is gone");
            leave(source);
            break;
        }
        rkt_window_tick(source->capture);
        if (!has_flushed) /* cuInit, in which we started, is long through */
            rkt_capture_close_before_others();
        make_round(source);
        has_flushed = true;
    }
    (void)sem_post(&source->ended);
    return NULL;
}

/* The job's signals are for the job's threads. */
static bool start_flush_thread(struct rkt_cupti_source *source)
{
    sigset_t all;
    sigset_t before;
    bool has_started;

    if (sem_init(&source->wake, 0, 0) != 0 || sem_init(&source->ended, 0, 0) != 0)
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_started = pthread_create(&source->flush_thread, NULL, flush_until_woken, source) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (has_started)
        (void)pthread_setname_np(source->flush_thread, "ranktrace");
    return has_started;
}

/* ---- start and stop ---- */

struct rkt_cupti_source *rkt_cupti_source_create(void)
{
    return calloc(1, sizeof(struct rkt_cupti_source));
}

void rkt_cupti_source_destroy(struct rkt_cupti_source *source)
{
    free(source);
}

static void choose_kinds(struct rkt_cupti_switch *kinds, const struct rkt_capture_config *config)
{
    memcpy(kinds->kinds, KINDS, sizeof(KINDS));
    kinds->kind_count = sizeof(KINDS) / sizeof(KINDS[0]);
    if (config->mask & RKT_CAPTURE_MEMORY)
        kinds->kinds[kinds->kind_count++] = CUPTI_ACTIVITY_KIND_MEMORY2;
    if (config->mask & RKT_CAPTURE_OVERHEAD)
        kinds->kinds[kinds->kind_count++] = CUPTI_ACTIVITY_KIND_OVERHEAD;
    /* With it CUPTI makes no records of what is inside a graph. */
    if (config->graph_level == RKT_GRAPH_LEVEL_LAUNCH)
        kinds->kinds[kinds->kind_count++] = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
}

static bool prepare(struct rkt_cupti_source *source, const char **why_out)
{
    if (!rkt_cupti_library_open(&source->library, why_out))
        return false;
    *why_out = "no memory";
    source->buffers = rkt_cupti_buffers_create();
    source->api_names = rkt_cupti_api_names_create(&source->library, source->capture->intern);
    source->reader.capture = source->capture;
    source->reader.library = &source->library;
    source->reader.api_names = source->api_names;
    source->kinds.library = &source->library;
    source->kinds.api_names = source->api_names;
    source->kinds.requested = buffer_requested;
    source->kinds.completed = buffer_completed;
    source->round.capture = source->capture;
    source->round.library = &source->library;
    source->round.buffers = source->buffers;
    source->round.reader = &source->reader;
    source->round.kinds = &source->kinds;
    source->round.now_real_ns = rkt_now_real_ns;
    choose_kinds(&source->kinds, &source->capture->config);
    return source->buffers && source->api_names;
}

/* NULL: on. "": there is no GPU here. Else the reason. */
static const char *enable(struct rkt_cupti_source *source, char *why, size_t why_bytes)
{
    CUptiResult result;

    source->reader.has_system_thread_ids = rkt_cupti_library_set_options(&source->library);
    result = rkt_cupti_switch_start(&source->kinds);
    if (result == CUPTI_SUCCESS)
        return NULL;
    if (result == CUPTI_ERROR_NOT_INITIALIZED || result == CUPTI_ERROR_UNKNOWN)
        return "";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
        result == CUPTI_ERROR_NOT_COMPATIBLE)
        snprintf(why, why_bytes, "another tool has CUPTI (code %d)", (int)result);
    else
        snprintf(why, why_bytes, "CUPTI refused with code %d", (int)result);
    return why;
}

void rkt_cupti_source_start(struct rkt_cupti_source *source, struct rkt_capture *capture)
{
    char text[64];
    const char *why = NULL;

    if (atomic_exchange_explicit(&source->was_started, true, memory_order_relaxed))
        return;
    source->capture = capture;
    if (prepare(source, &why))
        why = enable(source, text, sizeof(text));
    if (why && *why)
        rkt_capture_say("GPU work is not traced", why);
    if (why)
        return; /* what CUPTI may have seen of us stays */
    if (!start_flush_thread(source)) {
        rkt_cupti_switch_set(&source->kinds, RKT_CUPTI_OFF_END, true);
        rkt_capture_say("GPU work is not traced", "no thread could be started");
        return;
    }
    atomic_store_explicit(&source->is_on, true, memory_order_release);
    rkt_capture_close_before_others();
}

static bool join_flush_thread(struct rkt_cupti_source *source)
{
    struct timespec deadline;

    if (atomic_exchange_explicit(&source->thread_has_fate, true, memory_order_relaxed))
        return false;
    clock_gettime(CLOCK_MONOTONIC, &deadline); /* the other one may be set back meanwhile */
    deadline.tv_sec += (time_t)(STOP_WAIT_NS / 1000000000u);
    if (sem_post(&source->wake) != 0)
        return false;
    while (sem_clockwait(&source->ended, CLOCK_MONOTONIC, &deadline) != 0) {
        if (errno != EINTR)
            return false;
    }
    return pthread_join(source->flush_thread, NULL) == 0;
}

bool rkt_cupti_source_stop(struct rkt_cupti_source *source)
{
    if (!atomic_load_explicit(&source->is_on, memory_order_acquire))
        return true;
    atomic_store_explicit(&source->reader.stop_deadline_ns, rkt_now_raw_ns() + STOP_WAIT_NS,
                          memory_order_relaxed);
    if (!join_flush_thread(source))
        return false; /* it is stuck inside CUPTI, and so would we be */
    rkt_cupti_round_end(&source->round);
    return true;
}

bool rkt_cupti_source_is_on(const struct rkt_cupti_source *source)
{
    return atomic_load_explicit(&source->is_on, memory_order_relaxed);
}

bool rkt_cupti_source_set_open(struct rkt_cupti_source *source, bool is_open)
{
    if (!rkt_capture_is_on())
        return false;
    rkt_cupti_switch_set(&source->kinds, RKT_CUPTI_OFF_WINDOW, !is_open);
    return atomic_load_explicit(&source->is_on, memory_order_relaxed);
}

/* ---- the injection ---- */

/* CUDA's driver calls it by this name, in cuInit; 1 means success. */
__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_CUPTI);
    struct rkt_visit visit = rkt_visit_begin();

    if (capture)
        rkt_cupti_source_start(capture->cupti, capture);
    rkt_visit_end(visit);
    return 1;
}

bool rkt_cupti_source_stream_id(struct rkt_cupti_source *source, void *stream, uint32_t *id_out)
{
    /* acquire: the library, as the start has opened it */
    return atomic_load_explicit(&source->is_on, memory_order_acquire) &&
           source->library.stream_id &&
           source->library.stream_id(NULL, stream, 0, id_out) == CUPTI_SUCCESS;
}
