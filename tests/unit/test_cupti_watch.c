/* SPDX-License-Identifier: Apache-2.0 */
/* When CUPTI is in another tool's hands, and when its times are useless: decisions without a
 * clock. */
#include "agent/capture/cupti_alarm.h"
#include "agent/capture/cupti_watch.h"

#include "rkt_test.h"

/* ---- another tool ---- */

static void silence_of_a_busy_job_is_a_gap_and_then_a_new_start(void **state)
{
    struct rkt_cupti_watch watch = {0};
    uint64_t now_ns = 1000;
    uint64_t activity = 1;

    (void)state;
    assert_int_equal(rkt_cupti_watch_tick(&watch, now_ns, 5, activity), RKT_CUPTI_WATCH_NOTHING);
    for (unsigned tick = 1; tick <= 2 * RKT_CUPTI_REARM_TICKS; tick++) {
        enum rkt_cupti_verdict want = RKT_CUPTI_WATCH_NOTHING;

        if (tick == RKT_CUPTI_GAP_TICKS)
            want = RKT_CUPTI_WATCH_GAP_BEGINS;
        else if (tick % RKT_CUPTI_REARM_TICKS == 0)
            want = RKT_CUPTI_WATCH_REARM;
        assert_int_equal(rkt_cupti_watch_tick(&watch, ++now_ns, 5, ++activity), want);
    }
    assert_true(watch.has_gap);
    assert_int_equal(watch.gap_start_ns, 1000);
    assert_int_equal(rkt_cupti_watch_tick(&watch, ++now_ns, 6, ++activity),
                     RKT_CUPTI_WATCH_GAP_ENDS);
    assert_int_equal(watch.gap_start_ns, 1000);
    assert_int_equal(rkt_cupti_watch_tick(&watch, ++now_ns, 7, ++activity),
                     RKT_CUPTI_WATCH_NOTHING);
}

