/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_PACE_H
#define RKT_AGENT_SIDECAR_PACE_H

/*
 * pace - how long the loop may sleep: MPI cannot be waited for, only asked.
 *
 * Asking every 0.1 ms costs 7 % of a core, every 20 ms 0.4 %. So the sleep doubles while there is
 * nothing to do, and falls back when there is; filling rings cut it by how full they were. An
 * acknowledgement may be long in coming, where rank 0 stands still: it is asked for every 5 ms (1 %
 * of a core). Pure.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#define RKT_PACE_MIN_NS 100000u
#define RKT_PACE_WAITING_NS 5000000u
#define RKT_PACE_MAX_NS 20000000u

struct rkt_pace {
    uint64_t sleep_ns;
};

struct rkt_activity {
    bool wants_now;        /* more is there already: do not sleep */
    bool wants_soon;       /* something came or went, or a clock burst awaits its answer */
    bool is_waiting;       /* an acknowledgement is due */
    uint32_t fill_percent; /* of the fullest ring in this pass */
};

/* The next sleep; 0: none. */
uint64_t rkt_pace_next_ns(struct rkt_pace *pace, const struct rkt_activity *activity);

#endif
