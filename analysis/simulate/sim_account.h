/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_ACCOUNT_H
#define RKT_ANALYSIS_SIMULATE_SIM_ACCOUNT_H

/*
 * sim_account - the numbers of a step that communication has a part in, from what ran when.
 *
 * Place:   sim_log -> [sim_account] -> sim_truth.
 * Threads: any; no state.
 */

#include "analysis/simulate/sim_rank.h"

struct rkt_sim_meeting {
    struct rkt_sim_span span; /* of the rank's kernel */
    int64_t release_ns;       /* when the last member came */
    bool is_bucket;
};

/* All of the step but its optimizer, which runs beside no meeting: `log` has not got it yet, and
 * its works are in order. `meetings` are put in order. Adds to *truth. */
void rkt_sim_account(const struct rkt_sim_log *log, struct rkt_sim_meeting *meetings,
                     size_t meeting_count, struct rkt_sim_step *truth);

#endif
