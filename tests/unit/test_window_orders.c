/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/window_orders.h"

#include "rkt_test.h"

#define RANKS 3
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

static struct rkt_window_orders *make(uint64_t delay_ns, uint64_t duration_ns)
{
    const struct rkt_window_orders_config config = {
        .rank_count = RANKS, .delay_ns = delay_ns, .duration_ns = duration_ns};
    struct rkt_window_orders *orders = rkt_window_orders_create(&config);

    assert_non_null(orders);
    return orders;
}

/* Heartbeats of all ranks each second, at so many steps a second, each rank a little ahead. */
static void run_at(struct rkt_window_orders *orders, uint64_t steps_per_s, uint64_t from_s,
                   uint64_t to_s)
{
    for (uint64_t second = from_s; second <= to_s; second++) {
        for (int rank = 0; rank < RANKS; rank++)
            rkt_window_orders_step(orders, rank, second * steps_per_s + (uint64_t)rank, second * S);
    }
}

static void assert_none(struct rkt_window_orders *orders, uint64_t now_ns)
{
    struct rkt_window_order order;

    assert_false(rkt_window_orders_next(orders, now_ns, &order));
}

static struct rkt_window_order next(struct rkt_window_orders *orders, uint64_t now_ns)
{
    struct rkt_window_order order = {0};

    assert_true(rkt_window_orders_next(orders, now_ns, &order));
    assert_none(orders, now_ns);
    return order;
}

static void without_steps_an_order_is_at_once(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);
    struct rkt_window_order order;

    (void)state;
    assert_none(orders, 5 * S);
    rkt_window_orders_toggle(orders, 0, true, 5 * S);
    order = next(orders, 5 * S);
    assert_false(order.is_open);
    assert_false(order.has_step);
    rkt_window_orders_destroy(orders);
}

/* Wherever the fastest rank is in the half second that the order may take, its step is ahead. */
static void an_order_is_ahead_of_the_fastest_rank(void **state)
{
    static const uint64_t rates[] = {0, 1, 7, 100, 3000};

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        for (unsigned opens = 0; opens < 2; opens++) {
            struct rkt_window_orders *orders = make(0, 0);
            uint64_t now_ns = 9 * S + 900 * MS; /* almost a second after the last heartbeat */
            uint64_t arrives_ns = now_ns + RKT_WINDOW_REACH_NS;
            uint64_t fastest = rates[i] * arrives_ns / S + RANKS - 1;
            struct rkt_window_order order;

            run_at(orders, rates[i], 1, 9);
            rkt_window_orders_toggle(orders, 0, !opens, now_ns);
            order = next(orders, now_ns);
            assert_int_equal(order.is_open, opens);
            assert_true(order.has_step);
            assert_true(order.from_step > fastest + opens);
            assert_true(order.from_step <= fastest + opens + 3);
            rkt_window_orders_destroy(orders);
        }
    }
}

static void toggles_of_one_signal_are_one(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        rkt_window_orders_toggle(orders, 0, true, 5 * S + i * MS);
    assert_false(next(orders, 5 * S).is_open);
    rkt_window_orders_toggle(orders, 0, true, 5 * S + 900 * MS); /* late, and of the state before */
    assert_none(orders, 5 * S + 900 * MS);
    rkt_window_orders_toggle(orders, 0, true, 6 * S + 100 * MS);
    assert_true(next(orders, 6 * S + 100 * MS).is_open);
    rkt_window_orders_destroy(orders);
}

static void a_late_rank_passes_on_the_same_signal(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);

    (void)state;
    rkt_window_orders_toggle(orders, 0, true, 5 * S);
    assert_false(next(orders, 5 * S).is_open);
    rkt_window_orders_toggle(orders, 1, false, 8 * S); /* its sidecar had no turn for so long */
    assert_none(orders, 8 * S);
    rkt_window_orders_toggle(orders, 1, false, 9 * S); /* the second from there is a new one */
    assert_true(next(orders, 9 * S).is_open);
    rkt_window_orders_toggle(orders, 0, true, 11 * S);
    rkt_window_orders_toggle(orders, 2, false, 12 * S);
    assert_none(orders, 12 * S);
    rkt_window_orders_toggle(orders, 2, true, 13 * S);
    assert_false(next(orders, 13 * S).is_open);
    rkt_window_orders_toggle(orders, 0, false,
                             13 * S + RKT_WINDOW_LATE_NS); /* to this rank alone */
    assert_true(next(orders, 13 * S + RKT_WINDOW_LATE_NS).is_open);
    rkt_window_orders_destroy(orders);
}

