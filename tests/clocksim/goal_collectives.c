/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mark 15: collectives, one a second for an hour, on clocks that were measured. Nobody ends before
 * the last began, by TAIL_US; a quarter of the ranks end LATE_US behind the others.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/clock_check.h"
#include "common/event.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define NODES_MAX 64u
#define OPS_MAX 3598u
#define NAMED_IN 60.0
#define TAIL_US 15.0
#define LATE_US 40.0
#define ARRIVAL_US 10.0
#define WRONG_NODE 5u
#define OFF_NS INT64_C(20000)

/* How stamps get job time. */
enum way {
    OURS,
    BY_LINE,
    BY_CONSTANT,
    WAY_COUNT
};

struct stage {
    size_t node_count;
    struct sim_run run;
    struct rkt_clock_tree *tree;
    struct rkt_clock_map *maps[NODES_MAX];
    struct sim_line lines[NODES_MAX]; /* [0]: none */
    double starts_s[OPS_MAX][NODES_MAX];
    double ends_s[OPS_MAX][NODES_MAX];
    /* as an analysis has them */
    struct rkt_rank_result ranks[NODES_MAX];
    struct rkt_participant parts[OPS_MAX][NODES_MAX];
    struct rkt_collective ops[OPS_MAX];
};

/* All have ended TAIL_US behind the last to start, which is anybody. */
static void make_times(struct stage *stage, struct sim_random *random)
{
    for (size_t i = 0; i < OPS_MAX; i++) {
        double last_s = 0, at_s = (double)i + 1;

        for (size_t n = 0; n < stage->node_count; n++) {
            stage->starts_s[i][n] = at_s + sim_random_uniform(random, 0, ARRIVAL_US) / 1e6;
            last_s = fmax(last_s, stage->starts_s[i][n]);
        }
        for (size_t n = 0; n < stage->node_count; n++)
            stage->ends_s[i][n] = last_s + TAIL_US / 1e6 + (n % 4 == 3 ? LATE_US / 1e6 : 0);
    }
}

static struct stage *make_stage(size_t node_count, uint64_t seed)
{
    struct sim_run_model model = sim_run_model_star(node_count, sim_net_model_tcp(0.05));
    struct sim_random random = sim_random_of(seed, 79);
    struct stage *stage = calloc(1, sizeof(*stage));
    struct rkt_error err;

    if (!stage)
        abort();
    stage->node_count = node_count;
    sim_run_make(&stage->run, &model, seed);
    stage->tree = sim_run_tree(&stage->run, &sim_usual_params);
    for (size_t n = 0; n < stage->node_count; n++) {
        const struct rkt_align_info *align;
        const struct sim_node *node = &stage->run.nodes[n];

        sim_must(rkt_clock_tree_align(stage->tree, n, &align, &err), &err);
        sim_must(
            rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &stage->maps[n], &err),
            &err);
        if (n > 0 && !sim_line_make(node->kept, node->kept_count, &stage->lines[n]))
            abort();
    }
    make_times(stage, &random);
    return stage;
}

static void destroy_stage(struct stage *stage)
{
    for (size_t n = 0; n < stage->node_count; n++)
        rkt_clock_map_destroy(stage->maps[n]);
    rkt_clock_tree_destroy(stage->tree);
    sim_run_release(&stage->run);
    free(stage);
}

static int64_t job_ns(const struct stage *stage, enum way way, size_t n, double true_s,
                      int64_t off_ns)
{
    int64_t local_ns = (int64_t)sim_clock_raw_ns(stage->run.nodes[n].clock, true_s) + off_ns;
    const struct sim_line *line = &stage->lines[n];

    if (way == OURS)
        return rkt_clock_map_to_job(stage->maps[n], local_ns, NULL).ns;
    if (n == 0)
        return local_ns;
    return local_ns +
           llround(way == BY_LINE ? sim_line_at(line, (double)local_ns) : line->offset_ns[0]);
}

static uint32_t likely_ns(const struct stage *stage, size_t n, double true_s)
{
    int64_t raw_ns = (int64_t)sim_clock_raw_ns(stage->run.nodes[n].clock, true_s);

    return (uint32_t)rkt_clock_map_likely_at(stage->maps[n], raw_ns);
}

/* The stamps of WRONG_NODE are off by off_ns. `has_bounds`: else what clocks may be off counts as
 * 0. */
static struct rkt_result stamp(struct stage *stage, enum way way, int64_t off_ns, bool has_bounds)
{
    for (size_t n = 0; n < stage->node_count; n++) {
        const struct sim_clock *clock = stage->run.nodes[n].clock;

        stage->ranks[n] = (struct rkt_rank_result){0};
        if (has_bounds)
            stage->ranks[n].bound_ns = rkt_clock_map_worst_bound(
                stage->maps[n], (int64_t)sim_clock_raw_ns(clock, stage->starts_s[0][n]),
                (int64_t)sim_clock_raw_ns(clock, stage->ends_s[OPS_MAX - 1][n]),
                &stage->ranks[n].likely_ns);
    }
    for (size_t i = 0; i < OPS_MAX; i++) {
        for (size_t n = 0; n < stage->node_count; n++) {
            int64_t off = n == WRONG_NODE ? off_ns : 0;

            stage->parts[i][n] = (struct rkt_participant){
                .rank = (uint32_t)n,
                .job_start_ns = job_ns(stage, way, n, stage->starts_s[i][n], off),
                .job_end_ns = job_ns(stage, way, n, stage->ends_s[i][n], off),
                .likely_ns = has_bounds ? likely_ns(stage, n, stage->starts_s[i][n]) : 0};
        }
        stage->ops[i] = (struct rkt_collective){.func = RKT_NCCL_FUNC_ALLREDUCE,
                                                .participants = stage->parts[i],
                                                .participant_count = stage->node_count};
    }
    return (struct rkt_result){.ranks = stage->ranks,
                               .rank_count = stage->node_count,
                               .collectives = stage->ops,
                               .collective_count = OPS_MAX};
}

