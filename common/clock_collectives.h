/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_COLLECTIVES_H
#define RKT_COMMON_CLOCK_COLLECTIVES_H

/*
 * clock_collectives - clocks aligned by collectives alone, where no exchange was recorded.
 *
 * Place:   matched collectives -> [clock_collectives] -> an alignment per clock.
 *
 * An alignment is made of what clock_solver finds: knots at the narrowest stamps, and where the
 * bounds bend between them (clock_tube). The estimate is the middle. What the collectives
 * contradict is not aligned at all.
 *
 * Threads: any; no state. Memory: the arena's; the solver's, and 120 bytes per knot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_solver.h"
#include "common/descriptor.h"
#include "common/status.h"

/* What is known of one clock. */
struct rkt_clock_tie {
    bool is_tied;                /* bounded on both sides */
    struct rkt_align_info align; /* if tied; against the reference's stamps; `source` is 0 */
    size_t collective_count;     /* in which it has a part */
    /*
     * Its rate against the reference, if that was the same all along; min > max: it was not.
     * Only where it was observed for RKT_COLLECTIVES_DRIFT_SPAN_NS.
     */
    bool has_rate;
    int64_t rate_min_ppb;
    int64_t rate_max_ppb;
};

struct rkt_clock_ties {
    struct rkt_clock_tie *items; /* by clock */
    size_t count;
    uint32_t rho_ppb;
    uint32_t wander_ppb; /* 0: rho alone counts */
    uint32_t flags;      /* enum rkt_clock_flag; CONTRADICTORY: none but the reference is tied */
};

/*
 * `rho_ppb`: 0 for RKT_COLLECTIVES_RHO_PPB. RKT_ERR_NOMEM, or RKT_ERR_INVALID for an index out of
 * range; parts that end before they start, or lie past RKT_TIME_MAX_NS, are left out.
 */
enum rkt_status rkt_clock_collectives_solve(const struct rkt_clock_parts *parts, uint32_t rho_ppb,
                                            struct rkt_arena *arena,
                                            struct rkt_clock_ties *ties_out, struct rkt_error *err);

#endif
