/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI going wrong in all the ways that it can be told to. */

#include <cuda.h>
#include <cupti.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simgpu/test/child.h"
#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define KERNEL CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
#define BUFFER_KERNELS 18 /* records of 216 bytes that fill one of the client's buffers */

static struct test_gpu *gpu;

static void open_gpu(void)
{
    void *state = NULL;

    assert_int_equal(test_gpu_setup(&state), 0);
    gpu = state;
    test_client_setup(NULL);
}

static void launch(int count)
{
    for (int i = 0; i < count; i++)
        assert_cuda(test_gpu_launch(gpu, NULL, 1000));
}

static const CUpti_ActivityKernel4 *kernel(size_t n)
{
    return &test_client_record(KERNEL, n)->kernel;
}

static void zero_and_garbage(void)
{
    open_gpu();
    test_enable(KERNEL);
    launch(6);
    test_client_collect();
    assert_int_equal(kernel(4)->start, 0); /* the fifth */
    assert_int_equal(kernel(4)->end, 0);
    assert_true(kernel(0)->end > kernel(0)->start);
    assert_true(kernel(1)->end < kernel(1)->start); /* the second */
    assert_int_equal(kernel(3)->end, 1ull << 63);   /* the fourth */
}

static void stamps_can_be_missing_or_garbage(void **state)
{
    (void)state;
    assert_int_equal(
        test_child("SIMGPU_CUPTI_ZERO_EVERY=5 SIMGPU_CUPTI_GARBAGE_EVERY=2", zero_and_garbage), 0);
}

static void pool_runs_dry(void)
{
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;

    open_gpu();
    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_cuda(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_cuda(test_gpu_launch(gpu, stream, 1000));
    assert_cuda(cuStreamEndCapture(stream, &graph));
    assert_cuda(cuGraphInstantiate(&exec, graph, 0));
    test_enable(KERNEL);
    launch(5); /* no part of a graph: it costs nothing for good */
    assert_cuda(cuCtxSynchronize());
    for (int i = 0; i < 5; i++)
        assert_cuda(cuGraphLaunch(exec, stream));
    assert_cuda(cuStreamSynchronize(stream));
    launch(1);
    test_client_collect();
    assert_true(kernel(4)->start > 0);
    assert_true(kernel(5 + 2)->start > 0);
    assert_int_equal(kernel(5 + 3)->start, 0);
    assert_int_equal(kernel(5 + 4)->start, 0);
    assert_int_equal(kernel(10)->start, 0); /* it is missing to all */
    test_disable(KERNEL);
    test_enable(KERNEL);
    launch(1);
    test_client_collect();
    assert_true(kernel(11)->start > 0);
}

static void graphs_can_use_up_the_device_buffers_until_kinds_were_off(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_POOL=3", pool_runs_dry), 0);
}

static size_t completed_count(void)
{
    size_t count;

    pthread_mutex_lock(&test_client.lock);
    count = test_client.completed_count;
    pthread_mutex_unlock(&test_client.lock);
    return count;
}

/* Two full buffers stay; with the third all three go out. */
static void late(void)
{
    open_gpu();
    test_enable(KERNEL);
    launch(2 * BUFFER_KERNELS + 1);
    assert_cuda(cuCtxSynchronize());
    usleep(50000); /* time enough for what must not happen */
    assert_int_equal(completed_count(), 0);
    launch(BUFFER_KERNELS);
    assert_cuda(cuCtxSynchronize());
    while (completed_count() < 3)
        usleep(1000);
    test_client_collect();
    assert_int_equal(test_client.kept_count, 3 * BUFFER_KERNELS + 1);
}

static void full_buffers_can_come_late(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=late", late), 0);
}

static void unordered(void)
{
    open_gpu();
    test_enable(KERNEL);
    launch(2 * BUFFER_KERNELS + 1);
    test_client_collect();
    assert_int_equal(test_client.kept_count, 2 * BUFFER_KERNELS + 1);
    assert_true(kernel(0)->start > kernel(BUFFER_KERNELS + 1)->start);
}

static void ordered(void)
{
    open_gpu();
    test_enable(KERNEL);
    launch(2 * BUFFER_KERNELS + 1);
    test_client_collect();
    assert_true(kernel(0)->start < kernel(BUFFER_KERNELS + 1)->start);
}

static void buffers_can_come_newest_first(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=unordered,late", unordered), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=late", ordered), 0);
}

static void empty(void)
{
    open_gpu();
    test_client_collect();
    assert_int_equal(test_client.empty_count, 1);
    assert_int_equal(test_client.requested_count, test_client.completed_count);
}

static void buffers_can_come_back_without_a_record(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=empty", empty), 0);
}

