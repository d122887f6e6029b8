/* SPDX-License-Identifier: Apache-2.0 */
/* libranktrace.so as a plugin of NCCL: its tables, one by one. */
#include <dlfcn.h>
#include <pthread.h>

#include "capture_job.h"
#include "common/clock.h"
#include "nccl_host.h"
#include "rkt_test.h"

/* ---- one collective as NCCL 2.28 tells it ---- */

static void one_collective(void)
{
    int mask = -1;
    void *comm = NULL;
    void *group;
    void *api;
    void *launch;
    void *coll;
    union rkt_nccl_state_args args = {0};

    nccl_v5 = nccl_table("ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 0xabcdef, &mask, "default_pg:0", 2, 16, 3, NULL) == 0);
    nccl_must(comm != NULL && mask == 0xf06);
    group = nccl_start(comm, RKT_NCCL_EVENT_GROUP_API, NULL);
    nccl_must(nccl_v5->record(group, RKT_NCCL_STATE_GROUP_START_STOP, NULL) == 0);
    api = nccl_start(comm, RKT_NCCL_EVENT_COLL_API, NULL);
    nccl_stop(api);
    launch = nccl_start(comm, RKT_NCCL_EVENT_KERNEL_LAUNCH, NULL);
    nccl_stop(launch);
    coll = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL);
    nccl_stop(coll);
    nccl_stop(group);
    /* A child of a collective that has ended, as channels are: not asked for, harmless. */
    nccl_must(nccl_start(comm, RKT_NCCL_EVENT_KERNEL_CH, NULL) == NULL);
    nccl_must(nccl_v5->record(coll, RKT_NCCL_STATE_KERNEL_CH_STOP, &args) == 0);
    nccl_stop(coll); /* a second time: does nothing */
    nccl_stop(NULL);
    nccl_must(nccl_v5->finalize(comm) == 0);
    nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_P2P, NULL)); /* after the end: kept */
}

static void check_times(const struct job *job)
{
    const struct rkt_event *group;
    const struct rkt_event *launch;
    const struct rkt_event *api;
    const struct rkt_event *coll;

    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_GROUP_API, &group), 1);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_KERNEL_LAUNCH, &launch), 1);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL_API, &api), 1);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, &coll), 1);
    assert_true(group->start_ns <= api->start_ns && api->start_ns <= api->end_ns);
    assert_true(api->end_ns <= launch->start_ns && launch->end_ns <= coll->start_ns);
    assert_true(coll->end_ns <= group->end_ns);
    assert_int_equal(group->flags, RKT_FLAG_IMPLICIT_GROUP);
    assert_int_equal(api->flags, RKT_FLAG_GRAPH);
    assert_int_equal(group->clock_id, RKT_CLOCK_MONOTONIC_RAW);
    assert_int_equal(launch->thread_id, job->hello.pid);
}

static void a_collective_becomes_its_events(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    job_run(job, one_collective);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
    assert_true(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 5);
    check_times(job);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, &event), 1);
    assert_int_equal(event->nccl.comm_id, 0xabcdef);
    assert_int_equal(event->nccl.seq, 41);
    assert_int_equal(event->nccl.count, 1000);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_ALLREDUCE);
    assert_int_equal(event->nccl.datatype, 9);
    assert_int_equal(event->nccl.algo, RKT_ALGO_NVLS_TREE);
    assert_int_equal(event->nccl.proto, RKT_PROTO_LL128);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_P2P, &event), 1);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_SEND);
    assert_int_equal(event->nccl.peer, 5);
    assert_int_equal(event->nccl.seq, UINT64_MAX);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, &event), 1);
    assert_int_equal(event->comm.comm_id, 0xabcdef);
    assert_int_equal(event->comm.rank, 3);
    assert_int_equal(event->comm.rank_count, 16);
    assert_int_equal(event->comm.node_count, 2);
    assert_string_equal(job_name(job, event->name_id), "default_pg:0");
}

/* ---- the other versions ---- */

static void v4_with_garbage_after_the_type(void)
{
    const struct rkt_nccl_profiler_v4 *v4 = nccl_table("ncclProfiler_v4");
    struct rkt_nccl_descr descr = {0};
    void *comm = NULL;
    void *handle = NULL;
    int mask = -1;

    nccl_must(v4->init(&comm, &mask, NULL, 77, 1, 8, 7, NULL) == 0);
    nccl_must(mask == 0xf06);
    memset(&descr.type, 0xee, sizeof(descr.type)); /* seven bytes are undefined in v4 */
    *(uint8_t *)&descr = RKT_NCCL_EVENT_COLL;
    descr.coll.func = "ReduceScatter";
    descr.coll.datatype = "ncclFloat32";
    descr.coll.seq = 9;
    nccl_must(v4->start(comm, &handle, &descr) == 0 && handle != NULL);
    nccl_must(v4->stop(handle) == 0);
}

