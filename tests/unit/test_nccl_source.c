/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libranktrace.so behind NCCL's tables, built into this test. */
#include "agent/capture/nccl_event.h"

#include <pthread.h>

#include "rkt_test.h"
#include "stub_capture.h"

#define EVENTS_MAX 20000u
#define WANTED 0xf06

static struct rkt_event events[EVENTS_MAX];

static int start_capture(void **state)
{
    (void)state;
    return stub_capture_start(&(struct rkt_capture_config){.mask = RKT_CAPTURE_ALL}) ? 0 : -1;
}

static int stop_capture(void **state)
{
    (void)state;
    stub_capture_stop();
    return 0;
}

static struct rkt_nccl_comm *open_comm(int *mask, uint64_t comm_id)
{
    return rkt_nccl_comm_open(&(struct rkt_nccl_comm_info){
        .mask = mask, .known = WANTED, .comm_id = comm_id, .rank_count = 2});
}

static void *start_coll(struct rkt_nccl_comm *comm)
{
    struct rkt_event event = rkt_nccl_event(comm, RKT_NCCL_COLL);

    return rkt_nccl_event_is_wanted(RKT_NCCL_EVENT_COLL) ? rkt_nccl_event_start(comm, &event)
                                                         : NULL;
}

static size_t count_events(enum rkt_event_kind kind)
{
    size_t count = stub_capture_drain(events, EVENTS_MAX);
    size_t of_kind = 0;

    for (size_t i = 0; i < count; i++)
        of_kind += events[i].kind == kind;
    return of_kind;
}

/* ---- windows ---- */

static void a_windows_edges_set_the_mask_of_each_nccl(void **state)
{
    struct rkt_nccl_source *source = stub_capture()->nccl;
    int masks[2] = {-1, -1}; /* as if two libraries were loaded */

    (void)state;
    assert_non_null(open_comm(&masks[0], 1));
    assert_int_equal(masks[0], WANTED);
    rkt_nccl_source_set_open(source, false);
    assert_int_equal(masks[0], 0);
    assert_non_null(open_comm(&masks[1], 2));
    assert_int_equal(masks[1], 0);
    rkt_nccl_source_set_open(source, true);
    assert_int_equal(masks[0], WANTED);
    assert_int_equal(masks[1], WANTED);
}

static void what_is_open_at_a_windows_end_may_still_stop(void **state)
{
    struct rkt_nccl_source *source = stub_capture()->nccl;
    int mask;
    struct rkt_nccl_comm *comm = open_comm(&mask, 1);
    void *early = start_coll(comm);

    (void)state;
    assert_non_null(early);
    rkt_nccl_source_set_open(source, false);
    assert_null(start_coll(comm));
    rkt_nccl_event_stop(early);
    assert_int_equal(count_events(RKT_EVENT_NCCL), 1);
    rkt_nccl_source_set_open(source, true);
    rkt_nccl_event_stop(start_coll(comm));
    assert_int_equal(count_events(RKT_EVENT_NCCL), 1);
}

/* NCCL may be unmapped once its last communicator is gone. */
static void a_mask_is_let_alone_after_the_communicators_end(void **state)
{
    struct rkt_nccl_source *source = stub_capture()->nccl;
    int mask;
    struct rkt_nccl_comm *comm = open_comm(&mask, 1);

    (void)state;
    rkt_nccl_comm_close(comm);
    mask = 123;
    rkt_nccl_source_set_open(source, false);
    rkt_nccl_source_set_open(source, true);
    assert_int_equal(mask, 123);
    rkt_nccl_event_stop(start_coll(comm)); /* a late one is still its own */
    assert_int_equal(count_events(RKT_EVENT_NCCL), 1);
}

/* The exit handler has closed capture; a thread that is in a window's edge goes on. */
static void nor_is_it_touched_when_the_end_came_after_capture_was_off(void **state)
{
    struct rkt_nccl_source *source = stub_capture()->nccl;
    int mask;
    struct rkt_nccl_comm *comm = open_comm(&mask, 1);

    (void)state;
    stub_capture_turn(false);
    rkt_nccl_comm_close(comm);
    mask = 123;
    rkt_nccl_source_set_open(source, false);
    assert_int_equal(mask, 123);
}

static void an_init_that_fails_leaves_a_mask_of_zero(void **state)
{
    int mask = -1;

    (void)state;
    stub_capture_turn(false);
    assert_null(open_comm(&mask, 1));
    assert_int_equal(mask, 0);
}

#define TOGGLES 2000
#define COMM_THREADS 3

static int shared_mask;

static void *opens_and_closes(void *arg)
{
    for (int i = 0; i < TOGGLES; i++) {
        struct rkt_nccl_comm *comm = open_comm(&shared_mask, *(const uint64_t *)arg);

        rkt_nccl_event_stop(start_coll(comm));
        rkt_nccl_comm_close(comm);
        rkt_nccl_source_set_open(stub_capture()->nccl, i % 2 != 0);
    }
    return NULL;
}

static void communicators_come_and_go_while_windows_do(void **state)
{
    uint64_t ids[COMM_THREADS] = {10, 11, 12};
    pthread_t threads[COMM_THREADS];
    struct rkt_nccl_comm *comm;

    (void)state;
    for (size_t i = 0; i < COMM_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, opens_and_closes, &ids[i]), 0);
    for (size_t i = 0; i < COMM_THREADS; i++)
        pthread_join(threads[i], NULL);
    comm = open_comm(&shared_mask, 1);
    rkt_nccl_source_set_open(stub_capture()->nccl, false);
    assert_int_equal(shared_mask, 0);
    rkt_nccl_source_set_open(stub_capture()->nccl, true);
    assert_int_equal(shared_mask, WANTED);
    assert_non_null(start_coll(comm));
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, start_capture, stop_capture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CAPTURE(a_windows_edges_set_the_mask_of_each_nccl),
        WITH_CAPTURE(what_is_open_at_a_windows_end_may_still_stop),
        WITH_CAPTURE(a_mask_is_let_alone_after_the_communicators_end),
        WITH_CAPTURE(nor_is_it_touched_when_the_end_came_after_capture_was_off),
        WITH_CAPTURE(an_init_that_fails_leaves_a_mask_of_zero),
        WITH_CAPTURE(communicators_come_and_go_while_windows_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
