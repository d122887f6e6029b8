/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ARRIVAL_H
#define RKT_ANALYSIS_ARRIVAL_H

/*
 * arrival - when a rank was ready for a collective, and what kept its kernel from starting
 * (metrics.md, "Collectives"): ready, late, queued.
 *
 * ready:  the later of the launch's return and the end of the last compute or copy that had been
 *         launched on the stream to which the same host thread gave work last; what has started was
 *         ready.
 * late:   start after the end of the comm before it on its stream.
 * queued: that one ended after ready, so the start says nothing of the rank.
 *
 * Threads: any, for different ranks.
 */

#include "analysis/result.h"
#include "common/status.h"

/* trace->arrivals for every work of a whole trace (only comm works are filled), and the buckets'
 * job times. RKT_ERR_NOMEM only. */
enum rkt_status rkt_find_arrivals(struct rkt_rank_trace *trace, struct rkt_error *err);

#endif
