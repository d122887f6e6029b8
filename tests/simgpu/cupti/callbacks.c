/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/callbacks.h"

#include <cupti.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/say.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/state.h"

struct CUpti_Subscriber_st {
    _Atomic bool is_taken;
    _Atomic CUpti_CallbackFunc callback; /* released after userdata */
    void *userdata;
    _Atomic bool calls[CUPTI_CB_DOMAIN_RUNTIME_API + 1][SIM_CBID_MAX];
    _Atomic uint32_t count; /* how many of them are on */
};

static struct CUpti_Subscriber_st subscriber;

bool sim_callbacks_are_on(void)
{
    return atomic_load_explicit(&subscriber.count, memory_order_relaxed) > 0;
}

static CUpti_CallbackDomain domain_of(const struct simgpu_call *call)
{
    return call->is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

bool sim_callbacks_has(const struct simgpu_call *call)
{
    return call->cbid < SIM_CBID_MAX &&
           atomic_load_explicit(&subscriber.calls[domain_of(call)][call->cbid],
                                memory_order_relaxed);
}

static void tell(struct simgpu_call *call, CUpti_ApiCallbackSite site, void *result)
{
    /* pairs with the release in cuptiSubscribe: userdata */
    CUpti_CallbackFunc callback = atomic_load_explicit(&subscriber.callback, memory_order_acquire);
    CUpti_CallbackData data = {.callbackSite = site,
                               .functionReturnValue = result,
                               .context = call->context,
                               .contextUid = call->context_id,
                               .correlationData = &call->correlation_data,
                               .correlationId = call->correlation_id};

    if (!callback)
        return;
    cuptiGetCallbackName(domain_of(call), call->cbid, &data.functionName);
    callback(subscriber.userdata, domain_of(call), call->cbid, &data);
}

void sim_callbacks_enter(struct simgpu_call *call)
{
    tell(call, CUPTI_API_ENTER, NULL);
}

void sim_callbacks_exit(struct simgpu_call *call, uint32_t result)
{
    tell(call, CUPTI_API_EXIT, &result);
}

static void set_call(CUpti_CallbackDomain domain, uint32_t cbid, bool is_on)
{
    bool was_on =
        atomic_exchange_explicit(&subscriber.calls[domain][cbid], is_on, memory_order_relaxed);

    if (is_on && !was_on)
        atomic_fetch_add_explicit(&subscriber.count, 1, memory_order_relaxed);
    if (!is_on && was_on)
        atomic_fetch_sub_explicit(&subscriber.count, 1, memory_order_relaxed);
}

/* Other domains exist, and tell nothing here. */
static void set_domain(CUpti_CallbackDomain domain, bool is_on)
{
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    for (uint32_t cbid = 1; cbid < SIM_CBID_MAX; cbid++)
        set_call(domain, cbid, is_on);
}

void sim_callbacks_reset(void)
{
    set_domain(CUPTI_CB_DOMAIN_DRIVER_API, false);
    set_domain(CUPTI_CB_DOMAIN_RUNTIME_API, false);
    atomic_store_explicit(&subscriber.callback, NULL, memory_order_relaxed);
    atomic_store_explicit(&subscriber.is_taken, false, memory_order_relaxed);
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                           void *userdata)
{
    CUptiResult result = sim_state_connect();

    if (result != CUPTI_SUCCESS)
        return sim_say(result);
    if (!handle || !callback)
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    if (sim_settings_has(SIM_MODE_BUSY) || atomic_exchange(&subscriber.is_taken, true))
        return sim_say(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    subscriber.userdata = userdata;
    atomic_store_explicit(&subscriber.callback, callback, memory_order_release);
    *handle = &subscriber;
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                              void *userdata, CUpti_SubscriberParams *params)
{
    static const char OTHER[] = "simgpu subscriber";
    CUptiResult result;

    if (sim_settings_version() < SIM_CUPTI_13_0)
        return sim_say(CUPTI_ERROR_NOT_SUPPORTED);
    result = cuptiSubscribe(handle, callback, userdata);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
        params->oldSubscriberName && params->oldSubscriberSize >= sizeof(OTHER))
        memcpy(params->oldSubscriberName, OTHER, sizeof(OTHER));
    return result;
}

static bool is_subscriber(CUpti_SubscriberHandle handle)
{
    return handle == &subscriber && atomic_load(&subscriber.is_taken);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    if (!is_subscriber(handle))
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    sim_callbacks_reset();
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    if (!is_subscriber(handle))
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    if (cbid > 0 && cbid < SIM_CBID_MAX &&
        (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API))
        set_call(domain, cbid, enable != 0);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain)
{
    if (!is_subscriber(handle))
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    set_domain(domain, enable != 0);
    return sim_say(CUPTI_SUCCESS);
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle handle)
{
    if (!is_subscriber(handle))
        return sim_say(CUPTI_ERROR_INVALID_PARAMETER);
    set_domain(CUPTI_CB_DOMAIN_DRIVER_API, enable != 0);
    set_domain(CUPTI_CB_DOMAIN_RUNTIME_API, enable != 0);
    return sim_say(CUPTI_SUCCESS);
}
