/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "analysis/report/compare_report.h"
#include "analysis/report/text_format.h"
#include "analysis/result.h"

#define NAME_COLUMNS 46
#define NAME_COLUMNS_SHORT 36 /* beside an interval */
#define NAME_BYTES (NAME_COLUMNS + RKT_CELL_BYTES)
#define INTERVAL_COLUMNS 23
#define INTERVAL_BYTES (3 * RKT_CELL_BYTES)
#define SHARE_SHOWN_MAX 9.995 /* beyond, the times say it better */
#define WHOLE_MAX 9e18        /* what an int64 holds */
#define CELL_ABSENT "-"

static struct rkt_cell cell_time(double value_ns)
{
    return rkt_cell_duration(fabs(value_ns) < WHOLE_MAX ? llround(value_ns) : RKT_NA);
}

static struct rkt_cell cell_of(double value, bool is_time)
{
    return is_time ? cell_time(value) : rkt_cell_percent(value);
}

/* "+1.2 ms"; a ratio's in points. */
static struct rkt_cell cell_signed(double value, bool is_time)
{
    struct rkt_cell cell = rkt_cell_percent(value);
    struct rkt_cell size = cell_time(fabs(value));

    if (!isfinite(value))
        return cell;
    if (is_time)
        (void)snprintf(cell.text, sizeof(cell.text), "%c%.24s", value < 0 ? '-' : '+', size.text);
    else
        (void)snprintf(cell.text, sizeof(cell.text), "%+.1f pt", value * 100);
    return cell;
}

static struct rkt_cell cell_ratio(double value)
{
    struct rkt_cell cell = rkt_cell_percent((double)NAN);

    if (isfinite(value))
        (void)snprintf(cell.text, sizeof(cell.text), "%.2f", value);
    return cell;
}

static void print_runs(const struct rkt_compare_report *report, FILE *out)
{
    rkt_text_line(out, "ranktrace compare: %zu runs", report->run_count);
    (void)fputc('\n', out);
    for (size_t i = 0; i < report->run_count; i++) {
        const struct rkt_compare_run *run = &report->runs[i];
        char straggler[64] = "";

        if (run->has_straggler)
            (void)snprintf(straggler, sizeof(straggler), ", straggler: rank %lld (%.20s)",
                           (long long)run->straggler_rank, run->straggler_cause);
        rkt_text_line(out, "  %zu  %.200s: %s%u rank%s, %zu steady step%s%s", i + 1, run->label,
                      run->is_part ? "A PART ONLY: " : "", run->rank_count,
                      run->rank_count == 1 ? "" : "s", run->step_count,
                      run->step_count == 1 ? "" : "s", straggler);
    }
    (void)fputc('\n', out);
}

/* ---- before and after ---- */

static const char *verdict_of(const struct rkt_metric_change *change, enum rkt_metric metric)
{
    int direction = rkt_metric_direction(metric);

    if (!change->is_real)
        return change->is_blurred ? "not distinguishable" : "";
    if (direction == 0)
        return "changed";
    return (change->difference.value > 0) == (direction > 0) ? "worse" : "better";
}

static bool is_zero(double value)
{
    return !(value > 0) && !(value < 0);
}

/* Neither run has any of it, or nobody knows. */
static bool is_void(const struct rkt_metric_change *change)
{
    return is_zero(change->before) && is_zero(change->after); /* true of NAN */
}

static void print_interval(const struct rkt_metric_change *change, bool is_time, char *text,
                           size_t text_bytes)
{
    if (isfinite(change->difference.low))
        (void)snprintf(text, text_bytes, "%s to %s",
                       cell_signed(change->difference.low, is_time).text,
                       cell_signed(change->difference.high, is_time).text);
    else
        (void)snprintf(text, text_bytes, "n/a");
}

