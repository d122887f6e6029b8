/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_LOAD_H
#define RKT_ANALYSIS_LOAD_H

/*
 * load - the main process of every rank of a store, by rank number.
 *
 * Left out of every sum, each with a note: helpers, other processes that carry the RANK of a
 * rank, and what is not there. Threads: one at a time.
 */

#include "analysis/analysis.h"
#include "analysis/rank_work.h"
#include "analysis/result.h"
#include "common/arena.h"

/* What result->ranks[i] of the same position points to and somebody has to own. */
struct rkt_loaded_ranks {
    struct rkt_loaded_rank *items;
    size_t count;
};

void rkt_loaded_ranks_release(struct rkt_loaded_ranks *loaded);

/* Fills result->ranks by rank_work, the counts of the run, and notes. result->keeper is there
 * already. On failure as on success, release is the caller's. RKT_END: this is a member of a
 * team. */
enum rkt_status rkt_load_ranks(struct rkt_store_reader *reader,
                               const struct rkt_analysis_options *options,
                               struct rkt_loaded_ranks *loaded, struct rkt_result *result,
                               struct rkt_arena *arena, struct rkt_error *err);

/* load_notes.c: which files of the run are not there. */
enum rkt_status rkt_load_shard_notes(const struct rkt_store_reader *reader,
                                     struct rkt_result *result, struct rkt_arena *arena,
                                     struct rkt_error *err);

/* load_part.c: RKT_ERR_INVALID, and what there is, where nothing is selected of any rank. */
enum rkt_status rkt_load_check_part(const struct rkt_result *result, struct rkt_error *err);

/* load_part.c: what was asked for and is not there on all ranks. */
enum rkt_status rkt_load_part_notes(const struct rkt_analysis_options *options,
                                    struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err);

/* load_notes.c: what the loaded traces say about themselves: losses, stamps, missing ranks. */
enum rkt_status rkt_load_notes(struct rkt_result *result, struct rkt_arena *arena,
                               struct rkt_error *err);

#endif
