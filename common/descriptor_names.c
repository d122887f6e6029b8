/* SPDX-License-Identifier: Apache-2.0 */
#include "common/descriptor.h"

const char *rkt_align_state_name(enum rkt_align_state state)
{
    switch (state) {
    case RKT_ALIGN_UNALIGNED:
        return "unaligned";
    case RKT_ALIGN_REFERENCE:
        return "reference";
    case RKT_ALIGN_MEASURED:
        return "measured";
    case RKT_ALIGN_WALL_CLOCK:
        return "wall clock";
    case RKT_ALIGN_SAME_HOST:
        return "same host";
    case RKT_ALIGN_COLLECTIVES:
        return "from collectives";
    case RKT_ALIGN_STATE_COUNT:
        break;
    }
    return "unknown";
}

const char *rkt_producer_name(enum rkt_producer producer)
{
    switch (producer) {
    case RKT_PRODUCER_UNKNOWN:
        break;
    case RKT_PRODUCER_CAPTURE:
        return "capture";
    case RKT_PRODUCER_KINETO:
        return "kineto";
    }
    return "unknown";
}

const char *rkt_end_reason_name(enum rkt_end_reason reason)
{
    switch (reason) {
    case RKT_END_UNKNOWN:
        break;
    case RKT_END_EXITED:
        return "exited";
    case RKT_END_SIGNALED:
        return "signaled";
    case RKT_END_LOST:
        return "lost";
    }
    return "unknown";
}

const char *rkt_source_role_name(enum rkt_source_role role)
{
    switch (role) {
    case RKT_ROLE_RANK:
        return "rank";
    case RKT_ROLE_HELPER:
        return "helper";
    case RKT_ROLE_SIDECAR:
        return "sidecar";
    }
    return "unknown";
}
