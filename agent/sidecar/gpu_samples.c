/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/gpu_samples.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"

#define ROOM 2048u /* samples that wait for the sidecar: seconds of the fastest rate */
#define SLEEP_PER_CPU 99u
#define END_LIMIT_NS 200000000u
#define S UINT64_C(1000000000)

struct gpu {
    struct rkt_event_device identity; /* set when it is added, then read only */

    /* the thread's own */
    bool was_tried;
    bool is_open;
    struct rkt_gpu_reader reader;
};

struct rkt_gpu_samples {
    uint64_t interval_ns; /* set in create, then read only */
    bool has_thread;      /* the sidecar's own */
    pthread_t thread;

    /* the thread's own */
    bool is_open;
    struct rkt_gpu_library library;
    struct gpu gpus[RKT_GPUS_MAX];

    /* guards all below; held for moments, never in a call of NVML, so that the sidecar is not
     * held */
    pthread_mutex_t lock;
    pthread_cond_t has_news;
    uint32_t gpu_count;
    uint64_t wanted; /* a bit for each GPU */
    bool is_stopping;
    bool has_ended;    /* the thread is about to return */
    bool is_abandoned; /* the thread is the last owner */
    uint64_t due_ns;   /* MONOTONIC: the next round */
    size_t first;
    size_t count;
    struct rkt_gpu_sample room[ROOM];
};

static uint64_t monotonic_ns(void)
{
    return rkt_clock_read_ns(CLOCK_MONOTONIC);
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / S), .tv_nsec = (long)(ns % S)};
}

/* ---- the thread ---- */

/* Without the lock. False: nothing can be sampled on this machine. */
static bool open_library(struct rkt_gpu_samples *samples)
{
    const char *why = NULL;

    if (!samples->is_open)
        samples->is_open = rkt_gpu_library_open(&samples->library, &why);
    if (why)
        rkt_log(RKT_LOG_WARN, "gpu", "GPUs are not sampled", "reason=\"NVML: %s\"", why);
    return samples->is_open;
}

/* Without the lock. */
static size_t read_gpu(struct rkt_gpu_samples *samples, uint32_t index, struct rkt_gpu_sample *out)
{
    struct gpu *gpu = &samples->gpus[index];

    if (!gpu->was_tried)
        gpu->is_open = rkt_gpu_reader_open(&gpu->reader, &samples->library, &gpu->identity, index);
    gpu->was_tried = true;
    return gpu->is_open ? rkt_gpu_reader_read(&gpu->reader, rkt_now_raw_ns(), out) : 0;
}

static void put(struct rkt_gpu_samples *samples, const struct rkt_gpu_sample *sample)
{
    samples->room[(samples->first + samples->count++) % ROOM] = *sample;
}

/* With the lock, which is let go for each GPU. */
static void make_round(struct rkt_gpu_samples *samples)
{
    struct rkt_gpu_sample got[RKT_GPU_READING_MAX];

    for (uint32_t i = 0; i < samples->gpu_count && !samples->is_stopping; i++) {
        size_t count;

        if ((samples->wanted >> i & 1) == 0 || samples->count + RKT_GPU_READING_MAX > ROOM)
            continue;
        pthread_mutex_unlock(&samples->lock);
        count = read_gpu(samples, i, got);
        pthread_mutex_lock(&samples->lock);
        for (size_t k = 0; k < count; k++)
            put(samples, &got[k]);
    }
}

