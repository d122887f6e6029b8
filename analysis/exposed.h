/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EXPOSED_H
#define RKT_ANALYSIS_EXPOSED_H

/*
 * exposed - communication that no compute hides: when it was is known with the rest of what a rank
 * did; what of it was waiting, only when its collectives are matched with the other ranks'.
 *
 *     comm       [=====a=====][==b==]
 *     compute      [===]
 *     exposed    ==     ============      an interval set, kept from the one to the other
 *     release          |       |          of a, of b
 *     split      ww     ttttttwwttttt     wait, transfer
 *
 * Until then a window's parts have it as comm_unsplit_ns.
 *
 * Place:   activity -> [exposed] -> match, collective -> [exposed] -> straggler, summary.
 * Threads: one at a time.
 */

#include "analysis/activity.h"
#include "analysis/interval.h"
#include "analysis/result.h"
#include "common/status.h"

/* Normalised; the set is the caller's. RKT_ERR_NOMEM only. */
enum rkt_status rkt_exposed_find(const struct rkt_activity *activity,
                                 struct rkt_interval_set *exposed);

/*
 * In all windows of all ranks comm_unsplit_ns becomes comm_wait_ns, comm_transfer_ns, and what
 * matched no other rank's. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_split_exposed(struct rkt_result *result, struct rkt_error *err);

#endif
