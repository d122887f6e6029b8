/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_FIT_H
#define RKT_COMMON_CLOCK_FIT_H

/*
 * clock_fit - exchanges with the reference to an offset over time, with its bound.
 *
 * Each exchange gives a hard interval for reference - local, [t3 - t4, t2 - t1], since no
 * delay is negative. A burst's interval is the intersection over its exchanges, widened by what
 * two clocks may drift apart within the burst (50 ppm). One knot per burst: the middle and half
 * the width. Between bursts the offset is taken as linear; the bound there holds only as far as
 * the drift is linear, which is said in the report.
 *
 * Only two exchanges of a burst decide: the one with the highest lower limit and the one with
 * the lowest upper limit (rkt_clock_keep). A fit of those alone gives the same knots.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>

#include "common/arena.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/status.h"

/*
 * `exchanges`: CLOCK_EXCHANGE events of one node, any order. Knots are the arena's. No
 * exchanges: state UNALIGNED. A burst whose interval is empty (a clock stepped) is left out and
 * counted in *rejected_count_out (may be NULL). A burst much wider than the best (the machine
 * was busy) is left out where the line between its neighbours runs through its interval: there
 * it knows nothing that they do not.
 */
enum rkt_status rkt_clock_fit(const struct rkt_event *exchanges, size_t exchange_count,
                              struct rkt_arena *arena, struct rkt_align_info *align_out,
                              size_t *rejected_count_out, struct rkt_error *err);

/*
 * Of one burst's exchanges, the indexes of the two that decide (equal when it is one).
 * False: none is sound.
 */
bool rkt_clock_keep(const struct rkt_event *exchanges, size_t exchange_count, size_t *lower_out,
                    size_t *upper_out);

#endif
