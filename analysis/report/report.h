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

#include "analysis/result.h"
#include "common/status.h"

#define RKT_REPORT_SCHEMA_VERSION 1

struct rkt_report_format {
    const char *name; /* "text" */
    enum rkt_status (*write)(const struct rkt_result *result, FILE *out, struct rkt_error *err);
};

extern const struct rkt_report_format RKT_REPORT_FORMATS[];
extern const size_t RKT_REPORT_FORMAT_COUNT;

#endif
