/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_CLOCK_PAIR_H
#define RKT_TESTS_UNIT_CLOCK_PAIR_H

/* clock_pair - readings of clocks as a sidecar stores them, for tests of lines and maps. */

#include "common/clock_line.h"

#define SECOND 1000000000ll

/* What a pair that was left out between two kept ones may be off their line. */
#define LINE_NS RKT_CLOCK_PAIR_LINE_NS

/* RAW runs evenly; REALTIME is what a case makes of it, and MONOTONIC 77 ns ahead of that. */
static inline struct rkt_event pair(uint64_t raw_ns, uint64_t width_ns, uint64_t realtime_ns)
{
    return (struct rkt_event){
        .kind = RKT_EVENT_CLOCK_PAIR,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = raw_ns - width_ns / 2,
        .end_ns = raw_ns + width_ns / 2,
        .clock_pair = {.realtime_ns = realtime_ns, .monotonic_ns = realtime_ns + 77},
    };
}

#endif
