/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_clock - how CUPTI's stamps compare with the host's CLOCK_REALTIME and with the device's
 * %globaltimer, over COUNT kernels of 20 us, one at a time.
 *
 *   gpu_clock [COUNT]
 *
 * A kernel cannot begin before its launch was called, nor end after the wait for it returned: what
 * CUPTI says outside of these two is its error, at least. The device's own stamps tell of the same
 * begin and end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "tests/gpu/client.h"
#include "tests/gpu/work.h"

#define DURATION_NS 20000u

struct host_view {
    uint64_t before_ns; /* CLOCK_REALTIME, before the launch */
    uint64_t after_ns;  /* and after the wait */
    uint64_t stamps[2]; /* %globaltimer */
};

static void run_kernels(const struct gpu_work *work, struct host_view *views, size_t count)
{
    CUdeviceptr stamps;

    GPU_CHECK(cuMemAlloc(&stamps, sizeof(views->stamps)));
    for (size_t i = 0; i < count; i++) {
        views[i].before_ns = rkt_now_real_ns();
        gpu_work_stamp(work, DURATION_NS, stamps);
        GPU_CHECK(cuStreamSynchronize(work->stream));
        views[i].after_ns = rkt_now_real_ns();
        GPU_CHECK(cuMemcpyDtoH(views[i].stamps, stamps, sizeof(views->stamps)));
    }
}

static int by_start(const void *left, const void *right)
{
    uint64_t a = ((const struct gpu_kernel *)left)->start_ns;
    uint64_t b = ((const struct gpu_kernel *)right)->start_ns;

    return (a > b) - (a < b);
}

static uint64_t outside(const struct gpu_kernel *kernel, const struct host_view *view)
{
    uint64_t early = kernel->start_ns < view->before_ns ? view->before_ns - kernel->start_ns : 0;
    uint64_t late = kernel->end_ns > view->after_ns ? kernel->end_ns - view->after_ns : 0;

    return early > late ? early : late;
}

static void compare(const struct gpu_client *client, const struct host_view *views, size_t count)
{
    uint64_t *errors = calloc(count, sizeof(*errors));
    int64_t offset_min = INT64_MAX, offset_max = INT64_MIN;
    uint64_t outside_count = 0;

    if (!errors)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        int64_t offset = (int64_t)(client->kernels[i].start_ns - views[i].stamps[0]);

        errors[i] = outside(&client->kernels[i], &views[i]);
        outside_count += errors[i] > 0;
        offset_min = offset < offset_min ? offset : offset_min;
        offset_max = offset > offset_max ? offset : offset_max;
    }
    (void)printf("kernels=%zu outside=%" PRIu64 " outside_p50_ns=%" PRIu64
                 " outside_p99_ns=%" PRIu64 " outside_max_ns=%" PRIu64,
                 count, outside_count, gpu_percentile(errors, count, 50),
                 gpu_percentile(errors, count, 99), gpu_percentile(errors, count, 100));
    if (views[0].stamps[0] == 0)
        (void)printf(" globaltimer=\"the kernel wrote nothing\"\n");
    else
        (void)printf(" cupti_minus_globaltimer_min_ns=%" PRId64
                     " cupti_minus_globaltimer_max_ns=%" PRId64 "\n",
                     offset_min, offset_max);
    free(errors);
}

int main(int argc, char **argv)
{
    uint64_t count = 2000;
    struct host_view *views;
    struct gpu_client *client;
    struct gpu_work work;
    const char *why;

    if (argc > 1 && (!rkt_parse_u64(argv[1], &count) || count == 0 || count > GPU_KERNELS_MAX))
        return 2;
    views = calloc(count, sizeof(*views));
    (void)gpu_work_init();
    client = gpu_client_start(GPU_CALLS_ALL, &why); /* before the first context */
    if (!views || !client) {
        (void)fprintf(stderr, "gpu_clock: %s\n", views ? why : "no memory");
        free(views);
        return 1;
    }
    gpu_work_open(&work);
    run_kernels(&work, views, count);
    gpu_client_stop();
    if (client->kernel_count != count) {
        (void)fprintf(stderr, "gpu_clock: %" PRIu64 " kernels were recorded, not %" PRIu64 "\n",
                      client->kernel_count, count);
        return 1;
    }
    qsort(client->kernels, count, sizeof(client->kernels[0]), by_start);
    compare(client, views, count);
    free(views);
    return 0;
}
