/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_WRITERS_H
#define RKT_ANALYSIS_REPORT_WRITERS_H

/* writers - the formats behind RKT_REPORT_FORMATS. Private to the report. */

#include <stdio.h>

#include "analysis/report/report.h"
#include "analysis/result.h"
#include "common/status.h"

enum rkt_status rkt_report_write_text(const struct rkt_result *result,
                                      const struct rkt_report_view *view, FILE *out,
                                      struct rkt_error *err);
enum rkt_status rkt_report_write_json(const struct rkt_result *result,
                                      const struct rkt_report_view *view, FILE *out,
                                      struct rkt_error *err);

#endif
