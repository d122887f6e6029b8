/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_TUBE_H
#define RKT_COMMON_CLOCK_TUBE_H

/*
 * clock_tube - what is known of an offset between two moments at which it is known.
 *
 * Place:   clock_collectives -> [clock_tube] -> the knots of an alignment.
 *
 * A pin is a moment and an interval that holds the offset then; its rate is between two limits at
 * all times. Between pins p and q that are g apart, x behind p, the offset is then below
 *
 *     min(upper_p + max x, upper_q - min (g - x))        and above likewise,
 *
 * two lines with a bend. An alignment is straight lines between knots: a knot stands at each pin
 * and at each bend, so that nothing is lost. Where a gap is so short that the bends would be within
 * RKT_CLOCK_TUBE_FLAT_NS of the straight line they are left out, and the pins beside carry that.
 *
 * Threads: any; no state. Memory: the arena's.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/descriptor.h"
#include "common/status.h"

#define RKT_CLOCK_TUBE_FLAT_NS 100

struct rkt_clock_pin {
    int64_t at_ns; /* local */
    int64_t lower_ns;
    int64_t upper_ns;
};

struct rkt_clock_rates {
    int64_t min_ppb;
    int64_t max_ppb;
};

/* How far an offset moves within `span_ns` at most (towards `rate_ppb`): rounded up, or down. */
int64_t rkt_clock_rise_most_ns(int64_t span_ns, int64_t rate_ppb);
int64_t rkt_clock_rise_least_ns(int64_t span_ns, int64_t rate_ppb);

struct rkt_clock_pins {
    const struct rkt_clock_pin *items; /* by time, all different, one at least */
    size_t count;
    struct rkt_clock_rates rates; /* no pin is wider than these and the others make it */
};

/* Likely bounds are the guaranteed ones. RKT_ERR_NOMEM only. */
enum rkt_status rkt_clock_tube_knots(const struct rkt_clock_pins *pins, struct rkt_arena *arena,
                                     struct rkt_align_knot **knots_out, size_t *knot_count_out,
                                     struct rkt_error *err);

#endif
