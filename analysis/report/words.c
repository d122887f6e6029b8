/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/writers.h"

const char *rkt_report_align_name(enum rkt_align_state state)
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
    }
    return "unknown";
}

const char *rkt_report_producer_name(enum rkt_producer producer)
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

const char *rkt_report_end_name(enum rkt_end_reason reason)
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
