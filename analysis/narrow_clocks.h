/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_NARROW_CLOCKS_H
#define RKT_ANALYSIS_NARROW_CLOCKS_H

/*
 * narrow_clocks - alignments of a run's nodes, narrowed by the collectives of their ranks.
 *
 * Place:   match, clock_redo -> [narrow_clocks] -> common/clock_narrow -> what an ALIGN frame says.
 *
 * Ranks with one alignment read one clock; their stamps are taken to its MONOTONIC_RAW, and count
 * as wide by what that mapping may be wrong. Which collectives count is as for imports
 * (collective_clocks.h).
 *
 * Threads: one at a time. Memory: its own.
 */

#include "analysis/result.h"
#include "common/clock_narrow.h"

struct rkt_narrow_clocks;

/*
 * `aligns`: of each rank, by position, as measured. The result is on loan for the call only; the
 * knots of `aligns` until destroy.
 */
enum rkt_status rkt_narrow_clocks_create(const struct rkt_result *result,
                                         const struct rkt_align_info *aligns,
                                         struct rkt_narrow_clocks **clocks_out,
                                         struct rkt_error *err);
void rkt_narrow_clocks_destroy(struct rkt_narrow_clocks *clocks); /* NULL is fine */

/* What became of the alignment of the rank at a position; NULL: as it was. */
const struct rkt_clock_narrowed *rkt_narrow_clocks_find(const struct rkt_narrow_clocks *clocks,
                                                        size_t position);

/* Collectives and measurements contradict each other, so that nothing is narrowed. */
bool rkt_narrow_clocks_contradict(const struct rkt_narrow_clocks *clocks);

#endif
