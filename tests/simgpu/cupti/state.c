/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/state.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/cupti/hooks.h"
#include "tests/simgpu/cupti/overhead.h"
#include "tests/simgpu/cupti/store.h"

#define VERSION_DEFAULT 130001
#define DRIVER_NAME "libcuda.so.1"

static struct {
    pthread_once_t once;
    /* set in the once function, then read only */
    uint32_t version;
    uint32_t zero_every;
    bool is_busy;
    bool is_without_gpu;

    pthread_mutex_t connect_lock;
    bool is_connected; /* guarded by connect_lock */

    _Atomic bool kinds[SIM_KIND_MAX];
    _Atomic bool calls[CUPTI_CB_DOMAIN_RUNTIME_API + 1][SIM_CBID_MAX];
    _Atomic uint32_t recorded_calls; /* how many of them are on */
    _Atomic uint32_t last_correlation_id;
    _Atomic uint32_t thread_id_type;
} state = {.once = PTHREAD_ONCE_INIT, .connect_lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t env_number(const char *name, uint32_t fallback)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it later */
    char *end;
    unsigned long value;

    if (!text || !*text)
        return fallback;
    value = strtoul(text, &end, 10);
    return *end || value > UINT32_MAX ? fallback : (uint32_t)value;
}

static bool mode_is(const char *wanted)
{
    const char *mode = getenv("SIMGPU_CUPTI_MODE"); /* NOLINT(concurrency-mt-unsafe): as above */

    return mode && strcmp(mode, wanted) == 0;
}

static void tell_request(uint64_t start_ns)
{
    sim_overhead_ended(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, start_ns);
}

static void read_environment(void)
{
    struct sim_store_options options = {.aborts_on_null = mode_is("null-aborts"),
                                        .requested_ended = tell_request};

    state.version = env_number("SIMGPU_CUPTI_VERSION", VERSION_DEFAULT);
    state.zero_every = env_number("SIMGPU_CUPTI_ZERO_EVERY", 0);
    state.is_busy = mode_is("busy");
    state.is_without_gpu = mode_is("no-gpu");
    sim_store_init(&options);
}

/* Looked for on each call until it is there, as the real library does. */
static bool join_driver(void)
{
    void *driver = dlopen(DRIVER_NAME, RTLD_NOW);
    void *symbol = driver ? dlsym(driver, SIMGPU_SET_HOOKS) : NULL;
    simgpu_set_hooks_fn set_hooks;

    if (!symbol)
        return false;
    memcpy(&set_hooks, &symbol, sizeof(set_hooks));
    set_hooks(&sim_hooks);
    return true;
}

bool sim_state_connect(void)
{
    bool is_connected;

    pthread_once(&state.once, read_environment);
    if (state.is_without_gpu)
        return false;
    pthread_mutex_lock(&state.connect_lock);
    if (!state.is_connected)
        state.is_connected = join_driver();
    is_connected = state.is_connected;
    pthread_mutex_unlock(&state.connect_lock);
    return is_connected;
}

uint32_t sim_state_version(void)
{
    pthread_once(&state.once, read_environment);
    return state.version;
}

bool sim_state_is_busy(void)
{
    return state.is_busy;
}

uint32_t sim_state_zero_every(void)
{
    return state.zero_every;
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

void sim_state_set_kind(uint32_t kind, bool is_on)
{
    if (kind >= SIM_KIND_MAX)
        return;
    atomic_store_explicit(&state.kinds[kind], is_on, memory_order_relaxed);
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER)
        set_all_calls(CUPTI_CB_DOMAIN_DRIVER_API, is_on);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
        set_all_calls(CUPTI_CB_DOMAIN_RUNTIME_API, is_on);
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

bool sim_state_records_call(CUpti_CallbackDomain domain, uint32_t cbid)
{
    return cbid < SIM_CBID_MAX &&
           atomic_load_explicit(&state.calls[domain][cbid], memory_order_relaxed);
}

uint32_t sim_state_next_correlation_id(void)
{
    if (atomic_load_explicit(&state.recorded_calls, memory_order_relaxed) == 0)
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
