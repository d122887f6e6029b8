/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion and names of the CUPTI source; its sources are built into this test. */
#include "agent/capture/cupti_api_names.h"
#include "agent/capture/cupti_convert.h"

#include <unistd.h>

#include "common/clock.h"
#include "rkt_test.h"

#define LATEST_NS 1000000u

static const struct rkt_region_config CONFIG = {
    .ring_count = 1, .ring_capacity = 64, .heap_bytes = 64u << 10};

struct fixture {
    struct rkt_region *region;
    struct rkt_intern *intern;
    struct rkt_cupti_api_names *api_names;
    struct rkt_cupti_converter converter;
    int fd;
};

/* As a library with three driver calls and two runtime calls would. */
static CUptiResult callback_name(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
    static const char *const driver[] = {NULL, "cuLaunchKernel_ptsz", "cuEventQuery",
                                         "cuCtxSynchronize_v2"};
    static const char *const runtime[] = {NULL, "cudaLaunchKernel_v7000", "cudaGetDevice_v3020"};

    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < 4)
        *name = driver[cbid];
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < 3)
        *name = runtime[cbid];
    else
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

static uint32_t switched_off[8];
static size_t switched_off_count;

static CUptiResult enable_driver_api(CUpti_CallbackId cbid, uint8_t enable)
{
    assert_int_equal(enable, 0);
    switched_off[switched_off_count++] = cbid;
    return CUPTI_SUCCESS;
}

static const struct rkt_cupti_library LIBRARY = {.callback_name = callback_name,
                                                 .enable_driver_api = enable_driver_api};

static int make_converter(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof(f));
    if (rkt_region_create(&CONFIG, &f.region, &f.fd, NULL) != RKT_OK)
        return -1;
    f.intern = rkt_intern_create(f.region);
    f.api_names = rkt_cupti_api_names_create(&LIBRARY, f.intern);
    f.converter = (struct rkt_cupti_converter){.intern = f.intern,
                                               .api_names = f.api_names,
                                               .ring = rkt_region_claim(f.region, 1),
                                               .latest_end_ns = LATEST_NS};
    *state = &f;
    return f.intern && f.api_names ? 0 : -1;
}

static int free_converter(void **state)
{
    struct fixture *f = *state;

    rkt_cupti_api_names_destroy(f->api_names);
    rkt_intern_destroy(f->intern);
    rkt_region_destroy(f->region);
    close(f->fd);
    return 0;
}

static enum rkt_cupti_conversion convert(struct fixture *f, const void *record, size_t bytes,
                                         struct rkt_event *event)
{
    return rkt_cupti_convert(&f->converter, record, bytes, event);
}

/* ---- records ---- */

/* As written by a newer CUPTI: the known part, and more behind it. */
struct long_kernel {
    CUpti_ActivityKernel4 known;
    uint64_t graph_node_id;
    uint32_t unused;
    uint32_t graph_id;
    char more[64];
};

static struct long_kernel some_kernel(void)
{
    return (struct long_kernel){
        .known = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                  .registersPerThread = 255,
                  .start = 100,
                  .end = 250,
                  .deviceId = 3,
                  .contextId = 1,
                  .streamId = 7,
                  .gridX = 70000,
                  .gridY = 2,
                  .gridZ = 1,
                  .blockX = 128,
                  .blockY = 4,
                  .blockZ = 1,
                  .staticSharedMemory = 1024,
                  .dynamicSharedMemory = 65536,
                  .correlationId = 99,
                  .name = "gemm"},
        .graph_node_id = (1ull << 32) | 5,
        .graph_id = 11,
    };
}

