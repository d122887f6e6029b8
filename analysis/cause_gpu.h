/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CAUSE_GPU_H
#define RKT_ANALYSIS_CAUSE_GPU_H

/*
 * cause_gpu - whether a straggler computes longer because its GPU runs slower.
 *
 * Threads: any; no state.
 */

#include "analysis/step_table.h"

/*
 * Sets straggler->gpu where the cause is compute and the samples explain it (metrics.md,
 * "Stragglers"): the GPU runs slower than those of the other ranks in the same steps, and that
 * accounts for at least half of the excess. What all ranks have alike is never a cause.
 */
enum rkt_status rkt_find_gpu_cause(const struct rkt_result *result,
                                   const struct rkt_step_table *table,
                                   struct rkt_straggler *straggler, struct rkt_error *err);

/* What helps a GPU that was found to be the cause. */
const char *rkt_gpu_cause_advice(const struct rkt_gpu_cause *gpu);

#endif
