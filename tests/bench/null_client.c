/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnull-client.so: a client of CUPTI that asks for what libranktrace.so asks for, and throws it
 * away (overhead.py). A job with it costs what CUPTI costs, which here is a stand-in; what the
 * capture library takes more is ours.
 */
#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/capture/cupti_api_names.h"
#include "agent/capture/cupti_library.h"

#define BUFFER_BYTES ((size_t)256 << 10)
#define BUFFER_COUNT 48u

__attribute__((visibility("default"))) int InitializeInjection(void);

static const CUpti_ActivityKind KINDS[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
};

static struct {
    struct rkt_cupti_library library;
    pthread_mutex_t lock; /* guards the buffers that are free */
    uint8_t *free[BUFFER_COUNT];
    size_t free_count;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *record_count_max)
{
    pthread_mutex_lock(&process.lock);
    *buffer = process.free_count > 0 ? process.free[--process.free_count] : NULL;
    pthread_mutex_unlock(&process.lock);
    if (!*buffer)
        *buffer = calloc(1, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *record_count_max = 0;
}

static void buffer_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
                             size_t valid_bytes)
{
    bool is_kept;

    (void)context;
    (void)stream_id;
    (void)size;
    (void)valid_bytes;
    pthread_mutex_lock(&process.lock);
    is_kept = process.free_count < BUFFER_COUNT;
    if (is_kept)
        process.free[process.free_count++] = buffer;
    pthread_mutex_unlock(&process.lock);
    if (!is_kept)
        free(buffer);
}

static void *flush_for_ever(void *arg)
{
    const struct timespec pause = {.tv_sec = 1};

    for (;;) {
        nanosleep(&pause, NULL);
        (void)process.library.flush_all(0);
    }
    return arg;
}

/* The calls that are not wanted are switched off by their names, for which a place is needed. */
static struct rkt_cupti_api_names *find_calls(void)
{
    const struct rkt_region_config config = {
        .ring_count = 1, .ring_capacity = 64, .heap_bytes = 1u << 20};
    struct rkt_region *region;
    struct rkt_intern *intern;
    int fd;

    if (rkt_region_create(&config, &region, &fd, NULL) != RKT_OK)
        return NULL;
    (void)close(fd);
    intern = rkt_intern_create(region);
    return intern ? rkt_cupti_api_names_create(&process.library, intern) : NULL;
}

int InitializeInjection(void)
{
    struct rkt_cupti_api_names *calls;
    const char *why;
    pthread_t thread;

    if (!rkt_cupti_library_open(&process.library, &why))
        return 1;
    calls = find_calls();
    (void)rkt_cupti_library_set_options(&process.library);
    (void)process.library.register_callbacks(buffer_requested, buffer_completed);
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        (void)process.library.enable(KINDS[i]);
    if (calls)
        rkt_cupti_api_names_apply(calls, &process.library);
    if (pthread_create(&thread, NULL, flush_for_ever, NULL) == 0)
        (void)pthread_detach(thread);
    return 1;
}
