/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI: memory taken and given back, and the overhead that is asked for. */

#include <cuda.h>
#include <cupti.h>
#include <unistd.h>

#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull
#define NO_STREAM UINT32_MAX

static const CUpti_ActivityMemory2 *operation(size_t n)
{
    return &test_client_record(CUPTI_ACTIVITY_KIND_MEMORY2, n)->memory;
}

static void assert_pair(const CUpti_ActivityMemory2 *taken, const CUpti_ActivityMemory2 *released,
                        uint64_t address, uint64_t bytes)
{
    assert_int_equal(taken->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
    assert_int_equal(released->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    assert_int_equal(taken->memoryKind, released->memoryKind);
    assert_int_equal(taken->address, address);
    assert_int_equal(released->address, address);
    assert_int_equal(taken->bytes, bytes);
    assert_int_equal(released->bytes, bytes);
    assert_true(taken->timestamp > 0);
    assert_true(taken->timestamp <= released->timestamp);
}

static void device_memory_is_told_when_taken_and_given_back(void **state)
{
    CUdeviceptr address;
    const CUpti_ActivityAPI *call;

    (void)state;
    test_enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    test_enable(CUPTI_ACTIVITY_KIND_DRIVER);
    assert_cuda(cuMemAlloc(&address, 1000));
    assert_cuda(cuMemFree(address));
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_MEMORY2), 2);
    assert_pair(operation(0), operation(1), address, 1000);
    assert_int_equal(operation(0)->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(operation(0)->isAsync, 0);
    assert_int_equal(operation(0)->streamId, NO_STREAM);
    assert_int_equal(operation(0)->processId, (uint32_t)getpid());
    call = &test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api;
    assert_int_equal(call->cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
    assert_int_equal(call->correlationId, operation(0)->correlationId);
    assert_true(call->start <= operation(0)->timestamp && operation(0)->timestamp <= call->end);
}

static void giving_back_waits_for_the_device(void **state)
{
    CUdeviceptr address;
    const CUpti_ActivityAPI *call;
    const CUpti_ActivityKernel4 *kernel;

    assert_cuda(cuMemAlloc(&address, 1000));
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, 1),
                     CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 5 * MS));
    assert_cuda(cuMemFree(address));
    test_client_collect();
    call = &test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api;
    kernel = &test_client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel;
    assert_true(call->start < kernel->end);
    assert_true(call->end >= kernel->end);
}

static void memory_of_the_pool_names_its_stream(void **state)
{
    CUdeviceptr address;
    CUstream stream;

    (void)state;
    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    test_enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    assert_cuda(cuMemAllocAsync(&address, 512, stream));
    assert_cuda(cuMemFreeAsync(address, stream));
    assert_int_equal(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    test_client_collect();
    assert_cuda(cuStreamDestroy(stream));
    assert_int_equal(test_client.kept_count, 2);
    assert_pair(operation(0), operation(1), address, 512);
    assert_int_equal(operation(0)->isAsync, 1);
    assert_true(operation(0)->streamId >= 14 && operation(0)->streamId != NO_STREAM);
    assert_int_equal(operation(1)->streamId, operation(0)->streamId);
    assert_int_equal(operation(0)->memoryPoolConfig.memoryPoolType,
                     CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
}

static void pinned_host_memory_is_told_too(void **state)
{
    void *address;

    (void)state;
    test_enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    assert_cuda(cuMemHostAlloc(&address, 100, 0));
    assert_cuda(cuMemFreeHost(address));
    test_client_collect();
    assert_int_equal(test_client.kept_count, 2);
    assert_pair(operation(0), operation(1), (uint64_t)(uintptr_t)address, 100);
    assert_int_equal(operation(0)->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
}

static void nothing_of_memory_is_told_unless_asked_for(void **state)
{
    CUdeviceptr address;

    (void)state;
    test_enable(CUPTI_ACTIVITY_KIND_MEMSET);
    assert_cuda(cuMemAlloc(&address, 1000));
    assert_cuda(cuMemFree(address));
    test_client_collect();
    assert_int_equal(test_client.kept_count, 0);
}

static size_t count_overhead(CUpti_ActivityOverheadKind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < test_client.kept_count; i++)
        count += test_client.kept[i].head.kind == CUPTI_ACTIVITY_KIND_OVERHEAD &&
                 test_client.kept[i].overhead.overheadKind == kind;
    return count;
}

static void overhead_of_the_driver_and_the_library_is_told_when_asked_for(void **state)
{
    static const char PTX[] = ".version 6.0\n.target sm_50\n.visible .entry fresh()\n{ ret; }\n";
    const CUpti_ActivityOverhead *overhead;
    CUfunction function;
    CUmodule module;

    (void)state;
    test_enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
    assert_cuda(cuModuleLoadData(&module, PTX));
    assert_cuda(cuModuleGetFunction(&function, module, "fresh"));
    for (int i = 0; i < 2; i++)
        assert_cuda(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    test_client_collect(); /* its own overhead comes into the next buffer */
    test_client_collect();
    assert_int_equal(count_overhead(CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER), 1);
    assert_int_equal(count_overhead(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING), 1);
    assert_int_equal(count_overhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST), 2);
    assert_int_equal(count_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH), 1);
    overhead = &test_client_record(CUPTI_ACTIVITY_KIND_OVERHEAD, 0)->overhead;
    assert_int_equal(overhead->objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
    assert_int_equal(overhead->objectId.pt.threadId, (uint32_t)gettid());
    assert_true(overhead->start > 0 && overhead->start <= overhead->end);
    assert_cuda(cuModuleUnload(module));
}

/* The host is ahead of the device by as many launches as the device takes. */
static void a_full_launch_queue_is_overhead(void **state)
{
    test_enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    for (int i = 0; i < 1024 + 8; i++)
        assert_cuda(test_gpu_launch(*state, NULL, i == 0 ? 50 * MS : 1000));
    test_client_collect();
    assert_true(count_overhead(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(device_memory_is_told_when_taken_and_given_back, test_client_setup),
        cmocka_unit_test_setup(giving_back_waits_for_the_device, test_client_setup),
        cmocka_unit_test_setup(memory_of_the_pool_names_its_stream, test_client_setup),
        cmocka_unit_test_setup(pinned_host_memory_is_told_too, test_client_setup),
        cmocka_unit_test_setup(nothing_of_memory_is_told_unless_asked_for, test_client_setup),
        cmocka_unit_test_setup(overhead_of_the_driver_and_the_library_is_told_when_asked_for,
                               test_client_setup),
        cmocka_unit_test_setup(a_full_launch_queue_is_overhead, test_client_setup),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
