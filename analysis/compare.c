/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rank_sum.h"
#include "analysis/result.h"

#define WHY_FEW "fewer than 5 steady steps have it"
#define WHY_FEW_BATCHES "fewer than 5 batches of steady steps have it"
#define WHY_SMALL "under 0.1 % of all such time: it is not judged"
#define WHY_WAITS "waiting is in it: collectives have their transfers compared"
#define WHY_CHANCE "of so many kernels, one may differ as much by chance"
#define WHY_CLOCKS "not distinguishable: the clocks may be off by as much"
#define WHY_ABSENT "one of the runs does not have it"

static double median_of(struct rkt_sample sample)
{
    return rkt_bootstrap_median(sample).value;
}

const char *rkt_why_not_alike(const struct rkt_compare_run *a, const struct rkt_compare_run *b)
{
    if (strcmp(a->producer, b->producer) != 0)
        return "the runs were recorded by different tools";
    if (a->is_host_view != b->is_host_view)
        return "only one of the runs recorded GPU work";
    if (strcmp(a->step_source, b->step_source) != 0)
        return "steps were not found in the same way";
    return "";
}

static bool excludes_zero(const struct rkt_estimate *estimate)
{
    return estimate->low > 0 || estimate->high < 0; /* false of NAN */
}

/* ---- metrics ---- */

static const char *why_no_steps(const struct rkt_comparison *comparison)
{
    const char *before = comparison->runs[0]->why_no_steps;

    return before[0] != '\0' ? before : comparison->runs[1]->why_no_steps;
}

/* Waits by the clocks, and the transfers that are left of them: the clocks may make the change. */
static bool is_blurred(const struct rkt_comparison *comparison, enum rkt_metric metric)
{
    double difference_ns = comparison->metrics[metric].difference.value;
    double gap_ns =
        (double)comparison->runs[0]->wait_gap_ns + (double)comparison->runs[1]->wait_gap_ns;

    return (metric == RKT_METRIC_COMM_WAIT || metric == RKT_METRIC_COMM_TRANSFER) && gap_ns > 0 &&
           fabs(difference_ns) <= gap_ns;
}

static enum rkt_status compare_metric(struct rkt_comparison *comparison, enum rkt_metric metric,
                                      struct rkt_error *err)
{
    struct rkt_sample before = comparison->runs[0]->metrics[metric];
    struct rkt_sample after = comparison->runs[1]->metrics[metric];
    struct rkt_metric_change *change = &comparison->metrics[metric];
    enum rkt_status status;

    change->before = median_of(before);
    change->after = median_of(after);
    status =
        rkt_bootstrap_contrast(before, after, RKT_CONTRAST_DIFFERENCE, &change->difference, err);
    change->is_blurred = is_blurred(comparison, metric);
    change->is_real = excludes_zero(&change->difference) && comparison->why_not_alike[0] == '\0' &&
                      !change->is_blurred;
    change->why_not = comparison->why_not_alike;
    if (change->why_not[0] == '\0' && change->is_blurred)
        change->why_not = WHY_CLOCKS;
    if (isnan(change->difference.value))
        change->why_not = why_no_steps(comparison)[0] ? why_no_steps(comparison) : WHY_ABSENT;
    else if (isnan(change->difference.low))
        change->why_not = WHY_FEW;
    return status;
}

double rkt_metric_change_share(const struct rkt_metric_change *change)
{
    return change->before > 0 ? change->difference.value / change->before : (double)NAN;
}

const char *rkt_run_factor_name(enum rkt_run_factor factor)
{
    return factor == RKT_FACTOR_SERIAL ? "serial" : "transfer";
}

double rkt_run_factor_of(const struct rkt_compare_run *run, enum rkt_run_factor factor)
{
    return factor == RKT_FACTOR_SERIAL ? run->serial : run->transfer;
}

/* ---- names ---- */