static void an_order_waits_until_the_last_is_in_effect(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);
    struct rkt_window_order order;

    (void)state;
    run_at(orders, 1, 1, 3);
    rkt_window_orders_toggle(orders, 0, false, 3 * S);
    order = next(orders, 3 * S);
    rkt_window_orders_toggle(orders, 0, false, 5 * S);
    run_at(orders, 1, 4, 4);
    assert_none(orders, 5 * S);
    for (int rank = 1; rank < RANKS; rank++)
        rkt_window_orders_step(orders, rank, order.from_step, 6 * S);
    rkt_window_orders_step(orders, 0, order.from_step - 1, 6 * S);
    assert_none(orders, 6 * S);
    rkt_window_orders_step(orders, 0, order.from_step, 7 * S);
    order = next(orders, 7 * S);
    assert_false(order.is_open);
    rkt_window_orders_destroy(orders);
}

static void a_rank_that_stands_still_holds_no_order_up_for_long(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);

    (void)state;
    run_at(orders, 1, 1, 3);
    rkt_window_orders_toggle(orders, 0, false, 3 * S);
    (void)next(orders, 3 * S);
    rkt_window_orders_toggle(orders, 0, false, 5 * S);
    for (uint64_t second = 4; second <= 12; second++)
        rkt_window_orders_step(orders, 0, 3, second * S);
    assert_none(orders, 12 * S);
    rkt_window_orders_step(orders, 0, 3, 14 * S);
    assert_false(next(orders, 14 * S).is_open);
    rkt_window_orders_destroy(orders);
}

static void a_rate_is_waited_for_a_little(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);

    (void)state;
    rkt_window_orders_step(orders, 0, 1000, 5 * S);
    rkt_window_orders_toggle(orders, 0, false, 5 * S);
    assert_none(orders, 5 * S);
    rkt_window_orders_step(orders, 0, 1100, 6 * S);
    assert_true(next(orders, 6 * S).from_step > 1150);
    rkt_window_orders_destroy(orders);
}

static void a_job_that_is_over_does_not_count(void **state)
{
    struct rkt_window_orders *orders = make(0, 0);

    (void)state;
    run_at(orders, 10, 1, 9);
    rkt_window_orders_step(orders, 2, 100000, 9 * S);
    rkt_window_orders_no_step(orders, 2);
    rkt_window_orders_toggle(orders, 0, false, 9 * S);
    assert_true(next(orders, 9 * S).from_step < 1000);
    rkt_window_orders_destroy(orders);
}

static void delay_and_duration_count_from_the_start(void **state)
{
    struct rkt_window_orders *orders = make(10 * S, 5 * S);

    (void)state;
    assert_none(orders, 100 * S);
    rkt_window_orders_start(orders, 100 * S);
    rkt_window_orders_start(orders, 109 * S); /* another rank's: no news */
    assert_none(orders, 109 * S);
    assert_true(next(orders, 110 * S).is_open);
    assert_none(orders, 114 * S);
    assert_false(next(orders, 115 * S).is_open);
    assert_none(orders, 1000 * S);
    rkt_window_orders_destroy(orders);
}

static void a_duration_alone_closes(void **state)
{
    struct rkt_window_orders *orders = make(0, 5 * S);

    (void)state;
    rkt_window_orders_start(orders, 100 * S);
    assert_none(orders, 104 * S);
    assert_false(next(orders, 105 * S).is_open);
    rkt_window_orders_destroy(orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_steps_an_order_is_at_once),
        cmocka_unit_test(an_order_is_ahead_of_the_fastest_rank),
        cmocka_unit_test(toggles_of_one_signal_are_one),
        cmocka_unit_test(a_late_rank_passes_on_the_same_signal),
        cmocka_unit_test(an_order_waits_until_the_last_is_in_effect),
        cmocka_unit_test(a_rank_that_stands_still_holds_no_order_up_for_long),
        cmocka_unit_test(a_rate_is_waited_for_a_little),
        cmocka_unit_test(a_job_that_is_over_does_not_count),
        cmocka_unit_test(delay_and_duration_count_from_the_start),
        cmocka_unit_test(a_duration_alone_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
