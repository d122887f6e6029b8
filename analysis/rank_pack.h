/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_PACK_H
#define RKT_ANALYSIS_RANK_PACK_H

/*
 * rank_pack - what is left of a rank when its work is done, as bytes for another process.
 *
 * Lossless: the results of all ranks are made of the same numbers wherever a rank was worked on.
 *
 * Place:   rank_work, thin -> [rank_pack] -> team -> [rank_pack] -> match and all that follows.
 * Threads: any; no state.
 */

#include "analysis/packed.h"
#include "analysis/rank_work.h"
#include "common/arena.h"

/* Appends a rank whose trace is thin. packed->has_failed: out of memory. */
void rkt_rank_pack(const struct rkt_loaded_rank *loaded, const struct rkt_rank_result *rank,
                   struct rkt_packed *packed);

/*
 * Fills a zeroed `loaded` and `rank` as rkt_rank_work and thinning did elsewhere, but for
 * trace->source and the clock map, which is not there. The steps are the arena's.
 * RKT_ERR_INTERNAL: no such bytes.
 */
enum rkt_status rkt_rank_unpack(struct rkt_unpacking *from, struct rkt_loaded_rank *loaded,
                                struct rkt_arena *arena, struct rkt_rank_result *rank,
                                struct rkt_error *err);

#endif
