/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "tests/unit/clock_pair.h"

static struct rkt_clock_line line_of(bool is_from_raw, const struct rkt_event *pairs, size_t count)
{
    struct rkt_clock_line line;

    assert_int_equal(rkt_clock_line_init(&line, RKT_CLOCK_REALTIME, is_from_raw, pairs, count),
                     RKT_OK);
    return line;
}

static int64_t y_of(const struct rkt_clock_line *line, int64_t x_ns, int64_t *error_ns_out)
{
    int64_t y_ns;

    assert_true(rkt_clock_line_at(line, x_ns, &y_ns, error_ns_out));
    return y_ns;
}

/* Each 100 ms: none was left out in between. */
static void between_two_readings_nothing_was_left_out(void **state)
{
    const struct rkt_event pairs[] = {pair(1000000000, 80, 11 * SECOND),
                                      pair(1100000000, 80, 11 * SECOND + 100000000),
                                      pair(1200000000, 80, 11 * SECOND + 200000000)};
    struct rkt_clock_line line = line_of(true, pairs, 3);
    int64_t error_ns;

    (void)state;
    assert_int_equal(y_of(&line, 1050000000, &error_ns), 11 * SECOND + 50000000);
    assert_int_equal(error_ns, 40);
    rkt_clock_line_release(&line);
}

static void a_stepped_clock_is_mapped_with_the_step_as_its_error(void **state)
{
    const struct rkt_event pairs[] = {
        pair(SECOND / 2, 80, 21 * SECOND / 2),
        pair(1 * SECOND, 80, 11 * SECOND),
        pair(2 * SECOND, 80, 12 * SECOND),
        pair(3 * SECOND, 80, 13 * SECOND + 5000000), /* NTP stepped 5 ms */
        pair(4 * SECOND, 80, 14 * SECOND + 5000000),
        pair(5 * SECOND, 80, 15 * SECOND + 5000000),
    };
    struct rkt_clock_line line = line_of(true, pairs, 6);
    int64_t error_ns;

    (void)state;
    y_of(&line, 3 * SECOND / 2, &error_ns);
    assert_int_equal(error_ns, 40 + LINE_NS);
    y_of(&line, 5 * SECOND / 2, &error_ns);
    /* 5.5 ms, if it was slewed back by 500 ppm all that second */
    assert_int_equal(error_ns, 5500041 + LINE_NS);
    y_of(&line, 7 * SECOND / 2, &error_ns);
    assert_int_equal(error_ns, 40 + LINE_NS);
    rkt_clock_line_release(&line);
}

static void a_clock_that_was_set_back_maps_within_its_error(void **state)
{
    const struct rkt_event pairs[] = {
        pair(1 * SECOND, 0, 11 * SECOND),
        pair(2 * SECOND, 0, 12 * SECOND),
        pair(3 * SECOND, 0, 12 * SECOND), /* a second back, between the two */
        pair(4 * SECOND, 0, 13 * SECOND),
    };
    struct rkt_clock_line line = line_of(false, pairs, 4);
    int64_t error_ns;
    int64_t raw_ns = y_of(&line, 23 * SECOND / 2, &error_ns);

    (void)state;
    /* 11.5 was read at 1.5 and, after the step, at 2.5: either lies within the error. */
    assert_true(raw_ns - error_ns <= 3 * SECOND / 2);
    assert_true(raw_ns + error_ns >= 3 * SECOND / 2);
    rkt_clock_line_release(&line);
}

/* A clock that is slewed all along, and set back (or forward) once. */
struct set_back {
    int64_t slew_ppm;
    int64_t back_ns;
};

static const int64_t FIRST_NS = 11 * SECOND;

/* `is_after`: it has been set back by then. */
static int64_t reading(struct set_back set_back, int64_t at_ns, bool is_after)
{
    int64_t run_ns = at_ns - SECOND;

    return FIRST_NS + run_ns + run_ns * set_back.slew_ppm / 1000000 -
           (is_after ? set_back.back_ns : 0);
}

/* Six readings 100 ms apart, of which the last three are after it. */
static struct rkt_clock_line set_back_line(struct set_back set_back, bool is_from_raw)
{
    struct rkt_event pairs[6];

