/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good alignments are on simulated hours, beside what others do with the same measurements: a
 * table as it stands in common/doc/clocks.md. Errors and bounds in us.
 *
 *   bench_clocks [SEEDS [FIRST_SEED]]     default: 10 seeds from 2001 on
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/clocksim/marks.h"

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
    static const struct rkt_clock_params USUAL = RKT_CLOCK_PARAMS_USUAL;
    struct sim_run_model model =
        sim_run_model_star(scenario->node_count + 1, sim_net_model_tcp(scenario->asymmetry));
    struct sim_marks marks = {0};

    model.net.round_trip_us = scenario->round_trip_us;
    model.clock.wander = scenario->wander;
    model.period_s = scenario->period_s;
    if (scenario->seed_count > 0)
        seed_count = scenario->seed_count;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        struct sim_run run;

        sim_run_make(&run, &model, seed);
        sim_marks_add(&marks, &run, &USUAL);
        sim_run_release(&run);
    }
    sim_marks_print(&marks, scenario->name);
    printf(" %.0f | %.2f %% | %.2f s |\n", (double)marks.exchange_count / (double)marks.node_count,
           100 * marks.busy_ratio, marks.solve_s / (double)seed_count);
    fflush(stdout);
    sim_marks_release(&marks);
}

int main(int argc, char **argv)
{
    uint64_t seed_count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
    uint64_t first_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 2001;

    printf(SIM_MARKS_COLUMNS " exchanges per node and hour | parent's core | solve |\n");
    for (size_t i = 0; i < SIM_MARKS_COLUMN_COUNT + 3; i++)
        printf("|---");
    printf("|\n");
    for (size_t i = 0; i < sizeof(SCENARIOS) / sizeof(SCENARIOS[0]); i++)
        run_scenario(&SCENARIOS[i], seed_count, first_seed);
    return 0;
}
