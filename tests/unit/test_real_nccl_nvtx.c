/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real libnccl.so.2 and its NVTX ranges, without a GPU: a call pushes its range before it looks
 * at its communicator, which is NULL here, and fails.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture_job.h"
#include "rkt_test.h"

#define EXIT_SKIPPED 77
#define FLOAT16 6
#define SUM 0

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void *real_call(const char *name)
{
    void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, name) : NULL;

    must(address != NULL);
    return address;
}

/* None has a communicator, so each fails; its range is pushed all the same. */
static void calls_of_the_real_nccl(void)
{
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*broadcast)(const void *, void *, size_t, int, int, void *, void *);
    int (*send)(const void *, size_t, int, int, void *, void *);
    int (*group_start)(void);
    int (*group_end)(void);

    setenv("NVTX_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    *(void **)&all_reduce = real_call("ncclAllReduce");
    *(void **)&broadcast = real_call("ncclBroadcast");
    *(void **)&send = real_call("ncclSend");
    *(void **)&group_start = real_call("ncclGroupStart");
    *(void **)&group_end = real_call("ncclGroupEnd");
    must(all_reduce(NULL, NULL, 1000, FLOAT16, SUM, NULL, NULL) != 0);
    must(broadcast(NULL, NULL, 500, FLOAT16, 3, NULL, NULL) != 0);
    must(group_start() == 0);
    must(send(NULL, 10, FLOAT16, 7, NULL, NULL) != 0);
    (void)group_end();
}

static void ranges_of_the_real_nccl_are_read(void **state)
{
    const struct rkt_event *event;
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, calls_of_the_real_nccl);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_true(job.was_closed);
    assert_int_equal(job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &event), 2);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(event->nccl.count, 2000);
    assert_int_equal(event->nccl.datatype, RKT_DATATYPE_BYTE_COUNT);
    assert_int_equal(event->nccl.peer, -1);
    assert_int_equal(job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_P2P_API, &event), 1);
    assert_int_equal(event->nccl.peer, 7);
    assert_int_equal(event->nccl.count, 20);
    assert_int_equal(job_count(&job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, NULL), 3);
    event = job_find(&job, RKT_EVENT_RANGE, "ncclBroadcast");
    assert_non_null(event);
    assert_int_equal(event->range.value, 1000);
    assert_string_equal(job_name(&job, event->range.domain_id), "NCCL");
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_the_real_nccl_are_read),
    };

    /* Which loads nothing of NVTX yet: that comes with the first call. */
    if (!dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) {
        printf("skipped: no libnccl.so.2 that the loader finds\n");
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