    for (int i = 0; i < 6; i++) {
        int64_t at_ns = SECOND + i * RKT_CLOCK_PAIR_EVERY_NS;

        pairs[i] = pair((uint64_t)at_ns, 0, (uint64_t)reading(set_back, at_ns, i >= 3));
    }
    return line_of(is_from_raw, pairs, 6);
}

static void assert_within(struct set_back set_back, int64_t at_ns, int64_t off_ns, int64_t error_ns)
{
    if (llabs(off_ns) > error_ns + 2) /* both readings are rounded */
        fail_msg("%lld ppm, set back by %lld: at %lld off by %lld, error %lld",
                 (long long)set_back.slew_ppm, (long long)set_back.back_ns, (long long)at_ns,
                 (long long)off_ns, (long long)error_ns);
}

/* Set back at any moment between the third reading and the fourth: each truth is within the
 * error. */
static void assert_either_side_is_within(struct set_back set_back)
{
    struct rkt_clock_line to_raw = set_back_line(set_back, false);
    struct rkt_clock_line from_raw = set_back_line(set_back, true);

    for (int64_t step_ns = 1200000001; step_ns < 1300000000; step_ns += 4999999) {
        for (int64_t at_ns = SECOND + step_ns % 277777; at_ns < 1500000000; at_ns += 277777) {
            int64_t real_ns = reading(set_back, at_ns, at_ns >= step_ns), error_ns;
            int64_t raw_ns = y_of(&to_raw, real_ns, &error_ns);

            assert_within(set_back, at_ns, raw_ns - at_ns, error_ns);
            raw_ns = y_of(&from_raw, at_ns, &error_ns);
            assert_within(set_back, at_ns, raw_ns - real_ns, error_ns);
        }
    }
    rkt_clock_line_release(&to_raw);
    rkt_clock_line_release(&from_raw);
}

/*
 * What pairs show of a step is not its height: of 5 ms back a slew of 400 ppm has made 40 us good
 * until the next reading. 20 us back look like a change of rate, 60 us beside such a slew as well.
 */
static void a_reading_that_a_clock_gave_twice_is_either(void **state)
{
    static const int64_t slews_ppm[] = {-499, -400, 0, 400, 499};
    static const int64_t backs_ns[] = {2000000000, 5000000, 60000, 20000, -20000, -5000000};

    (void)state;
    for (size_t i = 0; i < sizeof(slews_ppm) / sizeof(slews_ppm[0]); i++) {
        for (size_t j = 0; j < sizeof(backs_ns) / sizeof(backs_ns[0]); j++)
            assert_either_side_is_within((struct set_back){slews_ppm[i], backs_ns[j]});
    }
}

/* Further from it than it can have been set back nothing is in doubt. */
static void a_reading_that_a_clock_gave_once_is_exact(void **state)
{
    struct rkt_clock_line line = set_back_line((struct set_back){.back_ns = 5000000}, false);
    int64_t error_ns;

    (void)state;
    (void)y_of(&line, FIRST_NS + 194000000, &error_ns);
    assert_int_equal(error_ns, 0);
    (void)y_of(&line, FIRST_NS + 196000000, &error_ns);
    /* 100 ms of 500 ppm may hide 50 us of it, and it takes 5052528 to make all that good */
    assert_int_equal(error_ns, 5052528);
    rkt_clock_line_release(&line);
}

/* 20 us back 1 ns after a reading that was stored: 20 us later the clock shows the same again. */
static void a_stored_reading_may_come_again(void **state)
{
    struct rkt_clock_line line = set_back_line((struct set_back){.back_ns = 20000}, false);
    int64_t error_ns;

    (void)state;
    assert_int_equal(y_of(&line, FIRST_NS + 200000000, &error_ns), SECOND + 200000000);
    assert_in_range(error_ns, 20000, 20100);
    rkt_clock_line_release(&line);
}

/* The piece beside tells no rate, as it holds a step: all counts that 500 ppm may make of 100
 * ms. */
