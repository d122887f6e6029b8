/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_clock.h"

#define OFFSET_KEY UINT64_C(0x6f66667365740000)
#define DRIFT_KEY UINT64_C(0x6472696674000000)

/* splitmix64's mixing: every bit of the input moves every bit of the output. */
static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t rkt_sim_draw(const struct rkt_scenario *scenario, uint64_t key, uint64_t range)
{
    return (uint64_t)((unsigned __int128)mix(mix(scenario->seed) ^ key) * range >> 64);
}

/* Even in [-limit, limit]. */
static int64_t draw_signed(const struct rkt_scenario *scenario, uint64_t key, uint64_t limit)
{
    return (int64_t)rkt_sim_draw(scenario, key, 2 * limit + 1) - (int64_t)limit;
}

struct rkt_sim_clock rkt_sim_clock_of(const struct rkt_scenario *scenario, uint32_t node)
{
    struct rkt_sim_clock clock = {0};

    if (node == 0)
        return clock;
    clock.offset_ns = draw_signed(scenario, OFFSET_KEY | node, scenario->clock_offset_ns);
    clock.drift_ppb = draw_signed(scenario, DRIFT_KEY | node, scenario->clock_drift_ppb);
    return clock;
}

int64_t rkt_sim_clock_raw_ns(const struct rkt_sim_clock *clock, int64_t job_ns)
{
    int64_t drifted_ns = (int64_t)((__int128)job_ns * clock->drift_ppb / 1000000000);

    return RKT_SIM_RAW_BASE_NS + job_ns + clock->offset_ns + drifted_ns;
}

int64_t rkt_sim_clock_real_ns(const struct rkt_sim_clock *clock, int64_t job_ns)
{
    return rkt_sim_clock_raw_ns(clock, job_ns) + RKT_SIM_REAL_BASE_NS - RKT_SIM_RAW_BASE_NS;
}
