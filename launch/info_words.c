/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <time.h>

#include "launch/info_parts.h"

#define S UINT64_C(1000000000)

bool rkt_info_is_steered(const struct rkt_source_totals *totals)
{
    return totals->events[RKT_EVENT_CLOCK_STATE] > 0 && totals->unsteered_count == 0;
}

const char *rkt_info_end(const struct rkt_store_source *source, char *buf, size_t buf_bytes)
{
    const struct rkt_end_info *end = &source->end;

    if (!source->has_end)
        (void)snprintf(buf, buf_bytes, "no end");
    else if (end->reason == RKT_END_EXITED)
        (void)snprintf(buf, buf_bytes, "exit %d", end->exit_code);
    else if (end->reason == RKT_END_SIGNALED)
        (void)snprintf(buf, buf_bytes, "signal %d", end->signal_number);
    else
        (void)snprintf(buf, buf_bytes, "%s", end->reason == RKT_END_LOST ? "lost" : "ended");
    return buf;
}

const char *rkt_info_date(uint64_t realtime_ns, char *buf, size_t buf_bytes)
{
    time_t seconds = (time_t)(realtime_ns / S);
    struct tm date;

    if (realtime_ns == 0 || !gmtime_r(&seconds, &date) ||
        strftime(buf, buf_bytes, "%Y-%m-%d %H:%M:%S UTC", &date) == 0)
        (void)snprintf(buf, buf_bytes, "unknown");
    return buf;
}
