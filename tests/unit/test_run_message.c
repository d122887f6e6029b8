/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "common/run_message.h"

static const struct rkt_run_message HELLO = {
    .type = RKT_RUN_HELLO,
    .flags = RKT_RUN_FLAG_RANK_KNOWN,
    .value = 7,
    .time_namespace = 4026531834u,
    .boot_id = "0f0e0d0c-0000-4000-8000-000000000001",
    .host = "node-07",
};

static void run_message_survives_encode_and_decode(void **state)
{
    struct rkt_run_message out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    size_t len = rkt_run_message_encode(&HELLO, buf);

    (void)state;
    assert_rkt_ok(rkt_run_message_decode(buf, len, &out, &err), err);
    assert_int_equal(out.type, HELLO.type);
    assert_int_equal(out.flags, HELLO.flags);
    assert_int_equal(out.value, HELLO.value);
    assert_int_equal(out.time_namespace, HELLO.time_namespace);
    assert_string_equal(out.boot_id, HELLO.boot_id);
    assert_string_equal(out.host, HELLO.host);
    assert_string_equal(out.text, "");
}

static void a_step_is_sent_where_there_is_one(void **state)
{
    const struct rkt_run_message order = {.type = RKT_RUN_WINDOW,
                                          .flags = RKT_RUN_FLAG_HAS_STEP | RKT_RUN_FLAG_IS_OPEN,
                                          .step = UINT64_C(1) << 40};
    struct rkt_run_message out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    size_t len = rkt_run_message_encode(&order, buf);

    (void)state;
    assert_rkt_ok(rkt_run_message_decode(buf, len, &out, &err), err);
    assert_int_equal(out.type, RKT_RUN_WINDOW);
    assert_int_equal(out.flags, order.flags);
    assert_int_equal(out.step, order.step);
    for (size_t cut = 0; cut < len; cut++)
        assert_rkt_status(rkt_run_message_decode(buf, cut, &out, NULL), RKT_ERR_FORMAT);
    assert_rkt_ok(rkt_run_message_decode(buf, rkt_run_message_encode(&HELLO, buf), &out, &err),
                  err);
    assert_int_equal(out.step, 0);
}

static void numbers_are_sent_where_there_are(void **state)
{
    static const uint32_t FLAGS[] = {0,
                                     RKT_RUN_FLAG_HAS_STEP,
                                     RKT_RUN_FLAG_HAS_RUN_ID,
                                     RKT_RUN_FLAG_HAS_STEP | RKT_RUN_FLAG_HAS_RUN_ID,
                                     RKT_RUN_FLAG_HAS_CLOCK_PARENT,
                                     RKT_RUN_FLAG_HAS_STEP | RKT_RUN_FLAG_HAS_CLOCK_PARENT};
    struct rkt_run_message out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++) {
        const struct rkt_run_message welcome = {.type = RKT_RUN_WELCOME,
                                                .flags = RKT_RUN_FLAG_HAS_LEADER | FLAGS[i],
                                                .leader = 70000,
                                                .step = 9,
                                                .clock_parent = 80000,
                                                .run_id = UINT64_MAX - 1};
        size_t len = rkt_run_message_encode(&welcome, buf);

        assert_rkt_ok(rkt_run_message_decode(buf, len, &out, &err), err);
        assert_int_equal(out.leader, 70000);
        assert_int_equal(out.step, FLAGS[i] & RKT_RUN_FLAG_HAS_STEP ? 9 : 0);
        assert_int_equal(out.clock_parent, FLAGS[i] & RKT_RUN_FLAG_HAS_CLOCK_PARENT ? 80000 : 0);
        assert_true(out.run_id == (FLAGS[i] & RKT_RUN_FLAG_HAS_RUN_ID ? UINT64_MAX - 1 : 0));
        for (size_t cut = 0; cut < len; cut++)
            assert_rkt_status(rkt_run_message_decode(buf, cut, &out, NULL), RKT_ERR_FORMAT);
    }
}

