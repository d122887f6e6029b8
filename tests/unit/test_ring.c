/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ring.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "rkt_test.h"

#define CAPACITY 64u
#define STREAM_EVENTS 20000u

static int make_ring(void **state)
{
    struct rkt_ring *ring = aligned_alloc(64, rkt_ring_bytes(CAPACITY));

    if (!ring)
        return -1;
    rkt_ring_init(ring, CAPACITY);
    *state = ring;
    return 0;
}

static int free_ring(void **state)
{
    free(*state);
    return 0;
}

static struct rkt_event numbered_event(uint64_t number)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_API, .start_ns = number, .end_ns = ~number, .thread_id = 7};
}

static void events_come_out_whole_and_in_order(void **state)
{
    struct rkt_ring *ring = *state;
    struct rkt_event out[8];
    bool was_broken = true;

    for (uint64_t i = 0; i < 5; i++) {
        struct rkt_event event = numbered_event(i);

        assert_true(rkt_ring_push(ring, &event));
    }
    assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 3, &was_broken), 3);
    assert_false(was_broken);
    assert_int_equal(rkt_ring_pop(ring, CAPACITY, out + 3, 5, &was_broken), 2);
    for (uint64_t i = 0; i < 5; i++) {
        struct rkt_event want = numbered_event(i);

        assert_memory_equal(&out[i], &want, sizeof(want));
    }
    assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 8, &was_broken), 0);
}

static void full_ring_drops_the_newest_and_counts_by_kind(void **state)
{
    struct rkt_ring *ring = *state;
    struct rkt_event out[CAPACITY];
    struct rkt_event kernel = {.kind = RKT_EVENT_KERNEL};
    bool was_broken;

    for (uint64_t i = 0; i < CAPACITY + 6; i++) {
        struct rkt_event event = numbered_event(i);

        assert_int_equal(rkt_ring_push(ring, &event), i < CAPACITY);
    }
    assert_false(rkt_ring_push(ring, &kernel));
    assert_int_equal(ring->dropped_count[RKT_EVENT_API], 6);
    assert_int_equal(ring->dropped_count[RKT_EVENT_KERNEL], 1);

    assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, CAPACITY, &was_broken), CAPACITY);
    assert_int_equal(out[0].start_ns, 0);
    assert_int_equal(out[CAPACITY - 1].start_ns, CAPACITY - 1);
    assert_true(rkt_ring_push(ring, &kernel));
}

static void event_of_an_unknown_kind_is_counted_as_none(void **state)
{
    struct rkt_ring *ring = *state;
    struct rkt_event event = {.kind = 255};

    for (uint32_t i = 0; i <= CAPACITY; i++)
        (void)rkt_ring_push(ring, &event);
    assert_int_equal(ring->dropped_count[RKT_EVENT_NONE], 1);
}

static void impossible_head_empties_the_ring_and_says_so(void **state)
{
    static const uint64_t heads[] = {9, CAPACITY + 11, 1ull << 40, UINT64_MAX};
    struct rkt_ring *ring = *state;
    struct rkt_event out[4];
    struct rkt_event event = numbered_event(1);
    bool was_broken;

    /* Ten events have passed, so a head of 9 lies before the tail. */
    for (int i = 0; i < 10; i++) {
        assert_true(rkt_ring_push(ring, &event));
        assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 1, &was_broken), 1);
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        uint64_t tail = atomic_load(&ring->tail);

        atomic_store(&ring->head, heads[i]);
        assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 4, &was_broken), 0);
        assert_true(was_broken);
        assert_int_not_equal(atomic_load(&ring->tail), tail);
        assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 4, &was_broken), 0);
        assert_false(was_broken);
    }
}

static void broken_capacity_in_the_ring_does_not_move_the_consumer(void **state)
{
    struct rkt_ring *ring = *state;
    struct rkt_event event = numbered_event(3);
    struct rkt_event out[4];
    bool was_broken;

    assert_true(rkt_ring_push(ring, &event));
    ring->capacity = 1u << 30;
    assert_int_equal(rkt_ring_pop(ring, CAPACITY, out, 4, &was_broken), 1);
    assert_int_equal(out[0].start_ns, 3);
}

static void *push_stream(void *arg)
{
    struct rkt_ring *ring = arg;
    uint64_t number = 0;

    while (number < STREAM_EVENTS) {
        struct rkt_event event = numbered_event(number);

        if (rkt_ring_push(ring, &event))
            number++;
        else
            sched_yield();
    }
    return NULL;
}

static void two_threads_pass_every_event_once(void **state)
{
    struct rkt_ring *ring = *state;
    pthread_t producer;
    uint64_t next = 0;

    assert_int_equal(pthread_create(&producer, NULL, push_stream, ring), 0);
    while (next < STREAM_EVENTS) {
        struct rkt_event out[16];
        bool was_broken;
        size_t count = rkt_ring_pop(ring, CAPACITY, out, 16, &was_broken);

        assert_false(was_broken);
        for (size_t i = 0; i < count; i++, next++) {
            assert_int_equal(out[i].start_ns, next);
            assert_int_equal(out[i].end_ns, ~next);
        }
        if (count == 0)
            sched_yield();
    }
    pthread_join(producer, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_come_out_whole_and_in_order, make_ring, free_ring),
        cmocka_unit_test_setup_teardown(full_ring_drops_the_newest_and_counts_by_kind, make_ring,
                                        free_ring),
        cmocka_unit_test_setup_teardown(event_of_an_unknown_kind_is_counted_as_none, make_ring,
                                        free_ring),
        cmocka_unit_test_setup_teardown(impossible_head_empties_the_ring_and_says_so, make_ring,
                                        free_ring),
        cmocka_unit_test_setup_teardown(broken_capacity_in_the_ring_does_not_move_the_consumer,
                                        make_ring, free_ring),
        cmocka_unit_test_setup_teardown(two_threads_pass_every_event_once, make_ring, free_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
