/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "agent/sidecar/clock_schedule.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

static struct rkt_clock_schedule started(uint32_t bursts, bool repeats)
{
    struct rkt_clock_schedule schedule;

    rkt_clock_schedule_init(&schedule, 5, 10 * S);
    rkt_clock_schedule_start(&schedule, bursts, 300 * MS, repeats, 100 * S);
    return schedule;
}

static void bursts_at_the_start_come_a_gap_apart_and_end(void **state)
{
    struct rkt_clock_schedule schedule = started(2, false);

    (void)state;
    assert_true(rkt_clock_schedule_is_due(&schedule, 100 * S));
    rkt_clock_schedule_burst(&schedule, 16000, 12, 100 * S);
    assert_false(rkt_clock_schedule_is_due(&schedule, 100 * S + 299 * MS));
    assert_true(rkt_clock_schedule_is_due(&schedule, 100 * S + 300 * MS));
    assert_false(rkt_clock_schedule_is_idle(&schedule));
    rkt_clock_schedule_burst(&schedule, 16000, 12, 100 * S + 300 * MS);
    assert_true(rkt_clock_schedule_is_idle(&schedule));
    assert_false(rkt_clock_schedule_is_due(&schedule, UINT64_MAX));
}

static void repeats_come_each_period_more_or_less(void **state)
{
    struct rkt_clock_schedule schedule = started(0, true);
    uint64_t now_ns = 100 * S, least_ns = UINT64_MAX, most_ns = 0;

    (void)state;
    assert_true(rkt_clock_schedule_is_idle(&schedule));
    for (int i = 0; i < 1000; i++) {
        uint64_t gap_ns;

        rkt_clock_schedule_burst(&schedule, 16000, 12, now_ns);
        gap_ns = schedule.due_ns - now_ns;
        least_ns = gap_ns < least_ns ? gap_ns : least_ns;
        most_ns = gap_ns > most_ns ? gap_ns : most_ns;
        now_ns = schedule.due_ns;
    }
    assert_in_range(least_ns, 8 * S, 8 * S + 50 * MS);
    assert_in_range(most_ns, 12 * S - 50 * MS, 12 * S);
}

static void a_poor_burst_is_tried_again_three_times(void **state)
{
    static const struct {
        const char *what;
        int64_t width_ns;
        uint32_t exchange_count;
        bool is_poor;
    } CASES[] = {
        {"three times as wide as the best", 30000, 8, false},
        {"wider than that", 30001, 8, true},
        {"few exchanges", 10000, 7, true},
        {"no answer", INT64_MAX, 0, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_clock_schedule schedule = started(1, true);
        int retries = 0;

        rkt_clock_schedule_burst(&schedule, 10000, 8, 100 * S);
        do {
            rkt_clock_schedule_burst(&schedule, CASES[i].width_ns, CASES[i].exchange_count,
                                     200 * S);
        } while (schedule.due_ns == 200 * S + 100 * MS && ++retries < 99);
        if (retries != (CASES[i].is_poor ? 3 : 0))
            fail_msg("%s: tried again %d times", CASES[i].what, retries);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bursts_at_the_start_come_a_gap_apart_and_end),
        cmocka_unit_test(repeats_come_each_period_more_or_less),
        cmocka_unit_test(a_poor_burst_is_tried_again_three_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