static void give_null(void)
{
    open_gpu();
    test_client.gives_null = true;
    test_enable(KERNEL);
    launch(1);
}

static void without_a_buffer_libraries_before_12_9_crash(void **state)
{
    int status;

    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=27", give_null), 0);
    status = test_child("SIMGPU_CUPTI_VERSION=26", give_null);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    status = test_child("SIMGPU_CUPTI_MODE=null-aborts", give_null);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void unload(void)
{
    char before[32];

    open_gpu();
    test_enable(KERNEL);
    launch(1);
    test_client_collect();
    snprintf(before, sizeof(before), "%s", kernel(0)->name);
    assert_cuda(cuModuleUnload(gpu->module));
    assert_string_equal(before, "test_kernel");
}

static void stale_names(void)
{
    unload();
    assert_string_equal(kernel(0)->name, "???????????");
    open_gpu(); /* the module again */
    test_enable(KERNEL);
    launch(1);
    test_client_collect();
    assert_string_equal(kernel(0)->name, "test_kernel");
}

static void good_names(void)
{
    unload();
    assert_string_equal(kernel(0)->name, "test_kernel");
}

static void names_can_go_with_their_module(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=stale-names", stale_names), 0);
    assert_int_equal(test_child("", good_names), 0);
}

/* A buffer with two records, as a client would walk it. */
static _Alignas(8) uint8_t buffer[512];
static const size_t VALID_BYTES = 2 * sizeof(CUpti_ActivityAPI);

static size_t walk(size_t offsets[4])
{
    CUpti_Activity *record = NULL;
    size_t count = 0;

    ((CUpti_ActivityAPI *)(void *)buffer)[0].kind = CUPTI_ACTIVITY_KIND_DRIVER;
    ((CUpti_ActivityAPI *)(void *)buffer)[1].kind = CUPTI_ACTIVITY_KIND_DRIVER;
    while (count < 4 && cuptiActivityGetNextRecord(buffer, VALID_BYTES, &record) == CUPTI_SUCCESS &&
           record)
        offsets[count++] = (size_t)((uint8_t *)record - buffer);
    return count;
}

static void walk_well(void)
{
    size_t offsets[4] = {0};

    assert_int_equal(walk(offsets), 2);
    assert_int_equal(offsets[1], sizeof(CUpti_ActivityAPI));
}

static void walk_endlessly(void)
{
    size_t offsets[4] = {0};

    assert_int_equal(walk(offsets), 4);
    assert_int_equal(offsets[3], 0);
}

static void walk_misaligned(void)
{
    size_t offsets[4] = {0};

    assert_int_equal(walk(offsets), 4);
    assert_int_equal(offsets[0], 1);
    assert_int_equal(offsets[3], 4);
}

static void walk_beyond(void)
{
    size_t offsets[4] = {0};

    assert_true(walk(offsets) >= 3);
    assert_int_equal(offsets[2], VALID_BYTES);
}

static void walk_nowhere(void)
{
    CUpti_Activity *record = (CUpti_Activity *)(void *)buffer;

    assert_int_equal(cuptiActivityGetNextRecord(buffer, VALID_BYTES, &record), CUPTI_SUCCESS);
    assert_null(record);
}

static void a_walk_can_lead_astray(void **state)
{
    (void)state;
    assert_int_equal(test_child("", walk_well), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=endless", walk_endlessly), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=misaligned", walk_misaligned), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=beyond", walk_beyond), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=no-record", walk_nowhere), 0);
}

static void give(uint8_t **data, size_t *bytes, size_t *record_max)
{
    *data = buffer;
    *bytes = sizeof(buffer);
    *record_max = 0;
}

static void check_too_valid(CUcontext context, uint32_t stream_id, uint8_t *data, size_t bytes,
                            size_t valid_bytes)
{
    (void)context;
    (void)stream_id;
    _exit(data == buffer && valid_bytes > bytes ? 0 : 1);
}

static void too_valid(void)
{
    open_gpu();
    assert_int_equal(cuptiActivityRegisterCallbacks(give, check_too_valid), CUPTI_SUCCESS);
    test_enable(KERNEL);
    launch(1);
    assert_cuda(cuCtxSynchronize());
    cuptiActivityFlushAll(0);
    _exit(2); /* nothing came */
}

static void more_bytes_can_be_valid_than_there_are(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=too-valid", too_valid), 0);
}

static void answer(CUptiResult wanted)
{
    uint32_t version;
    size_t dropped;

    assert_int_equal(cuptiActivityEnable(KERNEL), wanted);
    assert_int_equal(cuptiActivityFlushAll(0), wanted);
    assert_int_equal(cuptiActivityFlushPeriod(100), wanted);
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), wanted);
    wanted = wanted == CUPTI_ERROR_UNKNOWN && getenv("SIMGPU_ALL") ? wanted : CUPTI_SUCCESS;
    assert_int_equal(cuptiGetVersion(&version), wanted);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), wanted);
    assert_int_equal(test_client_register(&test_client), wanted);
}

