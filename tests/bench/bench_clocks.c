/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What alignments reach on simulated clocks, beside what they shall reach, and what two simple ways
 * make of the same measurements: two tables, of all pass marks that need neither MPI nor a GPU, and
 * of the quantiles as they stand in common/doc/clocks.md.
 *
 *   bench_clocks [SEEDS [FIRST_SEED [WHAT]]]     default: 10 seeds from 2001 on
 *
 * WHAT: figures, the first table; quantiles, the second; or of the first only the goals with that
 * in their names (tests/clocksim/goal.c). Default: both tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/clocksim/goal.h"

/* ---- the pass marks ---- */

static void print_figure(void *ctx, const struct sim_figure *figure)
{
    size_t *bad_count = ctx;

    sim_figure_print(figure);
    *bad_count += !sim_figure_is_good(figure);
}

static size_t print_goals(uint64_t seed_count, uint64_t first_seed, const char *name)
{
    size_t bad_count = 0;
    const struct sim_trial trial = {.first_seed = first_seed,
                                    .seed_count = seed_count,
                                    .on_figure = print_figure,
                                    .ctx = &bad_count};

    sim_figure_print_head();
    for (size_t i = 0; i < SIM_GOAL_COUNT; i++) {
        if (strstr(sim_goals[i].name, name))
            sim_goals[i].reach(&trial);
    }
    return bad_count;
}

/* ---- quantiles ---- */

struct scenario {
    const char *name;
    size_t node_count;
    double round_trip_us;
    double asymmetry;
    double wander;
    double period_s;
    uint64_t seed_count; /* 0: as many as are asked for */
};

static const struct scenario SCENARIOS[] = {
    {"8 nodes, 16 us", 8, 16, 0.05, 1, 10, 0},
    {"64 nodes, 16 us", 64, 16, 0.05, 1, 10, 0},
    {"64 nodes, one way up to 25 % slower", 64, 16, 0.25, 1, 10, 0},
    {"64 nodes, InfiniBand, 2.4 us", 64, 2.4, 0.05, 1, 10, 0},
    {"64 nodes, clocks wander 5 times as much", 64, 16, 0.05, 5, 10, 0},
    {"64 nodes, 20 times", 64, 16, 0.05, 20, 10, 0},
    {"64 nodes, a burst each 60 s", 64, 16, 0.05, 1, 60, 0},
    {"1,250 nodes, two levels", 1250, 16, 0.05, 1, 10, 1},
};

static void run_scenario(const struct scenario *scenario, uint64_t seed_count, uint64_t first_seed)
{
    struct sim_run_model model =
        sim_run_model_star(scenario->node_count + 1, sim_net_model_tcp(scenario->asymmetry));
    struct sim_marks marks = {0};
    struct sim_trial trial = {.first_seed = first_seed,
                              .seed_count =
                                  scenario->seed_count > 0 ? scenario->seed_count : seed_count};

    model.net.round_trip_us = scenario->round_trip_us;
    model.clock.wander = scenario->wander;
    model.period_s = scenario->period_s;
    sim_trial_run(&trial, &model, &marks);
    sim_marks_print(&marks, scenario->name);
    printf(" %.0f | %.2f %% | %.2f s |\n", (double)marks.exchange_count / (double)marks.node_count,
           100 * marks.busy_ratio, marks.solve_s / (double)trial.seed_count);
    (void)fflush(stdout);
    sim_marks_release(&marks);
}

static void print_scenarios(uint64_t seed_count, uint64_t first_seed)
{
    printf("\n" SIM_MARKS_COLUMNS " exchanges per node and hour | parent's core | solve |\n");
    for (size_t i = 0; i < SIM_MARKS_COLUMN_COUNT + 3; i++)
        printf("|---");
    printf("|\n");
    for (size_t i = 0; i < sizeof(SCENARIOS) / sizeof(SCENARIOS[0]); i++)
        run_scenario(&SCENARIOS[i], seed_count, first_seed);
}

int main(int argc, char **argv)
{
    uint64_t seed_count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 2001;
    const char *what = argc > 3 ? argv[3] : "";
    size_t bad_count = 0;

    if (strcmp(what, "quantiles") != 0)
        bad_count = print_goals(seed_count, first_seed, strcmp(what, "figures") == 0 ? "" : what);
    if (strcmp(what, "quantiles") == 0 || strcmp(what, "") == 0)
        print_scenarios(seed_count, first_seed);
    if (bad_count > 0)
        (void)fprintf(stderr, "bench_clocks: %zu figures are not within their limits\n", bad_count);
    return bad_count > 0;
}
