/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_MATCH_BUCKET_H
#define RKT_ANALYSIS_MATCH_BUCKET_H

/*
 * match_bucket - collectives of ranks without GPU records: the gradient buckets of equal step
 * and index (metrics.md, "Host view"). Arrival and ready are the hand-over to the process group.
 *
 * Threads: any; no state.
 */

#include "analysis/match_unit.h"
#include "common/arena.h"

/* Appends to *list; participants are the arena's. RKT_ERR_NOMEM only. */
enum rkt_status rkt_match_buckets(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_collective_list *list, struct rkt_error *err);

#endif
