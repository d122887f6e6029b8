/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CUPTI record costs from the completed buffer to the ring: launches and their kernels, 40
 * launch shapes of kernels with names as long as PyTorch's, in the layout of CUDA 13.0. The walk is
 * the test's own; beside it what one look at the clock costs.
 */
#include "agent/capture/cupti_buffers.h"
#include "agent/capture/cupti_reader.h"
#include "tests/bench/bench.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/unit/cupti_buffer.h"

#define RING_CAPACITY 16384u
#define KERNEL_NAME_COUNT 20u
#define NAME_BYTES 200u
#define CLOCK_READS 100000u

static struct cupti_buffer buffer;
static char names[KERNEL_NAME_COUNT][NAME_BYTES];

static CUptiResult callback_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    *name = "cudaLaunchKernel_v7000";
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == 211 ? CUPTI_SUCCESS
                                                                : CUPTI_ERROR_INVALID_PARAMETER;
}

static const struct rkt_cupti_library LIBRARY = {.next_record = cupti_buffer_next,
                                                 .callback_name = callback_name};

static void make_names(void)
{
    for (unsigned i = 0; i < KERNEL_NAME_COUNT; i++) {
        memset(names[i], 'a' + (int)i, NAME_BYTES - 1);
        memcpy(names[i], "_ZN2at6native", 13);
    }
}

static bool add_pair(uint32_t number, uint64_t now_ns)
{
    CUpti_ActivityAPI *launch =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(*launch));
    CUpti_ActivityKernel5 *kernel =
        cupti_buffer_add(&buffer, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(*kernel));

    if (!launch || !kernel)
        return false;
    launch->cbid = 211;
    launch->threadId = 1;
    launch->correlationId = kernel->correlationId = number;
    launch->start = now_ns + number;
    launch->end = launch->start + 1000;
    kernel->start = launch->end;
    kernel->end = kernel->start + 1000;
    kernel->name = names[number % KERNEL_NAME_COUNT];
    kernel->gridX = number / KERNEL_NAME_COUNT % 2 ? 108 : 216;
    kernel->blockX = 256;
    return true;
}

static uint32_t fill_buffer(void)
{
    uint64_t now_ns = rkt_now_real_ns() - 1000000000u;
    uint32_t pairs = 0;

    make_names();
    cupti_buffer_init(&buffer, SIM_CUPTI_13_0);
    while (add_pair(pairs, now_ns))
        pairs++;
    return pairs * 2;
}

static void empty(const struct rkt_capture *capture)
{
    static struct rkt_event events[4096];
    bool was_broken;

    while (rkt_ring_pop(rkt_region_ring(capture->region, 0), RING_CAPACITY, events, 4096,
                        &was_broken) > 0)
        continue;
}

static void read_clock(void)
{
    volatile uint64_t now_ns;

    for (unsigned i = 0; i < CLOCK_READS; i++)
        now_ns = rkt_now_raw_ns();
    (void)now_ns;
}

struct bench {
    struct rkt_capture capture;
    struct rkt_cupti_reader reader;
    struct rkt_cupti_buffers *buffers;
    uint8_t *taken;
};

/* CUPTI has filled a buffer, and the sidecar has emptied the ring. */
static void prepare(struct bench *bench)
{
    size_t bytes;

    empty(&bench->capture);
    bench->taken = rkt_cupti_buffers_take(bench->buffers, &bytes);
    memcpy(bench->taken, buffer.bytes, buffer.used_bytes);
}

/* As in the callback. */
static void complete(struct bench *bench)
{
    rkt_cupti_reader_read(&bench->reader, bench->taken, buffer.used_bytes);
    rkt_cupti_buffers_put_back(bench->buffers, bench->taken, buffer.used_bytes);
}

static bool make_bench(struct bench *bench)
{
    struct rkt_region_config config = {
        .ring_count = 1, .ring_capacity = RING_CAPACITY, .heap_bytes = 1u << 20};
    int fd;

    if (rkt_region_create(&config, &bench->capture.region, &fd, NULL) != RKT_OK)
        return false;
    bench->capture.intern = rkt_intern_create(bench->capture.region);
    bench->capture.threads = rkt_threads_create(bench->capture.region, bench->capture.intern);
    bench->buffers = rkt_cupti_buffers_create();
    bench->reader.capture = &bench->capture;
    bench->reader.library = &LIBRARY;
    bench->reader.has_system_thread_ids = true;
    bench->reader.api_names = rkt_cupti_api_names_create(&LIBRARY, bench->capture.intern);
    return bench->capture.threads && bench->buffers && bench->reader.api_names;
}

int main(void)
{
    static struct bench bench;
    uint64_t read_ns, clock_ns;
    uint32_t record_count;

    if (!make_bench(&bench))
        return 1;
    record_count = fill_buffer();
    for (uint32_t records = 0; records < 2 * RING_CAPACITY; records += record_count) {
        prepare(&bench); /* touches the ring's pages */
        complete(&bench);
    }
    BENCH_BEST(&read_ns, prepare(&bench), complete(&bench));
    BENCH_BEST(&clock_ns, (void)0, read_clock());
    (void)printf("bench=capture_cupti records=%u ns_per_record=%.2f clock_gettime_ns=%.2f\n",
                 record_count, (double)read_ns / record_count, (double)clock_ns / CLOCK_READS);
    return 0;
}
