/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EXPORT_LANES_H
#define RKT_ANALYSIS_EXPORT_LANES_H

/*
 * lanes - as many rows as slices need so that on each row they nest or follow, never overlap
 * partly: viewers drop slices that do.
 *
 * Threads: one at a time. Memory: its own, reused from track to track.
 */

#include <stddef.h>
#include <stdint.h>

struct rkt_lane {
    int64_t *ends; /* of the slices that are open, the innermost last */
    size_t depth;
    size_t cap;
};

struct rkt_lanes {
    struct rkt_lane *items;
    size_t count; /* in use by this track */
    size_t cap;
};

#define RKT_LANE_NONE SIZE_MAX

void rkt_lanes_init(struct rkt_lanes *lanes);
void rkt_lanes_release(struct rkt_lanes *lanes);
void rkt_lanes_reset(struct rkt_lanes *lanes); /* a new track begins */

/*
 * The row of the next slice of this track: the first on which it fits. Slices come by start, of
 * equal ones the longest first. RKT_LANE_NONE when memory is out.
 */
size_t rkt_lanes_place(struct rkt_lanes *lanes, int64_t start_ns, int64_t end_ns);

#endif
