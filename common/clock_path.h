/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_PATH_H
#define RKT_COMMON_CLOCK_PATH_H

/*
 * clock_path - a clock against the reference, over the clocks in between.
 *
 * Place:   clock_curve -> [clock_path] -> an alignment (descriptor.h), which clock_map reads.
 *
 * Along hops offsets add, and so do their bounds; the second hop is read at the time that the first
 * hop's clock showed, which is known as well as that hop's bound, times 200 ppm. Where the clock
 * was also measured against the reference directly, the truth is in both bounds, hence in what they
 * share. The offset is that of the hops, unless their bound is over four times as wide, as where a
 * clock in between was not measured any more.
 *
 * Where both ends claim to know true time within limits (RKT_EVENT_CLOCK_TRUE), the way over true
 * time is intersected as well: true time minus the clock here, less true time minus the reference.
 * What contradicts the exchanges anywhere, or itself, is left out all along, and so is what is
 * nowhere narrower.
 *
 * An alignment is straight lines between knots. A knot stands at each burst of the first hop and of
 * what is direct, and in each middle between two, where the bounds are widest; bounds are raised
 * where a line would pass below what the path says at a bend of any of its curves, so that they
 * hold in between, too.
 *
 * Threads: any; no state. Memory: the arena's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_curve.h"
#include "common/descriptor.h"
#include "common/status.h"

struct rkt_clock_path {
    const struct rkt_clock_curve *hops[RKT_ALIGN_HOPS_MAX]; /* from the node on */
    size_t hop_count;                                       /* 1 or more */
    const struct rkt_clock_curve *direct;                   /* to the reference; NULL none */
    const struct rkt_clock_curve *claim;                    /* to true time; NULL none */
    const struct rkt_clock_curve *reference_claim;          /* of the reference's clock, likewise */
};

/* False: some hop is not known, and there is nothing direct. */
bool rkt_clock_path_at(const struct rkt_clock_path *path, int64_t local_ns,
                       struct rkt_clock_point *point_out);

/*
 * Fills all of *align_out but source and hops; nothing known: state UNALIGNED, with the flags that
 * say why. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_clock_path_align(const struct rkt_clock_path *path, struct rkt_arena *arena,
                                     struct rkt_align_info *align_out, struct rkt_error *err);

#endif
