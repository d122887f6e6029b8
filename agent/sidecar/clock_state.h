/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_STATE_H
#define RKT_AGENT_SIDECAR_CLOCK_STATE_H

/*
 * clock_state - what this node's clocks run on, and what steers REALTIME.
 *
 * CUPTI stamps in REALTIME, and whoever compares a timeline with other logs does so by REALTIME.
 * Each ten seconds the kernel is asked what NTP or PTP has told it, which takes no privilege. That
 * is recorded and shown; no alignment is computed from it, as it is a claim (common/doc/clocks.md).
 *
 * Threads: any; no state.
 */

#include <stdbool.h>

#include "common/descriptor.h"
#include "common/event.h"

#define RKT_CLOCK_STATE_EVERY_NS 10000000000u

/* False: the kernel does not say (a sandbox may forbid to ask); nothing is written. */
bool rkt_clock_state_take(struct rkt_event *state_out);

/*
 * The clocksource and the TSC's flags, into `info`; what cannot be read stays empty. `root` goes
 * before /proc and /sys: "" for those of this machine.
 */
void rkt_clock_facts_read(const char *root, struct rkt_source_info *info);

#endif
