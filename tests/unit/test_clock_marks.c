/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What alignments shall reach on simulated clocks (tests/clocksim/goal.h), held to its limits.
 *
 *   unit_clock_marks          one seed, fewer nodes
 *   unit_clock_marks all      ten seeds each, as tests/run.sh --all does
 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>

#include "tests/clocksim/goal.h"

#define FIRST_SEED 1001 /* none that the estimator was made with */

static bool is_long;

static void judge(void *ctx, const struct sim_figure *figure)
{
    size_t *bad_count = ctx;
    bool is_good = sim_figure_is_good(figure) || figure->is_of_machine;

    print_message("          %2u %s: %s: %.3f, shall be %.3g to %.3g%s\n", figure->mark, figure->of,
                  figure->what, figure->value, figure->least, figure->most,
                  figure->is_of_machine ? ", which is not judged" : "");
    *bad_count += !is_good;
}

static void figures_are_within_their_limits(void **state)
{
    const struct sim_goal *goal = &sim_goals[*(const size_t *)*state];
    size_t bad_count = 0;
    const struct sim_trial trial = {.first_seed = FIRST_SEED,
                                    .seed_count = is_long ? 10 : 1,
                                    .is_short = !is_long,
                                    .on_figure = judge,
                                    .ctx = &bad_count};

    goal->reach(&trial);
    assert_int_equal(bad_count, 0);
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[SIM_GOAL_COUNT];
    size_t numbers[SIM_GOAL_COUNT];

    for (size_t i = 0; i < SIM_GOAL_COUNT; i++) {
        numbers[i] = i;
        tests[i] = (struct CMUnitTest){.name = sim_goals[i].name,
                                       .test_func = figures_are_within_their_limits,
                                       .initial_state = &numbers[i]};
    }
    is_long = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