static void v4_reads_its_one_byte_type(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    job_run(job, v4_with_garbage_after_the_type);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, &event), 1);
    assert_int_equal(event->type, RKT_NCCL_COLL);
    assert_int_equal(event->nccl.comm_id, 77);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_REDUCESCATTER);
    assert_int_equal(event->nccl.seq, 9);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, &event), 1);
    assert_int_equal(event->name_id, 0);
}

static void two_of_v3(void)
{
    const struct rkt_nccl_profiler_v3 *v3 = nccl_table("ncclProfiler_v3");
    struct rkt_nccl_descr_v3 descr = {.type = RKT_NCCL_EVENT_COLL, .rank = 2};
    void *comm = NULL;
    void *handle = NULL;
    int mask = -1;

    nccl_must(v3->init(&comm, &mask) == 0);
    nccl_must(mask == 0x06);
    descr.coll.comm_hash = 55;
    descr.coll.func = "Broadcast";
    descr.coll.root = 1;
    for (uint64_t i = 0; i < 2; i++) {
        descr.coll.seq = i;
        nccl_must(v3->start(comm, &handle, &descr) == 0 && handle != NULL);
        nccl_must(v3->stop(handle) == 0);
    }
}

static void v3_learns_the_communicator_from_its_events(void **state)
{
    struct job *job = *state;
    const struct rkt_event *event;

    job_run(job, two_of_v3);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, &event), 2);
    assert_int_equal(event->nccl.comm_id, 55);
    assert_int_equal(event->nccl.func, RKT_NCCL_FUNC_BROADCAST);
    assert_int_equal(event->nccl.peer, 1);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, &event), 1);
    assert_int_equal(event->comm.comm_id, 55);
    assert_int_equal(event->comm.rank, 2);
    assert_int_equal(event->comm.rank_count, 0);
}

static void each_table(void)
{
    static const char *const names[] = {"ncclProfiler_v5", "ncclProfiler_v6", "ncclProfiler_v7"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int mask = 0;
        void *comm = NULL;

        nccl_v5 = nccl_table(names[i]);
        nccl_must(strcmp(nccl_v5->name, "ranktrace") == 0);
        nccl_must(nccl_v5->init(&comm, 100 + i, &mask, NULL, 1, 2, 0, NULL) == 0);
        nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL));
    }
}

static void v5_to_v7_are_served_alike(void **state)
{
    struct job *job = *state;

    job_run(job, each_table);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, NULL), 3);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), 3);
}

/* ---- limits and threads ---- */

#define OPEN_COUNT 1024 /* slots, at the usual level */
#define LEFT_COUNT 40

static void never_stopped(void)
{
    int mask = 0;
    void *comm;
    void *first;
    void *last;

    nccl_v5 = nccl_table("ncclProfiler_v5");
    comm = nccl_init(1, &mask);
    last = first = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL);
    for (int i = 1; i < OPEN_COUNT + LEFT_COUNT; i++)
        nccl_must((last = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL)) != NULL);
    nccl_stop(first); /* gave way */
    nccl_stop(last);
}

static void what_is_never_stopped_gives_way_and_has_no_end(void **state)
{
    struct job *job = *state;
    size_t without_end = 0;

    job_run(job, never_stopped);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, NULL), LEFT_COUNT + 1);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_NCCL || !(event->flags & RKT_FLAG_NO_END))
            continue;
        without_end++;
        assert_int_equal(event->start_ns, event->end_ns);
    }
    assert_int_equal(without_end, LEFT_COUNT);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
}

static void stop_of_an_earlier_use(void)
{
    int mask = 0;
    void *comm;
    void *early;
    void *other = NULL;

    nccl_v5 = nccl_table("ncclProfiler_v5");
    comm = nccl_init(1, &mask);
    early = nccl_start(comm, RKT_NCCL_EVENT_P2P, NULL);
    nccl_stop(early);
    nccl_stop(early);                      /* doubled */
    for (int i = 0; i < OPEN_COUNT; i++) { /* every slot is in use again */
        void *now = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL);

        nccl_must(now != NULL);
        if (i == 0)
            other = now; /* in a slot beside the early one */
    }
    nccl_stop(early);
    nccl_stop(&mask); /* no handle of ours */
    nccl_stop((char *)other + 1);
    nccl_stop(other);
}

static void late_stop_does_not_end_the_event_that_has_the_slot_now(void **state)
{
    struct job *job = *state;

    job_run(job, stop_of_an_earlier_use);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 2);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_P2P, NULL), 1);
}

static void *communicator_of_its_own(void *arg)
{
    uint64_t comm_id = *(const uint64_t *)arg;
    int mask = 0;
    void *comm = NULL;

    nccl_must(nccl_v5->init(&comm, comm_id, &mask, NULL, 1, 4, 1, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        void *group = nccl_start(comm, RKT_NCCL_EVENT_GROUP_API, NULL);
        void *coll = nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL);

        nccl_stop(coll);
        nccl_stop(group);
    }
    nccl_must(nccl_v5->finalize(comm) == 0);
    return NULL;
}

