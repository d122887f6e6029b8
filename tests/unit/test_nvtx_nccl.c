/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's NVTX ranges, played by the test: what becomes of them with and without the plugin. */
#include "agent/capture/nvtx_api/nvtx.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/capture/nccl_api/profiler.h"
#include "capture_job.h"
#include "nvtx_host.h"
#include "rkt_test.h"

#define REDUCE_SCHEMA 0x1000005u
#define SEND_SCHEMA 0x1000009u

static struct nvtx_host host;
static const void *domain;

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void assert_good_end(const struct job *job)
{
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
}

struct reduce_payload {
    uint64_t comm;
    size_t bytes;
    int root;
    int op;
};

struct send_payload {
    size_t bytes;
    int peer;
};

static uint64_t register_schema(const struct rkt_nvtx_schema_entry *entries, size_t count,
                                size_t bytes, uint64_t id)
{
    struct rkt_nvtx_schema schema = {
        .fields = RKT_NVTX_SCHEMA_HAS_ENTRIES | RKT_NVTX_SCHEMA_HAS_ENTRY_COUNT |
                  RKT_NVTX_SCHEMA_HAS_BYTES | (id ? RKT_NVTX_SCHEMA_HAS_ID : 0),
        .type = 1,
        .entries = entries,
        .entry_count = count,
        .bytes = bytes,
        .id = id,
    };

    return host.schema_register(domain, &schema);
}

static void load(void)
{
    static const struct rkt_nvtx_schema_entry reduce[] = {
        {.type = RKT_NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = RKT_NVTX_ENTRY_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = RKT_NVTX_ENTRY_INT, .name = "Root", .offset = 16},
        {.type = 0x1000014, .name = "Reduction operation", .offset = 20},
    };
    /* no communicator, and places left to their alignment */
    static const struct rkt_nvtx_schema_entry send[] = {
        {.type = RKT_NVTX_ENTRY_SIZE, .name = "Message size [bytes]"},
        {.type = RKT_NVTX_ENTRY_INT, .name = "Peer rank"},
    };

    must(nvtx_host_load(&host) == 1 && nvtx_host_load_payload(&host) == 1);
    domain = host.domain_create_a("NCCL");
    must(register_schema(reduce, 4, sizeof(struct reduce_payload), REDUCE_SCHEMA) == REDUCE_SCHEMA);
    must(register_schema(send, 2, sizeof(struct send_payload), SEND_SCHEMA) == SEND_SCHEMA);
}

static void push(const char *name, uint64_t schema_id, const void *payload, size_t bytes)
{
    struct rkt_nvtx_payload_data record = {schema_id, bytes, payload};
    struct rkt_nvtx_attributes attributes = nvtx_registered(host.register_string_a(domain, name));

    if (payload) {
        attributes.payload_type = RKT_NVTX_PAYLOAD_EXTENDED;
        attributes.record_count = 1;
        attributes.payload.records = &record;
    }
    must(host.domain_push(domain, &attributes) >= 0);
}

static void call(const char *name, uint64_t schema_id, const void *payload, size_t bytes)
{
    push(name, schema_id, payload, bytes);
    must(host.domain_pop(domain) >= 0);
}

/* ncclCommInitRank tells its communicator when it ends. */
static void init_communicator(void)
{
    static const struct rkt_nvtx_schema_entry init[] = {
        {.type = RKT_NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = RKT_NVTX_ENTRY_INT, .name = "No. of ranks", .offset = 8},
        {.type = RKT_NVTX_ENTRY_INT, .name = "Rank", .offset = 12},
    };
    const struct {
        uint64_t comm;
        int rank_count;
        int rank;
    } payload = {0xabc, 16, 3};
    struct rkt_nvtx_payload_data record = {0, SIZE_MAX, &payload};

    record.schema_id = register_schema(init, 3, sizeof(payload), 0);
    must(record.schema_id >= RKT_NVTX_FIRST_DYNAMIC_ID);
    push("ncclCommInitRank", 0, NULL, 0);
    must(host.pop_payload(domain, &record, 1) == 0);
}

static void calls_of_an_old_nccl(void)
{
    const struct reduce_payload reduce = {0xabc, 4000, 2, 0};
    const struct send_payload send = {800, 5};

    load();
    init_communicator();
    call("ncclReduce", REDUCE_SCHEMA, &reduce, sizeof(reduce));
    call("ncclGroupStart", 0, NULL, 0);
    call("ncclSend", SEND_SCHEMA, &send, sizeof(send));
    call("ncclRecv", SEND_SCHEMA, &send, sizeof(send) - sizeof(send.peer) - 4); /* cut short */
    call("ncclGroupEnd", 0, NULL, 0);
    call("ncclGroupEnd", 0, NULL, 0); /* one too many */
    call("ncclCommAbort", 0, NULL, 0);
    call("ncclAllReduce", 99, &reduce, sizeof(reduce)); /* an unknown schema */
}