/* Steps of ranks that the table of kernels is of. */
static double parts_of(const struct rkt_compare_run *run)
{
    double steps = run->step_count > 0 ? (double)run->step_count : 1;

    return run->compared_count > 0 ? steps * (double)run->compared_count : steps;
}

#define NOT_KNOWN                             \
    {                                         \
        (double)NAN, (double)NAN, (double)NAN \
    }
static const struct rkt_name_change NOTHING = {
    .name = "", .of_step = NOT_KNOWN, .p = (double)NAN, .why_not = ""};

static void fill_kernel_side(struct rkt_name_change *change, int side,
                             const struct rkt_compare_run *run, const struct rkt_kernel_use *use)
{
    double parts = parts_of(run);

    change->name = use->name;
    change->kind = use->kind;
    change->bytes = RKT_NA;
    change->sides[side].is_there = true;
    change->sides[side].count = (double)use->count / parts;
    change->sides[side].step_ns = (double)use->total_ns / parts;
    change->sides[side].mean_ns =
        use->count > 0 ? (double)use->total_ns / (double)use->count : (double)NAN;
    change->sides[side].median_ns = median_of(use->of_step);
}

static void fill_collective_side(struct rkt_name_change *change, int side,
                                 const struct rkt_compare_run *run,
                                 const struct rkt_collective_use *use)
{
    double steps = run->recorded_count > 0 ? (double)run->recorded_count : 1;

    change->name = use->func;
    change->is_collective = true;
    change->bytes = use->bytes;
    change->sides[side].is_there = true;
    change->sides[side].count = (double)use->step_count_in / steps;
    change->sides[side].mean_ns = median_of(use->transfer);
    change->sides[side].step_ns = change->sides[side].mean_ns * change->sides[side].count;
}

