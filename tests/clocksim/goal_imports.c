/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that were never measured, aligned by collectives alone: 8 ranks, each on a clock of its
 * own, for an hour. Collectives are sparse, so that it is the rates that decide how wide bounds are
 * in between.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock_collectives.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define RANKS 8u
#define DURATION_S 3600.0
#define FIRST_S 0.5
#define WAIT_US 2000.0 /* the others start up to so long before the last, which is anybody */
#define TAIL_US 15.0
#define TAIL_MORE_US 30.0
#define ENDS_US 8.0
#define POINTS_PER_GAP 8
#define ROUNDING_NS 3

struct imports {
    struct rkt_arena arena;
    struct sim_clock *clocks[RANKS];
    struct rkt_clock_part *items;
    struct rkt_clock_ties ties;
    size_t op_count;
    double period_s;
};

static void make_parts(struct imports *imports, struct sim_random *random)
{
    for (size_t i = 0; i < imports->op_count; i++) {
        double last_s = FIRST_S + (double)i * imports->period_s;
        double end_s = last_s + (TAIL_US + sim_random_uniform(random, 0, TAIL_MORE_US)) / 1e6;
        size_t last = sim_random_next(random) % RANKS;

        for (size_t r = 0; r < RANKS; r++) {
            double early_s = r == last ? 0 : sim_random_uniform(random, 0, WAIT_US) / 1e6;
            double late_s = sim_random_uniform(random, 0, ENDS_US) / 1e6;

            imports->items[i * RANKS + r] = (struct rkt_clock_part){
                .clock = (uint32_t)r,
                .collective = (uint32_t)i,
                .start_ns = (int64_t)sim_clock_real_ns(imports->clocks[r], last_s - early_s),
                .end_ns = (int64_t)sim_clock_real_ns(imports->clocks[r], end_s + late_s),
                .gives = true,
                .takes = true};
        }
    }
}

static void solve(struct imports *imports, double period_s, double slew_ppm, uint64_t seed)
{
    struct sim_clock_model model = sim_clock_model_usual();
    struct sim_random random = sim_random_of(seed, 83);
    struct rkt_clock_parts parts;
    struct rkt_error err;

    *imports =
        (struct imports){.op_count = (size_t)((DURATION_S - 1) / period_s), .period_s = period_s};
    rkt_arena_init(&imports->arena, (size_t)1 << 30);
    model.slew_ppm = slew_ppm;
    for (size_t r = 0; r < RANKS; r++)
        imports->clocks[r] = sim_clock_create(&model, seed, r);
    imports->items =
        RKT_ARENA_ARRAY(&imports->arena, struct rkt_clock_part, imports->op_count * RANKS);
    if (!imports->items)
        abort();
    make_parts(imports, &random);
    parts = (struct rkt_clock_parts){.items = imports->items,
                                     .count = imports->op_count * RANKS,
                                     .collective_count = imports->op_count,
                                     .clock_count = RANKS};
    sim_must(rkt_clock_collectives_solve(&parts, 0, &imports->arena, &imports->ties, &err), &err);
}

static void release(struct imports *imports)
{
    for (size_t r = 0; r < RANKS; r++)
        sim_clock_destroy(imports->clocks[r]);
    rkt_arena_release(&imports->arena);
}

struct widths {
    struct sim_series bounds;
    double outside;
    double untied;
};

static void add_seed(struct widths *widths, double period_s, double slew_ppm, uint64_t seed)
{
    struct imports imports;

    solve(&imports, period_s, slew_ppm, seed);
    for (size_t r = 1; r < RANKS; r++) {
        const struct rkt_clock_tie *tie = &imports.ties.items[r];

        widths->untied += !tie->is_tied;
        for (size_t i = 0; tie->is_tied && i < (imports.op_count - 1) * POINTS_PER_GAP; i++) {
            double true_s = FIRST_S + period_s * (double)i / POINTS_PER_GAP;
            int64_t local_ns = (int64_t)sim_clock_real_ns(imports.clocks[r], true_s);
            int64_t truth_ns = (int64_t)sim_clock_real_ns(imports.clocks[0], true_s) - local_ns;
            struct rkt_align_point point = rkt_align_at(&tie->align, local_ns);

            sim_series_add(&widths->bounds, (double)point.bound_ns / 1000);
            widths->outside += llabs(point.offset_ns - truth_ns) > point.bound_ns + ROUNDING_NS;
        }
    }
    release(&imports);
}

/* `most_us`: of the median bound. */
static void try_period(const struct sim_trial *trial, double period_s, double slew_ppm,
                       double most_us)
{
    struct widths widths = {.outside = 0};
    char of[96];

    for (uint64_t i = 0; i < trial->seed_count; i++)
        add_seed(&widths, period_s, slew_ppm, trial->first_seed + i);
    (void)snprintf(of, sizeof(of), "a collective each %.0f s alone, slews up to %.0f ppm", period_s,
                   slew_ppm);
    sim_trial_at_most(trial, 15, of, "truth outside the bound, of all points", widths.outside, 0);
    sim_trial_at_most(trial, 15, of, "ranks that are not aligned", widths.untied, 0);
    sim_trial_at_most(trial, 15, of, "guaranteed +- median, us",
                      sim_series_quantile(&widths.bounds, 0.5), most_us);
    sim_series_release(&widths.bounds);
}

void sim_goal_imports(const struct sim_trial *trial)
{
    try_period(trial, 1, 0, 60);
    try_period(trial, 10, 0, 200);
    try_period(trial, 60, 0, 600);
    try_period(trial, 10, 5, 1000);
    try_period(trial, 10, 25, 1200);
}
