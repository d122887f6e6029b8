/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI: which records come, when, and in whose buffers. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull

static void a_kernel_record_has_its_times_and_its_launch(void **state)
{
    const CUpti_ActivityKernel4 *kernel = &test_client.kept[0].kernel;
    const CUpti_ActivityAPI *launch = &test_client.kept[1].api;

    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_DRIVER);
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 3 * MS));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_true(test_client.kept_count >= 2); /* cuCtxSynchronize is there too */
    assert_int_equal(kernel->kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_int_equal(launch->kind, CUPTI_ACTIVITY_KIND_DRIVER);
    assert_int_equal(launch->cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_string_equal(kernel->name, "test_kernel");
    assert_int_equal(kernel->end - kernel->start, 3 * MS);
    assert_int_equal(kernel->gridX, 8);
    assert_int_equal(kernel->blockX, 128);
    assert_int_equal(kernel->streamId, 7);
    assert_true(kernel->correlationId != 0);
    assert_int_equal(kernel->correlationId, launch->correlationId);
    assert_true(launch->start <= launch->end);
    assert_true(launch->start < kernel->start);
    assert_int_equal(launch->threadId, (uint32_t)gettid());
    assert_int_equal(launch->processId, (uint32_t)getpid());
}

static void without_api_records_there_is_no_correlation(void **state)
{
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.kept_count, 1);
    assert_int_equal(test_client.kept[0].kernel.correlationId, 0);
}

static void single_calls_can_be_recorded(void **state)
{
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 0),
                     CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.kept_count, 1);
    assert_int_equal(test_client.kept[0].api.cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
}

static void copies_and_sets_say_what_they_were(void **state)
{
    static char host[4096];
    const CUpti_ActivityMemcpy *copy;
    const CUpti_ActivityMemset *set;
    CUdeviceptr device;

    (void)state;
    assert_cuda(cuMemAlloc(&device, sizeof(host)));
    test_enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    test_enable(CUPTI_ACTIVITY_KIND_MEMSET);
    assert_cuda(cuMemcpyDtoH(host, device, sizeof(host)));
    assert_cuda(cuMemsetD8Async(device, 5, 100, NULL));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_cuda(cuMemFree(device));
    assert_int_equal(test_client.kept_count, 2);
    copy = &test_client.kept[0].copy;
    assert_int_equal(copy->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(copy->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(copy->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(copy->flags, 0);
    assert_int_equal(copy->bytes, sizeof(host));
    set = &test_client.kept[1].set;
    assert_int_equal(set->kind, CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(set->value, 5);
    assert_int_equal(set->bytes, 100);
    assert_true(set->start >= copy->end);
}

static void waiting_is_recorded_with_its_length(void **state)
{
    const CUpti_ActivitySynchronization *sync;

    test_enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    assert_cuda(test_gpu_launch(*state, NULL, 5 * MS));
    assert_cuda(cuStreamSynchronize(NULL));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.kept_count, 1);
    sync = &test_client.kept[0].sync;
    assert_int_equal(sync->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    assert_int_equal(sync->streamId, 7);
    assert_true(sync->end >= sync->start);
}

static void work_under_way_holds_back_its_buffer_until_it_is_forced(void **state)
{
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_hold(*state, NULL));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.completed_count, 0);
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(test_client.kept_count, 1);
    assert_int_equal(test_client.kept[0].kernel.start, 0);
    assert_int_equal(test_client.kept[0].kernel.end, 0);
    test_gpu_let_go();
    assert_cuda(cuCtxSynchronize()); /* its completion finds no buffer, and writes nowhere */
}

static void full_buffers_come_back_by_themselves(void **state)
{
    size_t completed_count = 0;

    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 100; i++)
        assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    while (completed_count < 5) { /* 18 records of 216 bytes fill one of 4096 */
        usleep(1000);
        pthread_mutex_lock(&test_client.lock);
        completed_count = test_client.completed_count;
        pthread_mutex_unlock(&test_client.lock);
    }
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.kept_count, 100);
    assert_int_equal(test_client.completed_count, test_client.requested_count);
}

static void *launch_on_another_thread(void *arg)
{
    const struct test_gpu *gpu = arg;

    if (cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS)
        test_gpu_launch(gpu, NULL, 1000);
    return NULL;
}

static void each_thread_asks_for_a_buffer_of_its_own(void **state)
{
    pthread_t thread;

    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_true(pthread_equal(test_client.last_requester, pthread_self()));
    assert_int_equal(pthread_create(&thread, NULL, launch_on_another_thread, *state), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(pthread_equal(test_client.last_requester, thread));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.completed_count, 2);
    assert_int_equal(test_client.kept_count, 2);
}

static void no_buffer_means_dropped_and_counted(void **state)
{
    size_t dropped;

    test_client.gives_null = true;
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 3; i++)
        assert_cuda(test_gpu_launch(*state, NULL, 1000));
    test_client.gives_null = false;
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 3);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
}

static void another_client_takes_everything_over(void **state)
{
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_int_equal(test_client_register(&test_thief), CUPTI_SUCCESS);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(test_client.requested_count, 1);
    assert_int_equal(test_client.completed_count, 0);
    assert_int_equal(test_client_count(&test_thief, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

static void ignore(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                   const void *data)
{
    (void)userdata;
    (void)domain;
    (void)cbid;
    (void)data;
}

static void there_is_one_subscriber(void **state)
{
    CUpti_SubscriberHandle one;
    CUpti_SubscriberHandle two;

    (void)state;
    assert_int_equal(cuptiSubscribe(&one, ignore, NULL), CUPTI_SUCCESS);
    assert_int_equal(cuptiSubscribe(&two, ignore, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(cuptiUnsubscribe(one), CUPTI_SUCCESS);
    assert_int_equal(cuptiSubscribe(&two, ignore, NULL), CUPTI_SUCCESS);
    assert_int_equal(cuptiUnsubscribe(two), CUPTI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_kernel_record_has_its_times_and_its_launch, test_client_setup),
        cmocka_unit_test_setup(without_api_records_there_is_no_correlation, test_client_setup),
        cmocka_unit_test_setup(single_calls_can_be_recorded, test_client_setup),
        cmocka_unit_test_setup(copies_and_sets_say_what_they_were, test_client_setup),
        cmocka_unit_test_setup(waiting_is_recorded_with_its_length, test_client_setup),
        cmocka_unit_test_setup(work_under_way_holds_back_its_buffer_until_it_is_forced,
                               test_client_setup),
        cmocka_unit_test_setup(full_buffers_come_back_by_themselves, test_client_setup),
        cmocka_unit_test_setup(each_thread_asks_for_a_buffer_of_its_own, test_client_setup),
        cmocka_unit_test_setup(no_buffer_means_dropped_and_counted, test_client_setup),
        cmocka_unit_test_setup(another_client_takes_everything_over, test_client_setup),
        cmocka_unit_test_setup(there_is_one_subscriber, test_client_setup),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
