/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

#include <stddef.h>

static const char *const NAMES[RKT_CLOCK_COUNT] = {
    [RKT_CLOCK_UNKNOWN] = "unknown",
    [RKT_CLOCK_REALTIME] = "realtime",
    [RKT_CLOCK_MONOTONIC_RAW] = "monotonic_raw",
    [RKT_CLOCK_MONOTONIC] = "monotonic",
    [RKT_CLOCK_TSC] = "tsc",
    [RKT_CLOCK_GLOBALTIMER] = "globaltimer",
    [RKT_CLOCK_TRACE] = "trace",
};

const char *rkt_clock_name(enum rkt_clock_id id)
{
    return (size_t)id < RKT_CLOCK_COUNT ? NAMES[id] : NAMES[RKT_CLOCK_UNKNOWN];
}
