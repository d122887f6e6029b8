/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/efficiency.h"

#include <math.h>

#include "analysis/analysis.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/step_table.h"

#define NS_PER_S 1e9

/* What the ranks' windows come to. */
struct sums {
    struct rkt_efficiency *out;
    int64_t most_useful_ns; /* of a rank */
    int64_t rank_useful_ns; /* of the rank that is being added */
};

static void add_window(struct sums *sums, const struct rkt_window *window)
{
    if (window->is_host_view)
        rkt_host_partition_add(&sums->out->host, &window->host);
    else
        rkt_partition_add(&sums->out->parts, &window->parts);
    sums->out->windows_ns = sums->out->parts.window_ns + sums->out->host.window_ns;
    sums->rank_useful_ns += window->compute_ns;
}

static void close_rank(struct sums *sums)
{
    sums->out->rank_count++;
    sums->out->useful_ns += sums->rank_useful_ns;
    if (sums->rank_useful_ns > sums->most_useful_ns)
        sums->most_useful_ns = sums->rank_useful_ns;
    sums->rank_useful_ns = 0;
}

static void add_steps(const struct rkt_result *result, const struct rkt_step_table *steps,
                      struct sums *sums)
{
    for (size_t i = 0; i < steps->row_count; i++) {
        if (!rkt_step_row_is_steady(steps, i))
            continue;
        sums->out->step_count++;
        sums->out->steps_ns += steps->rows[i].longest_ns;
    }
    sums->out->has_steps = sums->out->step_count > 0;
    for (size_t r = 0; r < result->rank_count && sums->out->has_steps; r++) {
        if (result->ranks[r].is_set_apart)
            continue;
        for (size_t i = 0; i < steps->row_count; i++) {
            if (rkt_step_row_is_steady(steps, i))
                add_window(sums, &steps->rows[i].by_rank[r].step->window);
        }
        close_rank(sums);
    }
}

static void add_runs(const struct rkt_result *result, struct sums *sums)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        int64_t before_ns = sums->out->windows_ns;

        if (result->ranks[r].is_set_apart)
            continue;
        add_window(sums, &result->ranks[r].run);
        close_rank(sums);
        if (sums->out->windows_ns - before_ns > sums->out->steps_ns)
            sums->out->steps_ns = sums->out->windows_ns - before_ns;
    }
    sums->out->step_count = 1;
}

static void fill_factors(const struct rkt_result *result, const struct sums *sums)
{
    struct rkt_efficiency *out = sums->out;
    int64_t rank_count = (int64_t)out->rank_count;

    out->parallel = rkt_share(out->useful_ns, out->windows_ns);
    out->balance = rkt_share(out->useful_ns, rank_count * sums->most_useful_ns);
    out->comm = rkt_share(sums->most_useful_ns, out->steps_ns);
    out->spread = rkt_share(out->windows_ns, rank_count * out->steps_ns);
    if (!out->has_steps || result->whatif.inst_ns == RKT_NA)
        return;
    out->serial = rkt_share(sums->most_useful_ns, result->whatif.inst_ns);
    out->transfer = rkt_share(result->whatif.inst_ns, out->steps_ns);
}

static void fill_flops(const struct rkt_analysis_options *options, struct rkt_efficiency *out)
{
    double step_s = (double)out->steps_ns / (double)out->step_count / NS_PER_S;

    if (!options || !(options->step_flops > 0) || !out->has_steps || !(step_s > 0))
        return;
    out->flops_per_s = options->step_flops / step_s / (double)out->rank_count;
    if (options->peak_flops > 0)
        out->mfu = out->flops_per_s / options->peak_flops;
}

enum rkt_status rkt_find_efficiency(struct rkt_result *result,
                                    const struct rkt_analysis_options *options,
                                    struct rkt_arena *arena, struct rkt_error *err)
{
    struct sums sums = {.out = RKT_ARENA_ARRAY(arena, struct rkt_efficiency, 1)};
    struct rkt_step_table steps;
    enum rkt_status status;

    if (!sums.out)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the efficiency of a run");
    status = rkt_step_table_init(&steps, result, err);
    if (status != RKT_OK)
        return status;
    (void)rkt_step_table_mark_warmup(&steps);
    *sums.out = (struct rkt_efficiency){.serial = (double)NAN,
                                        .transfer = (double)NAN,
                                        .flops_per_s = (double)NAN,
                                        .mfu = (double)NAN};
    result->efficiency = sums.out;
    add_steps(result, &steps, &sums);
    if (!sums.out->has_steps)
        add_runs(result, &sums);
    rkt_step_table_release(&steps);
    fill_factors(result, &sums);
    fill_flops(options, sums.out);
    return RKT_OK;
}