static void print_metric(const struct rkt_metric_change *change, enum rkt_metric metric, FILE *out)
{
    bool is_time = rkt_metric_is_time(metric);
    char share[RKT_CELL_BYTES] = "";
    char verdict[RKT_CELL_BYTES] = "";
    char interval[INTERVAL_BYTES];

    if (is_void(change) && metric != RKT_METRIC_STEP)
        return;
    print_interval(change, is_time, interval, sizeof(interval));
    if (is_time && fabs(rkt_metric_change_share(change)) < SHARE_SHOWN_MAX) /* false of NAN */
        (void)snprintf(share, sizeof(share), "%+.1f%%", rkt_metric_change_share(change) * 100);
    if (verdict_of(change, metric)[0] != '\0')
        (void)snprintf(verdict, sizeof(verdict), "  %s", verdict_of(change, metric));
    (void)fprintf(out, "  %-23s%10s%10s%11s%8s  %*s%s\n", rkt_metric_title(metric),
                  cell_of(change->before, is_time).text, cell_of(change->after, is_time).text,
                  cell_signed(change->difference.value, is_time).text, share,
                  verdict[0] != '\0' ? -INTERVAL_COLUMNS : 0, interval, verdict);
}

static void print_factors(const struct rkt_comparison *comparison, FILE *out)
{
    static const char *const TITLES[RKT_FACTOR_COUNT] = {"serialization eff.", "transfer eff."};

    for (int f = 0; f < RKT_FACTOR_COUNT; f++) {
        double before = rkt_run_factor_of(comparison->runs[0], (enum rkt_run_factor)f);
        double after = rkt_run_factor_of(comparison->runs[1], (enum rkt_run_factor)f);

        if (isnan(before) && isnan(after))
            continue;
        (void)fprintf(out, "  %-23s%10s%10s%11s%8s  %s\n", TITLES[f], rkt_cell_percent(before).text,
                      rkt_cell_percent(after).text, cell_signed(after - before, false).text, "",
                      "of the whole run");
    }
}

static void print_metrics(const struct rkt_comparison *comparison, FILE *out)
{
    const struct rkt_metric_change *step = &comparison->metrics[RKT_METRIC_STEP];

    rkt_text_line(out, "CHANGE, medians over steady steps");
    (void)fprintf(out, "  %-23s%10s%10s%11s%8s  %s\n", "", "before", "after", "change", "",
                  "95 % interval");
    for (int m = 0; m < RKT_METRIC_COUNT; m++)
        print_metric(&comparison->metrics[m], (enum rkt_metric)m, out);
    print_factors(comparison, out);
    if (isnan(step->difference.low))
        rkt_text_line(out, "  No %s of the step time: %s",
                      isnan(step->difference.value) ? "change" : "interval", step->why_not);
    (void)fputc('\n', out);
}

/* A name cut to so many columns; what is not printable ASCII becomes '?'. */
static void print_name(const struct rkt_name_change *change, int columns, char text[NAME_BYTES])
{
    char bytes[RKT_CELL_BYTES + 1] = "";

    if (rkt_use_is_of_operator(change->kind))
        (void)snprintf(bytes, sizeof(bytes), " (%s)",
                       change->kind == RKT_USE_OPERATOR_HOST ? "host" : "device");
    if (change->is_collective)
        (void)snprintf(bytes, sizeof(bytes), " %s",
                       rkt_cell_bytes(change->bytes > 0 ? (uint64_t)change->bytes : 0).text);
    (void)snprintf(text, NAME_BYTES, "%.*s%s", columns - (int)strlen(bytes), change->name, bytes);
    rkt_text_make_ascii(text);
}

static struct rkt_cell cell_side(const struct rkt_name_change *change, int side, double value_ns)
{
    struct rkt_cell cell = cell_time(value_ns);

    if (!change->sides[side].is_there)
        (void)snprintf(cell.text, sizeof(cell.text), CELL_ABSENT);
    return cell;
}

static void print_collective(const struct rkt_name_change *change, FILE *out)
{
    char name[NAME_BYTES];

    print_name(change, NAME_COLUMNS, name);
    (void)fprintf(out, "  %11s%11s%11s%11s%s %s\n",
                  cell_side(change, 0, change->sides[0].step_ns).text,
                  cell_side(change, 1, change->sides[1].step_ns).text,
                  cell_signed(change->difference_ns, true).text,
                  change->sides[0].is_there && change->sides[1].is_there
                      ? cell_signed(change->of_one.value, true).text
                      : CELL_ABSENT,
                  change->is_real ? " *" : "  ", name);
}

