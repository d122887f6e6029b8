/* SPDX-License-Identifier: Apache-2.0 */
/* Mark 18: hosts that PTP steers claim true time within limits, and some of them wrongly. */
#include <string.h>

#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define NODES 8u
#define LIE_NS 50000.0
#define GONE_FROM_S 1000.0
#define GONE_TO_S 2000.0

static struct sim_run_model model_of(double half_ns)
{
    struct sim_run_model model = sim_run_model_star(NODES + 1, sim_net_model_tcp(0.05));

    model.claim = sim_claim_model_ptp(half_ns);
    return model;
}

/*
 * Both ends' claims, wherever in them the estimate is, and what opens between two of them, at rho
 * of 300 ppb and a little more each.
 */
static double most_us(double half_ns)
{
    return 4 * half_ns / 1000 + 1;
}

static void tell_soundness(const struct sim_trial *trial, const char *of,
                           const struct sim_marks *marks)
{
    sim_trial_at_most(trial, 18, of, "points outside the bound", (double)marks->outside_count, 0);
    sim_trial_at_most(trial, 18, of, "nodes that are not aligned", (double)marks->unaligned_count,
                      0);
    sim_trial_at_most(trial, 18, of, "nodes whose true claims are left out",
                      (double)marks->claim_wrong_count, 0);
}

static void try_good(const struct sim_trial *trial, const char *of, double half_ns, double wander)
{
    double limit_us = wander > 1 ? 2 * most_us(half_ns) : most_us(half_ns);
    struct sim_run_model model = model_of(half_ns);
    struct sim_marks marks = {0};

    model.clock.wander = wander;
    sim_trial_run(trial, &model, &marks);
    sim_trial_at_most(trial, 18, of, "bound p99, us", sim_series_quantile(&marks.guaranteed, 0.99),
                      limit_us);
    sim_trial_at_most(trial, 18, of, "error p99, us", sim_series_quantile(&marks.ours, 0.99),
                      limit_us);
    tell_soundness(trial, of, &marks);
    sim_marks_release(&marks);
}

/* ---- alignments beside those without claims ---- */

struct beside {
    size_t same_count;
    size_t wrong_count;       /* with the flag */
    size_t node_count;        /* but for the reference */
    size_t wrong_other_count; /* of nodes that do not lie */
    struct sim_marks marks;
};

static bool is_same(const struct rkt_align_info *a, const struct rkt_align_info *b)
{
    return a->knot_count == b->knot_count && a->first_rate_ppb == b->first_rate_ppb &&
           a->last_rate_ppb == b->last_rate_ppb && a->growth_ppb == b->growth_ppb &&
           memcmp(a->knots, b->knots, a->knot_count * sizeof(*a->knots)) == 0;
}

static void compare_trees(const struct sim_run *run, const struct sim_run *bare,
                          struct beside *beside)
{
    struct rkt_clock_tree *with = sim_run_tree(run, &sim_usual_params);
    struct rkt_clock_tree *without = sim_run_tree(bare, &sim_usual_params);

    for (size_t n = 1; n < run->model.node_count; n++) {
        const struct rkt_align_info *a, *b;
        struct rkt_error err;

        sim_must(rkt_clock_tree_align(with, n, &a, &err), &err);
        sim_must(rkt_clock_tree_align(without, n, &b, &err), &err);
        beside->node_count++;
        beside->same_count += is_same(a, b);
        if (a->flags & RKT_CLOCK_CLAIM_WRONG) {
            beside->wrong_count++;
            beside->wrong_other_count += n != run->model.claim.liar;
        }
    }
    rkt_clock_tree_destroy(with);
    rkt_clock_tree_destroy(without);
}

static void run_beside(const struct sim_trial *trial, const struct sim_run_model *model,
                       struct beside *beside)
{
    struct sim_run_model bare = *model;

    memset(&bare.claim, 0, sizeof(bare.claim));
    for (uint64_t i = 0; i < trial->seed_count; i++) {
        struct sim_run runs[2];

        sim_run_make(&runs[0], model, trial->first_seed + i);
        sim_run_make(&runs[1], &bare, trial->first_seed + i);
        compare_trees(&runs[0], &runs[1], beside);
        sim_marks_add(&beside->marks, &runs[0], &sim_usual_params);
        sim_run_release(&runs[0]);
        sim_run_release(&runs[1]);
    }
}

static void try_wide(const struct sim_trial *trial)
{
    static const char *const OF = "claims of 100 us";
    struct sim_run_model model = model_of(1e5);
    struct beside beside = {0};

    run_beside(trial, &model, &beside);
    sim_trial_at_most(trial, 18, OF, "alignments other than without",
                      (double)(beside.node_count - beside.same_count), 0);
    tell_soundness(trial, OF, &beside.marks);
    sim_marks_release(&beside.marks);
}

static void try_liar(const struct sim_trial *trial, const char *of, size_t liar,
                     const double lie_s[2])
{
    struct sim_run_model model = model_of(100);
    struct beside beside = {0};
    size_t want;

    model.claim.liar = liar;
    model.claim.lie_ns = LIE_NS;
    model.claim.lie_s[0] = lie_s[0];
    model.claim.lie_s[1] = lie_s[1];
    run_beside(trial, &model, &beside);
    want = liar == 0 ? beside.node_count : beside.node_count / NODES;
    sim_trial_at_most(trial, 18, of, "lies that are not told",
                      (double)(want - (beside.wrong_count - (liar ? beside.wrong_other_count : 0))),
                      0);
    sim_trial_at_most(trial, 18, of, "nodes that do not lie and are said to",
                      liar == 0 ? 0 : (double)beside.wrong_other_count, 0);
    sim_trial_at_most(trial, 18, of, "of liars, alignments other than without",
                      (double)(want < beside.same_count ? 0 : want - beside.same_count), 0);
    sim_trial_at_most(trial, 18, of, "points outside the bound", (double)beside.marks.outside_count,
                      0);
    sim_marks_release(&beside.marks);
}

static void try_gone(const struct sim_trial *trial)
{
    static const char *const OF = "claims of 100 ns, a third of the time none";
    struct sim_run_model model = model_of(100);
    struct sim_marks marks = {0};

    model.claim.gone_s[0] = GONE_FROM_S;
    model.claim.gone_s[1] = GONE_TO_S;
    sim_trial_run(trial, &model, &marks);
    sim_trial_at_most(trial, 18, OF, "bound median, us",
                      sim_series_quantile(&marks.guaranteed, 0.5), most_us(100));
    /* where there are none it is as without */
    sim_trial_at_most(trial, 18, OF, "bound p99, us", sim_series_quantile(&marks.guaranteed, 0.99),
                      model.net.round_trip_us + 1.5);
    tell_soundness(trial, OF, &marks);
    sim_marks_release(&marks);
}

void sim_goal_claims(const struct sim_trial *trial)
{
    static const double ALWAYS_S[] = {0, 3600}, FOR_A_MINUTE_S[] = {1800, 1860};

    try_good(trial, "claims of 100 ns", 100, 1);
    try_good(trial, "claims of 100 ns, wander x 20", 100, 20);
    try_good(trial, "claims of 1 us", 1000, 1);
    try_good(trial, "claims of 3 us", 3000, 1);
    try_wide(trial);
    try_liar(trial, "a node's claims are off by 50 us", 3, ALWAYS_S);
    try_liar(trial, "the same for a minute", 3, FOR_A_MINUTE_S);
    try_liar(trial, "the reference's are", 0, ALWAYS_S);
    try_gone(trial);
}
