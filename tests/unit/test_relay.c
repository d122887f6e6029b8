/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 2 leads; ranks 2 to 4 are its group. The test is rank 0 and the members. */
#include "aggregator/relay.h"

#include <stdlib.h>

#include "aggregator/bundler.h"
#include "common/bundle.h"
#include "common/run_message.h"
#include "common/transport_loop.h"
#include "rkt_test.h"

#define RANKS 5
#define LEADER 2

struct fixture {
    struct rkt_loop_hub *hub;
    struct rkt_relay *relay;
    uint8_t *buf; /* of RKT_BUNDLE_BYTES_MAX */
    uint64_t got_count;
    uint64_t now_ns;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct rkt_relay_config config = {0};
    struct rkt_error err = {0};

    f->buf = malloc(RKT_BUNDLE_BYTES_MAX);
    assert_non_null(f->buf);
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 1, &f->hub, &err), err);
    config.transport = rkt_loop_hub_transport(f->hub, LEADER);
    assert_rkt_ok(rkt_relay_create(&config, &f->relay, &err), err);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    rkt_relay_destroy(f->relay);
    rkt_loop_hub_destroy(f->hub);
    free(f->buf);
    free(f);
    return 0;
}

static void send_frame(struct fixture *f, int from, uint8_t mark, size_t frame_bytes)
{
    uint8_t *frame = calloc(1, frame_bytes);

    frame[0] = mark;
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, from), LEADER, RKT_TAG_FRAME,
                                        frame, frame_bytes, NULL),
                     RKT_OK);
    free(frame);
}

/* The next bundle that has come to rank 0; false: none has. Frames follow on each other. */
static bool take_bundle(struct fixture *f, struct rkt_bundle *bundle)
{
    struct rkt_transport *rank_0 = rkt_loop_hub_transport(f->hub, 0);
    struct rkt_arrival arrival;
    struct rkt_error err = {0};

    if (rkt_transport_receive(rank_0, RKT_TAG_BUNDLE, f->buf, RKT_BUNDLE_BYTES_MAX, &arrival,
                              NULL) != RKT_OK)
        return false;
    assert_int_equal(arrival.from, LEADER);
    assert_rkt_ok(rkt_bundle_decode(f->buf, arrival.len_bytes, bundle, &err), err);
    assert_int_equal(bundle->head.first, f->got_count);
    f->got_count += bundle->head.frame_count;
    return true;
}

static void acknowledge(struct fixture *f, int from, uint64_t count)
{
    uint8_t buf[RKT_BUNDLE_ACK_BYTES];

    rkt_bundle_ack_encode(count, buf);
    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, from), LEADER,
                                        RKT_TAG_BUNDLE_ACK, buf, sizeof(buf), NULL),
                     RKT_OK);
    (void)rkt_relay_step(f->relay, f->now_ns);
}

/* Frames of which this member was told that they are written. */
static uint32_t acks_of(struct fixture *f, int member)
{
    struct rkt_transport *t = rkt_loop_hub_transport(f->hub, member);
    uint8_t buf[RKT_ACK_BYTES];
    struct rkt_arrival arrival;
    uint32_t count = 0, total = 0;

    while (rkt_transport_receive(t, RKT_TAG_ACK, buf, sizeof(buf), &arrival, NULL) == RKT_OK) {
        assert_int_equal(arrival.from, LEADER);
        assert_int_equal(rkt_ack_decode(buf, arrival.len_bytes, &count, NULL), RKT_OK);
        total += count;
    }
    return total;
}

static void frames_of_many_members_are_one_message(void **state)
{
    struct fixture *f = *state;
    struct rkt_bundle bundle = {0};
    struct rkt_bundle_entry entry;
    uint32_t next_mark[RANKS] = {0};

    for (uint8_t mark = 0; mark < 5; mark++) {
        for (int member = LEADER; member < RANKS; member++)
            send_frame(f, member, mark, 100);
    }
    assert_true(rkt_relay_step(f->relay, f->now_ns));
    assert_true(take_bundle(f, &bundle));
    assert_int_equal(bundle.head.frame_count, 15);
    while (rkt_bundle_next(&bundle, &entry)) {
        assert_in_range(entry.from, LEADER, RANKS - 1);
        assert_int_equal(entry.frame_bytes, 100);
        assert_int_equal(entry.frame[0], next_mark[entry.from]++); /* in each one's order */
    }
    assert_false(take_bundle(f, &bundle));
    assert_false(rkt_relay_step(f->relay, f->now_ns));
}

static void a_member_gets_an_ack_when_rank_0_has_written_and_not_before(void **state)
{
    struct fixture *f = *state;
    struct rkt_bundle bundle = {0};

    send_frame(f, 3, 0, 10);
    send_frame(f, 3, 1, 10);
    (void)rkt_relay_step(f->relay, f->now_ns);
    send_frame(f, 4, 0, 10);
    send_frame(f, LEADER, 0, 10);
    (void)rkt_relay_step(f->relay, f->now_ns);
    while (take_bundle(f, &bundle)) {
    }
    assert_int_equal(acks_of(f, 3), 0);
    acknowledge(f, 0, 1);
    assert_int_equal(acks_of(f, 3), 1);
    assert_int_equal(acks_of(f, 4), 0);
    acknowledge(f, 0, 4);
    assert_int_equal(acks_of(f, 3), 1);
    assert_int_equal(acks_of(f, 4), 1);
    assert_int_equal(acks_of(f, LEADER), 1);
}

