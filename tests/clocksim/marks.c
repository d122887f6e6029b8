/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/marks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/clock_map.h"
#include "common/clock_tree.h"
#include "tests/clocksim/must.h"

#define POINT_S 0.5
#define US 1000.0
/* What whole numbers cost: a stamp, an offset, a bound. */
#define ROUNDING_NS 3

/* ---- ours ---- */

void sim_marks_add_point(struct sim_marks *marks, const struct rkt_clock_map *map,
                         const struct sim_line *line, double local_ns, double truth_ns)
{
    int64_t rank_ns = (int64_t)local_ns;
    int64_t bound_ns, likely_ns;
    int64_t job_ns = rkt_clock_map_to_job(map, rank_ns, &bound_ns).ns;
    double error_ns = fabs((double)(job_ns - rank_ns) - truth_ns);

    (void)rkt_clock_map_worst_bound(map, rank_ns, rank_ns, &likely_ns);
    sim_series_add(&marks->ours, error_ns / US);
    sim_series_add(&marks->guaranteed, (double)bound_ns / US);
    sim_series_add(&marks->likely, (double)likely_ns / US);
    marks->point_count++;
    marks->outside_count += error_ns > (double)bound_ns + ROUNDING_NS;
    marks->unlikely_count += error_ns > (double)likely_ns + ROUNDING_NS;
    if (!line)
        return;
    sim_series_add(&marks->start_only, fabs(line->offset_ns[0] - truth_ns) / US);
    sim_series_add(&marks->start_end, fabs(sim_line_at(line, local_ns) - truth_ns) / US);
}

static void add_node(struct sim_marks *marks, const struct sim_run *run, size_t n,
                     const struct rkt_align_info *align)
{
    const struct sim_node *node = &run->nodes[n];
    struct rkt_clock_map *map;
    struct rkt_error err;
    struct sim_line line;
    bool has_line = sim_line_make(node->kept, node->kept_count, &line);

    marks->node_count++;
    marks->exchange_count += node->exchange_count;
    marks->burst_count += node->burst_count;
    marks->silent_count += (align->flags & RKT_CLOCK_SILENT) != 0;
    marks->stepped_count += (align->flags & RKT_CLOCK_STEPPED) != 0;
    marks->claim_used_count += (align->flags & RKT_CLOCK_CLAIM_USED) != 0;
    marks->claim_wrong_count += (align->flags & RKT_CLOCK_CLAIM_WRONG) != 0;
    if (align->state != RKT_ALIGN_MEASURED) {
        marks->unaligned_count++;
        return;
    }
    sim_must(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err), &err);
    for (size_t i = 1; POINT_S * (double)i < run->model.clock.duration_s; i++) {
        double true_s = POINT_S * (double)i;

        sim_marks_add_point(marks, map, has_line ? &line : NULL, sim_clock_at(node->clock, true_s),
                            sim_run_truth_ns(run, n, true_s));
    }
    rkt_clock_map_destroy(map);
}

void sim_marks_add(struct sim_marks *marks, const struct sim_run *run,
                   const struct rkt_clock_params *params)
{
    uint64_t start_ns = rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct rkt_clock_tree *tree = sim_run_tree(run, params);
    const struct rkt_align_info *align;
    struct rkt_error err;

    for (size_t n = 0; n < run->model.node_count; n++)
        sim_must(rkt_clock_tree_align(tree, n, &align, &err), &err);
    marks->solve_s += (double)(rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e9;
    for (size_t n = 0; n < run->model.node_count; n++)
        marks->busy_ratio =
            fmax(marks->busy_ratio, run->nodes[n].busy_s / run->model.clock.duration_s);
    for (size_t n = 1; n < run->model.node_count; n++) {
        sim_must(rkt_clock_tree_align(tree, n, &align, &err), &err); /* is there by now */
        add_node(marks, run, n, align);
    }
    rkt_clock_tree_destroy(tree);
}

/* ---- live ---- */

/* The first `count` exchanges are known; looks ahead until the next one. */
static void add_live(struct sim_marks *marks, const struct sim_run *run, size_t n, size_t count)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    const struct sim_node *node = &run->nodes[n];
    struct rkt_clock_node nodes[2] = {
        {.source = 0},
        {.source = 1, .clock_group = 1, .exchanges = node->kept, .exchange_count = count}};
    const struct rkt_align_info *align;
    struct rkt_clock_tree *tree;
    struct rkt_clock_map *map;
    struct rkt_error err;
    struct sim_line line;
    bool has_line = sim_line_make(node->kept, node->kept_count, &line);
    double first_ns = sim_clock_at(node->clock, 0);

    sim_must(rkt_clock_tree_create(nodes, 2, 0, &PARAMS, &tree, &err), &err);
    sim_must(rkt_clock_tree_align(tree, 1, &align, &err), &err);
    sim_must(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err), &err);
    for (uint64_t at_ns = node->kept[count - 1].end_ns; at_ns < node->kept[count].start_ns;
         at_ns += 1000000000) {
        /* the true time at which the clock shows that, to a part in a million */
        double true_s = ((double)at_ns - first_ns) / 1e9;
        int64_t bound_ns, rank_ns;
        double error_ns, truth_ns;

        if (true_s < 0 || true_s > run->model.clock.duration_s)
            continue;
        rank_ns = (int64_t)sim_clock_at(node->clock, true_s);
        truth_ns = sim_run_truth_ns(run, n, true_s);
        error_ns =
            fabs((double)(rkt_clock_map_to_job(map, rank_ns, &bound_ns).ns - rank_ns) - truth_ns);
        sim_series_add(&marks->live, error_ns / US);
        if (has_line)
            sim_series_add(&marks->live_constant, fabs(line.offset_ns[0] - truth_ns) / US);
        marks->live_outside_count += error_ns > (double)bound_ns + ROUNDING_NS;
    }
    rkt_clock_map_destroy(map);
    rkt_clock_tree_destroy(tree);
}

void sim_marks_add_live(struct sim_marks *marks, const struct sim_run *run, size_t every)
{
    static const uint64_t WARM_UP_NS = UINT64_C(60000000000);

    for (size_t n = 1; n < run->model.node_count; n++) {
        const struct sim_node *node = &run->nodes[n];

        for (size_t count = 2 + 2 * (n % every); count + 2 < node->kept_count; count += 2 * every) {
            if (node->kept[count - 1].end_ns - node->kept[0].start_ns > WARM_UP_NS)
                add_live(marks, run, n, count);
        }
    }
}

static void print_quantiles(struct sim_series *series)
{
    printf(" %.2f / %.2f / %.1f |", sim_series_quantile(series, 0.5),
           sim_series_quantile(series, 0.99), sim_series_quantile(series, 1));
}

void sim_marks_print(struct sim_marks *marks, const char *name)
{
    printf("| %s |", name);
    print_quantiles(&marks->ours);
    print_quantiles(&marks->guaranteed);
    print_quantiles(&marks->likely);
    printf(" %llu of %llu |", (unsigned long long)marks->outside_count,
           (unsigned long long)marks->point_count);
    print_quantiles(&marks->start_end);
    print_quantiles(&marks->start_only);
}

void sim_marks_release(struct sim_marks *marks)
{
    sim_series_release(&marks->ours);
    sim_series_release(&marks->guaranteed);
    sim_series_release(&marks->likely);
    sim_series_release(&marks->live);
    sim_series_release(&marks->live_constant);
    sim_series_release(&marks->start_only);
    sim_series_release(&marks->start_end);
    memset(marks, 0, sizeof(*marks));
}
