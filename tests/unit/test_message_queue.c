/* SPDX-License-Identifier: Apache-2.0 */
#include "common/message_queue.h"
#include "rkt_test.h"

static void messages_come_in_order_per_tag_and_hold_memory_until_then(void **state)
{
    struct rkt_message_queue queue;
    struct rkt_arrival arrival;
    struct rkt_error err = {0};
    char buf[8];

    (void)state;
    rkt_message_queue_init(&queue);
    assert_rkt_ok(rkt_message_queue_push(&queue, 1, RKT_TAG_FRAME, "first", 5, &err), err);
    assert_rkt_ok(rkt_message_queue_push(&queue, 2, RKT_TAG_CONTROL_UP, "other", 5, &err), err);
    assert_rkt_ok(rkt_message_queue_push(&queue, 3, RKT_TAG_FRAME, "second", 6, &err), err);
    assert_rkt_ok(rkt_message_queue_pop(&queue, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err),
                  err);
    assert_int_equal(arrival.from, 1);
    assert_int_equal(arrival.len_bytes, 5);
    assert_memory_equal(buf, "first", 5);
    assert_rkt_ok(rkt_message_queue_pop(&queue, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err),
                  err);
    assert_int_equal(arrival.from, 3);
    assert_memory_equal(buf, "second", 6);
    assert_rkt_status(
        rkt_message_queue_pop(&queue, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err), RKT_AGAIN);
    assert_true(queue.held_bytes > 5);
    assert_rkt_ok(
        rkt_message_queue_pop(&queue, RKT_TAG_CONTROL_UP, buf, sizeof(buf), &arrival, &err), err);
    assert_int_equal(queue.held_bytes, 0);
    rkt_message_queue_release(&queue);
}

/* Or who sends nothing but these would fill memory without being held back. */
static void an_empty_message_holds_memory_too(void **state)
{
    struct rkt_message_queue queue;
    struct rkt_arrival arrival;
    struct rkt_error err = {0};

    (void)state;
    rkt_message_queue_init(&queue);
    assert_rkt_ok(rkt_message_queue_push(&queue, 1, RKT_TAG_FRAME, NULL, 0, &err), err);
    assert_true(queue.held_bytes >= 2 * sizeof(void *));
    assert_rkt_ok(rkt_message_queue_pop(&queue, RKT_TAG_FRAME, NULL, 0, &arrival, &err), err);
    assert_int_equal(queue.held_bytes, 0);
    rkt_message_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_per_tag_and_hold_memory_until_then),
        cmocka_unit_test(an_empty_message_holds_memory_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
