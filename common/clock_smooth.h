/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_SMOOTH_H
#define RKT_COMMON_CLOCK_SMOOTH_H

/*
 * clock_smooth - the likeliest course of an offset through bursts, from all of them at once.
 *
 * The filter of clock_filter forward, then back by Rauch, Tung and Striebel (AIAA Journal 3, 1965):
 *
 *     C = P F' P+^-1,   x <- x + C (x_next - F x),   P <- P + C (P_next - P+) C'
 *
 * where P+ is the covariance as predicted for the next point. Run for each noise of a table; the
 * one under which the bursts are likeliest is taken.
 *
 * A burst that is w wide beside w_min of the narrowest met a delay of w - w_min, in one direction
 * or in both: its middle is off by anything up to h = (w - w_min)/2 (and by jitter: 0.01 w_min),
 * and while one direction is congested all bursts are off to the same side, which no average
 * removes. So the first round takes h for the standard deviation of the middle; later ones take a
 * burst near whose middle the curve runs for saying little (1.5 h), and else the nearer end of
 * middle ± h for measured. This finds the likeliest curve under errors that are even within ± h. Of
 * the spells in which one way is slow the bursts before and after then decide.
 *
 * How well the rate is known is told by a last round in which each burst says as little as 5 h and
 * three times the jitter: the bound rests on that, and few poor bursts must not make it sure of a
 * wrong rate.
 *
 * Where both ways get slow alike, as on a processor that clocks down or a virtual machine whose
 * calls take longer for a while, middles stay where they were, and with the above much is thrown
 * away. The bursts tell: under the noise that was found it is tried whether middles are off by 0.3
 * or 0.1 of h (no less than 5 times the jitter), but one in 20, which is by all of it. If that is
 * likelier, a course of its own is made, of bursts taken so, and those further than 3 sigma off it
 * for the others. It is only the likeliest: a queue of one way that builds up for minutes moves
 * middles as a clock does. So of bursts with h above a quarter of w_min nothing of this is
 * believed, and bounds rest on the first course. Claims of true time, which have no narrowest
 * (w_min 0), are left alone.
 *
 * Threads: any; no state. Memory: the arena's.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_filter.h"
#include "common/status.h"

#define RKT_CLOCK_NOISE_COUNT 4u
extern const double rkt_clock_noises[RKT_CLOCK_NOISE_COUNT];

struct rkt_smooth_point {
    /* given */
    double time_s;
    double middle_ns; /* of the burst's interval */
    double half_ns;   /* h */
    /* made */
    double offset_ns; /* of the course that bounds rest on */
    double rate_ppb;
    double rate_sigma_ppb;
    double likeliest_ns; /* of the likeliest course, where ways were slow alike; else the same */
};

/* `points`: one or more, by time, all different. *noise_index_out: which of the noises. */
enum rkt_status rkt_clock_smooth(struct rkt_smooth_point *points, size_t count,
                                 double best_width_ns, struct rkt_arena *arena,
                                 uint32_t *noise_index_out, struct rkt_error *err);

#endif
