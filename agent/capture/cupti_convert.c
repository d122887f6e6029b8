/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_convert.h"

#include <assert.h>
#include <string.h>

#include "common/clock.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15u

/* Where a record has to reach at least. */
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
#define LAUNCH_BYTES (RKT_CUPTI_LAUNCH_FIELDS * sizeof(int32_t))

static_assert(END_OF(CUpti_ActivityKernel4, dynamicSharedMemory) -
                      offsetof(CUpti_ActivityKernel4, gridX) ==
                  LAUNCH_BYTES,
              "grid, block and shared memory are neighbours");

/* Fields that only longer records have; 0 where this one has not. */
static uint32_t read_u32(const void *record, size_t record_bytes, size_t offset)
{
    uint32_t value = 0;

    if (offset + sizeof(value) <= record_bytes)
        memcpy(&value, (const char *)record + offset, sizeof(value));
    return value;
}

static uint64_t read_u64(const void *record, size_t record_bytes, size_t offset)
{
    uint64_t value = 0;

    if (offset + sizeof(value) <= record_bytes)
        memcpy(&value, (const char *)record + offset, sizeof(value));
    return value;
}

static uint16_t to_u16(int64_t value)
{
    if (value < 0)
        return 0;
    return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

static uint32_t to_u32(int32_t value)
{
    return value < 0 ? 0 : (uint32_t)value;
}

static bool stamps_are_good(const struct rkt_event *event, uint64_t latest_end_ns)
{
    return event->start_ns != 0 && event->start_ns <= event->end_ns &&
           event->end_ns <= latest_end_ns;
}

static uint32_t intern_shape(const struct rkt_cupti_converter *converter,
                             const CUpti_ActivityKernel4 *record, uint32_t name_id)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_SHAPE,
        .clock_id = RKT_CLOCK_REALTIME,
        .name_id = name_id,
        .start_ns = record->start,
        .end_ns = record->start,
        .shape = {.grid_x = to_u32(record->gridX),
                  .grid_y = to_u16(record->gridY),
                  .grid_z = to_u16(record->gridZ),
                  .block_x = to_u16(record->blockX),
                  .block_y = to_u16(record->blockY),
                  .block_z = to_u16(record->blockZ),
                  .registers = record->registersPerThread,
                  .static_shared_bytes = to_u32(record->staticSharedMemory),
                  .dynamic_shared_bytes = to_u32(record->dynamicSharedMemory)},
    };

    return rkt_intern_shape(converter->intern, &event, converter->ring);
}

/* Where this kernel would be among the known ones. */
static struct rkt_cupti_known_kernel *place_of(struct rkt_cupti_converter *converter,
                                               const CUpti_ActivityKernel4 *record)
{
    uint64_t hash = (uintptr_t)record->name;

    hash =
        (hash ^ (uint32_t)record->gridX ^ ((uint64_t)(uint32_t)record->blockX << 32)) * HASH_FACTOR;
    return &converter->known[hash >> 32 & (RKT_CUPTI_KNOWN_KERNELS - 1)];
}

/* A name is a few hundred bytes long, and a buffer has it many times. */
static void name_kernel(struct rkt_cupti_converter *converter, const CUpti_ActivityKernel4 *record,
                        struct rkt_event *event)
{
    struct rkt_cupti_known_kernel *known = place_of(converter, record);
    const char *launch = (const char *)record + offsetof(CUpti_ActivityKernel4, gridX);

    if (known->shape_id == 0 || known->name != record->name ||
        known->registers != record->registersPerThread ||
        memcmp(known->launch, launch, LAUNCH_BYTES) != 0) {
        known->name = record->name;
        known->registers = record->registersPerThread;
        memcpy(known->launch, launch, LAUNCH_BYTES);
        known->name_id = 0;
        if (record->name)
            known->name_id = rkt_intern_name(converter->intern, record->name, strlen(record->name));
        known->shape_id = intern_shape(converter, record, known->name_id);
    }
    event->name_id = known->name_id;
    event->kernel.shape_id = known->shape_id;
}

static void convert_kernel(struct rkt_cupti_converter *converter, const void *any,
                           size_t record_bytes, struct rkt_event *event)
{
    const CUpti_ActivityKernel4 *record = any;

    event->kind = RKT_EVENT_KERNEL;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->kernel.device_id = record->deviceId;
    event->kernel.context_id = record->contextId;
    event->kernel.stream_id = record->streamId;
    event->kernel.graph_node_id =
        read_u64(any, record_bytes, offsetof(CUpti_ActivityKernel5, graphNodeId));
    event->kernel.graph_id = read_u32(any, record_bytes, offsetof(CUpti_ActivityKernel5, graphId));
    if (event->kernel.graph_node_id != 0)
        event->flags = RKT_FLAG_GRAPH;
    if (stamps_are_good(event, converter->latest_end_ns))
        name_kernel(converter, record, event);
}

