/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that are not measured for a while, in the middle or until the end, and collectives all
 * along: where the measurements leave the bound wide, collectives narrow it.
 */
#include <math.h>
#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock_narrow.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define NODES 8u
#define OPS 3598u
#define WAIT_US 500.0 /* the others start up to so long before the last, which is anybody */
#define TAIL_US 15.0
#define ENDS_US 8.0
#define POINTS_PER_S 4u
#define BESIDE_S 30.0 /* what is known of the silence reaches so far */
#define ROUNDING_NS 3

struct narrow_stage {
    struct rkt_arena arena;
    struct sim_run run;
    struct rkt_clock_tree *tree;
    struct rkt_align_info priors[NODES];
    struct rkt_clock_part items[OPS * NODES];
    struct rkt_clock_parts parts;
    struct rkt_clock_narrowing narrowing;
};

static void add_op(struct narrow_stage *stage, size_t op, struct sim_random *random)
{
    double last_s = (double)op + 1;
    size_t last = sim_random_next(random) % NODES;

    for (size_t n = 0; n < NODES; n++) {
        const struct sim_clock *clock = stage->run.nodes[n].clock;
        double early_s = n == last ? 0 : sim_random_uniform(random, 0, WAIT_US) / 1e6;
        double end_s = last_s + (TAIL_US + sim_random_uniform(random, 0, ENDS_US)) / 1e6;

        stage->items[op * NODES + n] =
            (struct rkt_clock_part){.clock = (uint32_t)n,
                                    .collective = (uint32_t)op,
                                    .start_ns = (int64_t)sim_clock_raw_ns(clock, last_s - early_s),
                                    .end_ns = (int64_t)sim_clock_raw_ns(clock, end_s),
                                    .gives = true,
                                    .takes = true};
    }
}

static struct narrow_stage *make_stage(const double silent_s[2], uint64_t seed)
{
    struct sim_run_model model = sim_run_model_star(NODES, sim_net_model_tcp(0.05));
    struct sim_random random = sim_random_of(seed, 89);
    struct narrow_stage *stage = calloc(1, sizeof(*stage));
    struct rkt_error err;

    if (!stage)
        abort();
    rkt_arena_init(&stage->arena, (size_t)1 << 30);
    model.silent_s[0] = silent_s[0];
    model.silent_s[1] = silent_s[1];
    sim_run_make(&stage->run, &model, seed);
    stage->tree = sim_run_tree(&stage->run, &sim_usual_params);
    for (size_t n = 0; n < NODES; n++) {
        const struct rkt_align_info *align;

        sim_must(rkt_clock_tree_align(stage->tree, n, &align, &err), &err);
        stage->priors[n] = *align;
    }
    for (size_t op = 0; op < OPS; op++)
        add_op(stage, op, &random);
    stage->parts = (struct rkt_clock_parts){.items = stage->items,
                                            .count = (size_t)OPS * NODES,
                                            .collective_count = OPS,
                                            .clock_count = NODES,
                                            .priors = stage->priors};
    return stage;
}

static void narrow(struct narrow_stage *stage)
{
    struct rkt_error err;

    sim_must(rkt_clock_narrow(&stage->parts, &stage->arena, &stage->narrowing, &err), &err);
}

static void destroy_stage(struct narrow_stage *stage)
{
    rkt_clock_tree_destroy(stage->tree);
    sim_run_release(&stage->run);
    rkt_arena_release(&stage->arena);
    free(stage);
}

struct narrowed {
    struct sim_series before; /* bounds where nobody measured */
    struct sim_series after;
    double outside;
    double wider;     /* than before, anywhere */
    double unchanged; /* ranks that were not narrowed */
    double moved;     /* points where measurements are, and the alignment is another */
};

static void add_point(struct narrowed *all, const struct narrow_stage *stage, size_t n,
                      double true_s)
{
    const struct sim_clock *clock = stage->run.nodes[n].clock;
    int64_t local_ns = (int64_t)sim_clock_raw_ns(clock, true_s);
    struct rkt_align_point before = rkt_align_at(&stage->priors[n], local_ns);
    struct rkt_align_point after = rkt_align_at(&stage->narrowing.items[n].align, local_ns);
    double error_ns = fabs((double)after.offset_ns - sim_run_truth_ns(&stage->run, n, true_s));
    const double *silent_s = stage->run.model.silent_s;
    bool is_silent = true_s > silent_s[0] && true_s < silent_s[1];

    all->outside += error_ns > (double)after.bound_ns + ROUNDING_NS;
    all->wider += after.bound_ns > before.bound_ns + ROUNDING_NS;
    if (is_silent) {
        sim_series_add(&all->before, (double)before.bound_ns / 1000);
        sim_series_add(&all->after, (double)after.bound_ns / 1000);
    } else if (true_s < silent_s[0] - BESIDE_S || true_s > silent_s[1] + BESIDE_S) {
        all->moved += before.offset_ns != after.offset_ns || before.bound_ns != after.bound_ns;
    }
}

static void add_seed(struct narrowed *all, const double silent_s[2], uint64_t seed)
{
    struct narrow_stage *stage = make_stage(silent_s, seed);

    narrow(stage);
    for (size_t n = 1; n < NODES; n++) {
        all->unchanged += stage->narrowing.items[n].before_ns == 0;
        for (size_t i = 1; i < (size_t)OPS * POINTS_PER_S; i++)
            add_point(all, stage, n, 1 + (double)i / POINTS_PER_S);
    }
    destroy_stage(stage);
}

static void try_silence(const struct sim_trial *trial, const char *of, const double silent_s[2],
                        double least_gain)
{
    struct narrowed all = {.outside = 0};
    double before_us, after_us;

    for (uint64_t i = 0; i < trial->seed_count; i++)
        add_seed(&all, silent_s, trial->first_seed + i);
    before_us = sim_series_quantile(&all.before, 0.5);
    after_us = sim_series_quantile(&all.after, 0.5);
    sim_trial_at_most(trial, 15, of, "truth outside what collectives narrowed", all.outside, 0);
    sim_trial_at_most(trial, 15, of, "points where that is wider", all.wider, 0);
    sim_trial_at_most(trial, 15, of, "measured points that it moved", all.moved, 0);
    sim_trial_at_most(trial, 15, of, "ranks that are not narrowed", all.unchanged, 0);
    sim_trial_at_most(trial, 15, of, "guaranteed +- median meanwhile, us", after_us,
                      before_us / least_gain);
    sim_trial_at_most(trial, 15, of, "largest, us", sim_series_quantile(&all.after, 1),
                      sim_series_quantile(&all.before, 1) / least_gain);
    sim_series_release(&all.before);
    sim_series_release(&all.after);
}

void sim_goal_narrow(const struct sim_trial *trial)
{
    static const double MIDDLE_S[] = {1500, 2100};
    static const double END_S[] = {3000, 1e9};

    try_silence(trial, "nobody measures for 10 minutes", MIDDLE_S, 2);
    try_silence(trial, "nor in the last 10", END_S, 2);
}
