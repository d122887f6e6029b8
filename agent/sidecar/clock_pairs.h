/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_PAIRS_H
#define RKT_AGENT_SIDECAR_CLOCK_PAIRS_H

/*
 * clock_pairs - this node's clocks side by side, ten times a second.
 *
 * CUPTI stamps REALTIME, which steps and slews; we stamp MONOTONIC_RAW. The pairs join them. Only
 * pairs that say something are kept: the line from the pair kept last to each new one shall pass
 * all since then within RKT_CLOCK_PAIR_LINE_NS, of REALTIME and of MONOTONIC. Where it does not the
 * pair before is kept, with how far those left out are off the line to it, and how much they bend.
 * So it is where no reading came for RKT_CLOCK_PAIR_GAP_NS: what was then nobody knows. Since then
 * a pair is kept after 0.2 s, 0.4 s and so on up to each ten seconds, so that a rate of some
 * seconds has two lines, which are each other's witness (clock_line.h).
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock_line.h"
#include "common/event.h"

/* As many as are read until one is kept in any case. */
#define RKT_CLOCK_PAIRS_LEFT_OUT_MAX 128u

struct rkt_clock_pairs {
    struct rkt_event kept; /* the last */
    size_t kept_count;
    uint64_t bend_ns;                                        /* where the line of today began */
    struct rkt_event left_out[RKT_CLOCK_PAIRS_LEFT_OUT_MAX]; /* since then */
    size_t left_out_count;
};

/* RAW, REALTIME, RAW, MONOTONIC, RAW, TSC, in this order. */
struct rkt_clock_readings {
    uint64_t raw_ns[3];
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    uint64_t tsc_ticks; /* 0: there is none */
};

/*
 * The pair that they make: REALTIME was read somewhere in the bracket. So was MONOTONIC, less what
 * RAW went on by in between: the bracket is as wide as the wider of both, around the first.
 */
struct rkt_event rkt_clock_pair_of(const struct rkt_clock_readings *readings);

/* Read the clocks: the narrowest of a few tries. */
struct rkt_event rkt_clock_pair_take(void);

/*
 * Which events to store for a new pair: 0, 1 or 2, into out. `is_last`: the run ends, keep it in
 * any case.
 */
size_t rkt_clock_pairs_add(struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                           bool is_last, struct rkt_event out[2]);

#endif
