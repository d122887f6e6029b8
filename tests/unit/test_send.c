/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdlib.h>

#include "agent/sidecar/send.h"
#include "common/run_message.h"
#include "common/transport_loop.h"

#define MIB ((size_t)1 << 20)

/* Rank 1 sends, the test is rank 0. */
struct wire {
    struct rkt_loop_hub *hub;
    struct rkt_transport *rank_0;
    struct rkt_send_queue *queue;
};

static int make_wire(void **state)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_loop_hub_create(2, 1, &wire->hub, &err), err);
    wire->rank_0 = rkt_loop_hub_transport(wire->hub, 0);
    assert_rkt_ok(
        rkt_send_queue_create(rkt_loop_hub_transport(wire->hub, 1), MIB, &wire->queue, &err), err);
    *state = wire;
    return 0;
}

static int drop_wire(void **state)
{
    struct wire *wire = *state;

    rkt_send_queue_destroy(wire->queue);
    rkt_loop_hub_destroy(wire->hub);
    free(wire);
    return 0;
}

static void push(struct wire *wire, uint8_t mark, size_t bytes)
{
    uint8_t *frame = calloc(1, bytes);

    frame[0] = mark;
    assert_int_equal(rkt_send_queue_push(wire->queue, frame, bytes, NULL), RKT_OK);
    free(frame);
}

/* Frames that have come to rank 0; their marks in order go to `marks`. */
static size_t take_frames(struct wire *wire, uint8_t *marks)
{
    static uint8_t buf[2 << 20];
    struct rkt_arrival arrival;
    size_t count = 0;

    while (rkt_transport_receive(wire->rank_0, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, NULL) ==
           RKT_OK)
        marks[count++] = buf[0];
    return count;
}

static void acknowledge(struct wire *wire, uint32_t count)
{
    uint8_t buf[RKT_ACK_BYTES];

    rkt_ack_encode(count, buf);
    assert_int_equal(rkt_transport_send(wire->rank_0, 1, RKT_TAG_ACK, buf, sizeof(buf), NULL),
                     RKT_OK);
}

static void no_more_frames_are_out_than_credits(void **state)
{
    struct wire *wire = *state;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 20; i++)
        push(wire, i, 100);
    assert_true(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), RKT_SEND_CREDITS);
    assert_false(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), 0);
    acknowledge(wire, 3);
    assert_true(rkt_send_queue_step(wire->queue, NULL));
    assert_int_equal(take_frames(wire, marks), 3);
    assert_int_equal(marks[0], RKT_SEND_CREDITS);
    assert_int_equal(marks[2], RKT_SEND_CREDITS + 2);
}

static void queue_is_empty_only_when_all_is_acknowledged(void **state)
{
    struct wire *wire = *state;

    assert_true(rkt_send_queue_is_empty(wire->queue));
    push(wire, 1, 10);
    assert_false(rkt_send_queue_is_empty(wire->queue));
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_false(rkt_send_queue_is_empty(wire->queue));
    acknowledge(wire, 1);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_true(rkt_send_queue_is_empty(wire->queue));
}

static void acknowledging_more_than_was_sent_gives_no_credits_away(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 40; i++)
        push(wire, i, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    acknowledge(wire, UINT32_MAX);
    (void)rkt_send_queue_step(wire->queue, NULL);
    assert_int_equal(take_frames(wire, marks), 2 * RKT_SEND_CREDITS);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.acked_frames, RKT_SEND_CREDITS);
}

static void full_is_said_first_and_frames_are_dropped_last(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;

    push(wire, 1, MIB);
    assert_false(rkt_send_queue_is_full(wire->queue));
    push(wire, 2, MIB / 2);
    assert_true(rkt_send_queue_is_full(wire->queue));
    push(wire, 3, MIB); /* past the soft limit frames still go in */
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 0);
    push(wire, 4, 500);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 1);
    assert_int_equal(counts.dropped_bytes, 500);
    assert_int_equal(counts.pushed_frames, 3);
}

static void abandoned_queue_drops_what_waits_and_what_comes(void **state)
{
    struct wire *wire = *state;
    struct rkt_send_counts counts;
    uint8_t marks[64];

    for (uint8_t i = 0; i < 10; i++)
        push(wire, i, 10);
    (void)rkt_send_queue_step(wire->queue, NULL);
    (void)take_frames(wire, marks);
    rkt_send_queue_abandon(wire->queue);
    push(wire, 10, 10);
    rkt_send_queue_counts(wire->queue, &counts);
    assert_int_equal(counts.dropped_frames, 10 - RKT_SEND_CREDITS + 1);
    assert_true(rkt_send_queue_is_empty(wire->queue));
    assert_true(rkt_send_queue_is_full(wire->queue));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_wire, drop_wire)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(no_more_frames_are_out_than_credits),
        CASE(queue_is_empty_only_when_all_is_acknowledged),
        CASE(acknowledging_more_than_was_sent_gives_no_credits_away),
        CASE(full_is_said_first_and_frames_are_dropped_last),
        CASE(abandoned_queue_drops_what_waits_and_what_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
