/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The activity interface of CUPTI. What is not simulated answers as the real library does on a
 * machine where the feature is missing, and what needs a driver says 999 without one.
 */

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/overhead.h"
#include "tests/simgpu/cupti/stamps.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"

struct CUpti_Subscriber_st {
    _Atomic bool is_taken;
};

static struct CUpti_Subscriber_st subscriber;
static _Thread_local CUptiResult last_error;

static CUptiResult say(CUptiResult result)
{
    last_error = result;
    return result;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    *version = sim_state_version();
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    if (!timestamp)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    *timestamp = sim_stamp_now_ns();
    return say(CUPTI_SUCCESS);
}

static const struct {
    CUptiResult result;
    const char *name;
} RESULTS[] = {
    {CUPTI_SUCCESS, "CUPTI_SUCCESS"},
    {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
    {CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
    {CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
    {CUPTI_ERROR_NOT_COMPATIBLE, "CUPTI_ERROR_NOT_COMPATIBLE"},
    {CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
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
            return say(CUPTI_SUCCESS);
        }
    }
    return say(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    return cuptiGetResultString(result, text);
}

CUptiResult cuptiGetLastError(void)
{
    CUptiResult result = last_error;

    last_error = CUPTI_SUCCESS;
    return result;
}

/* One subscriber per process. Callbacks are never made: only the slot is simulated. */
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                           void *userdata)
{
    (void)userdata;
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if (!handle || !callback)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    if (sim_state_is_busy() || atomic_exchange(&subscriber.is_taken, true))
        return say(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    *handle = &subscriber;
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    static const char OTHER[] = "simgpu subscriber";
    CUptiResult result = cuptiSubscribe(handle, callback, userdata);

    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
        params->oldSubscriberName && params->oldSubscriberSize >= sizeof(OTHER))
        memcpy(params->oldSubscriberName, OTHER, sizeof(OTHER));
    return result;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (handle != &subscriber || !atomic_exchange(&subscriber.is_taken, false))
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    return say(CUPTI_SUCCESS);
}

static CUptiResult check_subscriber(CUpti_SubscriberHandle handle)
{
    if (handle != &subscriber || !atomic_load(&subscriber.is_taken))
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    (void)enable;
    (void)domain;
    (void)cbid;
    return check_subscriber(handle);
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain)
{
    (void)enable;
    (void)domain;
    return check_subscriber(handle);
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    (void)enable;
    return check_subscriber(handle);
}

/* Succeeds without a driver, as the real one does. The newest caller gets everything. */
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    if (!requested || !completed)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_state_version(); /* reads the environment */
    sim_store_set_client(requested, completed);
    return say(CUPTI_SUCCESS);
}

/* Kinds that exist but are not simulated are accepted and give no records. */
static CUptiResult set_kind(CUpti_ActivityKind kind, bool is_on)
{
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if ((uint32_t)kind == 0 || (uint32_t)kind > CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS)
        return say(CUPTI_ERROR_INVALID_KIND);
    sim_state_set_kind((uint32_t)kind, is_on);
    return say(CUPTI_SUCCESS);
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
        return say(CUPTI_ERROR_INVALID_CONTEXT);
    return set_kind(kind, true);
}

static CUptiResult set_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool is_on)
{
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if (cbid == 0 || cbid >= SIM_CBID_MAX)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_state_set_call(domain, cbid, is_on);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return set_call(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable != 0);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    return set_call(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable != 0);
}

CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    (void)enable;
    return say(sim_state_connect() ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN);
}

CUptiResult cuptiActivityEnableHWTrace(uint8_t enable)
{
    (void)enable;
    return say(sim_state_connect() ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_ERROR_UNKNOWN);
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp)
{
    if (!timestamp)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    return say(sim_state_connect() ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_ERROR_UNKNOWN);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint64_t start_ns = sim_stamp_now_ns();

    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    sim_store_flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    sim_overhead_ended(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start_ns);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityFlushPeriod(uint32_t period_ms)
{
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    sim_store_set_period(period_ms);
    return say(CUPTI_SUCCESS);
}

/* *record is NULL for the first one, else the one before. */
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    size_t at = 0;
    size_t bytes;
    CUpti_ActivityKind kind;

    if (!buffer || !record)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    if (*record) {
        at = (size_t)((uint8_t *)*record - buffer);
        bytes = sim_record_bytes(sim_state_version(), (uint32_t)(*record)->kind);
        if (at >= valid_bytes || bytes == 0)
            return say(CUPTI_ERROR_INVALID_KIND);
        at += bytes;
    }
    if (at >= valid_bytes)
        return say(CUPTI_ERROR_MAX_LIMIT_REACHED);
    memcpy(&kind, buffer + at, sizeof(kind));
    bytes = sim_record_bytes(sim_state_version(), (uint32_t)kind);
    if (bytes == 0 || bytes > valid_bytes - at)
        return say(kind == CUPTI_ACTIVITY_KIND_INVALID ? CUPTI_ERROR_MAX_LIMIT_REACHED
                                                       : CUPTI_ERROR_INVALID_KIND);
    *record = (CUpti_Activity *)(void *)(buffer + at);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream_id,
                                              size_t *dropped)
{
    (void)context;
    (void)stream_id;
    if (!dropped)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    *dropped = sim_store_take_dropped();
    return say(CUPTI_SUCCESS);
}

/* Attributes are accepted and forgotten: nothing here takes device memory. */
CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes,
                                      void *value)
{
    (void)attribute;
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if (!value_bytes || !value)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    memset(value, 0, *value_bytes);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *value_bytes,
                                      void *value)
{
    (void)attribute;
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    return say(value_bytes && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if ((uint32_t)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_state_set_thread_id_type(type);
    return say(CUPTI_SUCCESS);
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    if (!sim_state_connect())
        return say(CUPTI_ERROR_UNKNOWN);
    if (!type)
        return say(CUPTI_ERROR_INVALID_PARAMETER);
    *type = sim_state_thread_id_type();
    return say(CUPTI_SUCCESS);
}

/* For tests, which look it up by name: no real library has it. */
uint64_t simgpuCuptiRequestCount(void);

uint64_t simgpuCuptiRequestCount(void)
{
    return sim_store_request_count();
}

/* Everything off (with a kind of calls also the single ones), all buffers back to the client. */
CUptiResult cuptiFinalize(void)
{
    for (uint32_t kind = 0; kind < SIM_KIND_MAX; kind++)
        sim_state_set_kind(kind, false);
    sim_state_version();
    sim_store_flush(true);
    return say(CUPTI_SUCCESS);
}
