/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/hooks.h"

#include <cupti.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/simgpu/cupti/callbacks.h"
#include "tests/simgpu/cupti/external.h"
#include "tests/simgpu/cupti/layout.h"
#include "tests/simgpu/cupti/overhead.h"
#include "tests/simgpu/cupti/settings.h"
#include "tests/simgpu/cupti/stamps.h"
#include "tests/simgpu/cupti/state.h"
#include "tests/simgpu/cupti/store.h"
#include "tests/simgpu/cupti/strings.h"

/* Kernels, copies and sets have their times at the same place. */
#define WORK_START_OFFSET offsetof(CUpti_ActivityKernel5, start)
_Static_assert(WORK_START_OFFSET == offsetof(CUpti_ActivityMemcpy5, start), "copies");
_Static_assert(WORK_START_OFFSET == offsetof(CUpti_ActivityMemset4, start), "sets");

/* The records begin with the layouts that every version shares; the rest stays zero. */
union record {
    CUpti_ActivityKernel5 kernel;
    CUpti_ActivityMemcpy5 copy;
    CUpti_ActivityMemset4 set;
    CUpti_ActivityAPI api;
    CUpti_ActivitySynchronization sync;
    CUpti_ActivityMemory2 memory;
    CUpti_ActivityGraphTrace graph;
    uint64_t words[SIM_RECORD_BYTES_MAX / sizeof(uint64_t)];
};

static _Atomic int64_t last_grid_id;

static size_t bytes_of(uint32_t kind)
{
    return sim_record_bytes(sim_settings_version(), kind);
}

static CUpti_CallbackDomain domain_of(const struct simgpu_call *call)
{
    return call->is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

/* A call of the driver inside one of the runtime has the same correlation id. */
static void report_enter(struct simgpu_call *call)
{
    if (call->correlation_id == 0)
        call->correlation_id = sim_state_next_correlation_id();
    call->is_recorded = sim_state_records_call(domain_of(call), call->cbid);
    call->is_told = sim_callbacks_has(call);
    if (call->is_told)
        sim_callbacks_enter(call);
}

static void record_call(const struct simgpu_call *call, uint64_t end_ns, uint32_t result)
{
    uint32_t kind = call->is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    union record record = {.api = {
                               .kind = (CUpti_ActivityKind)kind,
                               .cbid = call->cbid,
                               .start = sim_stamp_of(call->start_ns),
                               .end = sim_stamp_of(end_ns),
                               .processId = (uint32_t)getpid(),
                               .threadId = sim_state_thread_id(),
                               .correlationId = call->correlation_id,
                               .returnValue = result,
                           }};

    sim_external_write(call->correlation_id);
    sim_store_write(&record, bytes_of(kind));
}

static void report_exit(struct simgpu_call *call, uint64_t end_ns, uint32_t result)
{
    if (call->is_recorded)
        record_call(call, end_ns, result);
    if (call->is_told)
        sim_callbacks_exit(call, result);
}

static void report_sync(const struct simgpu_sync *sync)
{
    union record record = {.sync = {
                               .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                               .type = (CUpti_ActivitySynchronizationType)sync->type,
                               .start = sim_stamp_of(sync->start_ns),
                               .end = sim_stamp_of(sync->end_ns),
                               .correlationId = sync->correlation_id,
                               .contextId = sync->context_id,
                               .streamId = sync->stream_id,
                               .cudaEventId = sync->event_id,
                           }};

    if (sim_state_has_kind(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
        sim_store_write(&record, bytes_of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
}

static void report_memory(const struct simgpu_memory *memory)
{
    union record record = {
        .memory = {
            .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
            .memoryOperationType = memory->is_release
                                       ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
            .memoryKind = (CUpti_ActivityMemoryKind)memory->memory_kind,
            .correlationId = memory->correlation_id,
            .address = memory->address,
            .bytes = memory->bytes,
            .timestamp = sim_stamp_of(memory->time_ns),
            .processId = (uint32_t)getpid(),
            .deviceId = memory->device_id,
            .contextId = memory->context_id,
            .streamId = memory->stream_id,
            .isAsync = memory->is_async,
            .memoryPoolConfig.memoryPoolType = memory->is_async
                                                   ? CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL
                                                   : CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID,
        }};

    if (sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMORY2))
        sim_store_write(&record, bytes_of(CUPTI_ACTIVITY_KIND_MEMORY2));
}

static struct sim_slot *reserve_kernel(const struct simgpu_activity *activity)
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
            .name = sim_string_intern(activity->name),
            .graphNodeId = activity->graph_node_id,
            .graphId = activity->graph_id,
        }};

    if (!sim_state_has_kind(kind))
        return NULL;
    return sim_store_reserve(&record, bytes_of(kind), WORK_START_OFFSET);
}

