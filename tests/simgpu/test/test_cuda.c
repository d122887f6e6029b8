/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in driver: order and times of work, waiting, memory. No assertion is on wall time
 * but lower bounds: the model's own times are exact. */

#include <cuda.h>
#include <stdatomic.h>

#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull

static float elapsed_ms(CUevent from, CUevent to)
{
    float ms = -1;

    assert_cuda(cuEventElapsedTime(&ms, from, to));
    return ms;
}

static CUevent new_event(void)
{
    CUevent event;

    assert_cuda(cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

static CUstream new_stream(void)
{
    CUstream stream;

    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static void kernels_of_one_stream_run_one_after_the_other(void **state)
{
    CUstream stream = new_stream();
    CUevent before = new_event();
    CUevent after = new_event();

    assert_cuda(cuEventRecord(before, stream));
    for (int i = 0; i < 3; i++)
        assert_cuda(test_gpu_launch(*state, stream, 2 * MS));
    assert_cuda(cuEventRecord(after, stream));
    assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    assert_int_equal(cuEventQuery(after), CUDA_ERROR_NOT_READY);
    assert_cuda(cuStreamSynchronize(stream));
    assert_cuda(cuStreamQuery(stream));
    assert_true(elapsed_ms(before, after) >= 6.0F);
    assert_cuda(cuEventDestroy(before));
    assert_cuda(cuEventDestroy(after));
    assert_cuda(cuStreamDestroy(stream));
}

/* The second stream's kernel ends before the first one's, though it was launched later. */
static void streams_run_side_by_side(void **state)
{
    CUstream one = new_stream();
    CUstream two = new_stream();
    CUevent one_end = new_event();
    CUevent two_end = new_event();

    assert_cuda(test_gpu_launch(*state, one, 300 * MS));
    assert_cuda(cuEventRecord(one_end, one));
    assert_cuda(test_gpu_launch(*state, two, 1 * MS));
    assert_cuda(cuEventRecord(two_end, two));
    assert_cuda(cuCtxSynchronize());
    assert_true(elapsed_ms(two_end, one_end) > 0);
    assert_cuda(cuEventDestroy(one_end));
    assert_cuda(cuEventDestroy(two_end));
    assert_cuda(cuStreamDestroy(one));
    assert_cuda(cuStreamDestroy(two));
}

static void a_stream_waits_for_the_event_of_another(void **state)
{
    CUstream producer = new_stream();
    CUstream consumer = new_stream();
    CUevent produced = new_event();
    CUevent consumed = new_event();
    CUevent never = new_event();

    assert_cuda(cuStreamWaitEvent(consumer, never, 0)); /* never recorded: no wait */
    assert_cuda(test_gpu_launch(*state, producer, 10 * MS));
    assert_cuda(cuEventRecord(produced, producer));
    assert_cuda(cuStreamWaitEvent(consumer, produced, 0));
    assert_cuda(test_gpu_launch(*state, consumer, 1 * MS));
    assert_cuda(cuEventRecord(consumed, consumer));
    assert_cuda(cuEventSynchronize(consumed));
    assert_true(elapsed_ms(produced, consumed) >= 1.0F);
    assert_cuda(cuEventDestroy(produced));
    assert_cuda(cuEventDestroy(consumed));
    assert_cuda(cuEventDestroy(never));
    assert_cuda(cuStreamDestroy(producer));
    assert_cuda(cuStreamDestroy(consumer));
}

static void copies_of_one_direction_share_an_engine(void **state)
{
    enum {
        BYTES = 50000000
    }; /* 2 ms at 25 GB/s */
    CUstream streams[2] = {new_stream(), new_stream()};
    CUevent ends[2] = {new_event(), new_event()};
    CUdeviceptr to;
    void *from;
    float apart_ms;

    (void)state;
    assert_cuda(cuMemAlloc(&to, BYTES));
    assert_cuda(cuMemHostAlloc(&from, BYTES, 0));
    for (int i = 0; i < 2; i++) {
        assert_cuda(cuMemcpyHtoDAsync(to, from, BYTES, streams[i]));
        assert_cuda(cuEventRecord(ends[i], streams[i]));
    }
    assert_cuda(cuCtxSynchronize());
    apart_ms = elapsed_ms(ends[0], ends[1]);
    assert_true(apart_ms >= 2.0F || apart_ms <= -2.0F);
    for (int i = 0; i < 2; i++) {
        assert_cuda(cuEventDestroy(ends[i]));
        assert_cuda(cuStreamDestroy(streams[i]));
    }
    assert_cuda(cuMemFreeHost(from));
    assert_cuda(cuMemFree(to));
}

static void a_copy_from_pageable_memory_is_over_when_the_call_returns(void **state)
{
    static char from[1 << 20];
    CUstream stream = new_stream();
    CUdeviceptr to;

    (void)state;
    assert_cuda(cuMemAlloc(&to, sizeof(from)));
    assert_cuda(cuMemcpyHtoDAsync(to, from, sizeof(from), stream));
    assert_cuda(cuStreamQuery(stream));
    assert_cuda(cuMemFree(to));
    assert_cuda(cuStreamDestroy(stream));
}

static void memory_that_is_not_allocated_is_refused(void **state)
{
    char host[16];
    CUdeviceptr block;
    CUdeviceptr huge;

    (void)state;
    assert_cuda(cuMemAlloc(&block, 1024));
    assert_int_equal(cuMemcpyHtoD(block + 1020, host, sizeof(host)), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFree(block + 8), CUDA_ERROR_INVALID_VALUE);
    assert_cuda(cuMemFree(block));
    assert_int_equal(cuMemFree(block), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuMemAlloc(&huge, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
}

static void a_launch_that_is_wrong_is_refused(void **state)
{
    const struct test_gpu *gpu = *state;
    CUmodule module;
    CUfunction function;

    assert_int_equal(cuLaunchKernel(gpu->kernel, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuLaunchKernel(gpu->kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE); /* its duration is missing */
    assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(cuModuleGetFunction(&function, gpu->module, "absent"), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(cuModuleLoadData(&module, "\x7f"
                                               "ELF"),
                     CUDA_ERROR_INVALID_IMAGE);
    assert_cuda(cuLaunchKernel(gpu->other_kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    assert_cuda(cuCtxSynchronize());
}

static void count_call(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static void a_host_function_runs_in_its_place(void **state)
{
    CUstream stream = new_stream();
    _Atomic int count = 0;

    assert_cuda(test_gpu_launch(*state, stream, 20 * MS));
    assert_cuda(cuLaunchHostFunc(stream, count_call, &count));
    assert_cuda(cuStreamSynchronize(stream));
    assert_int_equal(atomic_load(&count), 1);
    assert_cuda(cuStreamDestroy(stream));
}

static void a_full_stream_makes_the_caller_wait(void **state)
{
    CUstream stream = new_stream();

    for (int i = 0; i < 3000; i++)
        assert_cuda(test_gpu_launch(*state, stream, 1000));
    assert_cuda(cuStreamSynchronize(stream));
    assert_cuda(cuStreamDestroy(stream));
}

static void calls_are_found_by_name(void **state)
{
    CUdriverProcAddressQueryResult status;
    void *address;

    (void)state;
    assert_cuda(cuGetProcAddress("cuMemAlloc", &address, 13000, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_int_equal((uintptr_t)address, (uintptr_t)cuMemAlloc);
    assert_cuda(cuGetProcAddress("cuGraphInstantiate", &address, 13000, 0, NULL));
    assert_non_null(address);
    assert_int_equal(cuGetProcAddress("cuNothing", &address, 13000, 0, &status),
                     CUDA_ERROR_NOT_FOUND);
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_of_one_stream_run_one_after_the_other),
        cmocka_unit_test(streams_run_side_by_side),
        cmocka_unit_test(a_stream_waits_for_the_event_of_another),
        cmocka_unit_test(copies_of_one_direction_share_an_engine),
        cmocka_unit_test(a_copy_from_pageable_memory_is_over_when_the_call_returns),
        cmocka_unit_test(memory_that_is_not_allocated_is_refused),
        cmocka_unit_test(a_launch_that_is_wrong_is_refused),
        cmocka_unit_test(a_host_function_runs_in_its_place),
        cmocka_unit_test(a_full_stream_makes_the_caller_wait),
        cmocka_unit_test(calls_are_found_by_name),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