static void a_stepped_piece_is_no_witness(void **state)
{
    const struct rkt_event pairs[] = {pair(1000000000, 0, 11000000000),
                                      pair(1100000000, 0, 11100000000),
                                      pair(1200000000, 0, 11205000000)};
    struct rkt_clock_line line = line_of(true, pairs, 3);
    int64_t error_ns;

    (void)state;
    (void)y_of(&line, 1050000000, &error_ns);
    assert_int_equal(error_ns, 50001);
    rkt_clock_line_release(&line);
}

/* Of stretches with the step and without, none is said to be better than its worst moment. */
static void the_worst_error_is_exceeded_at_no_moment(void **state)
{
    static const int64_t backs_ns[] = {5000000, 40000, 20000, 0};

    (void)state;
    for (size_t j = 0; j < sizeof(backs_ns) / sizeof(backs_ns[0]); j++) {
        struct set_back set_back = {0, backs_ns[j]};
        struct rkt_clock_line line = set_back_line(set_back, false);

        for (int64_t start_ns = FIRST_NS - 7000000; start_ns < FIRST_NS + 520000000;
             start_ns += 7654321) {
            int64_t worst_ns = rkt_clock_line_worst_error(&line, start_ns, start_ns + 60000000);

            for (int64_t at_ns = start_ns; at_ns <= start_ns + 60000000; at_ns += 10000) {
                int64_t error_ns;

                (void)y_of(&line, at_ns, &error_ns);
                assert_true(error_ns <= worst_ns);
            }
        }
        rkt_clock_line_release(&line);
    }
}

static int64_t turned(int64_t run_ns, int64_t turn_ns)
{
    int64_t slewed_ns = run_ns < turn_ns ? run_ns : 2 * turn_ns - run_ns;

    return FIRST_NS + run_ns + slewed_ns * 400 / 1000000;
}

/* Slewed by 400 ppm one way and then the other, from between the third reading and the fourth
 * on. */
static void a_change_of_the_slew_is_within_the_error(void **state)
{
    (void)state;
    for (int64_t turn_ns = 201000000; turn_ns < 300000000; turn_ns += 7000000) {
        struct rkt_event pairs[6];
        struct rkt_clock_line line;

        for (int i = 0; i < 6; i++) {
            int64_t run_ns = i * RKT_CLOCK_PAIR_EVERY_NS;

            pairs[i] = pair((uint64_t)(SECOND + run_ns), 0, (uint64_t)turned(run_ns, turn_ns));
        }
        line = line_of(true, pairs, 6);
        for (int64_t run_ns = 0; run_ns < 500000000; run_ns += 777777) {
            int64_t error_ns;
            int64_t real_ns = y_of(&line, SECOND + run_ns, &error_ns);

            assert_true(llabs(real_ns - turned(run_ns, turn_ns)) <= error_ns + 2);
            assert_true(error_ns <= 80000); /* 100 ms of twice 400 ppm */
        }
        rkt_clock_line_release(&line);
    }
}

/* Slewed at three rates, one after the other. */
struct two_turns {
    int64_t ppm[3];
    int64_t at_ns[2];
};

static int64_t gained_ns(const struct two_turns *turns, int64_t run_ns)
{
    int64_t from_ns = 0, sum = 0;

    for (int i = 0; i < 3; i++) {
        int64_t to_ns = i < 2 && turns->at_ns[i] < run_ns ? turns->at_ns[i] : run_ns;

        sum += (to_ns - from_ns) * turns->ppm[i];
        from_ns = to_ns;
    }
    return sum / 1000000;
}

static struct rkt_clock_line turned_line(const struct two_turns *turns)
{
    struct rkt_event pairs[11];

    for (int i = 0; i < 11; i++) {
        int64_t run_ns = i * RKT_CLOCK_PAIR_EVERY_NS;

        pairs[i] = pair((uint64_t)(SECOND + run_ns), 0,
                        (uint64_t)(FIRST_NS + run_ns + gained_ns(turns, run_ns)));
    }
    return line_of(true, pairs, 11);
}