static struct sim_slot *reserve_copy(const struct simgpu_activity *activity)
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
                               .graphNodeId = activity->graph_node_id,
                               .graphId = activity->graph_id,
                           }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMCPY))
        return NULL;
    return sim_store_reserve(&record, bytes_of(CUPTI_ACTIVITY_KIND_MEMCPY), WORK_START_OFFSET);
}

static struct sim_slot *reserve_set(const struct simgpu_activity *activity)
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
                               .graphNodeId = activity->graph_node_id,
                               .graphId = activity->graph_id,
                           }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_MEMSET))
        return NULL;
    return sim_store_reserve(&record, bytes_of(CUPTI_ACTIVITY_KIND_MEMSET), WORK_START_OFFSET);
}

static struct sim_slot *reserve_graph(const struct simgpu_activity *activity)
{
    union record record = {.graph = {
                               .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                               .correlationId = activity->correlation_id,
                               .deviceId = activity->device_id,
                               .graphId = activity->graph_id,
                               .contextId = activity->context_id,
                               .streamId = activity->stream_id,
                           }};

    if (!sim_state_has_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
        return NULL;
    return sim_store_reserve(&record, bytes_of(CUPTI_ACTIVITY_KIND_GRAPH_TRACE),
                             offsetof(CUpti_ActivityGraphTrace, start));
}

static struct sim_slot *reserve_record(const struct simgpu_activity *activity)
{
    switch (activity->kind) {
    case SIMGPU_KERNEL:
        return reserve_kernel(activity);
    case SIMGPU_COPY:
        return reserve_copy(activity);
    case SIMGPU_SET:
        return reserve_set(activity);
    case SIMGPU_GRAPH:
        return reserve_graph(activity);
    }
    return NULL;
}

/* Work under way that has a record. */
struct pending {
    struct sim_slot *slot;
    bool is_in_graph;
};

/* Graphs are told launch by launch or node by node, never both. */
static void *reserve(const struct simgpu_activity *activity)
{
    struct pending *pending;

    if (activity->graph_node_id && sim_state_has_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
        return NULL;
    pending = malloc(sizeof(*pending));
    if (!pending)
        return NULL;
    pending->is_in_graph = activity->graph_node_id != 0;
    pending->slot = reserve_record(activity);
    if (pending->slot)
        return pending;
    free(pending);
    return NULL;
}

static void complete(void *slot, uint64_t start_ns, uint64_t end_ns)
{
    struct pending *pending = slot;

    sim_stamp_work(pending->is_in_graph, &start_ns, &end_ns);
    sim_store_complete(pending->slot, start_ns, end_ns);
    free(pending);
}

const struct simgpu_hooks sim_hooks = {
    .enter = report_enter,
    .exit = report_exit,
    .made_context = sim_state_saw_context,
    .unloaded = sim_string_spoil,
    .sync = report_sync,
    .memory = report_memory,
    .overhead = sim_overhead_write,
    .reserve = reserve,
    .complete = complete,
};
