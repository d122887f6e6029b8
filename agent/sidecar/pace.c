/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/pace.h"

/* A ring filled so far in one sleep would overflow within a few more like it. */
#define FILL_HIGH_PERCENT 25u
#define FILL_LOW_PERCENT 10u

uint64_t rkt_pace_next_ns(struct rkt_pace *pace, const struct rkt_activity *activity)
{
    uint64_t limit_ns = activity->is_waiting ? RKT_PACE_WAITING_NS : RKT_PACE_MAX_NS;

    if (activity->wants_now)
        return 0;
    if (activity->wants_soon || pace->sleep_ns < RKT_PACE_MIN_NS)
        pace->sleep_ns = RKT_PACE_MIN_NS;
    else if (activity->fill_percent >= FILL_HIGH_PERCENT)
        pace->sleep_ns /= 4;
    else if (activity->fill_percent < FILL_LOW_PERCENT)
        pace->sleep_ns *= 2;
    if (pace->sleep_ns < RKT_PACE_MIN_NS)
        pace->sleep_ns = RKT_PACE_MIN_NS;
    if (pace->sleep_ns > limit_ns)
        pace->sleep_ns = limit_ns;
    return pace->sleep_ns;
}