static void longest_texts_fit(void **state)
{
    struct rkt_run_message message = HELLO, out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    (void)state;
    message.flags |= RKT_RUN_FLAG_HAS_STEP | RKT_RUN_FLAG_HAS_LEADER | RKT_RUN_FLAG_HAS_RUN_ID |
                     RKT_RUN_FLAG_HAS_CLOCK_PARENT;
    message.step = UINT64_MAX;
    message.leader = UINT32_MAX;
    memset(message.host, 'h', sizeof(message.host) - 1);
    memset(message.text, 't', sizeof(message.text) - 1);
    memset(message.boot_id, 'b', sizeof(message.boot_id) - 1);
    assert_rkt_ok(rkt_run_message_decode(buf, rkt_run_message_encode(&message, buf), &out, &err),
                  err);
    assert_string_equal(out.host, message.host);
    assert_string_equal(out.text, message.text);
    assert_true(out.step == UINT64_MAX);
}

static void cut_run_message_is_refused_at_every_length(void **state)
{
    struct rkt_run_message out;
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    size_t len = rkt_run_message_encode(&HELLO, buf);

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_rkt_status(rkt_run_message_decode(buf, cut, &out, NULL), RKT_ERR_FORMAT);
}

static void other_major_is_named_with_both_numbers(void **state)
{
    struct rkt_run_message out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    size_t len = rkt_run_message_encode(&HELLO, buf);

    (void)state;
    buf[4] = 9;
    assert_rkt_status(rkt_run_message_decode(buf, len, &out, &err), RKT_ERR_VERSION);
    assert_non_null(strstr(err.text, "9 there, 1 here"));
}

static void text_longer_than_its_field_is_refused(void **state)
{
    struct rkt_run_message out;
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX] = {0};

    (void)state;
    (void)rkt_run_message_encode(&HELLO, buf);
    buf[24] = 40; /* boot_id has 39 at most */
    assert_rkt_status(rkt_run_message_decode(buf, sizeof(buf), &out, NULL), RKT_ERR_FORMAT);
}

static void clock_message_survives_encode_and_decode(void **state)
{
    const struct rkt_clock_message done = {
        .type = RKT_BURST_DONE,
        .kept_count = 2,
        .burst = 5,
        .seq = 20,
        .t2_ns = 1,
        .t3_ns = UINT64_MAX,
        .kept = {{1, 2, 3, 4}, {5, 6, 7, UINT64_MAX}},
    };
    struct rkt_clock_message out;
    struct rkt_error err = {0};
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    size_t len = rkt_clock_message_encode(&done, buf);

    (void)state;
    assert_rkt_ok(rkt_clock_message_decode(buf, len, &out, &err), err);
    assert_int_equal(out.type, done.type);
    assert_int_equal(out.burst, done.burst);
    assert_int_equal(out.seq, done.seq);
    assert_true(out.t2_ns == done.t2_ns && out.t3_ns == done.t3_ns);
    assert_int_equal(out.kept_count, done.kept_count);
    assert_memory_equal(out.kept, done.kept, sizeof(out.kept));
    for (size_t cut = 0; cut < len; cut++)
        assert_rkt_status(rkt_clock_message_decode(buf, cut, &out, NULL), RKT_ERR_FORMAT);
}

static void ack_carries_its_count_and_nothing_else(void **state)
{
    uint8_t buf[RKT_ACK_BYTES];
    uint32_t count = 0;

    (void)state;
    rkt_ack_encode(77, buf);
    assert_rkt_status(rkt_ack_decode(buf, sizeof(buf), &count, NULL), RKT_OK);
    assert_int_equal(count, 77);
    assert_rkt_status(rkt_ack_decode(buf, 3, &count, NULL), RKT_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_message_survives_encode_and_decode),
        cmocka_unit_test(a_step_is_sent_where_there_is_one),
        cmocka_unit_test(numbers_are_sent_where_there_are),
        cmocka_unit_test(longest_texts_fit),
        cmocka_unit_test(cut_run_message_is_refused_at_every_length),
        cmocka_unit_test(other_major_is_named_with_both_numbers),
        cmocka_unit_test(text_longer_than_its_field_is_refused),
        cmocka_unit_test(clock_message_survives_encode_and_decode),
        cmocka_unit_test(ack_carries_its_count_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
