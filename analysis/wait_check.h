/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_WAIT_CHECK_H
#define RKT_ANALYSIS_WAIT_CHECK_H

/*
 * wait_check - clocks that are off, or drift, seen where waits by the clock and from durations
 * differ.
 *
 * Of a collective in which all wait for all, with starts a, ends e and durations d, by rank:
 *
 *     (a* - a_i) - (d_i - min d)  =  a* + min d - e_i
 *
 * which is one number for all ranks whose clocks are right and who end together. By how much it is
 * less than the median rank's, rank i's clock is ahead, or rank i ends later: the two look the
 * same. The offset is the median over collectives, so it is what is constant; the noise 1.4826 MAD.
 * The drift is that of the rank's own stamps against those of the lowest rank: from the median of
 * the first third of the collectives to that of the last, whatever the alignment made of it.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

/* Fewer collectives, or less time from the first to the last, tell no drift. */
#define RKT_WAIT_CHECK_COUNT_MIN 9u
#define RKT_WAIT_CHECK_SPAN_NS INT64_C(1000000000)

/* Sets wait_check of all ranks; the collectives are measured. RKT_ERR_NOMEM only. */
enum rkt_status rkt_check_waits(struct rkt_result *result, struct rkt_error *err);

/* More than three times its noise. */
bool rkt_wait_check_drifts(const struct rkt_wait_check *check);

/* The rank whose drift is largest, the offset that is furthest beyond the clocks' bounds: a line
 * each. */
enum rkt_status rkt_note_wait_check(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err);

#endif
