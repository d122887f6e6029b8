/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "common/transport.h"
#include "common/transport_loop.h"

static enum rkt_status receive_u32(struct rkt_transport *t, enum rkt_tag tag, uint32_t *value_out,
                                   int *from_out)
{
    struct rkt_arrival arrival = {0};
    enum rkt_status status =
        rkt_transport_receive(t, tag, value_out, sizeof(*value_out), &arrival, NULL);

    if (status == RKT_OK)
        assert_int_equal(arrival.len_bytes, sizeof(*value_out));
    *from_out = arrival.from;
    return status;
}

static void send_u32(struct rkt_transport *t, int to, enum rkt_tag tag, uint32_t value)
{
    assert_int_equal(rkt_transport_send(t, to, tag, &value, sizeof(value), NULL), RKT_OK);
}

static uint32_t take_u32(struct rkt_transport *t, enum rkt_tag tag)
{
    uint32_t value = 0;
    int from = -1;

    assert_int_equal(receive_u32(t, tag, &value, &from), RKT_OK);
    return value;
}

static void local_gives_back_what_it_sends_in_order_per_tag(void **state)
{
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    uint32_t value = 0;
    int from = -1;

    (void)state;
    assert_rkt_ok(rkt_transport_local_create(&t, &err), err);
    assert_int_equal(rkt_transport_rank(t), 0);
    assert_int_equal(rkt_transport_size(t), 1);
    send_u32(t, 0, RKT_TAG_FRAME, 1);
    send_u32(t, 0, RKT_TAG_ACK, 10);
    send_u32(t, 0, RKT_TAG_FRAME, 2);
    assert_int_equal(take_u32(t, RKT_TAG_ACK), 10);
    assert_int_equal(take_u32(t, RKT_TAG_FRAME), 1);
    assert_int_equal(take_u32(t, RKT_TAG_FRAME), 2);
    assert_rkt_status(receive_u32(t, RKT_TAG_FRAME, &value, &from), RKT_AGAIN);
    rkt_transport_destroy(t, true);
}

static void local_refuses_another_rank_and_a_message_too_long(void **state)
{
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    char buf[4];
    struct rkt_arrival arrival = {.from = -1};

    (void)state;
    assert_rkt_ok(rkt_transport_local_create(&t, &err), err);
    assert_rkt_status(rkt_transport_send(t, 1, RKT_TAG_FRAME, "x", 1, &err), RKT_ERR_INVALID);
    assert_rkt_ok(rkt_transport_send(t, 0, RKT_TAG_FRAME, "12345", 5, &err), err);
    assert_rkt_status(rkt_transport_receive(t, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err),
                      RKT_ERR_RANGE);
    assert_int_equal(arrival.from, 0);
    assert_rkt_status(rkt_transport_receive(t, RKT_TAG_FRAME, buf, sizeof(buf), &arrival, &err),
                      RKT_AGAIN);
    rkt_transport_destroy(t, false);
}

static void local_holds_frames_back_past_its_limit_but_never_control(void **state)
{
    static char frame[1 << 20];
    struct rkt_transport *t = NULL;
    struct rkt_error err = {0};
    enum rkt_status status = RKT_OK;
    int sent = 0;

    (void)state;
    assert_rkt_ok(rkt_transport_local_create(&t, &err), err);
    while (status == RKT_OK && sent < 1000) {
        status = rkt_transport_send(t, 0, RKT_TAG_FRAME, frame, sizeof(frame), &err);
        sent += status == RKT_OK;
    }
    assert_rkt_status(status, RKT_AGAIN);
    assert_in_range(sent, 1, 999);
    assert_rkt_ok(rkt_transport_send(t, 0, RKT_TAG_CONTROL_UP, "x", 1, &err), err);
    rkt_transport_destroy(t, false);
}

static struct rkt_loop_hub *make_hub(int ranks)
{
    struct rkt_loop_hub *hub = NULL;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_loop_hub_create(ranks, 7, &hub, &err), err);
    return hub;
}

static void loop_carries_between_ranks(void **state)
{
    struct rkt_loop_hub *hub = make_hub(3);
    uint32_t value = 0;
    int from = -1;

    (void)state;
    send_u32(rkt_loop_hub_transport(hub, 2), 0, RKT_TAG_FRAME, 42);
    assert_rkt_status(receive_u32(rkt_loop_hub_transport(hub, 1), RKT_TAG_FRAME, &value, &from),
                      RKT_AGAIN);
    assert_rkt_status(receive_u32(rkt_loop_hub_transport(hub, 0), RKT_TAG_FRAME, &value, &from),
                      RKT_OK);
    assert_int_equal(value, 42);
    assert_int_equal(from, 2);
    rkt_loop_hub_destroy(hub);
}