/* With the lock. */
static void make_rounds(struct rkt_gpu_samples *samples)
{
    while (!samples->is_stopping) {
        uint64_t start_ns = monotonic_ns();
        struct timespec due = to_timespec(samples->due_ns);
        uint64_t cpu_ns;
        uint64_t rest_ns;

        if (samples->wanted == 0) {
            pthread_cond_wait(&samples->has_news, &samples->lock);
            continue;
        }
        if (start_ns < samples->due_ns) {
            pthread_cond_timedwait(&samples->has_news, &samples->lock, &due);
            continue;
        }
        samples->due_ns = start_ns + samples->interval_ns;
        cpu_ns = rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
        make_round(samples);
        rest_ns = SLEEP_PER_CPU * (rkt_clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
        if (samples->due_ns < monotonic_ns() + rest_ns)
            samples->due_ns = monotonic_ns() + rest_ns;
    }
}

static void close_all(struct rkt_gpu_samples *samples)
{
    for (size_t i = 0; i < RKT_GPUS_MAX; i++) {
        if (samples->gpus[i].is_open)
            rkt_gpu_reader_close(&samples->gpus[i].reader);
    }
    if (samples->is_open)
        rkt_gpu_library_close(&samples->library);
}

static void release(struct rkt_gpu_samples *samples)
{
    pthread_cond_destroy(&samples->has_news);
    pthread_mutex_destroy(&samples->lock);
    free(samples);
}

static void *run(void *arg)
{
    struct rkt_gpu_samples *samples = arg;
    bool is_abandoned;

    (void)pthread_setname_np(pthread_self(), "rkt-gpu");
    if (open_library(samples)) {
        pthread_mutex_lock(&samples->lock);
        make_rounds(samples);
        pthread_mutex_unlock(&samples->lock);
    }
    close_all(samples);
    pthread_mutex_lock(&samples->lock);
    samples->has_ended = true;
    is_abandoned = samples->is_abandoned;
    pthread_cond_signal(&samples->has_news);
    pthread_mutex_unlock(&samples->lock);
    if (is_abandoned)
        release(samples);
    return NULL;
}

/* ---- the sidecar's side ---- */

static bool start_thread(struct rkt_gpu_samples *samples)
{
    sigset_t all, before;

    /* Signals are the sidecar's own thread's. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    samples->has_thread = pthread_create(&samples->thread, NULL, run, samples) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!samples->has_thread)
        rkt_log(RKT_LOG_WARN, "gpu", "GPUs are not sampled", "reason=\"no thread\"");
    return samples->has_thread;
}

enum rkt_status rkt_gpu_samples_create(uint64_t interval_ns, struct rkt_gpu_samples **samples_out,
                                       struct rkt_error *err)
{
    struct rkt_gpu_samples *samples = calloc(1, sizeof(*samples));
    pthread_condattr_t attr;

    if (!samples)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for samples of GPUs");
    samples->interval_ns = interval_ns;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&samples->lock, NULL);
    (void)pthread_cond_init(&samples->has_news, &attr);
    (void)pthread_condattr_destroy(&attr);
    *samples_out = samples;
    return RKT_OK;
}

/* False: it is still in NVML, and owns the samples from now on. */
static bool wait_for_thread(struct rkt_gpu_samples *samples)
{
    struct timespec limit = to_timespec(monotonic_ns() + END_LIMIT_NS);
    bool has_ended;
    int code = 0;

    pthread_mutex_lock(&samples->lock);
    samples->is_stopping = true;
    pthread_cond_signal(&samples->has_news);
    while (!samples->has_ended && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&samples->has_news, &samples->lock, &limit);
    has_ended = samples->has_ended;
    samples->is_abandoned = !has_ended;
    if (!has_ended)
        (void)pthread_detach(samples->thread);
    pthread_mutex_unlock(&samples->lock);
    return has_ended;
}

void rkt_gpu_samples_destroy(struct rkt_gpu_samples *samples)
{
    if (!samples)
        return;
    if (samples->has_thread) {
        if (!wait_for_thread(samples)) {
            rkt_log(RKT_LOG_WARN, "gpu", "NVML does not answer: samples of GPUs may stop early",
                    "waited_ms=%u", END_LIMIT_NS / 1000000);
            return;
        }
        (void)pthread_join(samples->thread, NULL);
    }
    release(samples);
}

/* Whatever number a process gives it. */
static bool is_same(const struct rkt_event_device *a, const struct rkt_event_device *b)
{
    return a->uuid_high == b->uuid_high && a->uuid_low == b->uuid_low &&
           a->pci_domain == b->pci_domain && a->pci_bus == b->pci_bus &&
           a->pci_device == b->pci_device;
}

uint32_t rkt_gpu_samples_add(struct rkt_gpu_samples *samples,
                             const struct rkt_event_device *identity)
{
    uint32_t index = 0;

    if (!samples->has_thread && !start_thread(samples))
        return RKT_GPU_NONE;
    pthread_mutex_lock(&samples->lock);
    while (index < samples->gpu_count && !is_same(&samples->gpus[index].identity, identity))
        index++;
    if (index == samples->gpu_count && index < RKT_GPUS_MAX)
        samples->gpus[samples->gpu_count++].identity = *identity;
    pthread_mutex_unlock(&samples->lock);
    return index < RKT_GPUS_MAX ? index : RKT_GPU_NONE;
}

void rkt_gpu_samples_want(struct rkt_gpu_samples *samples, uint64_t gpus)
{
    pthread_mutex_lock(&samples->lock);
    if ((gpus & ~samples->wanted) != 0) {
        samples->due_ns = 0; /* a GPU that is new is read at once */
        pthread_cond_signal(&samples->has_news);
    }
    samples->wanted = gpus;
    pthread_mutex_unlock(&samples->lock);
}

size_t rkt_gpu_samples_take(struct rkt_gpu_samples *samples, struct rkt_gpu_sample *out, size_t cap)
{
    size_t taken = 0;

    pthread_mutex_lock(&samples->lock);
    while (samples->count > 0 && taken < cap) {
        out[taken++] = samples->room[samples->first];
        samples->first = (samples->first + 1) % ROOM;
        samples->count--;
    }
    pthread_mutex_unlock(&samples->lock);
    return taken;
}
