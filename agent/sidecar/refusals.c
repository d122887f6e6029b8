/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/refusals.h"

#include <stdio.h>

#include "common/log.h"

#define INTERVAL_NS UINT64_C(1000000000)

void rkt_refusals_add(struct rkt_refusals *refusals, const struct rkt_error *cause)
{
    refusals->unsaid_count++;
    (void)snprintf(refusals->reason, sizeof(refusals->reason), "%s", cause->text);
}

void rkt_refusals_say(struct rkt_refusals *refusals, uint64_t now_ns, bool is_last)
{
    if (refusals->unsaid_count == 0 || (now_ns < refusals->due_ns && !is_last))
        return;
    rkt_log(RKT_LOG_WARN, "sidecar", "a process could not connect", "reason=\"%s\" count=%llu",
            refusals->reason, (unsigned long long)refusals->unsaid_count);
    refusals->unsaid_count = 0;
    refusals->due_ns = now_ns + INTERVAL_NS;
}