static void note_graph(struct rkt_event *event, uint32_t graph_id)
{
    if (graph_id != 0)
        event->flags |= RKT_FLAG_GRAPH;
}

static void convert_memcpy(const void *any, size_t record_bytes, struct rkt_event *event)
{
    const CUpti_ActivityMemcpy *record = any;

    event->kind = RKT_EVENT_MEMCPY;
    event->flags = record->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? RKT_FLAG_ASYNC : 0;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->memcpy.device_id = record->deviceId;
    event->memcpy.context_id = record->contextId;
    event->memcpy.stream_id = record->streamId;
    event->memcpy.peer_device_id = record->deviceId;
    event->memcpy.bytes = record->bytes;
    event->memcpy.copy_kind = record->copyKind;
    event->memcpy.src_kind = record->srcKind;
    event->memcpy.dst_kind = record->dstKind;
    event->memcpy.graph_id = read_u32(any, record_bytes, offsetof(CUpti_ActivityMemcpy5, graphId));
    note_graph(event, event->memcpy.graph_id);
}

static void convert_peer_memcpy(const void *any, size_t record_bytes, struct rkt_event *event)
{
    const CUpti_ActivityMemcpyPtoP *record = any;

    event->kind = RKT_EVENT_MEMCPY;
    event->flags = record->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? RKT_FLAG_ASYNC : 0;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->memcpy.device_id = record->deviceId;
    event->memcpy.context_id = record->contextId;
    event->memcpy.stream_id = record->streamId;
    event->memcpy.peer_device_id = record->dstDeviceId;
    event->memcpy.bytes = record->bytes;
    event->memcpy.copy_kind = record->copyKind;
    event->memcpy.src_kind = record->srcKind;
    event->memcpy.dst_kind = record->dstKind;
    event->memcpy.graph_id =
        read_u32(any, record_bytes, offsetof(CUpti_ActivityMemcpyPtoP4, graphId));
    note_graph(event, event->memcpy.graph_id);
}

static void convert_memset(const void *any, size_t record_bytes, struct rkt_event *event)
{
    const CUpti_ActivityMemset *record = any;

    event->kind = RKT_EVENT_MEMSET;
    event->flags = record->flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC ? RKT_FLAG_ASYNC : 0;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->memset.device_id = record->deviceId;
    event->memset.context_id = record->contextId;
    event->memset.stream_id = record->streamId;
    event->memset.value = record->value;
    event->memset.bytes = record->bytes;
    event->memset.graph_id = read_u32(any, record_bytes, offsetof(CUpti_ActivityMemset4, graphId));
    note_graph(event, event->memset.graph_id);
}

static void convert_sync(const void *any, struct rkt_event *event)
{
    const CUpti_ActivitySynchronization *record = any;
    uint32_t type = (uint32_t)record->type;

    event->kind = RKT_EVENT_SYNC;
    event->type = type <= RKT_SYNC_CONTEXT ? (uint8_t)type : RKT_SYNC_UNKNOWN;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->sync.context_id = record->contextId;
    event->sync.stream_id = record->streamId;
    event->sync.cuda_event_id = record->cudaEventId;
}

/* False when this call is not wanted. */
static bool convert_api(const struct rkt_cupti_converter *converter, const void *any,
                        struct rkt_event *event)
{
    const CUpti_ActivityAPI *record = any;
    bool is_driver = record->kind == CUPTI_ACTIVITY_KIND_DRIVER;

    event->kind = RKT_EVENT_API;
    event->type = is_driver ? RKT_API_DRIVER : RKT_API_RUNTIME;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->thread_id = record->threadId;
    event->correlation_id = record->correlationId;
    event->api.cbid = record->cbid;
    event->api.return_value = (int32_t)record->returnValue;
    return rkt_cupti_api_names_find(
        converter->api_names, is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API,
        record->cbid, &event->name_id);
}

static void convert_memory(const void *any, struct rkt_event *event)
{
    const CUpti_ActivityMemory2 *record = any;
    uint32_t type = (uint32_t)record->memoryOperationType;

    event->kind = RKT_EVENT_MEMORY;
    event->type = type <= RKT_MEMORY_FREE ? (uint8_t)type : RKT_MEMORY_OPERATION_UNKNOWN;
    event->flags = record->isAsync ? RKT_FLAG_ASYNC : 0;
    event->start_ns = record->timestamp;
    event->end_ns = record->timestamp;
    event->correlation_id = record->correlationId;
    event->memory.address = record->address;
    event->memory.bytes = record->bytes;
    event->memory.device_id = record->deviceId;
    event->memory.context_id = record->contextId;
    event->memory.stream_id = record->streamId;
    event->memory.memory_kind = (uint8_t)record->memoryKind;
}

