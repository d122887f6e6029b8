/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_STORE_H
#define RKT_ANALYSIS_SIMULATE_SIM_STORE_H

/*
 * sim_store - a computed scenario as the timeline that capture would have left.
 *
 * Every rank is run again, with the ends of its collectives known, and stamped by its node's
 * clocks; each node has a sidecar source with clock pairs and, but for the reference, exchanges.
 * Alignments are stored as rank 0 would have made them of these exchanges (sim_align.h), which is
 * not the truth.
 *
 * Memory:  one rank's batches. Threads: one.
 */

#include "analysis/simulate/sim_run.h"

/* RKT_ERR_INVALID: a file is there that the sharded store of this scenario would replace beside
 * `path`. */
enum rkt_status rkt_sim_store_check(const struct rkt_scenario *scenario, const char *path,
                                    struct rkt_error *err);

/*
 * Replaces a file at `path`, which appears whole or not at all. `is_sharded`: it has the frames of
 * node 0, and those of each further node are in a file beside it, which are replaced as well.
 */
enum rkt_status rkt_sim_store_write(const struct rkt_sim_run *run, const char *path,
                                    bool is_sharded, uint64_t *event_count_out,
                                    struct rkt_error *err);

#endif
