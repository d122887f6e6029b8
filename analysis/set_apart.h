/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SET_APART_H
#define RKT_ANALYSIS_SET_APART_H

/*
 * set_apart - ranks whose numbers are of another kind than the others': in no sum over ranks, and
 * not compared with them.
 *
 * Those without GPU work beside ranks with; and, of the others, those whose steps were found in
 * another way than most ranks' (metrics.md, "Steps and windows"): a rank without step marks has the
 * repeats of its collectives for steps, more or fewer of them, with other numbers. A rank without
 * any steps never decides.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

/* Sets is_set_apart and has_other_steps of all ranks, whose steps are found. */
void rkt_set_apart(struct rkt_result *result);

/* The first rank that is not set apart; the first where all are. NULL only without ranks. */
const struct rkt_rank_result *rkt_first_compared(const struct rkt_result *result);

/* A line for each kind; RKT_ERR_NOMEM only. */
enum rkt_status rkt_note_set_apart(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err);

#endif
