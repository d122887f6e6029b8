/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RUN_START_H
#define RKT_ANALYSIS_RUN_START_H

/*
 * run_start - when a run begins: from there --since and --until count.
 *
 * Of ranks on one clock it is the earliest record of any of them, which is 0 of an exported
 * timeline, too; of a rank that is not aligned its own earliest. Looked for among the first batches
 * that each rank sent: a rank sends what it records in order, its threads side by side.
 *
 * Threads: any; no state.
 */

#include <stdint.h>

#include "analysis/candidates.h"
#include "analysis/rank_trace.h"

/* RKT_TIME_UNKNOWN: no rank is aligned, or none has a record. */
enum rkt_status rkt_find_run_start(struct rkt_store_reader *reader,
                                   const struct rkt_candidates *candidates,
                                   int64_t *job_start_ns_out, struct rkt_error *err);

/*
 * The first moment of the rank, in rank time, at or behind `after_ns` since the run's start;
 * INT64_MAX for INT64_MAX.
 */
int64_t rkt_time_since_start(const struct rkt_rank_trace *trace, int64_t job_start_ns,
                             int64_t after_ns);

#endif
