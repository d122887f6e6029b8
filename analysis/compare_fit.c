/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare_fit.h"

#include <math.h>
#include <string.h>

#include "analysis/result.h"

#define OTHER_SHARE_MAX 0.10 /* of transfers that the models do not know */

#define MODEL_RING "ring"
#define MODEL_TREE "tree"

/* f; 0: the models do not know it. */
static double passes_of(const char *func)
{
    if (strcmp(func, "AllReduce") == 0)
        return 2;
    return strcmp(func, "AllGather") == 0 || strcmp(func, "ReduceScatter") == 0 ? 1 : 0;
}

/* Adds one kind of collective; returns what it costs beyond the models. */
static double add_use(struct rkt_transfer_cost *cost, const struct rkt_compare_run *run,
                      const struct rkt_collective_use *use)
{
    double per_step = (double)use->step_count_in / (double)run->recorded_count;
    double transfer_ns = rkt_bootstrap_median(use->transfer).value * per_step;
    double passes = passes_of(use->func);

    if (!isfinite(transfer_ns) || use->step_count_in == 0)
        return 0;
    if (!(passes > 0) || use->bytes == RKT_NA ||
        (use->member_count != 0 && use->member_count != run->rank_count))
        return transfer_ns;
    cost->has_tree &= passes > 1;
    cost->transfer_ns += transfer_ns;
    cost->unit_count += passes * per_step;
    cost->unit_bytes += passes * per_step * (double)use->bytes;
    return 0;
}

struct rkt_transfer_cost rkt_transfer_cost_of(const struct rkt_compare_run *run)
{
    struct rkt_transfer_cost cost = {
        .why_not = "", .has_tree = true, .rank_count = run->rank_count};
    double other_ns = 0;

    for (size_t i = 0; i < run->collective_count && run->recorded_count > 0; i++)
        other_ns += add_use(&cost, run, &run->collectives[i]);
    if (other_ns > OTHER_SHARE_MAX * (cost.transfer_ns + other_ns))
        cost.why_not = "over 10 % of transfers are of collectives that the models do not know, or "
                       "of some of the ranks";
    else if (!(cost.transfer_ns > 0))
        cost.why_not = "no collectives in steps";
    return cost;
}

/* What alpha and beta are multiplied by. */
struct terms {
    double of_alpha;
    double of_beta;
};

static struct terms terms_of(const char *model, const struct rkt_transfer_cost *cost,
                             uint32_t rank_count)
{
    double n = (double)rank_count;

    if (strcmp(model, MODEL_TREE) == 0)
        return (struct terms){cost->unit_count * ceil(log2(n)), n > 1 ? cost->unit_bytes : 0};
    return (struct terms){cost->unit_count * (n - 1), cost->unit_bytes * (n - 1) / n};
}

double rkt_fit_transfer_ns(const struct rkt_fit *fit, const struct rkt_transfer_cost *cost,
                           uint32_t rank_count)
{
    struct terms terms = terms_of(fit->model, cost, rank_count);

    return fit->alpha_ns * terms.of_alpha + fit->beta_ns_per_byte * terms.of_beta;
}

static bool is_point(const struct rkt_transfer_cost *cost)
{
    return cost->why_not[0] == '\0' && cost->rank_count > 1;
}

/* Sums of the normal equations; terms are relative to what was measured. */
struct normal {
    double aa, ab, bb, a1, b1;
};

static struct normal normal_of(const char *model, const struct rkt_transfer_cost *costs,
                               size_t count)
{
    struct normal sums = {0};

    for (size_t i = 0; i < count; i++) {
        struct terms terms;

        if (!is_point(&costs[i]))
            continue;
        terms = terms_of(model, &costs[i], costs[i].rank_count);
        terms.of_alpha /= costs[i].transfer_ns;
        terms.of_beta /= costs[i].transfer_ns;
        sums.aa += terms.of_alpha * terms.of_alpha;
        sums.ab += terms.of_alpha * terms.of_beta;
        sums.bb += terms.of_beta * terms.of_beta;
        sums.a1 += terms.of_alpha;
        sums.b1 += terms.of_beta;
    }
    return sums;
}

/* Neither may be negative: of one that would be, 0, and the other alone. */
static void solve(const struct normal *sums, struct rkt_fit *fit)
{
    double determinant = sums->aa * sums->bb - sums->ab * sums->ab;
    bool can_both = determinant > 1e-12 * sums->aa * sums->bb;

    if (can_both) {
        fit->alpha_ns = (sums->a1 * sums->bb - sums->b1 * sums->ab) / determinant;
        fit->beta_ns_per_byte = (sums->b1 * sums->aa - sums->a1 * sums->ab) / determinant;
    }
    if (sums->bb > 0 && (!can_both || fit->alpha_ns < 0)) {
        fit->alpha_ns = 0;
        fit->beta_ns_per_byte = sums->b1 / sums->bb;
    } else if (sums->aa > 0 && (!can_both || fit->beta_ns_per_byte < 0)) {
        fit->alpha_ns = sums->a1 / sums->aa;
        fit->beta_ns_per_byte = 0;
    }
}

static struct rkt_fit fit_model(const char *model, const struct rkt_transfer_cost *costs,
                                size_t count)
{
    struct normal sums = normal_of(model, costs, count);
    struct rkt_fit fit = {.why_not = "", .model = model};

    solve(&sums, &fit);
    for (size_t i = 0; i < count; i++) {
        double modelled_ns;

        if (!is_point(&costs[i]))
            continue;
        modelled_ns = rkt_fit_transfer_ns(&fit, &costs[i], costs[i].rank_count);
        fit.miss = fmax(fit.miss, fabs(modelled_ns / costs[i].transfer_ns - 1));
        fit.point_count++;
    }
    return fit;
}

/* Of costs in order of their ranks: numbers above 1 that can be fitted. */
static size_t count_sizes(const struct rkt_transfer_cost *costs, size_t count)
{
    uint32_t last = 0;
    size_t sizes = 0;

    for (size_t i = 0; i < count; i++) {
        if (!is_point(&costs[i]))
            continue;
        sizes += costs[i].rank_count != last;
        last = costs[i].rank_count;
    }
    return sizes;
}

static const char *first_reason(const struct rkt_transfer_cost *costs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (costs[i].rank_count > 1 && costs[i].why_not[0] != '\0')
            return costs[i].why_not;
    }
    return "runs of three numbers of ranks above 1 are needed";
}

void rkt_fit_transfers(const struct rkt_transfer_cost *costs, size_t count, struct rkt_fit *fit)
{
    bool has_tree = true;

    if (count_sizes(costs, count) < RKT_FIT_POINTS_MIN) {
        *fit = (struct rkt_fit){.why_not = first_reason(costs, count),
                                .model = "",
                                .alpha_ns = (double)NAN,
                                .beta_ns_per_byte = (double)NAN,
                                .miss = (double)NAN};
        return;
    }
    for (size_t i = 0; i < count; i++)
        has_tree &= !is_point(&costs[i]) || costs[i].has_tree;
    *fit = fit_model(MODEL_RING, costs, count);
    if (has_tree) {
        struct rkt_fit tree = fit_model(MODEL_TREE, costs, count);

        if (tree.miss < fit->miss)
            *fit = tree;
    }
    if (fit->miss > RKT_FIT_MISS_MAX)
        fit->why_not = "no model fits: a run's transfers are missed by over 10 %";
}
