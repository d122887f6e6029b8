/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_convert.h"

#include <string.h>

#include "common/clock.h"

/* Behind the common part; the same in all versions that have them. */
#define KERNEL_GRAPH_NODE_OFFSET 144u
#define KERNEL_GRAPH_OFFSET 156u
#define COPY_GRAPH_OFFSET 72u /* memcpy and memset */
#define PEER_COPY_GRAPH_OFFSET 80u

/* A field that only longer records have; 0 where this one has not. */
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

static void convert_kernel(const struct rkt_cupti_converter *converter, const void *any,
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
    event->kernel.graph_node_id = read_u64(any, record_bytes, KERNEL_GRAPH_NODE_OFFSET);
    event->kernel.graph_id = read_u32(any, record_bytes, KERNEL_GRAPH_OFFSET);
    if (event->kernel.graph_node_id != 0)
        event->flags = RKT_FLAG_GRAPH;
    if (!stamps_are_good(event, converter->latest_end_ns))
        return;
    if (record->name)
        event->name_id = rkt_intern_name(converter->intern, record->name, strlen(record->name));
    event->kernel.shape_id = intern_shape(converter, record, event->name_id);
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
    event->memcpy.graph_id = read_u32(any, record_bytes, COPY_GRAPH_OFFSET);
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
    event->memcpy.graph_id = read_u32(any, record_bytes, PEER_COPY_GRAPH_OFFSET);
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
    event->memset.graph_id = read_u32(any, record_bytes, COPY_GRAPH_OFFSET);
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

/* Kinds of a newer CUPTI are no values of our enum, so this switches on a number. */
enum rkt_cupti_conversion rkt_cupti_convert(const struct rkt_cupti_converter *converter,
                                            const CUpti_Activity *record, size_t record_bytes,
                                            struct rkt_event *event_out)
{
    *event_out = (struct rkt_event){.clock_id = RKT_CLOCK_REALTIME};
    switch ((uint32_t)record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        convert_kernel(converter, record, record_bytes, event_out);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        convert_memcpy(record, record_bytes, event_out);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        convert_peer_memcpy(record, record_bytes, event_out);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        convert_memset(record, record_bytes, event_out);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        convert_sync(record, event_out);
        break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        if (!convert_api(converter, record, event_out))
            return RKT_CUPTI_IGNORED;
        break;
    default:
        return RKT_CUPTI_IGNORED;
    }
    return stamps_are_good(event_out, converter->latest_end_ns) ? RKT_CUPTI_CONVERTED
                                                                : RKT_CUPTI_BAD_STAMP;
}
