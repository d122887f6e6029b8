/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI: what a subscriber is told, calls of the runtime around those of the driver,
 * ids from outside, numbers of streams. */

#include <cuda.h>
#include <cupti.h>

#include "tests/simgpu/hooks.h"
#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define TOLD_MAX 16

static struct {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    CUpti_CallbackData data;
    uint64_t correlation_data;
    CUresult result;
} told[TOLD_MAX];

static size_t told_count;

static void listen(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                   const void *cbdata)
{
    const CUpti_CallbackData *data = cbdata;

    assert_ptr_equal(userdata, told);
    assert_true(told_count < TOLD_MAX);
    if (data->callbackSite == CUPTI_API_ENTER)
        *data->correlationData = 1000 + cbid;
    told[told_count].domain = domain;
    told[told_count].cbid = cbid;
    told[told_count].data = *data;
    told[told_count].correlation_data = *data->correlationData;
    if (data->callbackSite == CUPTI_API_EXIT)
        told[told_count].result = *(CUresult *)data->functionReturnValue;
    told_count++;
}

static CUpti_SubscriberHandle subscribe(void)
{
    CUpti_SubscriberHandle handle;

    told_count = 0;
    assert_int_equal(cuptiSubscribe(&handle, listen, told), CUPTI_SUCCESS);
    return handle;
}

static void a_subscriber_is_told_when_calls_begin_and_end(void **state)
{
    const struct test_gpu *gpu = *state;
    CUpti_SubscriberHandle handle = subscribe();

    assert_int_equal(cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_DRIVER_API,
                                         CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
                     CUPTI_SUCCESS);
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    assert_int_equal(cuLaunchKernel(gpu->kernel, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_INVALID_VALUE);
    test_client_collect(); /* not enabled, so not told */
    assert_int_equal(told_count, 4);
    assert_int_equal(told[0].data.callbackSite, CUPTI_API_ENTER);
    assert_int_equal(told[1].data.callbackSite, CUPTI_API_EXIT);
    assert_string_equal(told[1].data.functionName, "cuLaunchKernel");
    assert_ptr_equal(told[0].data.context, gpu->context);
    assert_int_equal(told[1].correlation_data, 1000 + CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    assert_int_equal(told[1].result, CUDA_SUCCESS);
    assert_int_equal(told[3].result, CUDA_ERROR_INVALID_VALUE);
    assert_true(told[0].data.correlationId != 0);
    assert_int_equal(
        told[0].data.correlationId,
        test_client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.correlationId);
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_DRIVER), 0);
    assert_int_equal(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    assert_int_equal(told_count, 4);
    assert_cuda(cuCtxSynchronize());
}

static void a_whole_domain_can_be_told(void **state)
{
    CUpti_SubscriberHandle handle = subscribe();

    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(told_count, 4);
    assert_int_equal(cuptiEnableDomain(0, handle, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_SUCCESS);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(told_count, 4);
    assert_int_equal(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
}

/* As a program that is linked with the CUDA runtime launches. */
static void a_call_of_the_runtime_has_the_id_of_the_drivers(void **state)
{
    const CUpti_ActivityAPI *runtime;
    const CUpti_ActivityAPI *driver;
    struct simgpu_call call;

    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
    simgpuRuntimeEnter(&call, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    simgpuRuntimeExit(&call, CUDA_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 1000)); /* outside of it: an id of its own */
    test_client_collect();
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_RUNTIME), 1);
    runtime = &test_client_record(CUPTI_ACTIVITY_KIND_RUNTIME, 0)->api;
    driver = &test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api;
    assert_int_equal(runtime->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_int_equal(runtime->correlationId, driver->correlationId);
    assert_true(runtime->start <= driver->start && driver->end <= runtime->end);
    assert_int_equal(
        test_client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.correlationId,
        runtime->correlationId);
    assert_true(test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 1)->api.correlationId !=
                runtime->correlationId);
}

static void calls_of_the_runtime_can_be_told(void **state)
{
    CUpti_SubscriberHandle handle = subscribe();
    struct simgpu_call call;

    assert_int_equal(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
    simgpuRuntimeEnter(&call, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    simgpuRuntimeExit(&call, CUDA_SUCCESS);
    assert_int_equal(told_count, 2);
    assert_int_equal(told[1].domain, CUPTI_CB_DOMAIN_RUNTIME_API);
    assert_string_equal(told[1].data.functionName, "cudaLaunchKernel_v7000");
    assert_int_equal(cuptiUnsubscribe(handle), CUPTI_SUCCESS);
    assert_cuda(cuCtxSynchronize());
}

static void ids_from_outside_are_told_with_each_call(void **state)
{
    const CUpti_ActivityExternalCorrelation *external;
    uint64_t id;

    test_enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
    assert_int_equal(
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77),
        CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_int_equal(
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
        CUPTI_SUCCESS);
    assert_int_equal(id, 77);
    assert_int_equal(
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
        CUPTI_ERROR_QUEUE_EMPTY);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    test_client_collect();
    test_disable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    assert_int_equal(test_client_count(&test_client, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 1);
    external = &test_client_record(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0)->external;
    assert_int_equal(external->externalId, 77);
    assert_int_equal(external->correlationId,
                     test_client_record(CUPTI_ACTIVITY_KIND_DRIVER, 0)->api.correlationId);
}

static void streams_have_the_numbers_of_their_records(void **state)
{
    CUstream stream;
    uint32_t id;

    assert_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, stream, 1000));
    test_client_collect();
    assert_int_equal(cuptiGetStreamIdEx(NULL, stream, 0, &id), CUPTI_SUCCESS);
    assert_int_equal(test_client_record(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0)->kernel.streamId,
                     id);
    assert_true(id >= 14);
    assert_int_equal(cuptiGetStreamIdEx(NULL, NULL, 0, &id), CUPTI_SUCCESS);
    assert_int_equal(id, 7);
    assert_cuda(cuStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_subscriber_is_told_when_calls_begin_and_end, test_client_setup),
        cmocka_unit_test_setup(a_whole_domain_can_be_told, test_client_setup),
        cmocka_unit_test_setup(a_call_of_the_runtime_has_the_id_of_the_drivers, test_client_setup),
        cmocka_unit_test_setup(calls_of_the_runtime_can_be_told, test_client_setup),
        cmocka_unit_test_setup(ids_from_outside_are_told_with_each_call, test_client_setup),
        cmocka_unit_test_setup(streams_have_the_numbers_of_their_records, test_client_setup),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