static void acknowledgements_that_cannot_be_change_nothing(void **state)
{
    struct fixture *f = *state;

    send_frame(f, 3, 0, 10);
    send_frame(f, 3, 1, 10);
    (void)rkt_relay_step(f->relay, f->now_ns);
    acknowledge(f, 0, 3); /* of more than was sent */
    acknowledge(f, 4, 2); /* from another than rank 0 */
    assert_int_equal(acks_of(f, 3), 0);
    acknowledge(f, 0, 2);
    acknowledge(f, 0, 2); /* twice */
    acknowledge(f, 0, 1); /* late */
    assert_int_equal(acks_of(f, 3), 2);
}

/* What rank 0 has not taken waits in the next bundle, and then with the members. */
static void memory_is_bounded_however_slow_rank_0_is(void **state)
{
    struct fixture *f = *state;
    struct rkt_transport *leader = rkt_loop_hub_transport(f->hub, LEADER);
    size_t frame_bytes = RKT_BUNDLE_FULL_BYTES / 2;
    struct rkt_bundle bundle = {0};
    struct rkt_arrival arrival;
    uint32_t left = 0;

    for (uint8_t i = 0; i < 40; i++) {
        send_frame(f, 3, i, frame_bytes);
        (void)rkt_relay_step(f->relay, f->now_ns);
    }
    for (uint32_t i = 0; i < RKT_BUNDLE_CREDITS; i++) {
        assert_true(take_bundle(f, &bundle));
        assert_int_equal(bundle.head.frame_count, 1);
    }
    assert_false(take_bundle(f, &bundle));
    while (rkt_transport_receive(leader, RKT_TAG_FRAME, f->buf, RKT_BUNDLE_BYTES_MAX, &arrival,
                                 NULL) == RKT_OK)
        left++;
    assert_int_equal(left, 40 - RKT_BUNDLE_CREDITS - 2); /* two are all that a bundle takes */
    acknowledge(f, 0, 1);
    assert_true(take_bundle(f, &bundle));
    assert_int_equal(bundle.head.frame_count, 2);
}

static void heartbeats_are_answered_and_nobody_else_is_spoken_to(void **state)
{
    struct fixture *f = *state;
    const struct rkt_run_message heartbeat = {.type = RKT_RUN_HEARTBEAT};
    struct rkt_run_message answer;
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival;
    size_t len = rkt_run_message_encode(&heartbeat, buf);

    assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(f->hub, 4), LEADER,
                                        RKT_TAG_CONTROL_UP, buf, len, NULL),
                     RKT_OK);
    (void)rkt_relay_step(f->relay, f->now_ns);
    for (int rank = 0; rank < RANKS; rank++) {
        enum rkt_status status =
            rkt_transport_receive(rkt_loop_hub_transport(f->hub, rank), RKT_TAG_CONTROL_DOWN, buf,
                                  sizeof(buf), &arrival, NULL);

        assert_int_equal(status, rank == 4 ? RKT_OK : RKT_AGAIN);
        if (status != RKT_OK)
            continue;
        assert_int_equal(rkt_run_message_decode(buf, arrival.len_bytes, &answer, NULL), RKT_OK);
        assert_int_equal(answer.type, RKT_RUN_HEARTBEAT);
    }
}

/* Rank 0 refuses it, and its turn comes when those before it are written. */
static void a_frame_that_is_too_long_keeps_its_place(void **state)
{
    struct fixture *f = *state;
    struct rkt_bundle bundle = {0};
    struct rkt_bundle_entry entry = {0};

    send_frame(f, 3, 1, 10);
    send_frame(f, 3, 2, RKT_BUNDLE_FRAME_BYTES_MAX + 1);
    send_frame(f, 3, 3, 10);
    (void)rkt_relay_step(f->relay, f->now_ns);
    assert_true(take_bundle(f, &bundle));
    assert_int_equal(bundle.head.frame_count, 3);
    for (int i = 0; i < 2; i++)
        assert_true(rkt_bundle_next(&bundle, &entry));
    assert_int_equal(entry.frame_bytes, 0);
    assert_int_equal(entry.from, 3);
    acknowledge(f, 0, 2);
    assert_int_equal(acks_of(f, 3), 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(frames_of_many_members_are_one_message),
        CASE(a_member_gets_an_ack_when_rank_0_has_written_and_not_before),
        CASE(acknowledgements_that_cannot_be_change_nothing),
        CASE(memory_is_bounded_however_slow_rank_0_is),
        CASE(heartbeats_are_answered_and_nobody_else_is_spoken_to),
        CASE(a_frame_that_is_too_long_keeps_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