static void four_threads(void)
{
    pthread_t threads[4];
    uint64_t ids[4];
    int mask = 0;
    void *comm = NULL;

    nccl_v5 = nccl_table("ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 1, &mask, NULL, 1, 4, 1, NULL) == 0);
    for (uint64_t i = 0; i < 4; i++) {
        ids[i] = 200 + i;
        pthread_create(&threads[i], NULL, communicator_of_its_own, &ids[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void communicators_on_several_threads_do_not_mix(void **state)
{
    struct job *job = *state;
    size_t per_comm[4] = {0};

    job_run(job, four_threads);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 800);
    for (size_t i = 0; i < job->event_count; i++) {
        const struct rkt_event *event = &job->events[i];

        if (event->kind != RKT_EVENT_NCCL)
            continue;
        assert_in_range(event->nccl.comm_id, 200, 203);
        per_comm[event->nccl.comm_id - 200]++;
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(per_comm[i], 200);
}

/* ---- off ---- */

static void asked_while_off(void)
{
    int mask = -1;
    void *comm = &mask;

    nccl_v5 = nccl_table("ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 1, &mask, NULL, 1, 2, 0, NULL) == 0);
    nccl_must(mask == 0 && comm == NULL);
    nccl_must(nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL) == NULL);
    nccl_must(nccl_v5->finalize(comm) == 0);
}

static void off_means_a_mask_of_zero_and_no_error(void **state)
{
    struct job *job = *state;

    job->has_no_variable = true;
    job_run(job, asked_while_off);
    assert_int_equal(job->wait_status, 0);
    assert_string_equal(job->stderr_text, "");
}

static void nccl_that_is_not_wanted_gets_a_mask_of_zero(void **state)
{
    struct job *job = *state;

    job->capture.mask = RKT_CAPTURE_CUPTI | RKT_CAPTURE_MARKS;
    job_run(job, asked_while_off);
    assert_int_equal(job->wait_status, 0);
    assert_true(job->was_closed);
    assert_int_equal(job->event_count, 0);
}

static void *event_after_unload(void *comm)
{
    nccl_stop(nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL));
    return NULL;
}

/* NCCL unmaps its plugin with the last communicator, and maps it again with the next. */
static void unloaded_and_loaded(void)
{
    void *handle = dlopen(RKT_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    pthread_t thread;
    int mask = 0;
    void *comm = NULL;

    nccl_v5 = dlsym(handle, "ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 1, &mask, NULL, 1, 2, 0, NULL) == 0);
    nccl_must(nccl_v5->finalize(comm) == 0);
    nccl_must(dlclose(handle) == 0);
    pthread_create(&thread, NULL, event_after_unload, comm);
    pthread_join(thread, NULL); /* its exit runs our destructor */
    handle = dlopen(RKT_TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    nccl_v5 = dlsym(handle, "ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 2, &mask, NULL, 1, 2, 0, NULL) == 0);
    nccl_must(mask == 0xf06);
}

static void unloading_the_plugin_does_no_harm(void **state)
{
    struct job *job = *state;

    job_run(job, unloaded_and_loaded);
    assert_int_equal(job->wait_status, 0);
    assert_true(job->was_closed);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), 2);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, RKT_NCCL_COLL, NULL), 1);
}

/* ---- windows ---- */

static void begun_in_a_closed_window(void)
{
    int mask = -1;
    void *comm = NULL;

    nccl_v5 = nccl_table("ncclProfiler_v5");
    nccl_must(nccl_v5->init(&comm, 1, &mask, NULL, 1, 2, 0, NULL) == 0);
    nccl_must(comm != NULL && mask == 0);
    nccl_must(nccl_start(comm, RKT_NCCL_EVENT_COLL, NULL) ==
              NULL); /* NCCL had read its mask before */
    nccl_must(nccl_v5->finalize(comm) == 0);
}

static void a_closed_window_refuses_without_counting_a_loss(void **state)
{
    struct job *job = *state;

    job->capture.is_closed = 1;
    job_run(job, begun_in_a_closed_window);
    assert_int_equal(job->wait_status, 0);
    assert_int_equal(job_count(job, RKT_EVENT_NCCL, -1, NULL), 0);
    assert_int_equal(job_count(job, RKT_EVENT_LOSS, -1, NULL), 0);
    assert_int_equal(job_count(job, RKT_EVENT_COMM, -1, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JOB_TEST(a_collective_becomes_its_events),
        JOB_TEST(v4_reads_its_one_byte_type),
        JOB_TEST(v3_learns_the_communicator_from_its_events),
        JOB_TEST(v5_to_v7_are_served_alike),
        JOB_TEST(what_is_never_stopped_gives_way_and_has_no_end),
        JOB_TEST(late_stop_does_not_end_the_event_that_has_the_slot_now),
        JOB_TEST(communicators_on_several_threads_do_not_mix),
        JOB_TEST(off_means_a_mask_of_zero_and_no_error),
        JOB_TEST(nccl_that_is_not_wanted_gets_a_mask_of_zero),
        JOB_TEST(unloading_the_plugin_does_no_harm),
        JOB_TEST(a_closed_window_refuses_without_counting_a_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
