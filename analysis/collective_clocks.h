/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COLLECTIVE_CLOCKS_H
#define RKT_ANALYSIS_COLLECTIVE_CLOCKS_H

/*
 * collective_clocks - alignments of imported ranks, from the collectives that they had together.
 *
 * Place:   match -> [collective_clocks] -> common/clock_collectives -> what an ALIGN frame says.
 *
 * Taken are collectives in which it is known who needs whom: AllReduce, AllGather, ReduceScatter,
 * AllToAll and Barrier (all need all), Broadcast and Scatter from a known root, Reduce and Gather
 * to one. Stamps of whole microseconds may be cut, so that an end is up to two later than it says.
 * The bound holds as far as the collectives were matched rightly (metrics.md, "Matching"), and
 * as far as an AllToAll sends something between all. Weak matches do not count where kernels
 * matched nothing: records are missing, and the order may have slipped.
 *
 * Reference is the lowest rank that is in such a collective; it stays where its file's stamps put
 * it. A rank that none ties to it is as it was. One whose file is of the reference's host, or is
 * the reference's file, keeps the place that its stamps claim where the collectives allow it all
 * along: one clock is exact, and the middle of what they allow is not. That it is one clock is a
 * name's word only, so the bound reaches to the far end of what they allow.
 *
 * Threads: one at a time. Memory: its own.
 */

#include "analysis/result.h"
#include "common/clock_collectives.h"

struct rkt_collective_clocks;

/* The result is on loan for the call only. `rho_ppb`: 0 as usual (clock_collectives.h). */
enum rkt_status rkt_collective_clocks_create(const struct rkt_result *result, uint32_t rho_ppb,
                                             struct rkt_collective_clocks **clocks_out,
                                             struct rkt_error *err);
void rkt_collective_clocks_destroy(struct rkt_collective_clocks *clocks); /* NULL is fine */

/* What is known of the clock of a source, its alignment complete; NULL where it is not tied. */
const struct rkt_clock_tie *rkt_collective_clocks_find(const struct rkt_collective_clocks *clocks,
                                                       uint32_t source);

/* The collectives cannot have been as they are stamped, so that no source is tied. */
bool rkt_collective_clocks_contradict(const struct rkt_collective_clocks *clocks);

/*
 * Whether an imported file's own stamps, however it is aligned now, are off by more than the tie's
 * bound, in the middle of the collectives; by how much (above 0: ahead), and that bound.
 */
bool rkt_collective_clocks_claim(const struct rkt_store_source *source,
                                 const struct rkt_clock_tie *tie, int64_t *off_ns_out,
                                 int64_t *bound_ns_out);

/* Whether it is known who needs whom in it, and that its parts are of one: then it says something
 * of clocks. */
bool rkt_collective_tells_clocks(const struct rkt_result *result,
                                 const struct rkt_collective *collective);

#endif
