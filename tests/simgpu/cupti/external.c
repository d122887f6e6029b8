/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/external.h"

#include <cupti.h>

#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"

#define DEPTH_MAX 64u

static _Thread_local struct {
    uint32_t depth;
    uint64_t ids[DEPTH_MAX];
} stacks[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];

static CUptiResult check(CUpti_ExternalCorrelationKind kind)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return result;
    if ((uint32_t)kind == 0 || (uint32_t)kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    CUptiResult result = check(kind);

    if (result == CUPTI_SUCCESS && stacks[kind].depth == DEPTH_MAX)
        result = CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (result == CUPTI_SUCCESS)
        stacks[kind].ids[stacks[kind].depth++] = id;
    return sim_say(result);
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *last_id)
{
    CUptiResult result = check(kind);
    uint64_t id;

    if (result == CUPTI_SUCCESS && stacks[kind].depth == 0)
        result = CUPTI_ERROR_QUEUE_EMPTY;
    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    id = stacks[kind].ids[--stacks[kind].depth];
    if (last_id)
        *last_id = id;
    return sim_say(CUPTI_SUCCESS);
}

void sim_external_write(uint32_t correlation_id)
{
    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
        return;
    for (uint32_t kind = 1; kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE; kind++) {
        CUpti_ActivityExternalCorrelation record = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
            .externalKind = (CUpti_ExternalCorrelationKind)kind,
            .correlationId = correlation_id};

        if (stacks[kind].depth == 0)
            continue;
        record.externalId = stacks[kind].ids[stacks[kind].depth - 1];
        sim_store_write(&record, sizeof(record));
    }
}
