/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_COMPARE_REPORT_H
#define RKT_ANALYSIS_REPORT_COMPARE_REPORT_H

/*
 * compare_report - prints what a comparison of runs found.
 *
 * Formats: text (one page for a terminal), json (analysis/doc/report-schema.md, "The comparison").
 *          The same comparison gives the same bytes.
 * Threads: any; all is read only.
 */

#include <stdio.h>

#include "analysis/compare.h"
#include "analysis/compare_series.h"

#define RKT_COMPARE_SCHEMA_VERSION 1

struct rkt_compare_report {
    const struct rkt_compare_run *runs; /* in the order given */
    size_t run_count;
    const struct rkt_comparison *comparisons; /* each run but the first with the first */
    size_t comparison_count;
    const struct rkt_series
        *series; /* NULL: the runs are no series; else there are no comparisons */
    size_t top;  /* kernels and collectives in the text */
};

enum rkt_status rkt_compare_write_text(const struct rkt_compare_report *report, FILE *out,
                                       struct rkt_error *err);
enum rkt_status rkt_compare_write_json(const struct rkt_compare_report *report, FILE *out,
                                       struct rkt_error *err);

/* What a reader must know of a comparison or a series: the n-th, from 0 on; false behind the
 * last. */
struct rkt_caution {
    char text[256];
};
bool rkt_comparison_caution(const struct rkt_comparison *comparison, size_t n,
                            struct rkt_caution *caution_out);
bool rkt_series_caution(const struct rkt_series *series, size_t n, struct rkt_caution *caution_out);

#endif
