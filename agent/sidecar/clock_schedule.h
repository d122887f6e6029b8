/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_SCHEDULE_H
#define RKT_AGENT_SIDECAR_CLOCK_SCHEDULE_H

/*
 * clock_schedule - when a clock is measured next, and when a burst may stop.
 *
 * So many bursts at once, then, where it repeats, one each period ± 20 %: the nodes shall not come
 * all together, nor in step with the job. A poor burst (fewer than RKT_BURST_EXCHANGES_MIN
 * exchanges, or over three times as wide as the best) is tried again after 100 ms, three times.
 *
 * Threads: one; plain data.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/clock_burst.h"

#define RKT_CLOCK_PERIOD_NS UINT64_C(10000000000)
#define RKT_CLOCK_DIRECT_PERIOD_NS UINT64_C(120000000000) /* of a child with the reference itself */

struct rkt_clock_schedule {
    uint64_t random_state;
    uint64_t period_ns; /* of repeats */
    uint32_t left_count;
    uint64_t gap_ns;
    bool repeats;
    uint64_t due_ns;
    uint32_t retry_count;
    int64_t best_width_ns;
};

void rkt_clock_schedule_init(struct rkt_clock_schedule *schedule, uint64_t seed,
                             uint64_t period_ns);

/* `burst_count` bursts from now on, `gap_ns` apart; `repeats`: and then on and on. */
void rkt_clock_schedule_start(struct rkt_clock_schedule *schedule, uint32_t burst_count,
                              uint64_t gap_ns, bool repeats, uint64_t now_ns);

static inline bool rkt_clock_schedule_is_due(const struct rkt_clock_schedule *schedule,
                                             uint64_t now_ns)
{
    return (schedule->left_count > 0 || schedule->repeats) && now_ns >= schedule->due_ns;
}

/* None of the bursts that were asked for (repeats apart) is left. */
static inline bool rkt_clock_schedule_is_idle(const struct rkt_clock_schedule *schedule)
{
    return schedule->left_count == 0;
}

static inline bool rkt_clock_schedule_is_enough(const struct rkt_clock_schedule *schedule,
                                                const struct rkt_clock_limits *limits,
                                                uint32_t exchange_count)
{
    return rkt_clock_limits_are_enough(limits, exchange_count, schedule->best_width_ns);
}

/* A burst is over; INT64_MAX wide: nobody answered. */
void rkt_clock_schedule_burst(struct rkt_clock_schedule *schedule, int64_t width_ns,
                              uint32_t exchange_count, uint64_t now_ns);

#endif
