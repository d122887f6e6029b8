/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The interface of CUPTI but for records. What is not simulated answers as the real library does on
 * a machine where the feature is missing, and what needs a driver says 999 without one.
 */

#include <cupti.h>
#include <stddef.h>

#include "tests/simgpu/cupti/callbacks.h"
#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"
#include "tests/simgpu/hooks.h"

CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    *version = sim_settings_version();
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    if (!timestamp)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    *timestamp = sim_stamp_now_ns();
    return sim_say(CUPTI_SUCCESS);
}

static const struct {
    CUptiResult result;
    const char *name;
} RESULTS[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
    {CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
    {CUPTI_ERROR_QUEUE_EMPTY, "CUPTI_ERROR_QUEUE_EMPTY"},
    {CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
    {CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
    {CUPTI_ERROR_UNKNOWN, "CUPTI_ERROR_UNKNOWN"},
};

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    for (size_t i = 0; text && i < sizeof(RESULTS) / sizeof(RESULTS[0]); i++) {
        if (RESULTS[i].result == result) {
            *text = RESULTS[i].name;
            return sim_say(CUPTI_SUCCESS);
        }
    }
    return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetLastError(void)
{
    return sim_said();
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    (void)enable;
    return sim_say(sim_state_connect());
}

CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
    (void)enable;
    return sim_say(sim_state_connect());
}

CUptiResult cuptiActivityEnableHWTrace(uint8_t enable)
{
    CUptiResult result = sim_state_connect();

    (void)enable;
    return sim_say(result == CUPTI_SUCCESS ? CUPTI_ERROR_NOT_SUPPORTED : result);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp)
{
    CUptiResult result = sim_state_connect();

    if (!timestamp)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    if (result == CUPTI_SUCCESS)
        sim_stamp_set_client(timestamp);
    return sim_say(result);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if ((uint32_t)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_state_set_thread_id_type(type);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if (!type)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    *type = sim_state_thread_id_type();
    return sim_say(CUPTI_SUCCESS);
}

/* There are no default streams per thread here: they are the context's. */
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                               uint32_t *stream_id)
{
    CUptiResult result = sim_state_connect();

    (void)per_thread;
    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if (!stream_id)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    return sim_say(sim_state_stream_id(context, stream, stream_id) ? CUPTI_SUCCESS
                                                                   : CUPTI_ERROR_INVALID_STREAM);
}

uint64_t simgpuCuptiRequestCount(void)
{
    return sim_store_request_count();
}

/* Everything off for everybody: all buffers go back to the client, which is then forgotten. */
CUptiResult cuptiFinalize(void)
{
    sim_state_reset();
    sim_callbacks_reset();
    sim_stamp_set_client(NULL);
    sim_store_flush(true);
    sim_store_set_client(NULL, NULL);
    sim_store_set_period(0);
    return sim_say(CUPTI_SUCCESS);
}
