/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_REPORT_H
#define RKT_ANALYSIS_REPORT_REPORT_H

/*
 * report - prints a result.
 *
 * Formats: text (one page for a terminal), json (schema: analysis/doc/report-schema.md, with
 *          its own version). The same result gives the same bytes.
 * Threads: any; the result is read only.
 */

#include <stdio.h>

#include "analysis/key_table.h"
#include "analysis/result.h"
#include "common/status.h"

#define RKT_REPORT_SCHEMA_VERSION 1

#define RKT_REPORT_TOP 10
#define RKT_REPORT_BUCKETS (1u << RKT_TABLE_COUNT) /* of a view's tables: gradient buckets */

/* What of a result a person wants to see beside the page; JSON has everything. All zero: the
 * page. */
struct rkt_report_view {
    uint32_t tables;  /* bit i: the key table i (key_table.h); RKT_REPORT_BUCKETS */
    const char *sort; /* a column of theirs; NULL, or a table that lacks it: as it stands */
    size_t top;       /* rows of each; 0: RKT_REPORT_TOP */
};

struct rkt_report_format {
    const char *name; /* "text" */
    enum rkt_status (*write)(const struct rkt_result *result, const struct rkt_report_view *view,
                             FILE *out, struct rkt_error *err);
};

/*
 * A view from what a person typed, each of which may be NULL or 0: tables ("kernels,copies", or
 * "all"), a column to sort by, how many rows. A sort or a number alone means all tables.
 * RKT_ERR_INVALID: there is no such table or column; err names those that there are.
 */
enum rkt_status rkt_report_view_parse(const char *tables, const char *sort, uint32_t top,
                                      struct rkt_report_view *view_out, struct rkt_error *err);

extern const struct rkt_report_format RKT_REPORT_FORMATS[];
extern const size_t RKT_REPORT_FORMAT_COUNT;

/* The JSON report as a text in memory, which becomes the caller's: free it. */
enum rkt_status rkt_report_json_of(const struct rkt_result *result, char **json_out,
                                   struct rkt_error *err);

#endif
