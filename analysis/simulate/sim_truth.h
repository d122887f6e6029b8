/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_TRUTH_H
#define RKT_ANALYSIS_SIMULATE_SIM_TRUTH_H

/*
 * sim_truth - what a simulated run really was, as JSON, to hold an analysis against.
 *
 * Collectives are all meetings: also sends with their receives, of kind link.
 *
 * {"ranks", "steps_count", "length_ns", "clean_length_ns", "nodes": [{offset_ns, drift_ppb}],
 *  "faults": [{kind, first_rank, end_rank, first_step, end_step, amount, gain_ns}],
 *  "steps": [{"step", "ranks": [{window_ns, compute_ns, comm_ns, overlap_ns, transfer_ns, copy_ns,
 *                               buckets_ns, hidden_ns, tail_ns}]}],
 *  "collectives": [{step, kind, comm_id, index, seq, bytes, last_rank, transfer_ns, end_ns, ranks:
 *  [members],
 *                   wait_ns: [per member]}]}
 *
 * Times are ns, ends in job time as the reference clock shows it. gain_ns: how much shorter
 * the run is without that fault, by running it.
 *
 * Threads: one.
 */

#include <stdio.h>

#include "analysis/simulate/sim_run.h"

/* `run` keeps its starts. */
enum rkt_status rkt_sim_truth_write(const struct rkt_sim_run *run, FILE *out,
                                    struct rkt_error *err);

#endif
