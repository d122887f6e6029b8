/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_TEXT_PARTS_H
#define RKT_ANALYSIS_REPORT_TEXT_PARTS_H

/* text_parts - the sections of the text report that are tables. Private to the report. */

#include <stdio.h>

#include "analysis/result.h"
#include "common/status.h"

/* Where a step goes: one row per rank, and the share of each part over all ranks. */
enum rkt_status rkt_text_partition(const struct rkt_result *result, FILE *out,
                                   struct rkt_error *err);

/* One row per func, size and number of ranks. */
enum rkt_status rkt_text_collectives(const struct rkt_result *result, FILE *out,
                                     struct rkt_error *err);

#endif
