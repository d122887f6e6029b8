/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_ALIGN_H
#define RKT_ANALYSIS_SIMULATE_SIM_ALIGN_H

/*
 * sim_align - the alignments that rank 0 would have stored at the end of a scenario's run.
 *
 * Of each burst it keeps what rank 0 would have, and makes of it what rank 0 would have made: so
 * the timeline says the same of its clocks as its own records do, to the last bit.
 *
 * Threads: one. Memory: two events per burst, and the tree's.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/simulate/sim_output.h"
#include "common/event.h"
#include "common/status.h"

struct rkt_sim_align;

/* NULL: no memory. Node 0 is the reference. */
struct rkt_sim_align *rkt_sim_align_create(uint32_t node_count);
void rkt_sim_align_destroy(struct rkt_sim_align *align); /* NULL is fine */

/* The exchanges of one burst of a node with the reference. */
enum rkt_status rkt_sim_align_keep(struct rkt_sim_align *align, uint32_t node,
                                   const struct rkt_event *exchanges, size_t count,
                                   struct rkt_error *err);

/*
 * Appends the alignments of all sources: source n is node n's sidecar, and those of
 * `ranks_per_node` ranks each follow behind all sidecars.
 */
enum rkt_status rkt_sim_align_write(const struct rkt_sim_align *align, uint32_t ranks_per_node,
                                    struct rkt_sim_output *output, struct rkt_error *err);

#endif
