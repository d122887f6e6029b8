/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/client.h"

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/capture/cupti_library.h"
#include "common/clock.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define FUTURE_NS 60000000000u

/* Each launch call of the driver. */
static const CUpti_CallbackId LAUNCHES[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
};
#define LAUNCH_COUNT (sizeof(LAUNCHES) / sizeof(LAUNCHES[0]))

static struct {
    struct rkt_cupti_library library;
    pthread_mutex_t lock; /* guards client: buffers may come in parallel */
    struct gpu_client client;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *record_count_max)
{
    *buffer = calloc(1, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *record_count_max = 0;
}

static void take_kernel(const CUpti_ActivityKernel4 *record, uint64_t now_ns)
{
    struct gpu_client *client = &process.client;
    uint64_t number = ++client->kernel_count;
    bool is_zero = record->start == 0 && record->end == 0;
    bool is_garbage = !is_zero && (record->end < record->start || record->start == 0 ||
                                   record->end > now_ns + FUTURE_NS);

    client->zero_count += is_zero;
    client->garbage_count += is_garbage;
    if ((is_zero || is_garbage) && client->first_bad == 0)
        client->first_bad = number;
    if (number <= GPU_KERNELS_MAX)
        client->kernels[number - 1] = (struct gpu_kernel){.start_ns = record->start,
                                                          .end_ns = record->end,
                                                          .seen_ns = now_ns,
                                                          .correlation_id = record->correlationId};
}

static void take_call(const CUpti_ActivityAPI *record)
{
    struct gpu_client *client = &process.client;

    if (client->call_count++ < GPU_KERNELS_MAX)
        client->calls[client->call_count - 1] =
            (struct gpu_call){.start_ns = record->start,
                              .end_ns = record->end,
                              .correlation_id = record->correlationId};
}

static void buffer_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t size,
                             size_t valid_bytes)
{
    uint64_t now_ns = rkt_now_real_ns();
    CUpti_Activity *record = NULL;

    (void)context;
    (void)stream_id;
    (void)size;
    pthread_mutex_lock(&process.lock);
    while (valid_bytes > 0 &&
           process.library.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            take_kernel((const CUpti_ActivityKernel4 *)(const void *)record, now_ns);
        else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER ||
                 record->kind == CUPTI_ACTIVITY_KIND_RUNTIME)
            take_call((const CUpti_ActivityAPI *)(const void *)record);
    }
    pthread_mutex_unlock(&process.lock);
    free(buffer);
}

static CUptiResult enable_calls(enum gpu_client_calls calls)
{
    CUptiResult result = CUPTI_SUCCESS;

    if (calls == GPU_CALLS_ALL) {
        result = process.library.enable(CUPTI_ACTIVITY_KIND_DRIVER);
        if (result == CUPTI_SUCCESS)
            result = process.library.enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    }
    if (calls != GPU_CALLS_DRIVER_LAUNCHES)
        return result;
    if (!process.library.enable_driver_api)
        return CUPTI_ERROR_NOT_COMPATIBLE;
    for (size_t i = 0; i < LAUNCH_COUNT && result == CUPTI_SUCCESS; i++)
        result = process.library.enable_driver_api(LAUNCHES[i], 1);
    return result;
}

struct gpu_client *gpu_client_start(enum gpu_client_calls calls, const char **why_out)
{
    struct gpu_client *client = &process.client;

    if (!rkt_cupti_library_open(&process.library, why_out))
        return NULL;
    client->kernels = calloc(GPU_KERNELS_MAX, sizeof(client->kernels[0]));
    client->calls = calloc(GPU_KERNELS_MAX, sizeof(client->calls[0]));
    *why_out = "no memory";
    if (!client->kernels || !client->calls)
        return NULL;
    (void)rkt_cupti_library_set_options(&process.library);
    *why_out = "CUPTI refuses";
    if (process.library.register_callbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS ||
        process.library.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS ||
        enable_calls(calls) != CUPTI_SUCCESS)
        return NULL;
    return client;
}

void gpu_client_flush(void)
{
    (void)process.library.flush_all(0);
}

static int by_correlation(const void *left, const void *right)
{
    uint32_t a = ((const struct gpu_call *)left)->correlation_id;
    uint32_t b = ((const struct gpu_call *)right)->correlation_id;

    return (a > b) - (a < b);
}

static void match(struct gpu_client *client)
{
    size_t calls = client->call_count < GPU_KERNELS_MAX ? client->call_count : GPU_KERNELS_MAX;
    size_t kernels =
        client->kernel_count < GPU_KERNELS_MAX ? client->kernel_count : GPU_KERNELS_MAX;

    qsort(client->calls, calls, sizeof(client->calls[0]), by_correlation);
    for (size_t i = 0; i < kernels; i++) {
        struct gpu_call key = {.correlation_id = client->kernels[i].correlation_id};

        client->matched_count +=
            bsearch(&key, client->calls, calls, sizeof(key), by_correlation) != NULL;
    }
}

void gpu_client_stop(void)
{
    size_t dropped = 0;

    (void)process.library.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    (void)process.library.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    (void)process.library.dropped_records(NULL, 0, &dropped);
    pthread_mutex_lock(&process.lock);
    process.client.dropped_count = dropped;
    match(&process.client);
    pthread_mutex_unlock(&process.lock);
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

uint64_t gpu_percentile(uint64_t *values, size_t count, unsigned percent)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof(values[0]), by_value);
    return values[(count - 1) * percent / 100];
}
