/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_PATH_PARTS_H
#define RKT_COMMON_CLOCK_PATH_PARTS_H

/*
 * clock_path_parts - the inside of clock_path: what the ways say (clock_path_at.c), at which times
 * an alignment needs knots and which it has to hold (clock_path_times.c), and the alignment
 * (clock_path.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_path.h"

/* ---- clock_path_at.c ---- */

enum rkt_clock_way {
    RKT_CLOCK_WAY_HOPS,
    RKT_CLOCK_WAY_DIRECT,
    RKT_CLOCK_WAY_MEASURED, /* what both of these say */
    RKT_CLOCK_WAY_CLAIMED,  /* over true time, as both ends claim to know it */
    RKT_CLOCK_WAY_COUNT
};

/* False: this way leads nowhere. */
bool rkt_clock_path_way_at(const struct rkt_clock_path *path, enum rkt_clock_way way,
                           int64_t local_ns, struct rkt_clock_point *point_out);

static inline int64_t rkt_clock_point_bound_ns(const struct rkt_clock_point *point)
{
    int64_t above_ns = point->upper_ns - point->offset_ns;
    int64_t below_ns = point->offset_ns - point->lower_ns;

    return above_ns > below_ns ? above_ns : below_ns;
}

/* ---- clock_path_times.c ---- */

/* Times of the node's clock, in order, all different. */
struct rkt_clock_times {
    int64_t *items;
    size_t count;
};

/* The curve whose bursts get knots, beside those of the direct one; NULL: none. */
static inline const struct rkt_clock_curve *rkt_clock_path_main_curve(
    const struct rkt_clock_path *path)
{
    for (size_t i = 0; i < path->hop_count; i++) {
        if (path->hops[i]->segment_count == 0)
            return path->direct;
    }
    return path->hop_count > 0 ? path->hops[0] : path->direct;
}

/* Hops that lead to the reference, and a direct way as well. */
static inline bool rkt_clock_path_has_direct_beside(const struct rkt_clock_path *path)
{
    return path->direct && path->direct->segment_count > 0 &&
           rkt_clock_path_main_curve(path) != path->direct;
}

/* The node's time at which the clock that hop `hop` starts from showed `ns`. */
int64_t rkt_clock_path_node_time_ns(const struct rkt_clock_path *path, size_t hop, int64_t ns);

/* Where knots are to stand. False: no memory. */
bool rkt_clock_path_grid(const struct rkt_clock_path *path, struct rkt_arena *arena,
                         struct rkt_clock_times *grid_out);

/* Where what the path says may bend. False: no memory. */
bool rkt_clock_path_bends(const struct rkt_clock_path *path, struct rkt_arena *arena,
                          struct rkt_clock_times *bends_out);

#endif
