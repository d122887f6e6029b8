/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "agent/sidecar/clock_pairs.h"
#include "common/clock.h"

#define MS INT64_C(1000000)

/* REALTIME at a RAW time: ahead by a constant and a rate, with a step at 20 s. */
struct course {
    double slew_ppm;
    int64_t step_ns;
    double steered_ppm; /* by so much more each second, as a daemon does */
    int64_t jitter_ns;  /* of readings */
};

static struct rkt_event pair_at(const struct course *course, uint64_t raw_ns)
{
    int64_t off = (int64_t)((double)raw_ns * course->slew_ppm * 1e-6);
    struct rkt_event pair = {.kind = RKT_EVENT_CLOCK_PAIR,
                             .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                             .start_ns = raw_ns,
                             .end_ns = raw_ns + 100};

    off += (int64_t)((double)raw_ns * (double)raw_ns / 2e15 * course->steered_ppm);
    off += course->jitter_ns * (int64_t)(raw_ns / (uint64_t)(100 * MS) * 7 % 5 - 2) / 2;
    if (raw_ns >= (uint64_t)(20000 * MS))
        off += course->step_ns;
    pair.clock_pair.realtime_ns = 1700000000u * UINT64_C(1000000000) + raw_ns + (uint64_t)off;
    pair.clock_pair.monotonic_ns = raw_ns + (uint64_t)off;
    return pair;
}

/* Feeds 60 s of pairs; those that are kept go to `kept`. */
static size_t run(const struct course *course, struct rkt_event *kept)
{
    struct rkt_clock_pairs pairs = {0};
    size_t count = 0;

    for (int64_t i = 1; i <= 600; i++) {
        struct rkt_event pair = pair_at(course, (uint64_t)(i * 100 * MS));

        count += rkt_clock_pairs_add(&pairs, &pair, i == 600, &kept[count]);
    }
    return count;
}

