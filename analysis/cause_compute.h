/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CAUSE_COMPUTE_H
#define RKT_ANALYSIS_CAUSE_COMPUTE_H

/*
 * cause_compute - whether a straggler's kernels are slower than those of the others, or more, or
 * launched with other shapes.
 *
 * Threads: any; no state.
 */

#include "analysis/step_table.h"

/* Sets straggler->compute where the cause is compute (metrics.md, "Stragglers"). */
enum rkt_status rkt_find_compute_cause(const struct rkt_result *result,
                                       const struct rkt_step_table *table,
                                       struct rkt_straggler *straggler, struct rkt_error *err);

/* "slower", "more kernels", "other shapes"; "unknown". */
const char *rkt_compute_kind_name(enum rkt_compute_kind kind);

#endif
