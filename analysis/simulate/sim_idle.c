/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_idle.h"

#include <stdlib.h>

#define DEVICE_PACE_NS 2000 /* a gap so short behind a launch in time is the device's own */

const char *rkt_sim_idle_name(enum rkt_sim_idle_cause cause)
{
    static const char *const NAMES[] = {
        [RKT_SIM_IDLE_SYNC] = "sync",     [RKT_SIM_IDLE_ALLOC] = "alloc",
        [RKT_SIM_IDLE_INPUT] = "input",   [RKT_SIM_IDLE_HOST] = "host",
        [RKT_SIM_IDLE_LAUNCH] = "launch", [RKT_SIM_IDLE_DEPENDENCY] = "dependency",
        [RKT_SIM_IDLE_DEVICE] = "device",
    };

    return NAMES[cause];
}

/* Of what the host did but launch and go on: a copy among that is one that it waits for. */
static enum rkt_sim_idle_cause cause_of(const struct rkt_sim_log_host *host)
{
    if (host->name == RKT_SIM_NAME_NONE)
        return RKT_SIM_IDLE_INPUT;
    return host->name == RKT_SIM_NAME_ALLOC ? RKT_SIM_IDLE_ALLOC : RKT_SIM_IDLE_SYNC;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* [start, end) before the launch: what the host did, in order, and the rest of the time. */
static void sum_host(const struct rkt_sim_log *log, struct rkt_sim_span gap, int64_t by_cause_ns[])
{
    int64_t rest_ns = gap.end_ns - gap.start_ns;
    int64_t after_sync_ns = 0; /* that the host worked behind the last call that waited */
    int64_t lead_ns = 0;       /* which that call took */
    int64_t tail_ns;

    for (size_t i = 0; i < log->host_count; i++) {
        const struct rkt_sim_log_host *host = &log->hosts[i];
        enum rkt_sim_idle_cause cause = cause_of(host);
        int64_t from_ns = later(host->span.start_ns, gap.start_ns);
        int64_t to_ns = earlier(host->span.end_ns, gap.end_ns);

        if (to_ns <= from_ns)
            continue;
        by_cause_ns[cause] += to_ns - from_ns;
        rest_ns -= to_ns - from_ns;
        if (cause == RKT_SIM_IDLE_SYNC) {
            lead_ns = later(gap.start_ns - host->span.start_ns, 0);
            after_sync_ns = gap.end_ns - to_ns;
        } else {
            after_sync_ns = later(after_sync_ns - (to_ns - from_ns), 0);
        }
    }
    tail_ns = earlier(earlier(after_sync_ns, lead_ns), rest_ns);
    by_cause_ns[RKT_SIM_IDLE_SYNC] += tail_ns;
    by_cause_ns[RKT_SIM_IDLE_HOST] += rest_ns - tail_ns;
}

/* The gap before this work. */
static void sum_gap(const struct rkt_sim_log *log, int64_t start_ns,
                    const struct rkt_sim_log_work *next, int64_t by_cause_ns[])
{
    int64_t end_ns = next->run.start_ns;
    int64_t called_ns = earlier(later(next->launch.start_ns, start_ns), end_ns);
    int64_t launched_ns = earlier(later(next->launch.end_ns, called_ns), end_ns);

    sum_host(log, (struct rkt_sim_span){start_ns, called_ns}, by_cause_ns);
    by_cause_ns[RKT_SIM_IDLE_LAUNCH] += launched_ns - called_ns;
    if (next->launch.end_ns <= start_ns && end_ns - start_ns < DEVICE_PACE_NS)
        by_cause_ns[RKT_SIM_IDLE_DEVICE] += end_ns - launched_ns;
    else
        by_cause_ns[RKT_SIM_IDLE_DEPENDENCY] += end_ns - launched_ns;
}

static int compare_works(const void *a, const void *b)
{
    const struct rkt_sim_log_work *x = a;
    const struct rkt_sim_log_work *y = b;

    if (x->run.start_ns != y->run.start_ns)
        return x->run.start_ns < y->run.start_ns ? -1 : 1;
    return (x->run.end_ns > y->run.end_ns) - (x->run.end_ns < y->run.end_ns);
}

void rkt_sim_idle_sum(struct rkt_sim_log *log, int64_t from_ns,
                      int64_t by_cause_ns[RKT_SIM_IDLE_CAUSE_COUNT])
{
    if (log->work_count > 0)
        qsort(log->works, log->work_count, sizeof(*log->works), compare_works);
    for (size_t i = 0; i < log->work_count; i++) {
        if (log->works[i].run.start_ns > from_ns)
            sum_gap(log, from_ns, &log->works[i], by_cause_ns);
        from_ns = later(from_ns, log->works[i].run.end_ns);
    }
}
