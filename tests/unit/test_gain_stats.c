/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/gain_stats.h"

#include <math.h>

#include "rkt_test.h"

static void what_may_be_chance_is_not_persistent(void **state)
{
    static const struct {
        size_t named, steps, candidates;
        bool is_persistent;
    } CASES[] = {
        {4, 4, 8, false},                     /* too few steps to say */
        {5, 5, 8, true},    {3, 5, 8, false}, /* 8 x 0.016 */
        {7, 7, 2, false},   {8, 8, 2, true},  /* 2 / 2^7, 2 / 2^8 */
        {10, 20, 8, false},                   /* not over half */
        {11, 20, 8, true},  {500, 999, 1000, true}, {100, 100, 1, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        if (rkt_is_persistent(CASES[i].named, CASES[i].steps, CASES[i].candidates) !=
            CASES[i].is_persistent)
            fail_msg("%zu of %zu steps, %zu candidates", CASES[i].named, CASES[i].steps,
                     CASES[i].candidates);
    }
}

/* Student's t by its tables: P(T > 4.541) with 3 degrees of freedom is 0.01, P(T > 2.764) with
 * 10. */
static void few_steps_take_more_to_be_beyond_chance(void **state)
{
    static const struct {
        double t;
        size_t steps;
    } CASES[] = {{4.541, 4}, {3.747, 5}, {2.764, 11}, {2.539, 20}};
    int64_t same[] = {0, 0, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        for (int more = 0; more < 2; more++) {
            double t = CASES[i].t * (more ? 1.002 : 0.998);
            int64_t median = (int64_t)(t * 1.2533 * 1.4826 * 1e6 / sqrt((double)CASES[i].steps));
            int64_t values[20];

            /* the median is one of them, all others are a million off it */
            for (size_t s = 0; s < CASES[i].steps; s++)
                values[s] = median + (s == 0 ? 0 : s % 2 == 1 ? 1000000 : -1000000);
            if (rkt_is_beyond_chance(values, CASES[i].steps, 1) != (more == 1))
                fail_msg("t %g of %zu steps", t, CASES[i].steps);
        }
    }
    assert_false(rkt_is_beyond_chance(same, 3, 1));
    same[0] = same[1] = same[2] = 1;
    assert_true(rkt_is_beyond_chance(same, 3, 1000)); /* always the same: no chance */
    assert_false(rkt_is_beyond_chance(same, 1, 1));
}

static void a_gain_stands_out_of_its_noise_over_the_steps(void **state)
{
    int64_t few[] = {100, 20, 0, 0};
    int64_t steady[] = {400, 410, 390, 400, 400};
    int64_t noisy[] = {400, 0, 800, 100, 700};
    struct rkt_gain_stats stats = rkt_gain_stats_of(few, 4);

    (void)state;
    assert_int_equal(stats.mean_ns, 30);
    assert_true(rkt_gain_stands_out(&stats, 100, 1000)); /* below five steps 1 % is enough */
    assert_false(rkt_gain_stands_out(&stats, 10, 1000));
    stats = rkt_gain_stats_of(steady, 5);
    assert_true(rkt_gain_stands_out(&stats, 400, 1000));
    assert_true(stats.is_more_than_noise);
    stats = rkt_gain_stats_of(noisy, 5); /* MAD 300: 3 x 1.4826 x 300 = 1334 */
    assert_false(rkt_gain_stands_out(&stats, 1300, 2000));
    assert_true(rkt_gain_stands_out(&stats, 1340, 2000));
    assert_false(stats.is_more_than_noise);
    stats = rkt_gain_stats_of(NULL, 0);
    assert_int_equal(stats.step_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_chance_is_not_persistent),
        cmocka_unit_test(few_steps_take_more_to_be_beyond_chance),
        cmocka_unit_test(a_gain_stands_out_of_its_noise_over_the_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