static const struct rkt_event *find_by_func(const struct job *job, enum rkt_nccl_func func)
{
    for (size_t i = 0; i < job->event_count; i++) {
        if (job->events[i].kind == RKT_EVENT_NCCL && job->events[i].nccl.func == func)
            return &job->events[i];
    }
    fail_msg("no call of function %d", (int)func);
    return NULL;
}

static void check_reduce(const struct job *job)
{
    const struct rkt_event *event;

    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &event), 2);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_REDUCE);
    assert_int_equal(event->nccl.comm_id, 0xabc);
    assert_int_equal(event->nccl.count, 4000);
    assert_int_equal(event->nccl.datatype, RKT_DATATYPE_BYTE_COUNT);
    assert_int_equal(event->nccl.peer, 2);
    assert_int_equal(event->nccl.seq, UINT64_MAX);
    assert_int_equal(event->flags, RKT_FLAG_BY_NVTX);
    assert_int_equal(event->thread_id, job->hello.pid);
    assert_true(event->start_ns <= event->end_ns);
}

static void nvtx_stands_in_where_nccl_loads_no_plugin(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    job_run(job, calls_of_an_old_nccl);
    assert_good_end(job);
    check_reduce(job);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_P2P_API, &event), 2);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_SEND);
    assert_int_equal(event->nccl.peer, 5);
    assert_int_equal(event->nccl.count, 800);
    event = find_by_func(job, RKT_NCCL_FUNC_RECV);
    assert_int_equal(event->nccl.count, 800);
    assert_int_equal(event->nccl.peer, -1); /* past the payload's end */
    /* of one call, of send and receive, of one call: its flag tells */
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, &event), 3);
    assert_int_equal(event->flags, RKT_FLAG_BY_NVTX | RKT_FLAG_IMPLICIT_GROUP);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, &event), 1);
    assert_int_equal(event->comm.comm_id, 0xabc);
    assert_int_equal(event->comm.rank_count, 16);
    assert_int_equal(event->comm.rank, 3);
}

static void ranges_of_nccl_carry_their_message_size(void **state)
{
    struct job *job = *state;
    const struct rkt_event *range;

    job_run(job, calls_of_an_old_nccl);
    assert_good_end(job);
    range = job_find(job, RKT_EVENT_RANGE, "ncclReduce");
    assert_non_null(range);
    assert_int_equal(range->range.value, 4000);
    assert_string_equal(job_name(job, range->range.domain_id), "NCCL");
}

static void calls_with_the_plugin(void)
{
    void *handle = dlopen(RKT_TEST_LIBRARY, RTLD_LAZY);
    const struct rkt_nccl_profiler_v4 *v4 = handle ? dlsym(handle, "ncclProfiler_v4") : NULL;
    void *comm = NULL;
    int mask = 0;

    must(v4 != NULL);
    must(v4->init(&comm, &mask, NULL, 1, 1, 2, 0, NULL) == 0 && mask != 0);
    calls_of_an_old_nccl();
}

static void nvtx_does_not_repeat_what_the_plugin_tells(void **state)
{
    struct job *job = *state;

    job_run(job, calls_with_the_plugin);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 0);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), 1); /* the plugin's */
    assert_non_null(job_find(job, RKT_EVENT_RANGE, "ncclReduce"));
}

static void nvtx_does_not_stand_in_where_nccl_is_not_wanted(void **state)
{
    struct job *job = *state;

    job->capture.mask &= ~(uint32_t)RKT_CAPTURE_NCCL;
    job_run(job, calls_of_an_old_nccl);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 0);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), 0);
}

static void many_schemas(void)
{
    static const struct rkt_nvtx_schema_entry entry[] = {
        {.type = RKT_NVTX_ENTRY_SIZE, .name = "Message size [bytes]"}};
    struct rkt_nvtx_schema huge = {.fields = UINT64_MAX, .entry_count = SIZE_MAX, .id = 5};
    size_t bytes = 77;

    load();
    must(host.schema_register(domain, &huge) == 5); /* entries NULL */
    huge.entries = entry;
    must(host.schema_register(domain, &huge) == 5);
    for (uint64_t i = 0; i < 500; i++)
        must(register_schema(entry, 1, sizeof(bytes), 0x2000000 + i) == 0x2000000 + i);
    call("ncclBroadcast", 0x2000000, &bytes, sizeof(bytes));
    call("ncclBroadcast", 0x2000000 + 499, &bytes, sizeof(bytes)); /* no room for it: not read */
}

static void schemas_beyond_the_limit_are_not_read(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    job_run(job, many_schemas);
    assert_good_end(job);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &event), 2);
    assert_int_equal(event->nccl.count, 77);
    while ((++event)->type != RKT_NCCL_COLL_API || event->kind != RKT_EVENT_NCCL)
        ;
    assert_int_equal(event->nccl.count, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(nvtx_stands_in_where_nccl_loads_no_plugin),
        JOB_TEST(ranges_of_nccl_carry_their_message_size),
        JOB_TEST(nvtx_does_not_repeat_what_the_plugin_tells),
        JOB_TEST(nvtx_does_not_stand_in_where_nccl_is_not_wanted),
        JOB_TEST(schemas_beyond_the_limit_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
