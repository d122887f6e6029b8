/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_FIT_H
#define RKT_COMMON_CLOCK_FIT_H

/*
 * clock_fit - exchanges with the reference to an offset over time, with its bound.
 *
 * Each burst of exchanges gives a hard interval for reference - local: the intersection of
 * [t2 - t1 - d, t3 - t4 + d] over its exchanges (delays are >= 0). One knot per burst: the
 * middle and half the width. Between bursts the offset is taken as linear; the bound
 * there holds only as far as the drift is linear, which is said in the report.
 *
 * Threads: any; no state.
 */

#include <stddef.h>

#include "common/arena.h"
#include "common/descriptor.h"
#include "common/event.h"
#include "common/status.h"

/*
 * `exchanges`: CLOCK_EXCHANGE events of one node, any order. Knots are the arena's. No
 * exchanges: state UNALIGNED. A burst whose interval is empty (a clock stepped) is left out and
 * counted in *rejected_count_out (may be NULL).
 */
enum rkt_status rkt_clock_fit(const struct rkt_event *exchanges, size_t exchange_count,
                              struct rkt_arena *arena, struct rkt_align_info *align_out,
                              size_t *rejected_count_out, struct rkt_error *err);

#endif
