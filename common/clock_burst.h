/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CLOCK_BURST_H
#define RKT_COMMON_CLOCK_BURST_H

/*
 * clock_burst - what ping-pongs between two clocks prove.
 *
 * Place:   exchanges -> [clock_burst] -> clock_curve -> clock_path.
 *
 * An exchange (t1 here, t2 and t3 there, t4 here) took no negative time on either way, whatever
 * the delays were (Cristian, Distributed Computing 3, 1989):
 *
 *     t3 - t4  <=  there - here  <=  t2 - t1
 *
 * Exchanges a few milliseconds apart are one burst. Its interval is the intersection of theirs,
 * each widened by what two quartzes may drift apart between it and the burst's middle (50 ppm),
 * and by the step of a clock (1 ns). It is as wide as the fastest way there and the fastest way
 * back together, which need not be of one exchange; and it holds without any assumption.
 *
 * What a host claims of true time (RKT_EVENT_CLOCK_TRUE) limits it against its clock in the same
 * way, as an exchange with true time itself would. Each claim stands for itself.
 *
 * Only two exchanges decide: the one with the highest lower limit and the one with the lowest
 * upper limit. A burst of those alone is the same burst.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/event.h"
#include "common/status.h"

/* No two machines' clocks are further apart (a century); also keeps sums inside int64. */
#define RKT_CLOCK_OFFSET_NS_MAX (INT64_MAX / 4)

/* The clock there minus the clock here was in [lower_ns, upper_ns] at local_ns. */
struct rkt_clock_burst {
    uint64_t local_ns;
    int64_t lower_ns;
    int64_t upper_ns;
};

struct rkt_clock_bursts {
    struct rkt_clock_burst *items; /* by local_ns, all different */
    size_t count;
    size_t empty_count;     /* bursts whose interval was empty: left out */
    size_t senseless_count; /* exchanges whose stamps no exchange can have: likewise */
    bool are_claims;        /* of true time: it is anywhere in them, in the middle no likelier */
};

/*
 * The bursts with one peer, of exchanges in any order; events of other kinds and peers are passed
 * over. The items are the arena's. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_clock_bursts_make(const struct rkt_event *exchanges, size_t exchange_count,
                                      uint32_t peer_source, struct rkt_arena *arena,
                                      struct rkt_clock_bursts *bursts_out, struct rkt_error *err);

/* Likewise true time minus this clock, of claims. */
enum rkt_status rkt_clock_claims_make(const struct rkt_event *claims, size_t claim_count,
                                      struct rkt_arena *arena, struct rkt_clock_bursts *bursts_out,
                                      struct rkt_error *err);

/*
 * Of one burst's exchanges, the indexes of the two that decide (equal when it is one).
 * False: none makes sense.
 */
bool rkt_clock_burst_keep(const struct rkt_event *exchanges, size_t exchange_count,
                          size_t *lower_out, size_t *upper_out);

/* A burst under way: how far apart the limits are by now; INT64_MAX without a sound exchange. */
struct rkt_clock_limits {
    bool is_set;
    int64_t lower_ns;
    int64_t upper_ns;
};

void rkt_clock_limits_add(struct rkt_clock_limits *limits, const struct rkt_event *exchange);
int64_t rkt_clock_limits_width_ns(const struct rkt_clock_limits *limits);

/*
 * How long the other side may keep silent within a burst before it counts as off its core: then the
 * burst is over for both, and nobody spins for it any longer. `first_gap_ns`: what it took at
 * first.
 */
static inline uint64_t rkt_burst_patience_ns(uint64_t first_gap_ns)
{
    return first_gap_ns < 37500 ? 300000 : 8 * first_gap_ns;
}

/*
 * When to stop: at RKT_BURST_EXCHANGES_MAX, or from RKT_BURST_EXCHANGES_MIN on when the interval is
 * within 15 % of the narrowest that this pair of clocks ever had (INT64_MAX: none yet).
 */
#define RKT_BURST_EXCHANGES_MIN 8u
#define RKT_BURST_EXCHANGES_MAX 64u
bool rkt_clock_limits_are_enough(const struct rkt_clock_limits *limits, size_t exchange_count,
                                 int64_t best_width_ns);

#endif
