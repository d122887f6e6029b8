/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_PAIRS_H
#define RKT_AGENT_SIDECAR_CLOCK_PAIRS_H

/*
 * clock_pairs - this node's clocks side by side, ten times a second.
 *
 * CUPTI stamps REALTIME, which steps and slews; we stamp MONOTONIC_RAW. The pairs join them. Only
 * pairs that say something are kept: when the clocks leave the line through the two pairs kept
 * last, the pair before and this one are kept; otherwise one in ten seconds.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

#define RKT_CLOCK_PAIR_EVERY_NS 100000000u

struct rkt_clock_pairs {
    struct rkt_event kept[2]; /* the last two, older first */
    size_t kept_count;
    struct rkt_event last; /* the one before this, kept or not */
    bool last_was_kept;
};

/* Read the clocks: the narrowest of a few tries. */
struct rkt_event rkt_clock_pair_take(void);

/*
 * Which events to store for a new pair: 0, 1 or 2, into out. `is_last`: the run ends, keep it in
 * any case.
 */
size_t rkt_clock_pairs_add(struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                           bool is_last, struct rkt_event out[2]);

#endif