static void convert_graph(const void *any, struct rkt_event *event)
{
    const CUpti_ActivityGraphTrace *record = any;

    event->kind = RKT_EVENT_GRAPH;
    event->flags = RKT_FLAG_GRAPH;
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->correlation_id = record->correlationId;
    event->graph.device_id = record->deviceId;
    event->graph.context_id = record->contextId;
    event->graph.stream_id = record->streamId;
    event->graph.graph_id = record->graphId;
}

static uint8_t overhead_type(uint32_t kind)
{
    if (kind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER)
        return RKT_OVERHEAD_COMPILER;
    /* the others are numbered in the upper half */
    if (kind % CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH != 0 ||
        kind > CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT || kind == 0)
        return RKT_OVERHEAD_UNKNOWN;
    return (uint8_t)(RKT_OVERHEAD_BUFFER_FLUSH - 1 +
                     kind / CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
}

static void convert_overhead(const void *any, struct rkt_event *event)
{
    const CUpti_ActivityOverhead *record = any;
    uint32_t object = (uint32_t)record->objectKind;

    event->kind = RKT_EVENT_OVERHEAD;
    event->type = overhead_type((uint32_t)record->overheadKind);
    event->start_ns = record->start;
    event->end_ns = record->end;
    event->overhead.device_id = UINT32_MAX;
    event->overhead.context_id = UINT32_MAX;
    event->overhead.stream_id = UINT32_MAX;
    if (object == CUPTI_ACTIVITY_OBJECT_THREAD)
        event->thread_id = record->objectId.pt.threadId;
    if (object >= CUPTI_ACTIVITY_OBJECT_DEVICE && object <= CUPTI_ACTIVITY_OBJECT_STREAM)
        event->overhead.device_id = record->objectId.dcs.deviceId;
    if (object == CUPTI_ACTIVITY_OBJECT_CONTEXT || object == CUPTI_ACTIVITY_OBJECT_STREAM)
        event->overhead.context_id = record->objectId.dcs.contextId;
    if (object == CUPTI_ACTIVITY_OBJECT_STREAM)
        event->overhead.stream_id = record->objectId.dcs.streamId;
}

/* What is read of each kind in any case; 0: not a kind that is wanted. */
static size_t shortest_bytes(uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return END_OF(CUpti_ActivityKernel4, name);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return END_OF(CUpti_ActivityMemcpy, correlationId);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return END_OF(CUpti_ActivityMemcpyPtoP, correlationId);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return END_OF(CUpti_ActivityMemset, flags);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return END_OF(CUpti_ActivitySynchronization, cudaEventId);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return END_OF(CUpti_ActivityAPI, returnValue);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return END_OF(CUpti_ActivityMemory2, isAsync);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return END_OF(CUpti_ActivityGraphTrace, streamId);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return END_OF(CUpti_ActivityOverhead, end);
    default:
        return 0;
    }
}

/* False when this call is not wanted. */
static bool convert_kind(struct rkt_cupti_converter *converter, const CUpti_Activity *record,
                         size_t record_bytes, struct rkt_event *event)
{
    switch ((uint32_t)record->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        convert_memcpy(record, record_bytes, event);
        return true;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        convert_peer_memcpy(record, record_bytes, event);
        return true;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        convert_memset(record, record_bytes, event);
        return true;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        convert_sync(record, event);
        return true;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return convert_api(converter, record, event);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        convert_memory(record, event);
        return true;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        convert_graph(record, event);
        return true;
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        convert_overhead(record, event);
        return true;
    default: /* both kinds of kernels */
        convert_kernel(converter, record, record_bytes, event);
        return true;
    }
}

/* Kinds of a newer CUPTI are no values of our enum, so these switch on a number. */
enum rkt_cupti_conversion rkt_cupti_convert(struct rkt_cupti_converter *converter,
                                            const CUpti_Activity *record, size_t record_bytes,
                                            struct rkt_event *event_out)
{
    size_t shortest = shortest_bytes((uint32_t)record->kind);

    if (shortest == 0 || record_bytes < shortest)
        return RKT_CUPTI_IGNORED;
    *event_out = (struct rkt_event){.clock_id = RKT_CLOCK_REALTIME};
    if (!convert_kind(converter, record, record_bytes, event_out))
        return RKT_CUPTI_IGNORED;
    return stamps_are_good(event_out, converter->latest_end_ns) ? RKT_CUPTI_CONVERTED
                                                                : RKT_CUPTI_BAD_STAMP;
}
