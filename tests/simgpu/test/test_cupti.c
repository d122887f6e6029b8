/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in CUPTI: which records come, when, and in whose buffers. */

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull
#define BUFFER_BYTES 4096u
#define KEPT_MAX 256

/* A client that keeps a copy of each record of its own. */
struct client {
    pthread_mutex_t lock; /* guards all below */
    size_t requested_count;
    size_t completed_count;
    pthread_t last_requester;
    size_t kept_count;
    union {
        CUpti_Activity head;
        CUpti_ActivityKernel4 kernel;
        CUpti_ActivityMemcpy copy;
        CUpti_ActivityMemset set;
        CUpti_ActivityAPI api;
        CUpti_ActivitySynchronization sync;
    } kept[KEPT_MAX];
};

static struct client client = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct client thief = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool gives_null; /* only the test's own thread makes records while it is set */

static void give_buffer(struct client *to, uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    *buffer = gives_null ? NULL : aligned_alloc(8, BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *record_max = 0;
    pthread_mutex_lock(&to->lock);
    to->requested_count++;
    to->last_requester = pthread_self();
    pthread_mutex_unlock(&to->lock);
}

static void take_buffer(struct client *to, uint8_t *buffer, size_t valid_bytes)
{
    CUpti_Activity *record = NULL;

    pthread_mutex_lock(&to->lock);
    to->completed_count++;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        if (to->kept_count < KEPT_MAX)
            memcpy(&to->kept[to->kept_count++], record, sizeof(to->kept[0]));
    }
    pthread_mutex_unlock(&to->lock);
    free(buffer);
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    give_buffer(&client, buffer, bytes, record_max);
}

static void completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    (void)context;
    (void)stream_id;
    (void)bytes;
    take_buffer(&client, buffer, valid_bytes);
}

static void thief_requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    give_buffer(&thief, buffer, bytes, record_max);
}

static void thief_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                            size_t valid_bytes)
{
    (void)context;
    (void)stream_id;
    (void)bytes;
    take_buffer(&thief, buffer, valid_bytes);
}

static size_t count_kind(const struct client *from, CUpti_ActivityKind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < from->kept_count; i++)
        count += from->kept[i].head.kind == kind;
    return count;
}

static void forget(struct client *who)
{
    pthread_mutex_lock(&who->lock);
    who->requested_count = 0;
    who->completed_count = 0;
    who->kept_count = 0;
    pthread_mutex_unlock(&who->lock);
}

