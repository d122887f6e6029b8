/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>

#include "analysis/report/compare_report.h"

/* The two runs, and how much they have in common. */
#define DIFFERENT_MODELS                                                                        \
    "%.60s and %.60s: only %.0f %% of the kernels' time is in kernels that both have: are the " \
    "models different?"

/* Where a caution goes once `skip` others have gone by. */
struct cautions {
    size_t skip;
    bool is_found;
    struct rkt_caution *out;
};

static void add(struct cautions *cautions, bool holds, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct cautions *cautions, bool holds, const char *fmt, ...)
{
    va_list args;

    if (!holds || cautions->is_found || cautions->skip-- > 0)
        return;
    va_start(args, fmt);
    (void)vsnprintf(cautions->out->text, sizeof(cautions->out->text), fmt, args);
    va_end(args);
    cautions->is_found = true;
}

static void add_losses(struct cautions *cautions, const struct rkt_compare_run *run)
{
    add(cautions, run->is_incomplete, "%.100s is incomplete: its numbers are of what was stored",
        run->label);
    add(cautions, run->loss_count > 0, "%.100s has lost %lld records: its times are too short",
        run->label, (long long)run->loss_count);
}

static void add_steps(struct cautions *cautions, const struct rkt_compare_run *run)
{
    add(cautions, run->why_no_steps[0] != '\0', "%.100s: %s, so its numbers per step are n/a",
        run->label, run->why_no_steps);
}

bool rkt_comparison_caution(const struct rkt_comparison *comparison, size_t n,
                            struct rkt_caution *caution_out)
{
    struct cautions cautions = {.skip = n, .out = caution_out};

    add(&cautions, comparison->why_not_alike[0] != '\0', "no change is called real: %s",
        comparison->why_not_alike);
    add(&cautions, comparison->common_share < RKT_COMMON_SHARE_MIN, DIFFERENT_MODELS,
        comparison->runs[0]->label, comparison->runs[1]->label, comparison->common_share * 100);
    for (int side = 0; side < 2; side++) {
        add_steps(&cautions, comparison->runs[side]);
        add_losses(&cautions, comparison->runs[side]);
    }
    return cautions.is_found;
}

/* Between the runs of a series; the first that differs from the smallest stands for all. */
static void add_differences(struct cautions *cautions, const struct rkt_series *series)
{
    const struct rkt_compare_run *base = series->rows[0].run;
    bool is_unlike = false;
    bool is_other = false;

    for (size_t i = 1; i < series->row_count; i++) {
        const struct rkt_compare_run *run = series->rows[i].run;
        const char *why_not = rkt_why_not_alike(base, run);
        double share = rkt_common_share(base, run);

        add(cautions, !is_unlike && why_not[0] != '\0', "%.80s and %.80s: %s", base->label,
            run->label, why_not);
        add(cautions, !is_other && share < RKT_COMMON_SHARE_MIN, DIFFERENT_MODELS, base->label,
            run->label, share * 100);
        is_unlike |= why_not[0] != '\0';
        is_other |= share < RKT_COMMON_SHARE_MIN;
    }
}

bool rkt_series_caution(const struct rkt_series *series, size_t n, struct rkt_caution *caution_out)
{
    struct cautions cautions = {.skip = n, .out = caution_out};

    add(&cautions, series->why_unknown[0] != '\0', "speedup and efficiency are n/a: %s",
        series->why_unknown);
    add(&cautions, series->twice_count > 0,
        "%zu run%s with a number of ranks that another has, too: each is a row, and the first of "
        "the "
        "smallest is what all are held against",
        series->twice_count, series->twice_count == 1 ? "" : "s");
    add_differences(&cautions, series);
    for (size_t i = 0; i < series->row_count; i++) {
        add_steps(&cautions, series->rows[i].run);
        add_losses(&cautions, series->rows[i].run);
    }
    return cautions.is_found;
}
