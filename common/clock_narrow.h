/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_NARROW_H
#define RKT_COMMON_CLOCK_NARROW_H

/*
 * clock_narrow - alignments of measured clocks, narrowed by collectives where the measurements
 * leave them wide.
 *
 * Place:   clock_redo, matched collectives -> [clock_narrow] -> what an ALIGN frame says.
 *
 * Where a clock was not measured for minutes its bound is tens of us wide, and one collective says
 * more. The truth is in both, hence in what they share (clock_solver, the alignments being the
 * priors). Narrowed is only where the bound is RKT_CLOCK_NARROW_WIDE times the clock's best or
 * more, and collectives take an eighth of it away; elsewhere an alignment stays as it was, to the
 * last bit. There the estimate is the middle; ends are never made equal. A clock that stepped is
 * not narrowed.
 *
 * Where collectives and alignments contradict each other, which a wrong match does, nothing is
 * narrowed.
 *
 * Threads: any; no state. Memory: the arena's; the solver's, and 300 bytes per knot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_solver.h"
#include "common/descriptor.h"
#include "common/status.h"

#define RKT_CLOCK_NARROW_WIDE 3

/* From the last start to the first end: no collective between nodes takes less. */
#define RKT_CLOCK_NARROW_LEAST_NS 10000

struct rkt_clock_narrowed {
    struct rkt_align_info
        align;         /* the prior, where nothing was narrowed; else its knots are the arena's */
    int64_t before_ns; /* the widest bound of what was narrowed; 0: nothing was */
    int64_t after_ns;
};

struct rkt_clock_narrowing {
    struct rkt_clock_narrowed *items; /* by clock */
    size_t count;
    bool is_contradictory;
};

/* Whether the bound is so wide anywhere from start to end, local times, that collectives may narrow
 * it. */
bool rkt_clock_narrow_may(const struct rkt_align_info *prior, int64_t start_ns, int64_t end_ns);

/* `parts`: with priors. RKT_ERR_NOMEM, or RKT_ERR_INVALID as of clock_solver. */
enum rkt_status rkt_clock_narrow(const struct rkt_clock_parts *parts, struct rkt_arena *arena,
                                 struct rkt_clock_narrowing *narrowing_out, struct rkt_error *err);

#endif