static void job_that_hangs_or_has_no_gpu_work_yet_has_no_gap(void **state)
{
    static const struct {
        const char *what;
        uint64_t record_count;
        bool goes_on;
    } cases[] = {{"hang", 5, false}, {"no record so far", 0, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_cupti_watch watch = {0};

        for (unsigned tick = 0; tick < 200; tick++) {
            if (rkt_cupti_watch_tick(&watch, tick, cases[i].record_count,
                                     cases[i].goes_on ? tick : 7) != RKT_CUPTI_WATCH_NOTHING)
                fail_msg("%s: tick %u is taken for a gap", cases[i].what, tick);
        }
    }
}

static void time_in_which_no_records_are_wanted_is_no_gap(void **state)
{
    struct rkt_cupti_watch watch = {0};
    uint64_t now_ns = 1000;
    uint64_t activity = 1;

    (void)state;
    assert_int_equal(rkt_cupti_watch_tick(&watch, now_ns, 5, activity), RKT_CUPTI_WATCH_NOTHING);
    for (unsigned tick = 0; tick < 4 * RKT_CUPTI_GAP_TICKS; tick++) {
        if (tick % RKT_CUPTI_GAP_TICKS == 0)
            rkt_cupti_watch_rest(&watch, ++now_ns);
        else
            assert_int_equal(rkt_cupti_watch_tick(&watch, ++now_ns, 5, ++activity),
                             RKT_CUPTI_WATCH_NOTHING);
    }
    assert_false(watch.has_gap);
    /* one that is there already begins anew when the rest is over */
    for (unsigned tick = 0; !watch.has_gap; tick++) {
        assert_true(tick < RKT_CUPTI_GAP_TICKS);
        (void)rkt_cupti_watch_tick(&watch, ++now_ns, 5, ++activity);
    }
    rkt_cupti_watch_rest(&watch, 5000);
    assert_int_equal(rkt_cupti_watch_tick(&watch, 5001, 5, ++activity), RKT_CUPTI_WATCH_NOTHING);
    assert_int_equal(rkt_cupti_watch_tick(&watch, 5002, 6, ++activity), RKT_CUPTI_WATCH_GAP_ENDS);
    assert_int_equal(watch.gap_start_ns, 5000);
}

/* ---- unusable times ---- */

struct alarm_feed {
    struct rkt_cupti_alarm alarm;
    uint64_t good_count;
    uint64_t bad_count;
};

static enum rkt_cupti_alarm_verdict feed(struct alarm_feed *f, uint64_t good, uint64_t bad)
{
    f->good_count += good;
    f->bad_count += bad;
    return rkt_cupti_alarm_tick(&f->alarm, f->good_count, f->bad_count);
}

static void share_of_bad_times_decides_not_their_number(void **state)
{
    static const struct {
        const char *what;
        uint64_t good;
        uint64_t bad;
        bool does_stop;
    } cases[] = {
        {"all are good", 100000, 0, false},
        {"a forced flush", 1000000, 20000, false},
        {"just below", 810, 190, false},
        {"just at it", 800, 200, true},
        {"all are bad", 0, RKT_CUPTI_ALARM_RECORD_COUNT, true},
        {"few, all are bad", 0, 50, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct alarm_feed f = {0};
        bool does_stop = feed(&f, cases[i].good, cases[i].bad) == RKT_CUPTI_ALARM_STOP;

        if (does_stop != cases[i].does_stop)
            fail_msg("%s: does it stop: %d", cases[i].what, does_stop);
    }
}

static void records_of_good_times_do_not_hide_the_bad_ones(void **state)
{
    struct alarm_feed f = {0};

    (void)state;
    for (unsigned tick = 0; tick < 1000; tick++)
        assert_int_equal(feed(&f, 30000, 0), RKT_CUPTI_ALARM_NOTHING);
    assert_int_equal(feed(&f, 100, 30000), RKT_CUPTI_ALARM_STOP);
}

static void few_records_a_tick_are_judged_together(void **state)
{
    struct alarm_feed f = {0};
    unsigned ticks = 1;

    (void)state;
    while (feed(&f, 0, 50) != RKT_CUPTI_ALARM_STOP)
        assert_true(++ticks < 100);
    assert_int_equal(ticks, (RKT_CUPTI_ALARM_RECORD_COUNT + 49) / 50);
}

/* How many ticks from a stop to the next try; 0: there is none. */
static unsigned ticks_to_resume(struct alarm_feed *f)
{
    for (unsigned tick = 1; tick < 100000; tick++) {
        if (feed(f, 0, 1000) == RKT_CUPTI_ALARM_RESUME) /* late ones still come in */
            return tick;
    }
    return 0;
}

static void it_is_tried_again_a_few_times_ever_later(void **state)
{
    static const unsigned want[] = {RKT_CUPTI_ALARM_WAIT_TICKS, 4 * RKT_CUPTI_ALARM_WAIT_TICKS,
                                    16 * RKT_CUPTI_ALARM_WAIT_TICKS, 0};
    struct alarm_feed f = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        assert_int_equal(feed(&f, 0, 10), RKT_CUPTI_ALARM_NOTHING);
        assert_int_equal(feed(&f, 0, 10000), RKT_CUPTI_ALARM_STOP);
        assert_int_equal(ticks_to_resume(&f), want[i]);
    }
}

static void long_time_without_alarm_makes_the_tries_new(void **state)
{
    struct alarm_feed f = {0};

    (void)state;
    for (unsigned i = 0; i < 3 * RKT_CUPTI_ALARM_TRY_COUNT; i++) {
        assert_int_equal(feed(&f, 0, 10000), RKT_CUPTI_ALARM_STOP);
        assert_int_equal(ticks_to_resume(&f), RKT_CUPTI_ALARM_WAIT_TICKS);
        for (unsigned tick = 0; tick < RKT_CUPTI_ALARM_GOOD_TICKS; tick++)
            assert_int_equal(feed(&f, 30000, 0), RKT_CUPTI_ALARM_NOTHING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_of_a_busy_job_is_a_gap_and_then_a_new_start),
        cmocka_unit_test(time_in_which_no_records_are_wanted_is_no_gap),
        cmocka_unit_test(job_that_hangs_or_has_no_gpu_work_yet_has_no_gap),
        cmocka_unit_test(share_of_bad_times_decides_not_their_number),
        cmocka_unit_test(records_of_good_times_do_not_hide_the_bad_ones),
        cmocka_unit_test(few_records_a_tick_are_judged_together),
        cmocka_unit_test(it_is_tried_again_a_few_times_ever_later),
        cmocka_unit_test(long_time_without_alarm_makes_the_tries_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
