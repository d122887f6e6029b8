/* SPDX-License-Identifier: Apache-2.0 */

/* The activity interface of CUPTI: which records are made, and whose buffers they go to. */

#include <cupti.h>
#include <stddef.h>
#include <unistd.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/overhead.h"
#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"

/* Succeeds without a driver, as the real one does. The newest caller gets everything. */
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    if (!requested || !completed)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    if (sim_settings_has(SIM_MODE_BROKEN))
        return sim_say(CUPTI_ERROR_UNKNOWN);
    sim_store_set_client(requested, completed);
    return sim_say(CUPTI_SUCCESS);
}

/* Kinds that exist but are not simulated are accepted and give no records. */
static CUptiResult set_kind(CUpti_ActivityKind kind, bool is_on)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if ((uint32_t)kind == 0 || (uint32_t)kind > CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS)
        return sim_say(CUPTI_ERROR_INVALID_KIND);
    sim_state_set_kind((uint32_t)kind, is_on);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    return set_kind(kind, true);
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    return set_kind(kind, false);
}

/* Per context is not simulated: it is switched on for all. */
CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
    if (!context)
        return sim_say(CUPTI_ERROR_INVALID_CONTEXT);
    return set_kind(kind, true);
}

static CUptiResult set_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool is_on)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if (sim_settings_version() < SIM_CUPTI_12_5)
        return sim_say(CUPTI_ERROR_NOT_SUPPORTED);
    if (cbid == 0 || cbid >= SIM_CBID_MAX)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_state_set_call(domain, cbid, is_on);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return set_call(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable != 0);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return set_call(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable != 0);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint64_t start_ns = sim_stamp_now_ns();
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    while (sim_settings_has(SIM_MODE_STUCK))
        (void)pause();
    sim_store_flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    sim_overhead_ended(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start_ns);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t period_ms)
{
    CUptiResult result = sim_state_connect();

    if (result == CUPTI_SUCCESS)
        sim_store_set_period(period_ms);
    return sim_say(result);
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream_id,
                                              size_t *dropped)
{
    (void)context;
    (void)stream_id;
    if (!dropped)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    *dropped = sim_store_take_dropped();
    return sim_say(CUPTI_SUCCESS);
}