/* Medians where both sides have them, means else. */
static void print_kernel(const struct rkt_name_change *change, FILE *out)
{
    bool has_medians = isfinite(change->of_step.value);
    char interval[INTERVAL_BYTES] = CELL_ABSENT;
    double side_ns[2];
    char name[NAME_BYTES];

    for (int side = 0; side < 2; side++)
        side_ns[side] = has_medians ? change->sides[side].median_ns : change->sides[side].step_ns;
    if (isfinite(change->of_step.low))
        (void)snprintf(interval, sizeof(interval), "%s to %s",
                       cell_signed(change->of_step.low, true).text,
                       cell_signed(change->of_step.high, true).text);
    print_name(change, NAME_COLUMNS_SHORT, name);
    (void)fprintf(
        out, "  %11s%11s%11s  %-*s%s %s\n", cell_side(change, 0, side_ns[0]).text,
        cell_side(change, 1, side_ns[1]).text,
        cell_signed(has_medians ? change->of_step.value : change->difference_ns, true).text,
        INTERVAL_COLUMNS, interval, change->is_real ? " *" : "  ", name);
}

static void print_heading(const struct rkt_comparison *comparison, enum rkt_name_list list,
                          FILE *out)
{
    size_t judged = comparison->judged_counts[list == RKT_LIST_OPERATORS];

    if (list == RKT_LIST_COLLECTIVES) {
        rkt_text_line(out,
                      "COLLECTIVES, transfers per step; those that changed most first (* is real)");
        (void)fprintf(out, "  %11s%11s%11s%11s   %s\n", "before", "after", "change", "of one",
                      "name");
        return;
    }
    rkt_text_line(out, "%s, per step and rank, medians; those that changed most first",
                  list == RKT_LIST_OPERATORS ? "OPERATORS, self times" : "KERNELS");
    if (judged > 0)
        rkt_text_line(out, "  * is real: more than chance makes of one of the %zu that were judged",
                      judged);
    (void)fprintf(out, "  %11s%11s%11s  %-*s   %s\n", "before", "after", "change", INTERVAL_COLUMNS,
                  "95 % interval", "name");
}

static void print_names(const struct rkt_comparison *comparison, size_t top,
                        enum rkt_name_list list, FILE *out)
{
    size_t shown = 0;

    print_heading(comparison, list, out);
    for (size_t i = 0; i < comparison->name_count && shown < top; i++) {
        if (rkt_name_list_of(&comparison->names[i]) != list)
            continue;
        if (list == RKT_LIST_COLLECTIVES)
            print_collective(&comparison->names[i], out);
        else
            print_kernel(&comparison->names[i], out);
        shown++;
    }
    if (shown == 0)
        rkt_text_line(out, "  none");
    (void)fputc('\n', out);
}

static bool has_operators(const struct rkt_comparison *comparison)
{
    for (size_t i = 0; i < comparison->name_count; i++) {
        if (rkt_name_list_of(&comparison->names[i]) == RKT_LIST_OPERATORS)
            return true;
    }
    return false;
}

static void print_comparison(const struct rkt_comparison *comparison, size_t top, FILE *out)
{
    struct rkt_caution caution;

    rkt_text_line(out, "BEFORE %.200s", comparison->runs[0]->label);
    rkt_text_line(out, "AFTER  %.200s", comparison->runs[1]->label);
    for (size_t n = 0; rkt_comparison_caution(comparison, n, &caution); n++)
        rkt_text_line(out, "  Note: %s", caution.text);
    (void)fputc('\n', out);
    print_metrics(comparison, out);
    print_names(comparison, top, RKT_LIST_KERNELS, out);
    if (has_operators(comparison))
        print_names(comparison, top, RKT_LIST_OPERATORS, out);
    print_names(comparison, top, RKT_LIST_COLLECTIVES, out);
}

/* ---- a series ---- */

static void print_scaling(const struct rkt_series *series, FILE *out)
{
    struct rkt_caution caution;
    char slope[64] = "";

    if (isfinite(series->work_slope))
        (void)snprintf(slope, sizeof(slope), "; a rank's computing goes as N^%.2f",
                       series->work_slope);
    rkt_text_line(out, "SCALING: %s%s%s", rkt_scaling_name(series->scaling),
                  series->is_told ? " (as told)" : "", slope);
    for (size_t n = 0; rkt_series_caution(series, n, &caution); n++)
        rkt_text_line(out, "  Note: %s", caution.text);
}

