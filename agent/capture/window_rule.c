/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/window_rule.h"

#include <stddef.h>

void rkt_window_rule_init(struct rkt_window_rule *rule, const struct rkt_capture_config *config)
{
    *rule =
        (struct rkt_window_rule){.schedule = config->schedule, .is_closed = config->is_closed != 0};
}

static enum rkt_window_edge scheduled(const struct rkt_schedule *schedule, uint64_t index)
{
    uint64_t traced_from = schedule->wait;
    uint64_t active_from = traced_from + schedule->warmup;
    uint64_t cycle_steps = active_from + schedule->active;
    uint64_t place;

    if (index < schedule->skip)
        return RKT_WINDOW_CLOSED;
    index -= schedule->skip;
    if (schedule->cycles > 0 && index / cycle_steps >= schedule->cycles)
        return RKT_WINDOW_CLOSED;
    place = index % cycle_steps;
    if (place < traced_from)
        return RKT_WINDOW_CLOSED;
    return place < active_from ? RKT_WINDOW_WARMUP : RKT_WINDOW_OPENED;
}

static enum rkt_window_edge without_new_order(const struct rkt_window_rule *rule,
                                              const struct rkt_window_step *step)
{
    if (rule->has_order)
        return rule->is_open ? RKT_WINDOW_OPENED : RKT_WINDOW_CLOSED;
    if (rkt_window_rule_is_constant(rule))
        return rule->is_closed ? RKT_WINDOW_CLOSED : RKT_WINDOW_OPENED;
    return scheduled(&rule->schedule, rule->schedule.by_step_number ? step->number : step->index);
}

enum rkt_window_edge rkt_window_rule_start(const struct rkt_window_rule *rule)
{
    return without_new_order(rule, &(struct rkt_window_step){0});
}

enum rkt_window_edge rkt_window_rule_at(struct rkt_window_rule *rule,
                                        const struct rkt_region_window_order *order,
                                        const struct rkt_window_step *step)
{
    enum rkt_window_edge edge;

    if (order && step->index >= order->from_step)
        return rkt_window_rule_now(rule, order);
    edge = without_new_order(rule, step);
    if (edge == RKT_WINDOW_CLOSED && order && order->is_open && step->index == order->from_step - 1)
        edge = RKT_WINDOW_WARMUP;
    return edge;
}

enum rkt_window_edge rkt_window_rule_now(struct rkt_window_rule *rule,
                                         const struct rkt_region_window_order *order)
{
    rule->has_order = true;
    rule->is_open = order->is_open;
    return order->is_open ? RKT_WINDOW_OPENED : RKT_WINDOW_CLOSED;
}
