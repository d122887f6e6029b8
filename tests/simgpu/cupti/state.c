/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/cupti/callbacks.h"
#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"

#define DRIVER_NAME "libcuda.so.1"

/* What was on when the first context was made. */
enum first_context {
    NOT_YET,
    WITHOUT_CALLS,
    WITH_CALLS,
};

static struct {
    pthread_mutex_t connect_lock;
    bool is_connected; /* guarded by connect_lock */
    /* written while it connects, then read only */
    simgpu_stream_id_fn stream_id;

    _Atomic bool kinds[SIM_KIND_MAX];
    _Atomic bool calls[CUPTI_CB_DOMAIN_RUNTIME_API + 1][SIM_CBID_MAX];
    _Atomic uint32_t recorded_calls; /* how many of them are on */
    _Atomic uint32_t first_context;  /* enum first_context */
    _Atomic uint32_t last_correlation_id;
    _Atomic uint32_t thread_id_type;
} state = {.connect_lock = PTHREAD_MUTEX_INITIALIZER};

static void *driver_symbol(const char *name)
{
    void *driver = dlopen(DRIVER_NAME, RTLD_NOW);

    return driver ? dlsym(driver, name) : NULL;
}

/* Looked for on each call until it is there, as the real library does. */
static bool join_driver(void)
{
    void *stream_id = driver_symbol(SIMGPU_STREAM_ID);
    void *set = driver_symbol(SIMGPU_SET_HOOKS);
    simgpu_set_hooks_fn set_hooks;

    if (!stream_id || !set)
        return false;
    memcpy(&state.stream_id, &stream_id, sizeof(stream_id));
    memcpy(&set_hooks, &set, sizeof(set_hooks));
    set_hooks(&sim_hooks);
    return true;
}

CUptiResult sim_state_connect(void)
{
    bool is_connected;

    if (sim_settings_has(SIM_MODE_NOT_INIT))
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (sim_settings_has(SIM_MODE_NO_GPU) || sim_settings_has(SIM_MODE_BROKEN))
        return CUPTI_ERROR_UNKNOWN;
    pthread_mutex_lock(&state.connect_lock);
    if (!state.is_connected)
        state.is_connected = join_driver();
    is_connected = state.is_connected;
    pthread_mutex_unlock(&state.connect_lock);
    return is_connected ? CUPTI_SUCCESS : CUPTI_ERROR_UNKNOWN;
}

bool sim_state_stream_id(CUcontext context, CUstream stream, uint32_t *id_out)
{
    return state.stream_id(context, stream, id_out);
}

/* Switches below carry no other data with them: relaxed is enough. */
bool sim_state_has_kind(uint32_t kind)
{
    return kind < SIM_KIND_MAX && atomic_load_explicit(&state.kinds[kind], memory_order_relaxed);
}

static void set_all_calls(CUpti_CallbackDomain domain, bool is_on)
{
    for (uint32_t cbid = 1; cbid < SIM_CBID_MAX; cbid++)
        sim_state_set_call(domain, cbid, is_on);
}

static bool needs_device_buffers(void)
{
    return sim_state_has_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ||
           sim_state_has_kind(CUPTI_ACTIVITY_KIND_KERNEL) ||
           sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMCPY) ||
           sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMSET);
}

void sim_state_set_kind(uint32_t kind, bool is_on)
{
    if (kind >= SIM_KIND_MAX)
        return;
    atomic_store_explicit(&state.kinds[kind], is_on, memory_order_relaxed);
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
        set_all_calls(CUPTI_CB_DOMAIN_DRIVER_API, is_on);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        set_all_calls(CUPTI_CB_DOMAIN_RUNTIME_API, is_on);
    if (!is_on && !needs_device_buffers())
        sim_stamp_refill_pool();
}

void sim_state_set_call(CUpti_CallbackDomain domain, uint32_t cbid, bool is_on)
{
    bool was_on;

    if (cbid >= SIM_CBID_MAX)
        return;
    was_on = atomic_exchange_explicit(&state.calls[domain][cbid], is_on, memory_order_relaxed);
    if (is_on && !was_on)
        atomic_fetch_add_explicit(&state.recorded_calls, 1, memory_order_relaxed);
    if (!is_on && was_on)
        atomic_fetch_sub_explicit(&state.recorded_calls, 1, memory_order_relaxed);
}

static bool kind_records_calls(CUpti_CallbackDomain domain)
{
    return sim_state_has_kind(domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER
                                                                   : CUPTI_ACTIVITY_KIND_RUNTIME);
}

bool sim_state_records_call(CUpti_CallbackDomain domain, uint32_t cbid)
{
    if (cbid >= SIM_CBID_MAX ||
        !atomic_load_explicit(&state.calls[domain][cbid], memory_order_relaxed))
        return false;
    return atomic_load_explicit(&state.first_context, memory_order_relaxed) != WITHOUT_CALLS ||
           kind_records_calls(domain);
}

void sim_state_saw_context(void)
{
    bool has_calls = atomic_load_explicit(&state.recorded_calls, memory_order_relaxed) > 0;
    uint32_t expected = NOT_YET;

    if (sim_settings_has(SIM_MODE_FIRST_CALLS))
        atomic_compare_exchange_strong_explicit(&state.first_context, &expected,
                                                has_calls ? WITH_CALLS : WITHOUT_CALLS,
                                                memory_order_relaxed, memory_order_relaxed);
}

void sim_state_reset(void)
{
    for (uint32_t kind = 0; kind < SIM_KIND_MAX; kind++)
        sim_state_set_kind(kind, false);
    sim_state_set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
}

static bool are_calls_recorded(void)
{
    if (kind_records_calls(CUPTI_CB_DOMAIN_DRIVER_API) ||
        kind_records_calls(CUPTI_CB_DOMAIN_RUNTIME_API))
        return true;
    return atomic_load_explicit(&state.recorded_calls, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&state.first_context, memory_order_relaxed) != WITHOUT_CALLS;
}

uint32_t sim_state_next_correlation_id(void)
{
    if (!are_calls_recorded() && !sim_callbacks_are_on())
        return 0;
    return atomic_fetch_add_explicit(&state.last_correlation_id, 1, memory_order_relaxed) + 1;
}

void sim_state_set_thread_id_type(CUpti_ActivityThreadIdType type)
{
    atomic_store_explicit(&state.thread_id_type, (uint32_t)type, memory_order_relaxed);
}

CUpti_ActivityThreadIdType sim_state_thread_id_type(void)
{
    return (CUpti_ActivityThreadIdType)atomic_load_explicit(&state.thread_id_type,
                                                            memory_order_relaxed);
}

uint32_t sim_state_thread_id(void)
{
    if (sim_state_thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return (uint32_t)gettid();
    return (uint32_t)pthread_self();
}
