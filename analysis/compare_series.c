/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/compare_series.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/compare_fit.h"
#include "analysis/result.h"

#define SLOPE_TOLERANCE 0.25

static const struct rkt_estimate NOT_KNOWN = {(double)NAN, (double)NAN, (double)NAN};

const char *rkt_scaling_name(enum rkt_scaling scaling)
{
    switch (scaling) {
    case RKT_SCALING_WEAK:
        return "weak";
    case RKT_SCALING_STRONG:
        return "strong";
    case RKT_SCALING_UNKNOWN:
        break;
    }
    return "unknown";
}

static double median_of(const struct rkt_compare_run *run, enum rkt_metric metric)
{
    return rkt_bootstrap_median(run->metrics[metric]).value;
}

/* Insertion: a series has few runs, and equal ones stay in their order. */
static void sort_rows(struct rkt_series *series)
{
    for (size_t i = 1; i < series->row_count; i++) {
        struct rkt_series_row row = series->rows[i];
        size_t to = i;

        for (; to > 0 && series->rows[to - 1].run->rank_count > row.run->rank_count; to--)
            series->rows[to] = series->rows[to - 1];
        series->rows[to] = row;
    }
    for (size_t i = 1; i < series->row_count; i++)
        series->twice_count +=
            series->rows[i].run->rank_count == series->rows[i - 1].run->rank_count;
}

static void fill_row(struct rkt_series_row *row)
{
    row->step_ns = rkt_bootstrap_median(row->run->metrics[RKT_METRIC_STEP]);
    row->speedup = NOT_KNOWN;
    row->efficiency = NOT_KNOWN;
    row->parallel = median_of(row->run, RKT_METRIC_PARALLEL);
    row->balance = median_of(row->run, RKT_METRIC_BALANCE);
    row->comm = median_of(row->run, RKT_METRIC_COMM_EFFICIENCY);
    row->serial = row->run->serial;
    row->transfer = row->run->transfer;
    row->transfer_ns = (double)NAN;
    row->modelled_ns = (double)NAN;
}

/* ---- which kind of scaling ---- */

/* Slope of log y over log x; NAN where x does not differ. */
static double log_slope(const struct rkt_series *series)
{
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    double n = 0;

    for (size_t i = 0; i < series->row_count; i++) {
        double compute_ns = median_of(series->rows[i].run, RKT_METRIC_COMPUTE);
        double x = log((double)series->rows[i].run->rank_count);
        double y = log(compute_ns);

        if (!isfinite(y))
            continue;
        n++;
        sum_x += x;
        sum_y += y;
        sum_xx += x * x;
        sum_xy += x * y;
    }
    return n * sum_xx - sum_x * sum_x > 1e-9
               ? (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x)
               : (double)NAN;
}

static void find_scaling(struct rkt_series *series, enum rkt_scaling told)
{
    series->work_slope = log_slope(series);
    series->is_told = told != RKT_SCALING_UNKNOWN;
    series->why_unknown = "";
    if (series->is_told)
        series->scaling = told;
    else if (isnan(series->work_slope))
        series->why_unknown = "computing is known of only one number of ranks";
    else if (fabs(series->work_slope) <= SLOPE_TOLERANCE)
        series->scaling = RKT_SCALING_WEAK;
    else if (fabs(series->work_slope + 1) <= SLOPE_TOLERANCE)
        series->scaling = RKT_SCALING_STRONG;
    else
        series->why_unknown = "the computing of a rank neither stays nor falls as 1/N: say --weak "
                              "or --strong";
}

/* ---- efficiency ---- */

static struct rkt_estimate scaled(struct rkt_estimate estimate, double factor)
{
    return (struct rkt_estimate){estimate.value * factor, estimate.low * factor,
                                 estimate.high * factor};
}

static enum rkt_status fill_efficiency(struct rkt_series *series, size_t index,
                                       struct rkt_error *err)
{
    const struct rkt_compare_run *base = series->rows[0].run;
    struct rkt_series_row *row = &series->rows[index];
    double growth = (double)row->run->rank_count / (double)base->rank_count;
    struct rkt_estimate ratio = NOT_KNOWN;
    enum rkt_status status = RKT_OK;

    if (series->scaling == RKT_SCALING_UNKNOWN)
        return RKT_OK;
    if (index > 0)
        status =
            rkt_bootstrap_contrast(row->run->metrics[RKT_METRIC_STEP],
                                   base->metrics[RKT_METRIC_STEP], RKT_CONTRAST_RATIO, &ratio, err);
    else if (isfinite(row->step_ns.value))
        ratio = (struct rkt_estimate){1, 1, 1}; /* of itself */
    row->efficiency = series->scaling == RKT_SCALING_WEAK ? ratio : scaled(ratio, 1 / growth);
    row->speedup = scaled(row->efficiency, growth);
    return status;
}

/* ---- outlook ---- */