/* What linear interpolation between kept pairs makes of a RAW time, against the truth. */
static int64_t worst_error_ns(const struct course *course, const struct rkt_event *kept,
                              size_t count, uint64_t from_ns, uint64_t to_ns)
{
    int64_t worst = 0;

    for (uint64_t at = from_ns; at <= to_ns; at += (uint64_t)(100 * MS)) {
        struct rkt_event truth = pair_at(course, at);
        size_t k = 0;
        double share;
        int64_t guess, error;

        while (k + 2 < count && kept[k + 1].start_ns <= at)
            k++;
        share = (double)(at - kept[k].start_ns) / (double)(kept[k + 1].start_ns - kept[k].start_ns);
        guess = (int64_t)(share * (double)(kept[k + 1].clock_pair.realtime_ns -
                                           kept[k].clock_pair.realtime_ns));
        error = guess - (int64_t)(truth.clock_pair.realtime_ns - kept[k].clock_pair.realtime_ns);
        error = error < 0 ? -error : error;
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void steady_clocks_need_few_pairs_and_stay_exact(void **state)
{
    struct course course = {.slew_ppm = 12.5};
    struct rkt_event kept[700];
    size_t count = run(&course, kept);

    (void)state;
    assert_in_range(count, 3, 18);
    assert_int_equal(kept[0].start_ns, 100 * MS);
    assert_int_equal(kept[count - 1].start_ns, 60000 * MS);
    assert_in_range(
        worst_error_ns(&course, kept, count, (uint64_t)(100 * MS), (uint64_t)(60000 * MS)), 0, 1);
}

static void what_is_left_out_is_near_the_line(void **state)
{
    static const struct {
        const char *what;
        struct course course;
        size_t most; /* of 600 */
    } CASES[] = {
        {"readings jitter by 20 ns", {.slew_ppm = 12.5, .jitter_ns = 20}, 18},
        {"the rate grows", {.slew_ppm = -40, .steered_ppm = 0.2}, 120},
        {"both", {.steered_ppm = -0.1, .jitter_ns = 20}, 120},
        {"readings jitter by 200 ns", {.jitter_ns = 200}, 600},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_event kept[700];
        size_t count = run(&CASES[i].course, kept);
        int64_t worst_ns = worst_error_ns(&CASES[i].course, kept, count, (uint64_t)(100 * MS),
                                          (uint64_t)(60000 * MS));

        if (count > CASES[i].most || worst_ns > RKT_CLOCK_PAIR_LINE_NS + 1)
            fail_msg("%s: %zu pairs, %lld ns off", CASES[i].what, count, (long long)worst_ns);
    }
}

/* Each kept pair says how far all that were left out before it are off; and is joined to the one
 * before. */
static void kept_pairs_tell_what_was_left_out(void **state)
{
    static const struct course courses[] = {
        {.slew_ppm = 12.5, .jitter_ns = 20}, {.steered_ppm = -0.1}, {.step_ns = 5 * MS}};

    (void)state;
    for (size_t i = 0; i < sizeof(courses) / sizeof(courses[0]); i++) {
        struct rkt_event kept[700];
        size_t count = run(&courses[i], kept), line_count = 0;

        for (size_t k = 1; k < count; k++) {
            const struct rkt_event_clock_pair *pair = &kept[k].clock_pair;
            uint64_t apart_ns = kept[k].start_ns - kept[k - 1].start_ns;
            int64_t worst_ns = worst_error_ns(&courses[i], &kept[k - 1], 2, kept[k - 1].start_ns,
                                              kept[k].start_ns);

            assert_int_equal(pair->line_us, apart_ns > (uint64_t)(100 * MS) ? apart_ns / 1000u : 0);
            assert_in_range(worst_ns, 0, pair->line_ns + 1); /* `worst_ns` is rounded */
            line_count += pair->line_us > 0;
        }
        assert_in_range(line_count, 4, count - 1);
    }
}

/* One reading is 40 ns above the line: what it gained in the gap before, and lost in that behind,
 * differ by 80. */
static void assert_bend_counts_in(uint64_t realtime_ns, uint64_t monotonic_ns)
{
    const struct course course = {0};
    struct rkt_clock_pairs pairs = {0};
    struct rkt_event out[2];

    for (uint64_t i = 0; i < 5; i++) {
        struct rkt_event pair = pair_at(&course, (i + 1) * (uint64_t)(100 * MS));

        pair.clock_pair.realtime_ns += i == 2 ? realtime_ns : 0;
        pair.clock_pair.monotonic_ns += i == 2 ? monotonic_ns : 0;
        assert_int_equal(rkt_clock_pairs_add(&pairs, &pair, false, out), i < 2 || i == 4);
    }
    assert_int_equal(out[0].clock_pair.line_us, 300000);
    assert_in_range(out[0].clock_pair.line_ns, 120, 121);
}

static void how_much_readings_bend_counts_in(void **state)
{
    (void)state;
    assert_bend_counts_in(40, 0);
    assert_bend_counts_in(0, 40);
}

/* The sidecar did not come to read for 300 ms: what the clocks did then it does not know. */
static void a_gap_without_readings_is_told_as_one(void **state)
{
    struct course course = {.slew_ppm = 12.5};
    struct rkt_clock_pairs pairs = {0};
    struct rkt_event out[2];

    (void)state;
    for (int64_t at_ms = 100; at_ms <= 1600; at_ms += 100) {
        struct rkt_event pair = pair_at(&course, (uint64_t)(at_ms * MS));

        (void)rkt_clock_pairs_add(&pairs, &pair, false, out);
    }
    assert_int_equal(pairs.kept.start_ns, 1100 * MS);
    for (int64_t at_ms = 1900; at_ms <= 2200;
         at_ms += 300) { /* behind readings, and behind a kept one */
        struct rkt_event pair = pair_at(&course, (uint64_t)(at_ms * MS));
        size_t count = rkt_clock_pairs_add(&pairs, &pair, false, out);

        assert_int_equal(count, at_ms == 1900 ? 2 : 1);
        assert_int_equal(out[count - 1].start_ns, at_ms * MS);
        assert_int_equal(out[count - 1].clock_pair.line_us, 0);
        if (count == 2) {
            assert_int_equal(out[0].start_ns, 1600 * MS);
            assert_int_equal(out[0].clock_pair.line_us, 500000);
        }
    }
}

static void pairs_on_both_sides_of_a_step_are_kept(void **state)
{
    struct course course = {.slew_ppm = 3, .step_ns = 5 * MS};
    struct rkt_event kept[700];
    size_t count = run(&course, kept);
    bool has_before = false, has_after = false;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        has_before |= kept[i].start_ns == (uint64_t)(19900 * MS);
        has_after |= kept[i].start_ns == (uint64_t)(20000 * MS);
    }
    assert_true(has_before);
    assert_true(has_after);
    assert_in_range(
        worst_error_ns(&course, kept, count, (uint64_t)(100 * MS), (uint64_t)(19900 * MS)), 0, 50);
    assert_in_range(
        worst_error_ns(&course, kept, count, (uint64_t)(20000 * MS), (uint64_t)(60000 * MS)), 0,
        50);
}

static void kept_pairs_are_in_order_and_never_twice(void **state)
{
    struct course course = {.slew_ppm = 400, .step_ns = -3 * MS};
    struct rkt_event kept[700];
    size_t count = run(&course, kept);

    (void)state;
    for (size_t i = 1; i < count; i++)
        assert_true(kept[i].start_ns > kept[i - 1].start_ns);
}

/* One bracket is 70 ns wide and the other 90; their middles are 80 apart. */
static void both_clocks_are_as_of_one_moment(void **state)
{
    const struct rkt_clock_readings readings = {{1000, 1070, 1160}, 5000000, 6000, 7};
    struct rkt_event pair = rkt_clock_pair_of(&readings);

    (void)state;
    assert_int_equal(pair.start_ns, 1035 - 45);
    assert_int_equal(pair.end_ns, 1035 + 45);
    assert_int_equal(pair.clock_pair.realtime_ns, 5000000);
    assert_int_equal(pair.clock_pair.monotonic_ns, 6000 - 80);
    assert_int_equal(pair.clock_pair.tsc_ticks, 7);
}

static void clocks_of_this_machine_are_read_side_by_side(void **state)
{
    uint64_t real_before = rkt_now_real_ns();
    uint64_t monotonic_before = rkt_clock_read_ns(CLOCK_MONOTONIC);
    uint64_t before = rkt_now_raw_ns();
    struct rkt_event pair = rkt_clock_pair_take();

    (void)state;
    assert_true(pair.end_ns >= pair.start_ns);
    assert_in_range(pair.start_ns + (pair.end_ns - pair.start_ns) / 2, before, rkt_now_raw_ns());
    assert_in_range(pair.clock_pair.realtime_ns, real_before, rkt_now_real_ns());
    /* as it was when REALTIME was read, which is after `before` and before now */
    assert_in_range(pair.clock_pair.monotonic_ns, monotonic_before,
                    rkt_clock_read_ns(CLOCK_MONOTONIC));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_clocks_need_few_pairs_and_stay_exact),
        cmocka_unit_test(what_is_left_out_is_near_the_line),
        cmocka_unit_test(kept_pairs_tell_what_was_left_out),
        cmocka_unit_test(how_much_readings_bend_counts_in),
        cmocka_unit_test(a_gap_without_readings_is_told_as_one),
        cmocka_unit_test(pairs_on_both_sides_of_a_step_are_kept),
        cmocka_unit_test(kept_pairs_are_in_order_and_never_twice),
        cmocka_unit_test(both_clocks_are_as_of_one_moment),
        cmocka_unit_test(clocks_of_this_machine_are_read_side_by_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
