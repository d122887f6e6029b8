/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_WINDOW_RULE_H
#define RKT_CAPTURE_WINDOW_RULE_H

/*
 * window_rule - whether a step is inside a capture window: the schedule, and orders over it.
 *
 *     step      0   1   2   3   4   5   6   7   8   9  10
 *     schedule  -   -   w   R   R   R   -   -   w   R   R     wait 2, warmup 1, active 3
 *     order         "open from 6"       w   R   R   R   R     and from then on the order holds
 *
 * A step is warm-up (w) where it is traced so that the next one is whole: without the work that was
 * under way, the first recorded step (R) would seem to begin with an idle GPU. An order to open
 * takes the step before its own for that. Orders count the steps of the process: the job's own
 * numbers may begin again with each epoch.
 *
 * Place:   configuration, orders of the region -> [window_rule] -> window.
 * Threads: one at a time; no other state than the caller's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture_config.h"
#include "agent/region.h"
#include "common/event_values.h"

struct rkt_window_rule {
    struct rkt_schedule schedule;
    bool is_closed; /* where neither schedule nor order says anything */
    bool has_order; /* one has taken effect: the schedule is over */
    bool is_open;   /* what it said */
};

/* A step as the job marks it. */
struct rkt_window_step {
    uint64_t number;
    uint64_t index; /* counted from 0 in this process */
};

void rkt_window_rule_init(struct rkt_window_rule *rule, const struct rkt_capture_config *config);

/* How it is before the first step. */
enum rkt_window_edge rkt_window_rule_start(const struct rkt_window_rule *rule);

/* How it is in this step. `order` may be NULL; one that is due is taken over. */
enum rkt_window_edge rkt_window_rule_at(struct rkt_window_rule *rule,
                                        const struct rkt_region_window_order *order,
                                        const struct rkt_window_step *step);

/* Without steps: an order holds at once. */
enum rkt_window_edge rkt_window_rule_now(struct rkt_window_rule *rule,
                                         const struct rkt_region_window_order *order);

/* Nothing but an order can change how it is. */
static inline bool rkt_window_rule_is_constant(const struct rkt_window_rule *rule)
{
    return rule->schedule.active == 0;
}

#endif
