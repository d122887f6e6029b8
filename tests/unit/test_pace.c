/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "agent/sidecar/pace.h"

static const struct rkt_activity IDLE = {0};

static void idle_sleep_doubles_up_to_its_limit(void **state)
{
    struct rkt_pace pace = {0};
    uint64_t last = rkt_pace_next_ns(&pace, &IDLE);

    (void)state;
    assert_int_equal(last, RKT_PACE_MIN_NS);
    for (int i = 0; i < 7; i++) {
        uint64_t next = rkt_pace_next_ns(&pace, &IDLE);

        assert_int_equal(next, last * 2);
        last = next;
    }
    for (int i = 0; i < 5; i++)
        last = rkt_pace_next_ns(&pace, &IDLE);
    assert_int_equal(last, RKT_PACE_MAX_NS);
}

static void awaited_answer_makes_it_quick_at_once(void **state)
{
    struct rkt_pace pace = {.sleep_ns = RKT_PACE_MAX_NS};
    struct rkt_activity soon = {.wants_soon = true};

    (void)state;
    assert_int_equal(rkt_pace_next_ns(&pace, &soon), RKT_PACE_MIN_NS);
}

static void what_is_long_in_coming_is_asked_for_less_often(void **state)
{
    struct rkt_pace pace = {.sleep_ns = RKT_PACE_MAX_NS};
    struct rkt_activity waiting = {.is_waiting = true};

    (void)state;
    assert_int_equal(rkt_pace_next_ns(&pace, &waiting), RKT_PACE_WAITING_NS);
    pace.sleep_ns = RKT_PACE_MIN_NS;
    assert_int_equal(rkt_pace_next_ns(&pace, &waiting), 2 * RKT_PACE_MIN_NS);
    for (int i = 0; i < 10; i++)
        (void)rkt_pace_next_ns(&pace, &waiting);
    assert_int_equal(rkt_pace_next_ns(&pace, &waiting), RKT_PACE_WAITING_NS);
}

static void work_at_hand_allows_no_sleep(void **state)
{
    struct rkt_pace pace = {.sleep_ns = RKT_PACE_MAX_NS};
    struct rkt_activity now = {.wants_now = true};

    (void)state;
    assert_int_equal(rkt_pace_next_ns(&pace, &now), 0);
}

static void sleep_follows_how_full_the_rings_were(void **state)
{
    struct rkt_pace pace = {.sleep_ns = 8000000};
    struct rkt_activity some = {.fill_percent = 15}, much = {.fill_percent = 60};

    (void)state;
    assert_int_equal(rkt_pace_next_ns(&pace, &some), 8000000);
    assert_int_equal(rkt_pace_next_ns(&pace, &much), 2000000);
    assert_int_equal(rkt_pace_next_ns(&pace, &IDLE), 4000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_sleep_doubles_up_to_its_limit),
        cmocka_unit_test(awaited_answer_makes_it_quick_at_once),
        cmocka_unit_test(what_is_long_in_coming_is_asked_for_less_often),
        cmocka_unit_test(work_at_hand_allows_no_sleep),
        cmocka_unit_test(sleep_follows_how_full_the_rings_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
