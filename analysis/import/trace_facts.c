/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/trace_facts.h"

const char *rkt_fate_text(enum rkt_fate fate)
{
    switch (fate) {
    case RKT_FATE_STORED:
        return "stored";
    case RKT_FATE_JOINED:
        return "ends joined with their begins";
    case RKT_FATE_METADATA:
        return "names and labels";
    case RKT_FATE_PYTHON:
        return "Python frames";
    case RKT_FATE_FLOW:
        return "flow arrows";
    case RKT_FATE_OTHER:
        return "of kinds that are not kept";
    case RKT_FATE_NO_TIME:
        return "without a usable ts and dur";
    case RKT_FATE_REVERSED:
        return "that end before they start";
    case RKT_FATE_NO_BEGIN:
        return "ends without a begin";
    case RKT_FATE_NO_END:
        return "begins without an end";
    case RKT_FATE_NO_PHASE:
        return "objects that are no event";
    case RKT_FATE_NO_VALUE:
        return "counters without a number";
    case RKT_FATE_DAMAGED:
        return "that cannot be parsed";
    case RKT_FATE_COUNT:
        break;
    }
    return "unknown";
}
