/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_SOLVER_H
#define RKT_COMMON_CLOCK_SOLVER_H

/*
 * clock_solver - what collectives allow the clocks of their ranks to be.
 *
 * Place:   matched collectives -> [clock_solver] -> clock_collectives, clock_narrow.
 *
 * theta_i(t) is what has to be added to clock i's stamp to get the reference's. In an AllReduce
 * each part takes what every other gives, so none ends before the last began. With S and E the
 * local stamps of start and end, and z any moment between the last start and the first end,
 *
 *     S_s + theta_s(S_s)  <=  z  <=  E_r + theta_r(E_r)      for each s that gives, r that takes
 *
 * and, no clock running off from the reference's by more than rho,
 *
 *     |theta_i(a) - theta_i(b)|  <=  rho |a - b|
 *
 * These are difference constraints: the upper bound of each theta is its shortest path from the
 * reference (theta = 0), the lower bound the shortest path back, over graph nodes for every stamp
 * and every z. Both are relaxed in rounds of O(parts): collective by collective, then forward and
 * backward along each clock. A bound that is not relaxed to the end is wide, never wrong. Of two
 * ranks and one collective all that is known is
 *
 *     S_0 - E_r <= theta_r <= E_0 - S_r,      wide by both durations together;
 *
 * it gets narrow where each is the last to arrive once: then its start is near the others' ends.
 * That ends are equal is never assumed, nor who was last. The estimate is the middle.
 *
 * A lower bound above an upper one: no clocks can have made these stamps. rho is doubled, to
 * RKT_COLLECTIVES_RHO_MAX_PPB at most, and that is flagged; beyond, nothing is aligned.
 *
 * Where collectives are sparse, rho is most of the bound. But two clocks that differ in rate do so
 * all along: the rates of one clock at any two moments are taken to differ by no more than its
 * wander. So any two of its stamps, a before b, bound its rate at all times:
 *
 *     (lower_b - upper_a) / (b - a) - wander  <=  theta'  <=  (upper_b - lower_a) / (b - a) + wander
 *
 * Of all pairs the narrowest counts, in place of rho where it is narrower; the bounds that follow
 * from that narrow the rates again. The wander is RKT_COLLECTIVES_WANDER_PPB, or more: it is
 * doubled until it is four times what the stamps show of it (the constant rate that some pair needs
 * above that which another allows) and nothing contradicts it; where that comes to rho, rho alone
 * counts. A clock that is seen for less than RKT_COLLECTIVES_DRIFT_SPAN_NS keeps rho.
 *
 * Of a clock that was measured the interval that its alignment gives at each stamp, its *prior*, is
 * known from the start. Where it stepped, nothing is said from one of its stamps to the next.
 *
 * Threads: any; no state. Memory: the arena's; 100 bytes per part.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/clock_tube.h"
#include "common/descriptor.h"
#include "common/status.h"

/* Two free quartzes; and beyond it, with one of them slewed by NTP at its fastest. */
#define RKT_COLLECTIVES_RHO_PPB 100000u
#define RKT_COLLECTIVES_RHO_MAX_PPB 800000u

/* At least: quartzes that warm up change their rate by 1 ppm, and NTP steers REALTIME by some. */
#define RKT_COLLECTIVES_WANDER_PPB 5000u

/* Below this much time between first and last stamp of a clock no rate is told. */
#define RKT_COLLECTIVES_DRIFT_SPAN_NS INT64_C(1000000000)

/* One clock's part in one collective. */
struct rkt_clock_part {
    uint32_t clock;
    uint32_t collective;
    int64_t start_ns; /* local, 0 to RKT_TIME_MAX_NS */
    int64_t end_ns;
    bool gives; /* whoever takes cannot end before it began */
    bool takes;
};

struct rkt_clock_parts {
    const struct rkt_clock_part *items; /* in any order */
    size_t count;
    size_t collective_count;
    size_t clock_count;
    uint32_t reference;
    const struct rkt_align_info
        *priors; /* of each clock; NULL: of none. Knots 0: of this one nothing is known */
};

/* theta of a clock at one of its stamps, both counted from the clock's first stamp. */
struct rkt_clock_stamp {
    int64_t at_ns;
    int64_t lower_ns;
    int64_t upper_ns;
    uint32_t collective;
    bool is_end;
};

/* When all who give had begun and nobody who takes had ended, in reference time. */
struct rkt_clock_moment {
    int64_t lower_ns;
    int64_t upper_ns;
};

struct rkt_clock_solver {
    const struct rkt_clock_parts *parts;
    struct rkt_arena *arena;
    struct rkt_clock_stamp *stamps; /* by clock and time */
    size_t *first;                  /* of each clock; one more at the end */
    int64_t *origin_ns;             /* of each clock: its first stamp */
    struct rkt_clock_moment *moments;
    struct rkt_clock_rates *rates;         /* of each clock */
    const struct rkt_clock_stamp **picked; /* room for those of the clock that has most */
    int64_t rho_ppb;
    int64_t wander_ppb; /* 0: none is assumed */
    int64_t change_ppb; /* by so much some rate has changed at least, as was seen last */
    uint32_t flags;     /* enum rkt_clock_flag */
};

/*
 * The parts are on loan. `rho_ppb`: 0 for RKT_COLLECTIVES_RHO_PPB. RKT_ERR_NOMEM, or
 * RKT_ERR_INVALID for an index out of range; parts that end before they start, or lie past
 * RKT_TIME_MAX_NS, are left out.
 */
enum rkt_status rkt_clock_solver_init(struct rkt_clock_solver *solver,
                                      const struct rkt_clock_parts *parts, uint32_t rho_ppb,
                                      struct rkt_arena *arena, struct rkt_error *err);

/* Bounds of all stamps, by the smallest rho and wander that nothing disproves. False: nothing
 * explains the parts. */
bool rkt_clock_solver_solve(struct rkt_clock_solver *solver);

bool rkt_clock_part_is_sound(const struct rkt_clock_part *part);

size_t rkt_clock_solver_stamp_count(const struct rkt_clock_solver *solver, size_t clock);

/* Solved: whether something ties the clock to the reference on both sides. */
bool rkt_clock_solver_is_bounded(const struct rkt_clock_solver *solver, size_t clock);

/* Fills `picked` by the narrowest stamp of each of many stretches of a clock's time; returns how
 * many. */
size_t rkt_clock_solver_pick(const struct rkt_clock_solver *solver, size_t clock);

/* Of so many picked stamps: the rate, if it is one all along; min > max: it is not. */
struct rkt_clock_rates rkt_clock_solver_constant_rate(const struct rkt_clock_solver *solver,
                                                      size_t picked_count);
bool rkt_clock_solver_has_rate(const struct rkt_clock_solver *solver, size_t picked_count);

#endif