/* All moments are; and two readings away from the turns nothing is in doubt. */
static void assert_turns_are_within(const struct two_turns *turns)
{
    struct rkt_clock_line line = turned_line(turns);

    for (int64_t run_ns = 0; run_ns < 1000000000; run_ns += 3333333) {
        int64_t error_ns;
        int64_t real_ns = y_of(&line, SECOND + run_ns, &error_ns);
        int64_t off_ns = real_ns - (FIRST_NS + run_ns + gained_ns(turns, run_ns));

        if (llabs(off_ns) > error_ns + 2 || (run_ns < 300000000 && error_ns > 2) ||
            (run_ns > 700000000 && error_ns > 2))
            fail_msg(
                "%lld, %lld, %lld ppm, turns at %lld and %lld: at %lld off by %lld, error %lld",
                (long long)turns->ppm[0], (long long)turns->ppm[1], (long long)turns->ppm[2],
                (long long)turns->at_ns[0], (long long)turns->at_ns[1], (long long)run_ns,
                (long long)off_ns, (long long)error_ns);
    }
    rkt_clock_line_release(&line);
}

/*
 * Two changes of rate, in two gaps beside each other or in one, at any moments. At 450 and 550 ms
 * from 0 to 400 ppm and back both gaps show 200 ppm, as if nothing had changed in either.
 */
static void two_changes_of_the_slew_are_within_the_error(void **state)
{
    static const int64_t ppm[] = {-450, 0, 400};

    (void)state;
    for (int rates = 0; rates < 27; rates++) {
        for (int64_t first_ns = 410000000; first_ns < 600000000; first_ns += 20000000) {
            for (int64_t second_ns = first_ns; second_ns < 600000000; second_ns += 20000000) {
                struct two_turns turns = {{ppm[rates % 3], ppm[rates / 3 % 3], ppm[rates / 9]},
                                          {first_ns, second_ns}};

                assert_turns_are_within(&turns);
            }
        }
    }
}

/* One that readings were left out before. */
static struct rkt_event line_pair(uint64_t raw_ns, uint64_t realtime_ns, uint32_t line_us,
                                  uint32_t line_ns)
{
    struct rkt_event event = pair(raw_ns, 80, realtime_ns);

    event.clock_pair.line_us = line_us;
    event.clock_pair.line_ns = line_ns;
    return event;
}

static int64_t error_at(const struct rkt_event *pairs, size_t count, int64_t x_ns)
{
    struct rkt_clock_line line = line_of(true, pairs, count);
    int64_t error_ns;

    (void)y_of(&line, x_ns, &error_ns);
    rkt_clock_line_release(&line);
    return error_ns;
}

/* A daemon that changes the rate each second: 1000 ns bend from each piece to the next, but
 * readings are near it. */
static void readings_that_were_left_out_tell_what_the_clock_did(void **state)
{
    struct rkt_event pairs[] = {pair(1000000000, 80, 11000000000),
                                line_pair(2000000000, 12000001000, 1000000, 17),
                                line_pair(3000000000, 13000003000, 1000000, 18),
                                line_pair(4000000000, 14000006000, 1000000, 19)};

    (void)state;
    assert_int_equal(error_at(pairs, 4, 1500000000), 40 + 17);
    assert_int_equal(error_at(pairs, 4, 2500000000), 40 + 18);
    /* the pair that the line goes from is lost */
    pairs[1].clock_pair.line_us = 999999;
    assert_int_equal(error_at(pairs, 4, 1500000000), 40 + 1000 + LINE_NS);
    /* more than 500 ppm, and still even by the readings */
    pairs[2].clock_pair.realtime_ns += 5000000;
    pairs[3].clock_pair.realtime_ns += 9000000;
    assert_int_equal(error_at(pairs, 4, 2500000000), 40 + 18);
}

/* Two gaps with a reading in between, which is near the line by accident: the rate changed in
 * both. */
static void one_reading_left_out_may_be_by_accident(void **state)
{
    const struct rkt_event pairs[] = {
        pair(900000000, 80, 10900000000), pair(1000000000, 80, 11000000000),
        line_pair(1200000000, 11200040000, 200000, 5), pair(1300000000, 80, 11300040000)};

    (void)state;
    assert_int_equal(error_at(pairs, 4, 1050000000), 40 + 40000);
}

