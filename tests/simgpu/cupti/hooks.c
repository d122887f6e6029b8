/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/hooks.h"

#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"

/* The records begin with the layouts that every version shares; the rest stays zero. */
union record {
    CUpti_ActivityKernel4 kernel;
    CUpti_ActivityMemcpy copy;
    CUpti_ActivityMemset set;
    CUpti_ActivityAPI api;
    CUpti_ActivitySynchronization sync;
    uint64_t words[SIM_RECORD_BYTES_MAX / sizeof(uint64_t)];
};

/* Kernel names live as long as the process: clients keep pointers to them. */
struct name {
    struct name *next;
    char text[];
};

static struct {
    pthread_mutex_t lock; /* guards the list; a leaf */
    struct name *names;
} interned = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint32_t completed_count;
static _Atomic int64_t last_grid_id;

static const char *find_name_locked(const char *text)
{
    for (const struct name *name = interned.names; name; name = name->next)
        if (strcmp(name->text, text) == 0)
            return name->text;
    return NULL;
}

/* NULL: no memory. */
static const char *intern(const char *text)
{
    const char *found;

    pthread_mutex_lock(&interned.lock);
    found = find_name_locked(text);
    if (!found) {
        size_t bytes = strlen(text) + 1;
        struct name *name = malloc(sizeof(*name) + bytes);

        if (name) {
            memcpy(name->text, text, bytes);
            name->next = interned.names;
            interned.names = name;
            found = name->text;
        }
    }
    pthread_mutex_unlock(&interned.lock);
    return found;
}

static uint32_t thread_id(void)
{
    if (sim_state_thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
        return (uint32_t)gettid();
    return (uint32_t)pthread_self();
}

static size_t bytes_of(uint32_t kind)
{
    return sim_record_bytes(sim_state_version(), kind);
}

static void report_enter(struct simgpu_call *call)
{
    call->correlation_id = sim_state_next_correlation_id();
    call->is_recorded = sim_state_records_driver_call(call->cbid);
}

static void report_exit(const struct simgpu_call *call, uint64_t end_ns, uint32_t result)
{
    union record record = {.api = {
                               .kind = CUPTI_ACTIVITY_KIND_DRIVER,
                               .cbid = call->cbid,
                               .start = call->start_ns,
                               .end = end_ns,
                               .processId = (uint32_t)getpid(),
                               .threadId = thread_id(),
                               .correlationId = call->correlation_id,
                               .returnValue = result,
                           }};

    sim_store_write(&record, bytes_of(CUPTI_ACTIVITY_KIND_DRIVER));
}

static void report_sync(const struct simgpu_sync *sync)
{
    union record record = {.sync = {
                               .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                               .type = (CUpti_ActivitySynchronizationType)sync->type,
                               .start = sync->start_ns,
                               .end = sync->end_ns,
                               .correlationId = sync->correlation_id,
                               .contextId = sync->context_id,
                               .streamId = sync->stream_id,
                               .cudaEventId = sync->event_id,
                           }};

    if (sim_state_has_kind(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        sim_store_write(&record, bytes_of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
}

static void *reserve_kernel(const struct simgpu_activity *activity)
{
    uint32_t kind = sim_state_has_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
                        ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                        : CUPTI_ACTIVITY_KIND_KERNEL;
    union record record = {
        .kernel = {
            .kind = (CUpti_ActivityKind)kind,
            .registersPerThread = 32,
            .deviceId = activity->device_id,
            .contextId = activity->context_id,
            .streamId = activity->stream_id,
            .gridX = (int32_t)activity->grid[0],
            .gridY = (int32_t)activity->grid[1],
            .gridZ = (int32_t)activity->grid[2],
            .blockX = (int32_t)activity->block[0],
            .blockY = (int32_t)activity->block[1],
            .blockZ = (int32_t)activity->block[2],
            .dynamicSharedMemory = (int32_t)activity->shared_bytes,
            .correlationId = activity->correlation_id,
            .gridId = atomic_fetch_add_explicit(&last_grid_id, 1, memory_order_relaxed) + 1,
            .name = intern(activity->name),
        }};

    if (!sim_state_has_kind(kind))
        return NULL;
    return sim_store_reserve(&record, bytes_of(kind));
}

static void *reserve_copy(const struct simgpu_activity *activity)
{
    union record record = {.copy = {
                               .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                               .copyKind = activity->copy_kind,
                               .srcKind = activity->from_kind,
                               .dstKind = activity->to_kind,
                               .flags = activity->is_async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
                               .bytes = activity->bytes,
                               .deviceId = activity->device_id,
                               .contextId = activity->context_id,
                               .streamId = activity->stream_id,
                               .correlationId = activity->correlation_id,
                           }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMCPY))
        return NULL;
    return sim_store_reserve(&record, bytes_of(CUPTI_ACTIVITY_KIND_MEMCPY));
}

static void *reserve_set(const struct simgpu_activity *activity)
{
    union record record = {.set = {
                               .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                               .value = activity->value,
                               .bytes = activity->bytes,
                               .deviceId = activity->device_id,
                               .contextId = activity->context_id,
                               .streamId = activity->stream_id,
                               .correlationId = activity->correlation_id,
                               .flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC,
                               .memoryKind = activity->to_kind,
                           }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMSET))
        return NULL;
    return sim_store_reserve(&record, bytes_of(CUPTI_ACTIVITY_KIND_MEMSET));
}

static void *reserve(const struct simgpu_activity *activity)
{
    switch (activity->kind) {
    case SIMGPU_KERNEL:
        return reserve_kernel(activity);
    case SIMGPU_COPY:
        return reserve_copy(activity);
    case SIMGPU_SET:
        return reserve_set(activity);
    }
    return NULL;
}

static void complete(void *slot, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t every = sim_state_zero_every();
    uint32_t number = atomic_fetch_add_explicit(&completed_count, 1, memory_order_relaxed) + 1;

    if (every > 0 && number % every == 0) { /* as when the device had no buffer for the times */
        start_ns = 0;
        end_ns = 0;
    }
    sim_store_complete(slot, start_ns, end_ns);
}

const struct simgpu_hooks sim_hooks = {
    .enter = report_enter,
    .exit = report_exit,
    .sync = report_sync,
    .reserve = reserve,
    .complete = complete,
};