/* Every test begins with everything off, no buffer out and our own client in place. */
static int start_clean(void **state)
{
    static const CUpti_ActivityKind KINDS[] = {
        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DRIVER,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    size_t dropped;

    (void)state;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        assert_int_equal(cuptiActivityDisable(KINDS[i]), CUPTI_SUCCESS);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityRegisterCallbacks(requested, completed), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    forget(&client);
    forget(&thief);
    return 0;
}

static void enable(CUpti_ActivityKind kind)
{
    assert_int_equal(cuptiActivityEnable(kind), CUPTI_SUCCESS);
}

static void a_kernel_record_has_its_times_and_its_launch(void **state)
{
    const CUpti_ActivityKernel4 *kernel = &client.kept[0].kernel;
    const CUpti_ActivityAPI *launch = &client.kept[1].api;

    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    enable(CUPTI_ACTIVITY_KIND_DRIVER);
    assert_int_equal(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
    assert_cuda(test_gpu_launch(*state, NULL, 3 * MS));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_true(client.kept_count >= 2); /* cuCtxSynchronize is there too */
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
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.kept_count, 1);
    assert_int_equal(client.kept[0].kernel.correlationId, 0);
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
    assert_int_equal(client.kept_count, 1);
    assert_int_equal(client.kept[0].api.cbid, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
}

static void copies_and_sets_say_what_they_were(void **state)
{
    static char host[4096];
    const CUpti_ActivityMemcpy *copy;
    const CUpti_ActivityMemset *set;
    CUdeviceptr device;

    (void)state;
    assert_cuda(cuMemAlloc(&device, sizeof(host)));
    enable(CUPTI_ACTIVITY_KIND_MEMCPY);
    enable(CUPTI_ACTIVITY_KIND_MEMSET);
    assert_cuda(cuMemcpyDtoH(host, device, sizeof(host)));
    assert_cuda(cuMemsetD8Async(device, 5, 100, NULL));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_cuda(cuMemFree(device));
    assert_int_equal(client.kept_count, 2);
    copy = &client.kept[0].copy;
    assert_int_equal(copy->copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(copy->srcKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    assert_int_equal(copy->dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    assert_int_equal(copy->flags, 0);
    assert_int_equal(copy->bytes, sizeof(host));
    set = &client.kept[1].set;
    assert_int_equal(set->kind, CUPTI_ACTIVITY_KIND_MEMSET);
    assert_int_equal(set->value, 5);
    assert_int_equal(set->bytes, 100);
    assert_true(set->start >= copy->end);
}

static void waiting_is_recorded_with_its_length(void **state)
{
    const CUpti_ActivitySynchronization *sync;

    enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    assert_cuda(test_gpu_launch(*state, NULL, 5 * MS));
    assert_cuda(cuStreamSynchronize(NULL));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.kept_count, 1);
    sync = &client.kept[0].sync;
    assert_int_equal(sync->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    assert_int_equal(sync->streamId, 7);
    assert_true(sync->end >= sync->start);
}

static void work_under_way_holds_back_its_buffer_until_it_is_forced(void **state)
{
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 300 * MS));
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.completed_count, 0);
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(client.kept_count, 1);
    assert_int_equal(client.kept[0].kernel.start, 0);
    assert_int_equal(client.kept[0].kernel.end, 0);
    assert_cuda(cuCtxSynchronize()); /* its completion finds no buffer, and writes nowhere */
}

static void full_buffers_come_back_by_themselves(void **state)
{
    size_t completed_count = 0;

    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 100; i++)
        assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_cuda(cuCtxSynchronize());
    while (completed_count < 5) { /* 18 records of 216 bytes fill one of 4096 */
        usleep(1000);
        pthread_mutex_lock(&client.lock);
        completed_count = client.completed_count;
        pthread_mutex_unlock(&client.lock);
    }
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.kept_count, 100);
    assert_int_equal(client.completed_count, client.requested_count);
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

    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_true(pthread_equal(client.last_requester, pthread_self()));
    assert_int_equal(pthread_create(&thread, NULL, launch_on_another_thread, *state), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(pthread_equal(client.last_requester, thread));
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.completed_count, 2);
    assert_int_equal(client.kept_count, 2);
}

static void no_buffer_means_dropped_and_counted(void **state)
{
    size_t dropped;

    gives_null = true;
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    for (int i = 0; i < 3; i++)
        assert_cuda(test_gpu_launch(*state, NULL, 1000));
    gives_null = false;
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 3);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    assert_int_equal(dropped, 0);
}

static void another_client_takes_everything_over(void **state)
{
    enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    assert_cuda(test_gpu_launch(*state, NULL, 1000));
    assert_int_equal(cuptiActivityRegisterCallbacks(thief_requested, thief_completed),
                     CUPTI_SUCCESS);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    assert_int_equal(client.requested_count, 1);
    assert_int_equal(client.completed_count, 0);
    assert_int_equal(count_kind(&thief, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
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
        cmocka_unit_test_setup(a_kernel_record_has_its_times_and_its_launch, start_clean),
        cmocka_unit_test_setup(without_api_records_there_is_no_correlation, start_clean),
        cmocka_unit_test_setup(single_calls_can_be_recorded, start_clean),
        cmocka_unit_test_setup(copies_and_sets_say_what_they_were, start_clean),
        cmocka_unit_test_setup(waiting_is_recorded_with_its_length, start_clean),
        cmocka_unit_test_setup(work_under_way_holds_back_its_buffer_until_it_is_forced,
                               start_clean),
        cmocka_unit_test_setup(full_buffers_come_back_by_themselves, start_clean),
        cmocka_unit_test_setup(each_thread_asks_for_a_buffer_of_its_own, start_clean),
        cmocka_unit_test_setup(no_buffer_means_dropped_and_counted, start_clean),
        cmocka_unit_test_setup(another_client_takes_everything_over, start_clean),
        cmocka_unit_test_setup(there_is_one_subscriber, start_clean),
    };

    return cmocka_run_group_tests(tests, test_gpu_setup, NULL);
}
