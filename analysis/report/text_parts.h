/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_TEXT_PARTS_H
#define RKT_ANALYSIS_REPORT_TEXT_PARTS_H

/* text_parts - the sections of the text report that are tables. Private to the report. */

#include <stdio.h>

#include "analysis/key_table.h"
#include "analysis/report/report.h"
#include "analysis/result.h"
#include "common/status.h"

/* Where a step goes: one row per rank, and the share of each part over all ranks. */
enum rkt_status rkt_text_partition(const struct rkt_result *result, FILE *out,
                                   struct rkt_error *err);

/* Who holds the others up, what that costs, and why; or that nobody does. */
void rkt_text_straggler(const struct rkt_result *result, FILE *out);

/* Efficiency and its factors, and what equal ranks would gain. */
void rkt_text_scaling(const struct rkt_result *result, FILE *out);

/* What the ranks' GPUs did; nothing without samples. */
enum rkt_status rkt_text_gpu(const struct rkt_result *result, FILE *out, struct rkt_error *err);

/* The line on the straggler's GPU, if that is why it computes longer. */
void rkt_text_gpu_cause(const struct rkt_result *result, FILE *out);

/* One row per gradient bucket of a step, the first `top` of them. */
void rkt_text_buckets(const struct rkt_result *result, size_t top, FILE *out);

/* One row per func, size and number of ranks. */
enum rkt_status rkt_text_collectives(const struct rkt_result *result, FILE *out,
                                     struct rkt_error *err);

/* The key tables that the view asks for. */
enum rkt_status rkt_text_tables(const struct rkt_result *result, const struct rkt_report_view *view,
                                FILE *out, struct rkt_error *err);

/* Copies, launch gaps, hidden synchronisation, serial streams; nothing in host view. */
void rkt_text_causes(const struct rkt_result *result, FILE *out);

/* What to do: the findings above info. */
void rkt_text_findings(const struct rkt_result *result, FILE *out);

#endif