static void past_the_last_pair_the_error_grows(void **state)
{
    const struct rkt_event pairs[] = {pair(1 * SECOND, 80, 11 * SECOND),
                                      pair(2 * SECOND, 80, 12 * SECOND + 10000)};
    struct rkt_clock_line line = line_of(true, pairs, 2);
    int64_t near_ns;
    int64_t far_ns;

    (void)state;
    assert_int_equal(y_of(&line, 3 * SECOND, &near_ns), 13 * SECOND + 20000);
    assert_int_equal(near_ns, 40 + 10000 + SECOND / 2000 + 1); /* from 10 ppm to -500 */
    y_of(&line, 1, &far_ns);
    assert_true(far_ns > 40);
    rkt_clock_line_release(&line);
}

/* A slewed and stepped clock of a seeded walk: the bound holds at every instant. */
static void the_error_bound_holds_on_random_walks(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct rkt_event pairs[64];
        int64_t truth[64];
        uint64_t random = seed * 2654435761u + 1;
        int64_t offset_ns = 500 * SECOND;
        struct rkt_clock_line line;

        for (size_t k = 0; k < 64; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            truth[k] = offset_ns;
            pairs[k] = pair((k + 1) * 100000000u, 60, (k + 1) * 100000000u + (uint64_t)offset_ns);
            /* constant 20 ppm, and now and then a step somewhere in the gap */
            offset_ns +=
                2000 + ((random >> 33) % 16 == 0 ? 100000 + (int64_t)(random >> 40) % 4000000 : 0);
        }
        line = line_of(true, pairs, 64);
        for (size_t k = 0; k + 1 < 64; k++) {
            /* the step may come right after pair k or right before pair k + 1 */
            int64_t raw_ns = (int64_t)(k + 1) * 100000000 + 50000000;
            int64_t step_ns = truth[k + 1] - truth[k] - 2000; /* 0 for most */
            int64_t error_ns;
            int64_t got_ns = y_of(&line, raw_ns, &error_ns);

            assert_true(llabs(got_ns - (raw_ns + truth[k] + 1000)) <= error_ns);
            assert_true(llabs(got_ns - (raw_ns + truth[k] + 1000 + step_ns)) <= error_ns);
        }
        rkt_clock_line_release(&line);
    }
}

static void mapping_keeps_the_order_of_stamps(void **state)
{
    const struct rkt_event pairs[] = {pair(1 * SECOND, 80, 11 * SECOND),
                                      pair(2 * SECOND, 80, 12 * SECOND - 400000),
                                      pair(3 * SECOND, 80, 13 * SECOND + 7)};
    struct rkt_clock_line line = line_of(true, pairs, 3);
    int64_t before_ns = INT64_MIN;

    (void)state;
    for (int64_t raw_ns = SECOND; raw_ns <= 3 * SECOND; raw_ns += 333331) {
        int64_t error_ns;
        int64_t real_ns = y_of(&line, raw_ns, &error_ns);

        assert_true(real_ns > before_ns);
        before_ns = real_ns;
    }
    rkt_clock_line_release(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_two_readings_nothing_was_left_out),
        cmocka_unit_test(a_stepped_clock_is_mapped_with_the_step_as_its_error),
        cmocka_unit_test(a_clock_that_was_set_back_maps_within_its_error),
        cmocka_unit_test(a_reading_that_a_clock_gave_twice_is_either),
        cmocka_unit_test(a_reading_that_a_clock_gave_once_is_exact),
        cmocka_unit_test(a_stored_reading_may_come_again),
        cmocka_unit_test(a_stepped_piece_is_no_witness),
        cmocka_unit_test(the_worst_error_is_exceeded_at_no_moment),
        cmocka_unit_test(a_change_of_the_slew_is_within_the_error),
        cmocka_unit_test(two_changes_of_the_slew_are_within_the_error),
        cmocka_unit_test(readings_that_were_left_out_tell_what_the_clock_did),
        cmocka_unit_test(one_reading_left_out_may_be_by_accident),
        cmocka_unit_test(past_the_last_pair_the_error_grows),
        cmocka_unit_test(the_error_bound_holds_on_random_walks),
        cmocka_unit_test(mapping_keeps_the_order_of_stamps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
