/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/json_known.h"
#include "analysis/report/compare_report.h"
#include "analysis/result.h"
#include "common/json_writer.h"

/* Metrics, names, rows: one line each. */
#define BREAK_DEPTH 4

#define WHOLE_MAX 9e18 /* what an int64 holds */

/* Times are whole ns, also where they are a mean. */
static void put_value(struct rkt_json *json, const char *key, double value, bool is_time)
{
    if (is_time && fabs(value) < WHOLE_MAX) /* false of NAN */
        rkt_json_i64(json, key, llround(value));
    else
        rkt_json_double(json, key, value);
}

static void put_ns(struct rkt_json *json, const char *key, double value_ns)
{
    put_value(json, key, value_ns, true);
}

static void put_run(struct rkt_json *json, const struct rkt_compare_run *run)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "file", run->label);
    rkt_json_text(json, "producer", run->producer);
    rkt_json_text(json, "command", run->command);
    rkt_json_u64(json, "rank_count", run->rank_count);
    rkt_json_u64(json, "compared_rank_count", run->compared_count);
    rkt_json_u64(json, "step_count", run->step_count);
    rkt_json_text(json, "step_source", run->step_source);
    rkt_json_text(json, "why_no_steps", run->why_no_steps);
    rkt_json_bool(json, "is_host_view", run->is_host_view);
    rkt_json_bool(json, "is_part", run->is_part);
    rkt_json_bool(json, "is_incomplete", run->is_incomplete);
    rkt_json_known(json, "loss_count", run->loss_count);
    rkt_json_known(json, "straggler_rank", run->has_straggler ? run->straggler_rank : RKT_NA);
    rkt_json_text(json, "straggler_cause", run->has_straggler ? run->straggler_cause : "");
    rkt_json_end(json);
}

static void put_metric(struct rkt_json *json, const struct rkt_comparison *comparison,
                       enum rkt_metric metric)
{
    const struct rkt_metric_change *change = &comparison->metrics[metric];
    bool is_time = rkt_metric_is_time(metric);

    rkt_json_begin_object(json, rkt_metric_name(metric));
    put_value(json, "before", change->before, is_time);
    put_value(json, "after", change->after, is_time);
    put_value(json, "change", change->difference.value, is_time);
    put_value(json, "low", change->difference.low, is_time);
    put_value(json, "high", change->difference.high, is_time);
    rkt_json_double(json, "change_share", rkt_metric_change_share(change));
    rkt_json_bool(json, "is_real", change->is_real);
    rkt_json_text(json, "why_not", change->why_not);
    rkt_json_end(json);
}

static void put_factor(struct rkt_json *json, const struct rkt_comparison *comparison,
                       enum rkt_run_factor factor)
{
    double before = rkt_run_factor_of(comparison->runs[0], factor);
    double after = rkt_run_factor_of(comparison->runs[1], factor);

    rkt_json_begin_object(json, rkt_run_factor_name(factor));
    rkt_json_double(json, "before", before);
    rkt_json_double(json, "after", after);
    rkt_json_double(json, "change", after - before);
    rkt_json_end(json);
}

static void put_side(struct rkt_json *json, const char *key, const struct rkt_name_change *change,
                     int side)
{
    if (!change->sides[side].is_there) {
        rkt_json_null(json, key);
        return;
    }
    rkt_json_begin_object(json, key);
    rkt_json_double(json, "count", change->sides[side].count);
    put_ns(json, "one_ns", change->sides[side].mean_ns);
    put_ns(json, "step_ns", change->sides[side].step_ns);
    if (!change->is_collective)
        put_ns(json, "median_ns", change->sides[side].median_ns);
    rkt_json_end(json);
}

static const char *const KINDS[RKT_USE_COUNT] = {
    [RKT_USE_COMPUTE] = "compute",
    [RKT_USE_COMM] = "comm",
    [RKT_USE_OPERATOR_DEVICE] = "self_device",
    [RKT_USE_OPERATOR_HOST] = "self_host",
};

static void put_name(struct rkt_json *json, const struct rkt_name_change *change)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "name", change->name);
    if (change->is_collective)
        rkt_json_known(json, "bytes", change->bytes);
    else
        rkt_json_text(json, "kind", KINDS[change->kind]);
    put_side(json, "before", change, 0);
    put_side(json, "after", change, 1);
    put_ns(json, "change_ns", change->difference_ns);
    put_ns(json, "one_change_ns", change->of_one.value);
    if (!change->is_collective)
        put_ns(json, "median_change_ns", change->of_step.value);
    put_ns(json, "low_ns", change->is_collective ? change->of_one.low : change->of_step.low);
    put_ns(json, "high_ns", change->is_collective ? change->of_one.high : change->of_step.high);
    rkt_json_bool(json, "is_real", change->is_real);
    if (!change->is_collective)
        rkt_json_text(json, "why_not", change->why_not);
    rkt_json_end(json);
}

static void put_names(struct rkt_json *json, const char *key,
                      const struct rkt_comparison *comparison, enum rkt_name_list list)
{
    rkt_json_begin_array(json, key);
    for (size_t i = 0; i < comparison->name_count; i++) {
        if (rkt_name_list_of(&comparison->names[i]) == list)
            put_name(json, &comparison->names[i]);
    }
    rkt_json_end(json);
}

