/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SHARE_H
#define RKT_ANALYSIS_SHARE_H

/*
 * share - the ranks of a store dealt out to the processes of a team, and what they find brought
 * together: never records, only what rank_pack keeps.
 *
 * Everyone deals alike, from the sizes that the store's index gives, so that nothing has to be
 * said: largest rank first, each to the process that has least so far.
 *
 * Place:   candidates -> [share] -> rank_work in each process -> [share] -> the lead's results.
 * Threads: any; no state.
 */

#include "analysis/candidates.h"
#include "analysis/rank_work.h"
#include "analysis/team.h"
#include "common/arena.h"

/* owners[i]: the place in a team of `size` that works on rank i of the candidates. RKT_ERR_NOMEM
 * only. */
enum rkt_status rkt_share_deal(const struct rkt_candidates *candidates, size_t size, size_t *owners,
                               struct rkt_error *err);

/* Member: rank `index` of the candidates, whose trace is thin. RKT_END as rkt_team_give. */
enum rkt_status rkt_share_give(struct rkt_team *team, const struct rkt_candidates *candidates,
                               size_t index, const struct rkt_loaded_rank *loaded,
                               const struct rkt_rank_result *rank, struct rkt_error *err);

/* What the lead has of a rank that another process worked on. */
struct rkt_shared_ranks {
    struct rkt_loaded_rank *loaded; /* by index of the candidates, zeroed */
    struct rkt_rank_result *ranks;  /* likewise; its number is there */
    const size_t *owners;
    struct rkt_arena *arena;
};

/*
 * Lead: whatever has come; with `waits` until all members have given their end, which is RKT_END.
 * Else RKT_OK. RKT_ERR_FORMAT: a member reads another timeline.
 */
enum rkt_status rkt_share_take(struct rkt_team *team, const struct rkt_candidates *candidates,
                               bool waits, const struct rkt_shared_ranks *into,
                               struct rkt_error *err);

#endif