static void loop_delays_without_reordering_one_sender(void **state)
{
    struct rkt_loop_hub *hub = make_hub(2);
    struct rkt_loop_faults faults = {.delay_ticks_max = 5};
    uint32_t value = 0, next = 0;
    int from = -1, waited = 0;

    (void)state;
    rkt_loop_hub_set_faults(hub, RKT_TAG_FRAME, &faults);
    for (uint32_t i = 0; i < 100; i++)
        send_u32(rkt_loop_hub_transport(hub, 1), 0, RKT_TAG_FRAME, i);
    while (next < 100 && waited < 100) {
        if (receive_u32(rkt_loop_hub_transport(hub, 0), RKT_TAG_FRAME, &value, &from) == RKT_OK) {
            assert_int_equal(value, next);
            next++;
        } else {
            rkt_loop_hub_tick(hub);
            waited++;
        }
    }
    assert_int_equal(next, 100);
    assert_in_range(waited, 1, 5);
    rkt_loop_hub_destroy(hub);
}

static void loop_drops_duplicates_and_corrupts_as_told(void **state)
{
    static const struct {
        const char *what;
        struct rkt_loop_faults faults;
        uint32_t count_min, count_max, changed_min, changed_max;
    } CASES[] = {
        {"all dropped", {.drop_per_10k = 10000}, 0, 0, 0, 0},
        {"half dropped", {.drop_per_10k = 5000}, 400, 600, 0, 0},
        {"all doubled", {.duplicate_per_10k = 10000}, 2000, 2000, 0, 0},
        {"all corrupt", {.corrupt_per_10k = 10000}, 1000, 1000, 1000, 1000},
        {"a tenth corrupt", {.corrupt_per_10k = 1000}, 1000, 1000, 50, 150},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        struct rkt_loop_hub *hub = make_hub(2);
        uint32_t value = 0, count = 0, changed = 0;
        int from = -1;

        rkt_loop_hub_set_faults(hub, RKT_TAG_FRAME, &CASES[c].faults);
        for (uint32_t i = 0; i < 1000; i++)
            send_u32(rkt_loop_hub_transport(hub, 1), 0, RKT_TAG_FRAME, 0x5a5a5a5a);
        while (receive_u32(rkt_loop_hub_transport(hub, 0), RKT_TAG_FRAME, &value, &from) ==
               RKT_OK) {
            count++;
            changed += value != 0x5a5a5a5a;
        }
        if (count < CASES[c].count_min || count > CASES[c].count_max ||
            changed < CASES[c].changed_min || changed > CASES[c].changed_max)
            fail_msg("%s: %u arrived, %u changed", CASES[c].what, count, changed);
        rkt_loop_hub_destroy(hub);
    }
}

static void loop_cuts_off_a_silenced_rank_in_both_directions(void **state)
{
    struct rkt_loop_hub *hub = make_hub(2);
    uint32_t value = 0;
    int from = -1;

    (void)state;
    rkt_loop_hub_silence(hub, 1);
    send_u32(rkt_loop_hub_transport(hub, 0), 1, RKT_TAG_ACK, 1);
    send_u32(rkt_loop_hub_transport(hub, 1), 0, RKT_TAG_FRAME, 1);
    assert_rkt_status(receive_u32(rkt_loop_hub_transport(hub, 1), RKT_TAG_ACK, &value, &from),
                      RKT_AGAIN);
    assert_rkt_status(receive_u32(rkt_loop_hub_transport(hub, 0), RKT_TAG_FRAME, &value, &from),
                      RKT_AGAIN);
    rkt_loop_hub_destroy(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_gives_back_what_it_sends_in_order_per_tag),
        cmocka_unit_test(local_refuses_another_rank_and_a_message_too_long),
        cmocka_unit_test(local_holds_frames_back_past_its_limit_but_never_control),
        cmocka_unit_test(loop_carries_between_ranks),
        cmocka_unit_test(loop_delays_without_reordering_one_sender),
        cmocka_unit_test(loop_drops_duplicates_and_corrupts_as_told),
        cmocka_unit_test(loop_cuts_off_a_silenced_rank_in_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