static void put_comparison(struct rkt_json *json, const struct rkt_comparison *comparison)
{
    struct rkt_caution caution;

    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "before", comparison->runs[0]->label);
    rkt_json_text(json, "after", comparison->runs[1]->label);
    rkt_json_bool(json, "is_alike", comparison->why_not_alike[0] == '\0');
    rkt_json_double(json, "common_share", comparison->common_share);
    rkt_json_begin_array(json, "cautions");
    for (size_t n = 0; rkt_comparison_caution(comparison, n, &caution); n++)
        rkt_json_text(json, NULL, caution.text);
    rkt_json_end(json);
    rkt_json_begin_object(json, "metrics");
    for (int m = 0; m < RKT_METRIC_COUNT; m++)
        put_metric(json, comparison, (enum rkt_metric)m);
    rkt_json_end(json);
    rkt_json_begin_object(json, "factors");
    for (int f = 0; f < RKT_FACTOR_COUNT; f++)
        put_factor(json, comparison, (enum rkt_run_factor)f);
    rkt_json_end(json);
    rkt_json_u64(json, "judged_kernel_count", comparison->judged_counts[0]);
    rkt_json_u64(json, "judged_operator_count", comparison->judged_counts[1]);
    put_names(json, "kernels", comparison, RKT_LIST_KERNELS);
    put_names(json, "operators", comparison, RKT_LIST_OPERATORS);
    put_names(json, "collectives", comparison, RKT_LIST_COLLECTIVES);
    rkt_json_end(json);
}

/* ---- a series ---- */

static void put_estimate(struct rkt_json *json, const char *key,
                         const struct rkt_estimate *estimate, bool is_time)
{
    rkt_json_begin_object(json, key);
    put_value(json, "value", estimate->value, is_time);
    put_value(json, "low", estimate->low, is_time);
    put_value(json, "high", estimate->high, is_time);
    rkt_json_end(json);
}

static void put_row(struct rkt_json *json, const struct rkt_series_row *row)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_text(json, "file", row->run->label);
    rkt_json_u64(json, "rank_count", row->run->rank_count);
    put_estimate(json, "step_ns", &row->step_ns, true);
    put_estimate(json, "speedup", &row->speedup, false);
    put_estimate(json, "efficiency", &row->efficiency, false);
    rkt_json_double(json, "parallel", row->parallel);
    rkt_json_double(json, "balance", row->balance);
    rkt_json_double(json, "comm_efficiency", row->comm);
    rkt_json_double(json, "serial", row->serial);
    rkt_json_double(json, "transfer", row->transfer);
    put_ns(json, "transfer_ns", row->transfer_ns);
    put_ns(json, "modelled_ns", row->modelled_ns);
    rkt_json_end(json);
}

static void put_fit(struct rkt_json *json, const struct rkt_fit *fit)
{
    rkt_json_begin_object(json, "fit");
    rkt_json_text(json, "why_not", fit->why_not);
    rkt_json_text(json, "model", fit->model);
    rkt_json_double(json, "alpha_ns", fit->alpha_ns);
    rkt_json_double(json, "beta_ns_per_byte", fit->beta_ns_per_byte);
    rkt_json_double(json, "miss", fit->miss);
    rkt_json_u64(json, "point_count", fit->point_count);
    rkt_json_end(json);
}

static void put_outlook(struct rkt_json *json, const struct rkt_outlook *outlook)
{
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "rank_count", outlook->rank_count);
    put_ns(json, "step_low_ns", outlook->step_low_ns);
    put_ns(json, "step_high_ns", outlook->step_high_ns);
    rkt_json_double(json, "efficiency_low", outlook->efficiency_low);
    rkt_json_double(json, "efficiency_high", outlook->efficiency_high);
    rkt_json_end(json);
}

static void put_series(struct rkt_json *json, const struct rkt_series *series)
{
    struct rkt_caution caution;

    if (!series) {
        rkt_json_null(json, "series");
        return;
    }
    rkt_json_begin_object(json, "series");
    rkt_json_text(json, "scaling", rkt_scaling_name(series->scaling));
    rkt_json_bool(json, "is_told", series->is_told);
    rkt_json_double(json, "work_slope", series->work_slope);
    rkt_json_begin_array(json, "cautions");
    for (size_t n = 0; rkt_series_caution(series, n, &caution); n++)
        rkt_json_text(json, NULL, caution.text);
    rkt_json_end(json);
    rkt_json_begin_array(json, "rows");
    for (size_t i = 0; i < series->row_count; i++)
        put_row(json, &series->rows[i]);
    rkt_json_end(json);
    put_fit(json, &series->fit);
    rkt_json_begin_array(json, "outlook");
    for (size_t i = 0; i < RKT_OUTLOOK_COUNT && series->fit.why_not[0] == '\0'; i++)
        put_outlook(json, &series->outlook[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

enum rkt_status rkt_compare_write_json(const struct rkt_compare_report *report, FILE *out,
                                       struct rkt_error *err)
{
    struct rkt_json json;

    rkt_json_init(&json, out, BREAK_DEPTH);
    rkt_json_begin_object(&json, NULL);
    rkt_json_text(&json, "schema", "ranktrace-comparison");
    rkt_json_u64(&json, "schema_version", RKT_COMPARE_SCHEMA_VERSION);
    rkt_json_begin_array(&json, "runs");
    for (size_t i = 0; i < report->run_count; i++)
        put_run(&json, &report->runs[i]);
    rkt_json_end(&json);
    rkt_json_begin_array(&json, "comparisons");
    for (size_t i = 0; i < report->comparison_count; i++)
        put_comparison(&json, &report->comparisons[i]);
    rkt_json_end(&json);
    put_series(&json, report->series);
    rkt_json_end(&json);
    return rkt_json_finish(&json, err);
}