static struct rkt_clock_check check(struct rkt_result *result, size_t op_count)
{
    struct rkt_clock_check check;
    struct rkt_error err;

    result->collective_count = op_count;
    sim_must(rkt_check_clocks(result, &check, &err), &err);
    return check;
}

/* After how many collectives it is the wrong node that is named as proven off, or as likely so. */
static double named_after(struct rkt_result result, bool is_proven)
{
    size_t count = 0;
    struct rkt_clock_check found;

    do {
        count++;
        found = check(&result, count);
    } while (count <= OPS_MAX && WRONG_NODE != (is_proven ? found.proven.rank : found.likely.rank));
    return (double)count;
}

/* By how much what is told of the wrong node after all collectives misses by how much it is ahead;
 * 0: it holds it. */
static double missed_us(struct rkt_result result, int64_t off_ns)
{
    struct rkt_clock_check found = check(&result, OPS_MAX);

    if (found.likely.rank != WRONG_NODE)
        return (double)INFINITY;
    return fmax(0,
                fmax((double)(found.off_low_ns - off_ns), (double)(off_ns - found.off_high_ns))) /
           1000;
}

/* The median of what is between the first end and the last. */
static double end_skew_us(const struct stage *stage)
{
    struct sim_series skews = {0};
    double median;

    for (size_t i = 0; i < OPS_MAX; i++) {
        int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

        for (size_t n = 0; n < stage->node_count; n++) {
            int64_t end_ns = stage->parts[i][n].job_end_ns;

            first_ns = end_ns < first_ns ? end_ns : first_ns;
            last_ns = end_ns > last_ns ? end_ns : last_ns;
        }
        sim_series_add(&skews, (double)(last_ns - first_ns) / 1000);
    }
    median = sim_series_quantile(&skews, 0.5);
    sim_series_release(&skews);
    return median;
}

/* Of all seeds: violations in all, the others of the seed where they are worst. */
struct findings {
    double violations[WAY_COUNT];
    double likely; /* ends beyond likely bounds, of clocks that are right */
    double end_skew_us[WAY_COUNT];
    double named_after[2]; /* ahead, behind */
    double missed_us[2];
    double proved_after;
};

static void add_seed(struct findings *all, struct stage *stage)
{
    struct rkt_result result;

    for (enum way way = OURS; way < WAY_COUNT; way++) {
        double skew_us;

        result = stamp(stage, way, 0, false);
        skew_us = end_skew_us(stage);
        all->violations[way] += (double)check(&result, OPS_MAX).proven.count;
        if (fabs(skew_us - LATE_US) > fabs(all->end_skew_us[way] - LATE_US))
            all->end_skew_us[way] = skew_us;
    }
    result = stamp(stage, OURS, 0, true);
    all->likely += (double)check(&result, OPS_MAX).likely.count;
    for (int k = 0; k < 2; k++) {
        int64_t off_ns = k == 0 ? OFF_NS : -OFF_NS;

        result = stamp(stage, OURS, off_ns, true);
        all->named_after[k] = fmax(all->named_after[k], named_after(result, false));
        all->missed_us[k] = fmax(all->missed_us[k], missed_us(result, off_ns));
    }
    all->proved_after = fmax(all->proved_after, named_after(stamp(stage, OURS, 50000, true), true));
}

static void tell(const struct sim_trial *trial, const char *of, const struct findings *all)
{
    sim_trial_tell(trial, (struct sim_figure){.mark = 15,
                                              .of = of,
                                              .what = "ends before the last start",
                                              .value = all->violations[OURS],
                                              .line = all->violations[BY_LINE],
                                              .constant = all->violations[BY_CONSTANT]});
    sim_trial_at_most(trial, 15, of, "of these beyond the likely bounds", all->likely, 0);
    sim_trial_at_most(trial, 15, of, "collectives until a rank 20 us ahead is named",
                      all->named_after[0], NAMED_IN);
    sim_trial_at_most(trial, 15, of, "until one 20 us behind is", all->named_after[1], NAMED_IN);
    sim_trial_at_most(trial, 15, of, "by what is likely missed of them, us",
                      fmax(all->missed_us[0], all->missed_us[1]), 0);
    sim_trial_at_most(trial, 15, of, "until one 50 us ahead is, beyond the guaranteed bounds",
                      all->proved_after, NAMED_IN);
    sim_trial_tell(trial, (struct sim_figure){.mark = 15,
                                              .of = of,
                                              .what = "ends 40 us apart are, us",
                                              .value = all->end_skew_us[OURS],
                                              .least = LATE_US - 2,
                                              .most = LATE_US + 2,
                                              .line = all->end_skew_us[BY_LINE],
                                              .constant = all->end_skew_us[BY_CONSTANT]});
}

static void try_nodes(const struct sim_trial *trial, size_t node_count, const char *of)
{
    struct findings all = {.end_skew_us = {LATE_US, LATE_US, LATE_US}};

    for (uint64_t i = 0; i < trial->seed_count; i++) {
        struct stage *stage = make_stage(node_count, trial->first_seed + i);

        add_seed(&all, stage);
        destroy_stage(stage);
    }
    tell(trial, of, &all);
}

void sim_goal_collectives(const struct sim_trial *trial)
{
    try_nodes(trial, 8, "8 nodes, a collective each 1 s");
    if (!trial->is_short)
        try_nodes(trial, NODES_MAX, "64 nodes, a collective each 1 s");
}