static void answer_unknown(void)
{
    answer(CUPTI_ERROR_UNKNOWN);
}

static void answer_not_initialized(void)
{
    answer(CUPTI_ERROR_NOT_INITIALIZED);
}

static void calls_can_fail(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=no-gpu", answer_unknown), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=not-initialized", answer_not_initialized), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=errors SIMGPU_ALL=1", answer_unknown), 0);
}

static size_t count_calls_of_launch(bool is_before)
{
    if (is_before)
        cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1);
    open_gpu(); /* switches it off */
    cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1);
    launch(1);
    test_client_collect();
    return test_client_count(&test_client, CUPTI_ACTIVITY_KIND_DRIVER);
}

static void calls_before_the_context(void)
{
    assert_int_equal(count_calls_of_launch(true), 1);
}

static void calls_after_the_context(void)
{
    assert_int_equal(count_calls_of_launch(false), 0);
    test_enable(CUPTI_ACTIVITY_KIND_DRIVER); /* the whole kind comes at any time */
    launch(1);
    test_client_collect();
    assert_true(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_DRIVER) > 0);
}

static void single_calls_can_be_too_late(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=first-context", calls_before_the_context), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_MODE=first-context", calls_after_the_context), 0);
}

/* A buffer that is not full stays, however often the period is over. */
static void periodic(void)
{
    open_gpu();
    test_enable(KERNEL);
    assert_int_equal(cuptiActivityFlushPeriod(1), CUPTI_SUCCESS);
    launch(BUFFER_KERNELS + 1);
    assert_cuda(cuCtxSynchronize());
    while (completed_count() < 1)
        usleep(1000);
    usleep(20000); /* time enough for what must not happen */
    assert_int_equal(completed_count(), 1);
    test_client_collect();
    assert_int_equal(completed_count(), 2);
}

static void a_period_flushes_full_buffers_only(void **state)
{
    (void)state;
    assert_int_equal(test_child("", periodic), 0);
}

static uint64_t client_clock(void)
{
    return 5000000000ull;
}

static void own_clock(void)
{
    open_gpu();
    assert_int_equal(cuptiActivityRegisterTimestampCallback(client_clock), CUPTI_SUCCESS);
    test_enable(KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_DRIVER);
    launch(1);
    test_client_collect();
    assert_true(kernel(0)->start > 0 && kernel(0)->start < client_clock());
    assert_true(test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api.start < client_clock());
    assert_int_equal(cuptiActivityRegisterTimestampCallback(client_clock), CUPTI_SUCCESS);
    launch(2);
    test_client_collect();
    assert_int_equal(kernel(1)->start, 0);
    assert_true(kernel(2)->start > 0);
}

static void a_clock_registered_twice_spoils_a_record(void **state)
{
    (void)state;
    assert_int_equal(test_child("", own_clock), 0);
}

static void finalize(void)
{
    open_gpu();
    test_enable(KERNEL);
    launch(1);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiFinalize(), CUPTI_SUCCESS);
    assert_int_equal(test_client.completed_count, 1);
    launch(1);
    test_enable(KERNEL); /* but nobody gives buffers any more */
    launch(1);
    test_client_collect();
    assert_int_equal(test_client.requested_count, 1);
    assert_int_equal(test_client_register(&test_client), CUPTI_SUCCESS);
    launch(1);
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, KERNEL), 2);
}

static void finalizing_ends_it_for_everybody(void **state)
{
    (void)state;
    assert_int_equal(test_child("", finalize), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_can_be_missing_or_garbage),
        cmocka_unit_test(graphs_can_use_up_the_device_buffers_until_kinds_were_off),
        cmocka_unit_test(full_buffers_can_come_late),
        cmocka_unit_test(buffers_can_come_newest_first),
        cmocka_unit_test(buffers_can_come_back_without_a_record),
        cmocka_unit_test(without_a_buffer_libraries_before_12_9_crash),
        cmocka_unit_test(names_can_go_with_their_module),
        cmocka_unit_test(a_walk_can_lead_astray),
        cmocka_unit_test(more_bytes_can_be_valid_than_there_are),
        cmocka_unit_test(calls_can_fail),
        cmocka_unit_test(single_calls_can_be_too_late),
        cmocka_unit_test(a_period_flushes_full_buffers_only),
        cmocka_unit_test(a_clock_registered_twice_spoils_a_record),
        cmocka_unit_test(finalizing_ends_it_for_everybody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
