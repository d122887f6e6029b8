/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_schedule.h"

#define RETRY_NS UINT64_C(100000000)
#define RETRY_COUNT_MAX 3u
#define WIDE_FACTOR 3

void rkt_clock_schedule_init(struct rkt_clock_schedule *schedule, uint64_t seed, uint64_t period_ns)
{
    *schedule = (struct rkt_clock_schedule){
        .random_state = seed, .period_ns = period_ns, .best_width_ns = INT64_MAX / WIDE_FACTOR};
}

void rkt_clock_schedule_start(struct rkt_clock_schedule *schedule, uint32_t burst_count,
                              uint64_t gap_ns, bool repeats, uint64_t now_ns)
{
    schedule->left_count = burst_count;
    schedule->gap_ns = gap_ns;
    schedule->repeats = repeats;
    schedule->retry_count = 0;
    schedule->due_ns = now_ns;
}

static uint64_t next_period_ns(struct rkt_clock_schedule *schedule)
{
    schedule->random_state = schedule->random_state * 6364136223846793005u + 1442695040888963407u;
    return schedule->period_ns / 10 * 8 +
           (schedule->random_state >> 11) % (schedule->period_ns / 10 * 4 + 1);
}

void rkt_clock_schedule_burst(struct rkt_clock_schedule *schedule, int64_t width_ns,
                              uint32_t exchange_count, uint64_t now_ns)
{
    bool is_poor = exchange_count < RKT_BURST_EXCHANGES_MIN ||
                   width_ns > schedule->best_width_ns * WIDE_FACTOR;

    if (width_ns < schedule->best_width_ns)
        schedule->best_width_ns = width_ns;
    if (is_poor && schedule->retry_count < RETRY_COUNT_MAX) {
        schedule->retry_count++;
        schedule->due_ns = now_ns + RETRY_NS;
        return;
    }
    schedule->retry_count = 0;
    if (schedule->left_count > 0)
        schedule->left_count--;
    schedule->due_ns =
        now_ns + (schedule->left_count > 0 ? schedule->gap_ns : next_period_ns(schedule));
}
