/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CLOCK_CHECK_H
#define RKT_ANALYSIS_CLOCK_CHECK_H

/*
 * clock_check - collectives that prove a clock, a stamp or a match wrong, and of which rank.
 *
 * Where each rank needs data of every other (AllReduce, AllGather, ReduceScatter, AllToAll,
 * Barrier) none ends before the last began: min end - max start >= 0 in job time. Less than that,
 * by more than the guaranteed bounds of the two ranks together, is a proof. Of the first to end and
 * the last to begin the one that contradicts more of the others is suspect; the rank that is
 * suspect most often is named.
 *
 * What this cannot see is an error below the time between the last start and the first end.
 *
 * Threads: any; reads only.
 */

#include "analysis/result.h"

struct rkt_clock_check {
    size_t checked_count; /* collectives of such kinds, on clocks that are known */
    size_t broken_count;
    uint32_t rank;     /* position in ranks; RKT_INDEX_NONE: no rank is in more than the others */
    size_t rank_count; /* broken collectives in which it is suspect */
};

/* RKT_ERR_NOMEM only. */
enum rkt_status rkt_check_clocks(const struct rkt_result *result, struct rkt_clock_check *check_out,
                                 struct rkt_error *err);

#endif
