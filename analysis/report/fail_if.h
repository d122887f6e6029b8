/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_REPORT_FAIL_IF_H
#define RKT_ANALYSIS_REPORT_FAIL_IF_H

/*
 * fail_if - limits on numbers of the JSON report, so that a CI job can fail.
 *
 *     straggler.loss_share > 0.05          causes.copies.share > 5%
 *     finding_counts.serious > 0           summary.step_ns >= 120ms
 *     ranks[*].run.gpu_util < 0.9          [*]: any of them; [3]: the fourth
 *
 * Place:   result, as JSON -> [fail_if] -> an exit code.
 * Rule:    a number that is null is not compared: the run is not at fault for what is not known. A
 *          name that the report does not have is the user's mistake. true and false are 1 and 0.
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stdio.h>

#include "analysis/result.h"
#include "common/status.h"

#define RKT_CONDITION_PATH_BYTES 128u

struct rkt_condition {
    char path[RKT_CONDITION_PATH_BYTES];
    char operation[3]; /* ">", ">=", "<", "<=", "==" or "!=" */
    double limit;
};

/* RKT_ERR_INVALID: err says what is wrong with the text. */
enum rkt_status rkt_condition_parse(const char *text, struct rkt_condition *condition_out,
                                    struct rkt_error *err);

/*
 * *failed_out: some condition holds; each is a line in `out` with the first number that fails it,
 * and each whose numbers are all null is a line, too. RKT_ERR_INVALID: the report has no such
 * number.
 */
enum rkt_status rkt_check_conditions(const struct rkt_result *result,
                                     const struct rkt_condition *conditions, size_t count,
                                     FILE *out, bool *failed_out, struct rkt_error *err);

/* Likewise of the numbers of any JSON text that ends with a zero byte; it is overwritten. */
enum rkt_status rkt_check_conditions_of(char *json, const struct rkt_condition *conditions,
                                        size_t count, FILE *out, bool *failed_out,
                                        struct rkt_error *err);

#endif
