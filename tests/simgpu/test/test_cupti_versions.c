/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI as the libraries of CUDA 11.8 to 13.3: lengths of records, whose buffer a
 * record goes to, which calls there are, and under which names it is built. */

#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/simgpu/test/child.h"
#include "tests/simgpu/test/client.h"
#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#ifndef SIMGPU_FOLDER
#error "the build says where the stand-ins are"
#endif

/* How far the records of a buffer are apart, by kind. */
static size_t strides[64];

static void give(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    *buffer = aligned_alloc(8, TEST_BUFFER_BYTES);
    *bytes = TEST_BUFFER_BYTES;
    *record_max = 0;
}

static void measure(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                    size_t valid_bytes)
{
    CUpti_Activity *record = NULL;
    CUpti_Activity *before = NULL;

    (void)context;
    (void)stream_id;
    (void)bytes;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        if (before)
            strides[before->kind] = (size_t)((uint8_t *)record - (uint8_t *)before);
        before = record;
    }
    free(buffer);
}

static struct test_gpu *open_gpu(void)
{
    void *state = NULL;

    assert_int_equal(test_gpu_setup(&state), 0);
    return state;
}

static const struct {
    uint32_t version;
    size_t kernel_bytes;
    size_t copy_bytes;
    size_t sync_bytes;
    size_t memory_bytes;
} VERSIONS[] = {
    {18, 200, 88, 40, 120},     /* 11.8 */
    {19, 208, 88, 40, 120},     /* 12.0 */
    {22, 208, 88, 40, 120},     /* 12.4 */
    {26, 208, 96, 56, 128},     /* 12.8 */
    {130001, 216, 96, 56, 128}, /* 13.0 */
    {130300, 232, 96, 56, 128}, /* 13.3, assumed */
};

static void measure_strides(void)
{
    static char host[16];
    const struct test_gpu *gpu = open_gpu();
    CUdeviceptr device;

    assert_int_equal(cuptiActivityRegisterCallbacks(give, measure), CUPTI_SUCCESS);
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    test_enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    test_enable(CUPTI_ACTIVITY_KIND_MEMORY2);
    test_enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    assert_cuda(cuMemAlloc(&device, sizeof(host)));
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    assert_cuda(cuMemcpyHtoDAsync(device, host, sizeof(host), NULL));
    assert_cuda(cuStreamSynchronize(NULL));
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    test_client_collect();
}

static void check_strides(void)
{
    uint32_t version;

    measure_strides();
    assert_int_equal(cuptiGetVersion(&version), CUPTI_SUCCESS);
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        if (VERSIONS[i].version != version)
            continue;
        assert_int_equal(strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], VERSIONS[i].kernel_bytes);
        assert_int_equal(strides[CUPTI_ACTIVITY_KIND_MEMCPY], VERSIONS[i].copy_bytes);
        assert_int_equal(strides[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION], VERSIONS[i].sync_bytes);
        assert_int_equal(strides[CUPTI_ACTIVITY_KIND_MEMORY2], VERSIONS[i].memory_bytes);
        return;
    }
    fail_msg("version %u is none of those asked for", version);
}

static void records_are_as_long_as_the_version_writes_them(void **state)
{
    char environment[64];

    (void)state;
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        snprintf(environment, sizeof(environment), "SIMGPU_CUPTI_VERSION=%u", VERSIONS[i].version);
        assert_int_equal(test_child(environment, check_strides), 0);
    }
}

static void *launch_one(void *arg)
{
    const struct test_gpu *gpu = arg;

    if (cuCtxSetCurrent(gpu->context) == CUDA_SUCCESS)
        test_gpu_launch(gpu, NULL, 1000);
    return NULL;
}

/* How many buffers two threads need for one record each. */
static size_t count_buffers(void)
{
    struct test_gpu *gpu = open_gpu();
    pthread_t thread;

    test_client_setup(NULL);
    test_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(gpu, NULL, 1000));
    assert_int_equal(pthread_create(&thread, NULL, launch_one, gpu), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    test_client_collect();
    assert_int_equal(test_client.kept_count, 2);
    return test_client.requested_count;
}

static CUptiResult set_per_thread(uint8_t is_on)
{
    size_t bytes = sizeof(is_on);

    return cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes,
                                     &is_on);
}

static void two_buffers(void)
{
    assert_int_equal(count_buffers(), 2);
}

static void one_buffer(void)
{
    assert_int_equal(count_buffers(), 1);
}

static void two_buffers_when_asked_for(void)
{
    uint8_t value = 0;
    size_t bytes = sizeof(value);

    assert_int_equal(set_per_thread(1), CUPTI_SUCCESS);
    assert_int_equal(
        cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &value),
        CUPTI_SUCCESS);
    assert_int_equal(value, 1);
    assert_int_equal(count_buffers(), 2);
}

static void one_buffer_when_asked_for(void)
{
    assert_int_equal(set_per_thread(0), CUPTI_SUCCESS);
    assert_int_equal(count_buffers(), 1);
}

static void no_such_attribute(void)
{
    assert_int_equal(set_per_thread(1), CUPTI_ERROR_INVALID_PARAMETER);
    assert_int_equal(count_buffers(), 1);
}

static void all_threads_share_a_buffer_before_13_unless_asked(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=130001", two_buffers), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=26", one_buffer), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=26", two_buffers_when_asked_for), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=130001", one_buffer_when_asked_for), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=20", no_such_attribute), 0);
}

static void single_calls_are_not_there(void)
{
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_ERROR_NOT_SUPPORTED);
}

static void single_calls_are_there(void)
{
    assert_int_equal(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1),
                     CUPTI_SUCCESS);
}

static void single_calls_came_with_12_5(void **state)
{
    (void)state;
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=22", single_calls_are_not_there), 0);
    assert_int_equal(test_child("SIMGPU_CUPTI_VERSION=23", single_calls_are_there), 0);
}

/* What a library of the given name says; it is closed again. */
static uint32_t version_of(const char *path, const char *missing)
{
    __typeof__(&cuptiGetVersion) get_version;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    uint32_t version = 0;
    void *symbol;

    assert_non_null(library);
    symbol = dlsym(library, "cuptiGetVersion");
    assert_non_null(symbol);
    memcpy(&get_version, &symbol, sizeof(symbol));
    assert_int_equal(get_version(&version), CUPTI_SUCCESS);
    assert_null(dlsym(library, missing));
    dlclose(library);
    return version;
}

static void each_toolkit_has_a_library_of_its_name(void **state)
{
    (void)state;
    assert_int_equal(version_of(SIMGPU_FOLDER "/cupti12/libcupti.so.12", "cuptiSubscribe_v2"), 26);
    assert_int_equal(
        version_of(SIMGPU_FOLDER "/cupti11.8/libcupti.so.11.8", "cuptiActivityEnableDriverApi"),
        18);
    assert_int_equal(
        version_of(SIMGPU_FOLDER "/cupti-no-walk/libcupti.so.13", "cuptiActivityGetNextRecord"),
        130001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_as_long_as_the_version_writes_them),
        cmocka_unit_test(all_threads_share_a_buffer_before_13_unless_asked),
        cmocka_unit_test(single_calls_came_with_12_5),
        cmocka_unit_test(each_toolkit_has_a_library_of_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
