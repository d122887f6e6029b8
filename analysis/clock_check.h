/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CLOCK_CHECK_H
#define RKT_ANALYSIS_CLOCK_CHECK_H

/*
 * clock_check - collectives that say a clock, a stamp or a match is wrong, and of which rank.
 *
 * Where each rank needs data of every other (AllReduce, AllGather, ReduceScatter, AllToAll,
 * Barrier) none ends before the last began: S_s - E_r <= 0 in job time. Two grades of the opposite:
 *
 *     S_s - E_r  >  guaranteed ± of both     a proof: a bound, a stamp or a match is wrong
 *     S_s - E_r  >  likely ± of both         the clock of r or s is likely off
 *
 * The likely bound is that of the moment; without one (unaligned, as files claim) there is no
 * second grade, and the first counts 0. In either, of the first to end and the last to begin the
 * one that contradicts more of the others, bounds left aside, is suspect; the rank that is suspect
 * most often is named. By how much its clock is likely ahead, if the others are right and it is
 * constant:
 *
 *     max (S_r - E_s - likely ± of s)  <=  ahead  <=  min (E_r - S_s + likely ± of s)
 *
 * over all collectives and all s but r. What this cannot see is an error below the shortest time
 * between the last start and the first end, and both likely bounds: the floor.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

/* RKT_ERR_NOMEM only. */
enum rkt_status rkt_check_clocks(const struct rkt_result *result, struct rkt_clock_check *check_out,
                                 struct rkt_error *err);

/* What result->clock_check found: a line for each grade, if any. */
enum rkt_status rkt_note_clock_check(struct rkt_result *result, struct rkt_arena *arena,
                                     struct rkt_error *err);

#endif
