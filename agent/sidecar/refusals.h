/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_REFUSALS_H
#define RKT_AGENT_SIDECAR_REFUSALS_H

/*
 * refusals - who could not connect, said once a second at most, with their number and the last
 * reason: a library of another version in every worker of a job must not fill its log.
 *
 * Threads: one. All zero is the start.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_refusals {
    uint64_t unsaid_count;
    uint64_t due_ns; /* the next line is not before */
    char reason[sizeof(((struct rkt_error *)0)->text)];
};

void rkt_refusals_add(struct rkt_refusals *refusals, const struct rkt_error *cause);

/* Say what there is to say, if its time has come or there will be no other. */
void rkt_refusals_say(struct rkt_refusals *refusals, uint64_t now_ns, bool is_last);

#endif
