/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_CLOCK_CLAIM_H
#define RKT_AGENT_SIDECAR_CLOCK_CLAIM_H

/*
 * clock_claim - within which limits this node's REALTIME is true time, by the site's word.
 *
 * The kernel does not know how well a PTP daemon steers: phc2sys tells it that the error is 0, to
 * keep it from growing. So nothing is claimed unless the user says how far from true time REALTIME
 * is at most. What the kernel can tell is that nobody steers (any more); then nothing is claimed
 * either:
 *
 *  - STA_UNSYNC is set, or the kernel does not say;
 *  - more than the bound is still to be corrected;
 *  - nobody has steered for RKT_CLOCK_CLAIM_STALE_NS. The kernel itself adds 500 us to the largest
 *    error each second; a daemon that steers sets it to less.
 *
 * Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/event.h"

#define RKT_CLOCK_CLAIM_EVERY_NS 1000000000u
#define RKT_CLOCK_CLAIM_STALE_NS 5000000000u
/* A clock that is worse is told from others' by exchanges alone. */
#define RKT_CLOCK_CLAIM_BOUND_NS_MAX 100000u

struct rkt_clock_claimant {
    uint64_t bound_ns; /* 0: nothing is claimed */
    uint64_t due_ns;
    uint64_t watch_ns; /* a look that later ones stand beside; 0: none yet */
    uint64_t watch_max_error_ns;
    uint64_t steered_ns; /* when that was seen last; 0: never */
};

/* Once per RKT_CLOCK_CLAIM_EVERY_NS, or a little less often; false: there is nothing to claim now,
 * and nothing is written. */
bool rkt_clock_claimant_step(struct rkt_clock_claimant *claimant, uint64_t now_ns,
                             struct rkt_event *claim_out);

#endif