static void print_ratio(const struct rkt_estimate *estimate, bool is_percent, char *text,
                        size_t text_bytes)
{
    if (isnan(estimate->value))
        (void)snprintf(text, text_bytes, "n/a");
    else if (isnan(estimate->low))
        (void)snprintf(text, text_bytes, "%s",
                       is_percent ? rkt_cell_percent(estimate->value).text
                                  : cell_ratio(estimate->value).text);
    else if (is_percent)
        (void)snprintf(text, text_bytes, "%.1f%% (%.1f-%.1f)", estimate->value * 100,
                       estimate->low * 100, estimate->high * 100);
    else
        (void)snprintf(text, text_bytes, "%.2f (%.2f-%.2f)", estimate->value, estimate->low,
                       estimate->high);
}

static void print_row(const struct rkt_series_row *row, FILE *out)
{
    char speedup[2 * RKT_CELL_BYTES];
    char efficiency[2 * RKT_CELL_BYTES];

    print_ratio(&row->speedup, false, speedup, sizeof(speedup));
    print_ratio(&row->efficiency, true, efficiency, sizeof(efficiency));
    (void)fprintf(out, "  %6u %10s %19s %20s %7s %7s %7s %7s\n", row->run->rank_count,
                  cell_time(row->step_ns.value).text, speedup, efficiency,
                  rkt_cell_percent(row->parallel).text, rkt_cell_percent(row->balance).text,
                  rkt_cell_percent(row->serial).text, rkt_cell_percent(row->transfer).text);
}

static void print_outlook(const struct rkt_series *series, FILE *out)
{
    const struct rkt_fit *fit = &series->fit;
    uint32_t most = series->rows[series->row_count - 1].run->rank_count;

    if (fit->why_not[0] != '\0') {
        rkt_text_line(out, "OUTLOOK: n/a: %s", fit->why_not);
        return;
    }
    rkt_text_line(out,
                  "OUTLOOK, a model and no measurement: %s, alpha %.1f us, %.1f GB/s; misses the "
                  "transfers of %zu runs by %.1f %% at most",
                  fit->model, fit->alpha_ns / 1e3,
                  fit->beta_ns_per_byte > 0 ? 1 / fit->beta_ns_per_byte : 0, fit->point_count,
                  fit->miss * 100);
    for (size_t i = 0; i < RKT_OUTLOOK_COUNT; i++) {
        const struct rkt_outlook *outlook = &series->outlook[i];

        rkt_text_line(out, "  %6u ranks: step %s to %s, efficiency %s to %s", outlook->rank_count,
                      cell_time(outlook->step_low_ns).text, cell_time(outlook->step_high_ns).text,
                      rkt_cell_percent(outlook->efficiency_low).text,
                      rkt_cell_percent(outlook->efficiency_high).text);
    }
    rkt_text_line(out,
                  "  It holds where further ranks are linked as those measured and wait, idle and "
                  "balance stay as with %u ranks; further than four times that nothing is said.",
                  most);
}

static void print_series(const struct rkt_series *series, FILE *out)
{
    print_scaling(series, out);
    (void)fputc('\n', out);
    (void)fprintf(out, "  %6s %10s %19s %20s %7s %7s %7s %7s\n", "ranks", "step", "speedup (95 %)",
                  "efficiency (95 %)", "PE", "LB", "SerE", "TE");
    for (size_t i = 0; i < series->row_count; i++)
        print_row(&series->rows[i], out);
    rkt_text_line(out, "  PE = LB x SerE x TE / spread of the windows; 80 %% is fine for each");
    (void)fputc('\n', out);
    print_outlook(series, out);
}

enum rkt_status rkt_compare_write_text(const struct rkt_compare_report *report, FILE *out,
                                       struct rkt_error *err)
{
    print_runs(report, out);
    for (size_t i = 0; i < report->comparison_count; i++)
        print_comparison(&report->comparisons[i], report->top, out);
    if (report->series)
        print_series(report->series, out);
    return fflush(out) == 0 && !ferror(out)
               ? RKT_OK
               : rkt_fail_errno(err, RKT_ERR_IO, "cannot write the comparison");
}
