/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/test/client.h"

#include <stdlib.h>

#include "tests/simgpu/test/gpu.h"
#include "tests/unit/rkt_test.h"

struct test_client test_client = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct test_client test_thief = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_buffer(struct test_client *client, uint8_t **buffer, size_t *bytes,
                        size_t *record_max)
{
    pthread_mutex_lock(&client->lock);
    *buffer = client->gives_null ? NULL : aligned_alloc(8, TEST_BUFFER_BYTES);
    *bytes = TEST_BUFFER_BYTES;
    *record_max = 0;
    client->requested_count++;
    client->last_requester = pthread_self();
    pthread_mutex_unlock(&client->lock);
}

static void keep(struct test_client *client, const uint8_t *record, const uint8_t *end)
{
    size_t bytes = (size_t)(end - record);

    if (client->kept_count == TEST_KEPT_MAX)
        return;
    memcpy(&client->kept[client->kept_count++], record,
           bytes < sizeof(client->kept[0]) ? bytes : sizeof(client->kept[0]));
}

static void take_buffer(struct test_client *client, uint8_t *buffer, size_t valid_bytes)
{
    CUpti_Activity *record = NULL;

    pthread_mutex_lock(&client->lock);
    client->completed_count++;
    client->empty_count += valid_bytes == 0;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        keep(client, (const uint8_t *)record, buffer + TEST_BUFFER_BYTES);
    pthread_mutex_unlock(&client->lock);
    free(buffer);
}

static void requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    give_buffer(&test_client, buffer, bytes, record_max);
}

static void completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    (void)context;
    (void)stream_id;
    (void)bytes;
    take_buffer(&test_client, buffer, valid_bytes);
}

static void thief_requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    give_buffer(&test_thief, buffer, bytes, record_max);
}

static void thief_completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                            size_t valid_bytes)
{
    (void)context;
    (void)stream_id;
    (void)bytes;
    take_buffer(&test_thief, buffer, valid_bytes);
}

CUptiResult test_client_register(const struct test_client *client)
{
    if (client == &test_client)
        return cuptiActivityRegisterCallbacks(requested, completed);
    return cuptiActivityRegisterCallbacks(thief_requested, thief_completed);
}

void test_client_forget(struct test_client *client)
{
    pthread_mutex_lock(&client->lock);
    client->gives_null = false;
    client->requested_count = 0;
    client->completed_count = 0;
    client->empty_count = 0;
    client->kept_count = 0;
    memset(client->kept, 0, sizeof(client->kept));
    pthread_mutex_unlock(&client->lock);
}

int test_client_setup(void **state)
{
    static const CUpti_ActivityKind KINDS[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET,
                                               CUPTI_ACTIVITY_KIND_DRIVER,
                                               CUPTI_ACTIVITY_KIND_RUNTIME,
                                               CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                               CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
    size_t dropped;

    (void)state;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        test_disable(KINDS[i]);
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    assert_int_equal(test_client_register(&test_client), CUPTI_SUCCESS);
    assert_int_equal(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), CUPTI_SUCCESS);
    test_client_forget(&test_client);
    test_client_forget(&test_thief);
    return 0;
}

void test_client_collect(void)
{
    assert_cuda(cuCtxSynchronize());
    assert_int_equal(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
}

size_t test_client_count(const struct test_client *client, CUpti_ActivityKind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < client->kept_count; i++)
        count += client->kept[i].head.kind == kind;
    return count;
}

const union test_record *test_client_record(CUpti_ActivityKind kind, size_t n)
{
    for (size_t i = 0; i < test_client.kept_count; i++)
        if (test_client.kept[i].head.kind == kind && n-- == 0)
            return &test_client.kept[i];
    fail_msg("there is no such record of kind %d", (int)kind);
    return NULL;
}

void test_enable(CUpti_ActivityKind kind)
{
    assert_int_equal(cuptiActivityEnable(kind), CUPTI_SUCCESS);
}

void test_disable(CUpti_ActivityKind kind)
{
    assert_int_equal(cuptiActivityDisable(kind), CUPTI_SUCCESS);
}
