/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_PACE_H
#define RKT_AGENT_SIDECAR_PACE_H

/*
 * pace - how long the loop may sleep: MPI cannot be waited for, only asked.
 *
 * Asking every 0.1 ms costs 7 % of a core, every 20 ms 0.4 %. So the sleep doubles while there is
 * nothing to do, and falls back when there is; filling rings cut it by how full they were. Pure.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#define RKT_PACE_MIN_NS 100000u
#define RKT_PACE_MAX_NS 20000000u

struct rkt_pace {
    uint64_t sleep_ns;
};

struct rkt_activity {
    bool wants_now;        /* more is there already: do not sleep */
    bool wants_soon;       /* an answer is due: a clock burst, credits */
    uint32_t fill_percent; /* of the fullest ring in this pass */
};

/* The next sleep; 0: none. */
uint64_t rkt_pace_next_ns(struct rkt_pace *pace, const struct rkt_activity *activity);

#endif