static int order_of_kernels(const struct rkt_kernel_use *a, const struct rkt_kernel_use *b)
{
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static int order_of_collectives(const struct rkt_collective_use *a,
                                const struct rkt_collective_use *b)
{
    int order = strcmp(a->func, b->func);

    return order != 0 ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Which sides have the next name: -1 the first, 1 the second, 0 both. Either may be at its end. */
static int next_side(bool has_a, bool has_b, int order)
{
    if (has_a && has_b)
        return order;
    return has_a ? -1 : 1;
}

/* What keeps a kernel that both runs have from being judged; "". */
static const char *why_not_judged(const struct rkt_comparison *comparison,
                                  const struct rkt_name_change *change)
{
    double both_ns = change->sides[0].step_ns + change->sides[1].step_ns;

    if (comparison->why_not_alike[0] != '\0')
        return comparison->why_not_alike;
    if (change->kind == RKT_USE_COMM)
        return WHY_WAITS;
    if (isnan(change->of_step.low))
        return WHY_FEW_BATCHES;
    return both_ns < RKT_JUDGED_SHARE_MIN * comparison->use_ns[change->kind] ? WHY_SMALL : "";
}

static enum rkt_status look_at_kernel(const struct rkt_comparison *comparison,
                                      const struct rkt_kernel_use *before,
                                      const struct rkt_kernel_use *after,
                                      struct rkt_name_change *change, struct rkt_error *err)
{
    enum rkt_status status = rkt_bootstrap_contrast(before->of_step, after->of_step,
                                                    RKT_CONTRAST_DIFFERENCE, &change->of_step, err);

    change->why_not = why_not_judged(comparison, change);
    if (change->why_not[0] == '\0')
        change->p = rkt_rank_sum_p(before->of_step, after->of_step);
    return status;
}

static bool is_judged(const struct rkt_name_change *change, bool is_of_operators)
{
    return !isnan(change->p) && rkt_use_is_of_operator(change->kind) == is_of_operators;
}

/* All together: of many kernels some differ by chance. `p` is room. */
static void judge(struct rkt_comparison *comparison, bool is_of_operators, double *p)
{
    size_t *count = &comparison->judged_counts[is_of_operators];
    double limit;

    for (size_t i = 0; i < comparison->name_count; i++) {
        if (is_judged(&comparison->names[i], is_of_operators))
            p[(*count)++] = comparison->names[i].p;
    }
    limit = rkt_holm_limit(p, *count);
    for (size_t i = 0; i < comparison->name_count; i++) {
        struct rkt_name_change *change = &comparison->names[i];

        if (!is_judged(change, is_of_operators))
            continue;
        change->is_real = change->p <= limit && excludes_zero(&change->of_step);
        change->why_not = change->is_real ? "" : WHY_CHANCE;
    }
}

static enum rkt_status judge_names(struct rkt_comparison *comparison, struct rkt_error *err)
{
    double *p = calloc(comparison->name_count + 1, sizeof(*p));

    if (!p)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to judge %zu names", comparison->name_count);
    judge(comparison, false, p);
    judge(comparison, true, p);
    free(p);
    return RKT_OK;
}

static enum rkt_status merge_kernels(struct rkt_comparison *comparison, struct rkt_error *err)
{
    const struct rkt_compare_run *a = comparison->runs[0];
    const struct rkt_compare_run *b = comparison->runs[1];
    enum rkt_status status = RKT_OK;
    size_t i = 0;
    size_t j = 0;

    while ((i < a->kernel_count || j < b->kernel_count) && status == RKT_OK) {
        struct rkt_name_change *change = &comparison->names[comparison->name_count++];
        bool has_both = i < a->kernel_count && j < b->kernel_count;
        int side = next_side(i < a->kernel_count, j < b->kernel_count,
                             has_both ? order_of_kernels(&a->kernels[i], &b->kernels[j]) : 0);

        *change = NOTHING;
        if (side <= 0)
            fill_kernel_side(change, 0, a, &a->kernels[i++]);
        if (side >= 0)
            fill_kernel_side(change, 1, b, &b->kernels[j++]);
        if (side == 0)
            status =
                look_at_kernel(comparison, &a->kernels[i - 1], &b->kernels[j - 1], change, err);
    }
    return status == RKT_OK ? judge_names(comparison, err) : status;
}

/* Per step and rank. */
static double step_ns_of(const struct rkt_compare_run *run, const struct rkt_kernel_use *use)
{
    return (double)use->total_ns / parts_of(run);
}

static void add_uses(const struct rkt_compare_run *run, double *use_ns)
{
    for (size_t i = 0; i < run->kernel_count; i++)
        use_ns[run->kernels[i].kind] += step_ns_of(run, &run->kernels[i]);
}

/* Of a kernel; operators have the same time once more. */
static double kernel_ns_of(const struct rkt_compare_run *run, const struct rkt_kernel_use *use)
{
    return rkt_use_is_of_operator(use->kind) ? 0 : step_ns_of(run, use);
}

double rkt_common_share(const struct rkt_compare_run *a, const struct rkt_compare_run *b)
{
    double common_ns = 0;
    double all_ns = 0;
    size_t j = 0;

    for (size_t i = 0; i < b->kernel_count; i++)
        all_ns += kernel_ns_of(b, &b->kernels[i]);
    for (size_t i = 0; i < a->kernel_count; i++) {
        all_ns += kernel_ns_of(a, &a->kernels[i]);
        while (j < b->kernel_count && order_of_kernels(&b->kernels[j], &a->kernels[i]) < 0)
            j++;
        if (j < b->kernel_count && order_of_kernels(&b->kernels[j], &a->kernels[i]) == 0)
            common_ns += kernel_ns_of(a, &a->kernels[i]) + kernel_ns_of(b, &b->kernels[j]);
    }
    return all_ns > 0 ? common_ns / all_ns : (double)NAN;
}

static enum rkt_status merge_collectives(struct rkt_comparison *comparison, struct rkt_error *err)
{
    const struct rkt_compare_run *a = comparison->runs[0];
    const struct rkt_compare_run *b = comparison->runs[1];
    enum rkt_status status = RKT_OK;
    size_t i = 0;
    size_t j = 0;

    while ((i < a->collective_count || j < b->collective_count) && status == RKT_OK) {
        struct rkt_name_change *change = &comparison->names[comparison->name_count++];
        bool has_both = i < a->collective_count && j < b->collective_count;
        int side =
            next_side(i < a->collective_count, j < b->collective_count,
                      has_both ? order_of_collectives(&a->collectives[i], &b->collectives[j]) : 0);
        struct rkt_sample none = {0};
        struct rkt_sample before = side <= 0 ? a->collectives[i].transfer : none;
        struct rkt_sample after = side >= 0 ? b->collectives[j].transfer : none;

        *change = NOTHING;
        if (side <= 0)
            fill_collective_side(change, 0, a, &a->collectives[i++]);
        if (side >= 0)
            fill_collective_side(change, 1, b, &b->collectives[j++]);
        status =
            rkt_bootstrap_contrast(before, after, RKT_CONTRAST_DIFFERENCE, &change->of_one, err);
        change->is_real = excludes_zero(&change->of_one) && comparison->why_not_alike[0] == '\0';
    }
    return status;
}

static void fill_difference(struct rkt_name_change *change)
{
    double of_sides[2];

    for (int side = 0; side < 2; side++)
        of_sides[side] = isfinite(change->sides[side].step_ns) ? change->sides[side].step_ns : 0;
    change->difference_ns = of_sides[1] - of_sides[0];
    if (change->is_collective)
        return;
    change->of_one = (struct rkt_estimate){(double)NAN, (double)NAN, (double)NAN};
    if (change->sides[0].is_there && change->sides[1].is_there)
        change->of_one.value = change->sides[1].mean_ns - change->sides[0].mean_ns;
}

static int compare_changes(const void *a, const void *b)
{
    const struct rkt_name_change *first = a;
    const struct rkt_name_change *second = b;
    double x = fabs(first->difference_ns);
    double y = fabs(second->difference_ns);

    if (x > y || x < y)
        return x > y ? -1 : 1;
    return strcmp(first->name, second->name);
}

static enum rkt_status compare_names(struct rkt_comparison *comparison, struct rkt_error *err)
{
    size_t room = comparison->runs[0]->kernel_count + comparison->runs[1]->kernel_count +
                  comparison->runs[0]->collective_count + comparison->runs[1]->collective_count;
    enum rkt_status status;

    comparison->names = calloc(room + 1, sizeof(*comparison->names));
    if (!comparison->names)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu names", room);
    status = merge_kernels(comparison, err);
    if (status == RKT_OK)
        status = merge_collectives(comparison, err);
    for (size_t i = 0; i < comparison->name_count; i++)
        fill_difference(&comparison->names[i]);
    qsort(comparison->names, comparison->name_count, sizeof(*comparison->names), compare_changes);
    return status;
}

/* ---- the whole of it ---- */

enum rkt_status rkt_compare(const struct rkt_compare_run *before,
                            const struct rkt_compare_run *after, struct rkt_comparison *out,
                            struct rkt_error *err)
{
    struct rkt_comparison comparison = {.runs = {before, after},
                                        .why_not_alike = rkt_why_not_alike(before, after),
                                        .common_share = rkt_common_share(before, after)};
    enum rkt_status status = RKT_OK;

    add_uses(before, comparison.use_ns);
    add_uses(after, comparison.use_ns);
    for (int m = 0; m < RKT_METRIC_COUNT && status == RKT_OK; m++)
        status = compare_metric(&comparison, (enum rkt_metric)m, err);
    if (status == RKT_OK)
        status = compare_names(&comparison, err);
    if (status == RKT_OK)
        *out = comparison;
    else
        rkt_comparison_release(&comparison);
    return status;
}

void rkt_comparison_release(struct rkt_comparison *comparison)
{
    free(comparison->names);
    *comparison = (struct rkt_comparison){0};
}