static void kernel_becomes_an_event_and_its_shape(void **state)
{
    struct fixture *f = *state;
    struct long_kernel record = some_kernel();
    struct rkt_event event;
    struct rkt_event shape[2];
    bool was_broken;

    assert_int_equal(convert(f, &record, sizeof(record), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.kind, RKT_EVENT_KERNEL);
    assert_int_equal(event.clock_id, RKT_CLOCK_REALTIME);
    assert_int_equal(event.start_ns, 100);
    assert_int_equal(event.end_ns, 250);
    assert_int_equal(event.correlation_id, 99);
    assert_int_equal(event.kernel.device_id, 3);
    assert_int_equal(event.kernel.stream_id, 7);
    assert_int_equal(event.kernel.graph_node_id, (1ull << 32) | 5);
    assert_int_equal(event.kernel.graph_id, 11);
    assert_int_equal(event.flags, RKT_FLAG_GRAPH);
    assert_int_equal(event.kernel.shape_id, 1);
    assert_int_equal(rkt_ring_pop(f->converter.ring, CONFIG.ring_capacity, shape, 2, &was_broken),
                     1);
    assert_int_equal(shape[0].name_id, event.name_id);
    assert_int_equal(shape[0].shape.grid_x, 70000);
    assert_int_equal(shape[0].shape.block_y, 4);
    assert_int_equal(shape[0].shape.registers, 255);
    assert_int_equal(shape[0].shape.dynamic_shared_bytes, 65536);
    /* again: the same shape, and nothing more goes out */
    assert_int_equal(convert(f, &record, sizeof(record), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.kernel.shape_id, 1);
    assert_int_equal(rkt_ring_pop(f->converter.ring, CONFIG.ring_capacity, shape, 2, &was_broken),
                     0);
}

static void nothing_behind_a_short_record_is_read(void **state)
{
    struct fixture *f = *state;
    struct long_kernel record = some_kernel();
    struct rkt_event event;

    assert_int_equal(convert(f, &record, sizeof(record.known), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.kernel.graph_node_id, 0);
    assert_int_equal(event.kernel.graph_id, 0);
    assert_int_equal(event.flags, 0);
}

static void kernel_without_a_name_is_kept(void **state)
{
    struct fixture *f = *state;
    struct long_kernel record = some_kernel();
    struct rkt_event event;

    record.known.name = NULL;
    assert_int_equal(convert(f, &record, sizeof(record), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.name_id, 0);
    assert_int_not_equal(event.kernel.shape_id, 0);
}

static void unusable_stamps_are_told_with_their_kind(void **state)
{
    static const struct {
        const char *what;
        uint64_t start;
        uint64_t end;
    } cases[] = {
        {"both zero: no timing", 0, 0},
        {"no start", 0, 50},
        {"reversed", 60, 50},
        {"no end", 60, 0},
        {"in the future", 60, LATEST_NS + 1},
        {"all but the top bit clear", 1ull << 63, (1ull << 63) + 5},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct long_kernel kernel = some_kernel();
        CUpti_ActivityMemcpy copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY};
        struct rkt_event event;

        kernel.known.start = copy.start = cases[i].start;
        kernel.known.end = copy.end = cases[i].end;
        if (convert(f, &kernel, sizeof(kernel), &event) != RKT_CUPTI_BAD_STAMP ||
            event.kind != RKT_EVENT_KERNEL ||
            convert(f, &copy, sizeof(copy), &event) != RKT_CUPTI_BAD_STAMP ||
            event.kind != RKT_EVENT_MEMCPY)
            fail_msg("%s was taken", cases[i].what);
    }
}

static void copies_keep_their_ends_and_flags(void **state)
{
    struct fixture *f = *state;
    CUpti_ActivityMemcpy copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                 .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
                                 .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                 .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                 .flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC,
                                 .bytes = 1ull << 40,
                                 .start = 1,
                                 .end = 2,
                                 .deviceId = 1,
                                 .streamId = 20,
                                 .correlationId = 8};
    CUpti_ActivityMemcpyPtoP peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                     .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
                                     .start = 1,
                                     .end = 2,
                                     .deviceId = 1,
                                     .srcDeviceId = 1,
                                     .dstDeviceId = 4};
    struct rkt_event event;

    assert_int_equal(convert(f, &copy, sizeof(copy), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.memcpy.bytes, 1ull << 40);
    assert_int_equal(event.memcpy.copy_kind, RKT_COPY_HTOD);
    assert_int_equal(event.memcpy.src_kind, RKT_MEMORY_PAGEABLE);
    assert_int_equal(event.memcpy.dst_kind, RKT_MEMORY_DEVICE);
    assert_int_equal(event.memcpy.peer_device_id, 1);
    assert_int_equal(event.memcpy.stream_id, 20);
    assert_int_equal(event.flags, RKT_FLAG_ASYNC);
    assert_int_equal(event.correlation_id, 8);
    assert_int_equal(convert(f, &peer, sizeof(peer), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.kind, RKT_EVENT_MEMCPY);
    assert_int_equal(event.memcpy.copy_kind, RKT_COPY_PTOP);
    assert_int_equal(event.memcpy.peer_device_id, 4);
    assert_int_equal(event.flags, 0);
}

static void memset_and_sync_are_kept(void **state)
{
    struct fixture *f = *state;
    CUpti_ActivityMemset set = {
        .kind = CUPTI_ACTIVITY_KIND_MEMSET, .value = 7, .bytes = 4096, .start = 5, .end = 6};
    CUpti_ActivitySynchronization sync = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                          .type =
                                              CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT,
                                          .start = 5,
                                          .end = 6,
                                          .correlationId = 3,
                                          .streamId = 13,
                                          .cudaEventId = 77};
    struct rkt_event event;

    assert_int_equal(convert(f, &set, sizeof(set), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.memset.value, 7);
    assert_int_equal(event.memset.bytes, 4096);
    assert_int_equal(convert(f, &sync, sizeof(sync), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.type, RKT_SYNC_STREAM_WAIT_EVENT);
    assert_int_equal(event.sync.stream_id, 13);
    assert_int_equal(event.sync.cuda_event_id, 77);
}

static void wanted_calls_are_kept_with_their_names(void **state)
{
    struct fixture *f = *state;
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_DRIVER,
                              .cbid = 1,
                              .start = 5,
                              .end = 6,
                              .threadId = 4242,
                              .correlationId = 31,
                              .returnValue = 700};
    uint32_t launch_id = rkt_intern_name(f->intern, "cuLaunchKernel", 14);
    struct rkt_event event;

    assert_int_equal(convert(f, &call, sizeof(call), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.type, RKT_API_DRIVER);
    assert_int_equal(event.name_id, launch_id);
    assert_int_equal(event.thread_id, 4242);
    assert_int_equal(event.correlation_id, 31);
    assert_int_equal(event.api.return_value, 700);
    call.cbid = 2; /* cuEventQuery */
    assert_int_equal(convert(f, &call, sizeof(call), &event), RKT_CUPTI_IGNORED);
    call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    call.cbid = 1;
    assert_int_equal(convert(f, &call, sizeof(call), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.type, RKT_API_RUNTIME);
    assert_int_equal(event.name_id, rkt_intern_name(f->intern, "cudaLaunchKernel", 16));
    call.cbid = 100000; /* of a CUDA with more calls than there is room for */
    assert_int_equal(convert(f, &call, sizeof(call), &event), RKT_CUPTI_CONVERTED);
    assert_int_equal(event.name_id, 0);
}

static void kinds_that_are_not_known_are_ignored(void **state)
{
    static const int kinds[] = {0, 2000, 39, 54, 200};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct long_kernel record = some_kernel();
        struct rkt_event event;

        record.known.kind = (CUpti_ActivityKind)kinds[i];
        assert_int_equal(convert(f, &record, sizeof(record), &event), RKT_CUPTI_IGNORED);
    }
}

/* ---- names of calls ---- */

static void names_of_calls_lose_versions_and_are_sorted_out(void **state)
{
    static const struct {
        const char *full;
        const char *cut;
        bool is_wanted;
    } cases[] = {
        {"cudaLaunchKernel_v7000", "cudaLaunchKernel", true},
        {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel", true},
        {"cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC", true},
        {"cuLaunchKernelEx", "cuLaunchKernelEx", true},
        {"cuGraphLaunch_ptsz", "cuGraphLaunch", true},
        {"cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD", true},
        {"cuMemAlloc_v2", "cuMemAlloc", true},
        {"cudaMallocAsync_ptsz_v11020", "cudaMallocAsync", true},
        {"cuStreamSynchronize", "cuStreamSynchronize", true},
        {"cudaDeviceSynchronize_v3020", "cudaDeviceSynchronize", true},
        {"cuCtxSynchronize_v2", "cuCtxSynchronize", true},
        {"cudaHostAlloc_v3020", "cudaHostAlloc", true},
        {"cuMemcpy2DAsync_v2", "cuMemcpy2DAsync", true},
        {"cudaMalloc_v3020", "cudaMalloc", true},
        {"cudaFree_v3020", "cudaFree", true},
        {"cudaFreeAsync_v11020", "cudaFreeAsync", true},
        {"cuMemAllocAsync_ptsz", "cuMemAllocAsync", true},
        {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", true},
        {"cuMemHostAlloc_v2", "cuMemHostAlloc", true},
        {"cuMemFreeHost", "cuMemFreeHost", true},
        {"cudaMemPoolTrimTo_v11020", "cudaMemPoolTrimTo", true},
        {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", true},
        {"cudaGraphLaunch_ptsz_v10000", "cudaGraphLaunch", true},
        {"cuEventSynchronize", "cuEventSynchronize", true},
        {"cuEventQuery", "cuEventQuery", false},
        {"cudaStreamQuery_ptsz_v7000", "cudaStreamQuery", false},
        {"cudaEventRecord_v3020", "cudaEventRecord", false},
        {"cudaGetDevice_v3020", "cudaGetDevice", false},
        {"cuMemGetInfo_v2", "cuMemGetInfo", false},
        {"cudaHostGetDevicePointer_v3020", "cudaHostGetDevicePointer", false},
        {"cuStreamCreate", "cuStreamCreate", false},
        {"_v2", "", false},
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = rkt_cupti_api_name_length(cases[i].full);

        if (len != strlen(cases[i].cut) || strncmp(cases[i].full, cases[i].cut, len) != 0)
            fail_msg("%s is cut to %.*s", cases[i].full, (int)len, cases[i].full);
        if (rkt_cupti_api_is_wanted(cases[i].full, len) != cases[i].is_wanted)
            fail_msg("%s is wanted: %d", cases[i].full, !cases[i].is_wanted);
    }
}

static void only_unwanted_calls_are_switched_off(void **state)
{
    struct fixture *f = *state;

    switched_off_count = 0;
    rkt_cupti_api_names_apply(f->api_names, &LIBRARY);
    assert_int_equal(switched_off_count, 1);
    assert_int_equal(switched_off[0], 2); /* cuEventQuery */
}

#define CONVERTING(test) cmocka_unit_test_setup_teardown(test, make_converter, free_converter)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONVERTING(kernel_becomes_an_event_and_its_shape),
        CONVERTING(nothing_behind_a_short_record_is_read),
        CONVERTING(kernel_without_a_name_is_kept),
        CONVERTING(unusable_stamps_are_told_with_their_kind),
        CONVERTING(copies_keep_their_ends_and_flags),
        CONVERTING(memset_and_sync_are_kept),
        CONVERTING(wanted_calls_are_kept_with_their_names),
        CONVERTING(kinds_that_are_not_known_are_ignored),
        cmocka_unit_test(names_of_calls_lose_versions_and_are_sorted_out),
        CONVERTING(only_unwanted_calls_are_switched_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
