/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_FINISH_H
#define RKT_AGGREGATOR_FINISH_H

/*
 * finish - what rank 0 writes itself before the file is closed.
 *
 *  - an END for every source that has none: its sidecar was lost, or gave up sending
 *  - a source with an END for a lost rank of which no process is known, so that the report can
 *    say so
 *  - an ALIGN for every source: the same for all that share a kernel clock, of the sidecar among
 *    them that measured most
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/clock_answer.h"
#include "aggregator/receiver.h"
#include "aggregator/run_state.h"
#include "common/node_id.h"
#include "common/status.h"

/* What a sidecar said of itself; zeroed: it said nothing. */
struct rkt_peer_info {
    bool is_known;
    bool is_per_node;
    int32_t job_rank; /* -1: not known */
    struct rkt_node_id node;
};

struct rkt_finish {
    struct rkt_receiver *receiver;
    const struct rkt_run_state *state;
    const struct rkt_clock_answer *clocks;
    const struct rkt_peer_info *peers; /* by rank; [0] is the reference */
    int rank_count;
};

enum rkt_status rkt_finish_write(const struct rkt_finish *finish, struct rkt_error *err);

#endif