static double efficiency_at(const struct rkt_series *series, double rank_count, double step_ns)
{
    const struct rkt_series_row *base = &series->rows[0];
    double ratio = base->step_ns.value / step_ns;

    return series->scaling == RKT_SCALING_WEAK ? ratio
                                               : ratio * (double)base->run->rank_count / rank_count;
}

static void look_ahead(const struct rkt_series *series, const struct rkt_transfer_cost *cost,
                       struct rkt_outlook *outlook)
{
    const struct rkt_series_row *last = &series->rows[series->row_count - 1];
    const struct rkt_compare_run *run = last->run;
    double computing_ns = median_of(run, RKT_METRIC_COMPUTE);
    double exposed_ns = median_of(run, RKT_METRIC_COMM_TRANSFER);
    double share = fmin(1, fmax(0, exposed_ns / last->transfer_ns));
    double grown_ns =
        rkt_fit_transfer_ns(&series->fit, cost, outlook->rank_count) - last->modelled_ns;
    double low_ns = last->step_ns.value + fmin(share * grown_ns, grown_ns);
    double high_ns = last->step_ns.value + fmax(share * grown_ns, grown_ns);

    if (series->scaling == RKT_SCALING_STRONG) {
        double gone = 1 - (double)run->rank_count / (double)outlook->rank_count;

        low_ns -= (last->step_ns.value - exposed_ns) * gone;
        high_ns -= computing_ns * gone;
        high_ns += fmax(0, last->transfer_ns - exposed_ns); /* that computing hides, now */
    }
    outlook->step_low_ns = low_ns;
    outlook->step_high_ns = high_ns;
    outlook->efficiency_low =
        efficiency_at(series, (double)outlook->rank_count, outlook->step_high_ns);
    outlook->efficiency_high =
        efficiency_at(series, (double)outlook->rank_count, outlook->step_low_ns);
}

static void fill_outlook(struct rkt_series *series, const struct rkt_transfer_cost *costs)
{
    const struct rkt_series_row *last = &series->rows[series->row_count - 1];
    uint32_t factor = 1;

    for (size_t i = 0; i < RKT_OUTLOOK_COUNT; i++) {
        struct rkt_outlook *outlook = &series->outlook[i];

        factor *= 2;
        *outlook = (struct rkt_outlook){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
        if (__builtin_mul_overflow(last->run->rank_count, factor, &outlook->rank_count))
            outlook->rank_count = UINT32_MAX;
        if (series->fit.why_not[0] == '\0')
            look_ahead(series, &costs[series->row_count - 1], outlook);
    }
}

static enum rkt_status fit_rows(struct rkt_series *series, struct rkt_error *err)
{
    struct rkt_transfer_cost *costs = calloc(series->row_count + 1, sizeof(*costs));

    if (!costs)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a fit");
    for (size_t i = 0; i < series->row_count; i++) {
        costs[i] = rkt_transfer_cost_of(series->rows[i].run);
        if (costs[i].why_not[0] == '\0')
            series->rows[i].transfer_ns = costs[i].transfer_ns;
    }
    rkt_fit_transfers(costs, series->row_count, &series->fit);
    if (series->fit.why_not[0] == '\0' && series->scaling == RKT_SCALING_UNKNOWN)
        series->fit.why_not = "whether scaling is weak or strong is not known";
    for (size_t i = 0; i < series->row_count && series->fit.why_not[0] == '\0'; i++)
        series->rows[i].modelled_ns =
            rkt_fit_transfer_ns(&series->fit, &costs[i], series->rows[i].run->rank_count);
    if (series->fit.why_not[0] == '\0' &&
        (isnan(series->rows[series->row_count - 1].transfer_ns) ||
         isnan(series->rows[series->row_count - 1].step_ns.value) ||
         isnan(series->rows[0].step_ns.value)))
        series->fit.why_not = "the largest or the smallest run lacks steps or transfers";
    fill_outlook(series, costs);
    free(costs);
    return RKT_OK;
}

enum rkt_status rkt_series_create(const struct rkt_compare_run *runs, size_t run_count,
                                  enum rkt_scaling told, struct rkt_series *out,
                                  struct rkt_error *err)
{
    struct rkt_series series = {.rows = calloc(run_count + 1, sizeof(*series.rows)),
                                .row_count = run_count};
    enum rkt_status status = RKT_OK;

    if (!series.rows)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a series of %zu runs", run_count);
    for (size_t i = 0; i < run_count; i++)
        series.rows[i].run = &runs[i];
    sort_rows(&series);
    for (size_t i = 0; i < run_count; i++)
        fill_row(&series.rows[i]);
    find_scaling(&series, told);
    for (size_t i = 0; i < run_count && status == RKT_OK; i++)
        status = fill_efficiency(&series, i, err);
    if (status == RKT_OK)
        status = fit_rows(&series, err);
    if (status == RKT_OK)
        *out = series;
    else
        rkt_series_release(&series);
    return status;
}

void rkt_series_release(struct rkt_series *series)
{
    free(series->rows);
    *series = (struct rkt_series){0};
}
