/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_ALIGN_AT_H
#define RKT_COMMON_ALIGN_AT_H

/*
 * align_at - reading an alignment: the offset and its bounds at a time.
 *
 * Between knots all are linear; outside, the offset goes on at the rate that the alignment tells
 * and the bounds grow as it tells. One of before version 1.3 tells neither: between its knots the
 * larger bound counts, outside the last piece goes on and may change its rate by 1 ppm; with one
 * knot, by 100 ppm. The reference, and what shares its clock, is exact at all times.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/descriptor.h"

#define RKT_ALIGN_JUMP_PPB 500000

struct rkt_align_point {
    int64_t offset_ns;
    int64_t bound_ns;
    int64_t likely_ns;
};

/* All 0 without knots. */
struct rkt_align_point rkt_align_at(const struct rkt_align_info *align, int64_t local_ns);

/* The largest bounds (not the offset) over [start_ns, end_ns] of local time. */
struct rkt_align_point rkt_align_worst(const struct rkt_align_info *align, int64_t start_ns,
                                       int64_t end_ns);

/*
 * The same state and knots, of which there are some. Two clocks have no offsets in common that are
 * measured; rank 0 stores the same ones for all that read one.
 */
bool rkt_align_is_same(const struct rkt_align_info *a, const struct rkt_align_info *b);

/*
 * How far the offset goes in [start_ns, end_ns] of local time where it does so by more than
 * RKT_ALIGN_JUMP_PPB: no clock, but what is known of it. All else is in a duration as well.
 */
int64_t rkt_align_jumps_ns(const struct rkt_align_info *align, int64_t start_ns, int64_t end_ns);

#endif
