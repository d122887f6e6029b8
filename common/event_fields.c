/* SPDX-License-Identifier: Apache-2.0 */
#include "common/event_fields.h"

#define COLUMN(id, coding_of, member)                                       \
    {                                                                       \
        .column = (id), .coding = (coding_of), .name = #member,             \
        .offset = offsetof(struct rkt_event, member),                       \
        .bytes = (uint8_t)sizeof(((const struct rkt_event *)NULL)->member), \
    }
#define PLAIN(id, member) COLUMN(id, RKT_CODING_PLAIN, member)

/* Columns 16 to 31 mean the same in every kind; 32 and up belong to their kind. */
#define COMMON_FIELDS                                                                              \
    PLAIN(16, type), PLAIN(17, flags), PLAIN(18, name_id), COLUMN(19, RKT_CODING_START, start_ns), \
        COLUMN(20, RKT_CODING_DURATION, end_ns), PLAIN(21, thread_id),                             \
        COLUMN(22, RKT_CODING_CHANGE, correlation_id)

static const struct rkt_field KERNEL[] = {
    COMMON_FIELDS,
    PLAIN(32, kernel.device_id),
    PLAIN(33, kernel.context_id),
    PLAIN(34, kernel.stream_id),
    PLAIN(35, kernel.shape_id),
    PLAIN(36, kernel.graph_node_id),
    PLAIN(37, kernel.graph_id),
};

static const struct rkt_field MEMCPY[] = {
    COMMON_FIELDS,
    PLAIN(32, memcpy.device_id),
    PLAIN(33, memcpy.context_id),
    PLAIN(34, memcpy.stream_id),
    PLAIN(35, memcpy.peer_device_id),
    PLAIN(36, memcpy.bytes),
    PLAIN(37, memcpy.copy_kind),
    PLAIN(38, memcpy.src_kind),
    PLAIN(39, memcpy.dst_kind),
    PLAIN(40, memcpy.graph_id),
};

static const struct rkt_field MEMSET[] = {
    COMMON_FIELDS,
    PLAIN(32, memset.device_id),
    PLAIN(33, memset.context_id),
    PLAIN(34, memset.stream_id),
    PLAIN(35, memset.value),
    PLAIN(36, memset.bytes),
    PLAIN(37, memset.graph_id),
};

static const struct rkt_field SYNC[] = {
    COMMON_FIELDS,
    PLAIN(32, sync.device_id),
    PLAIN(33, sync.context_id),
    PLAIN(34, sync.stream_id),
    PLAIN(35, sync.cuda_event_id),
};

static const struct rkt_field API[] = {
    COMMON_FIELDS,
    PLAIN(32, api.cbid),
    PLAIN(33, api.return_value),
};

static const struct rkt_field NCCL[] = {
    COMMON_FIELDS,         PLAIN(32, nccl.comm_id), PLAIN(33, nccl.seq),      PLAIN(34, nccl.count),
    PLAIN(35, nccl.peer),  PLAIN(36, nccl.func),    PLAIN(37, nccl.datatype), PLAIN(38, nccl.algo),
    PLAIN(39, nccl.proto),
};

static const struct rkt_field RANGE[] = {
    COMMON_FIELDS,
    PLAIN(32, range.value),
    PLAIN(33, range.domain_id),
    PLAIN(34, range.stream_id),
    PLAIN(35, range.inputs_id),
};

static const struct rkt_field BUCKET[] = {
    COMMON_FIELDS,           PLAIN(32, bucket.bytes),       PLAIN(33, bucket.step),
    PLAIN(34, bucket.index), PLAIN(35, bucket.param_count),
};

static const struct rkt_field NAME[] = {
    COMMON_FIELDS,
    PLAIN(32, name.object_id),
    PLAIN(33, name.sort_index),
};

static const struct rkt_field COMM[] = {
    COMMON_FIELDS,
    PLAIN(32, comm.comm_id),
    PLAIN(33, comm.rank),
    PLAIN(34, comm.rank_count),
    PLAIN(35, comm.node_count),
    PLAIN(36, comm.members_id),
};

static const struct rkt_field SHAPE[] = {
    COMMON_FIELDS,
    PLAIN(32, shape.shape_id),
    PLAIN(33, shape.grid_x),
    PLAIN(34, shape.grid_y),
    PLAIN(35, shape.grid_z),
    PLAIN(36, shape.block_x),
    PLAIN(37, shape.block_y),
    PLAIN(38, shape.block_z),
    PLAIN(39, shape.registers),
    PLAIN(40, shape.static_shared_bytes),
    PLAIN(41, shape.dynamic_shared_bytes),
};

static const struct rkt_field CLOCK_PAIR[] = {
    COMMON_FIELDS,
    PLAIN(32, clock_pair.realtime_ns),
    PLAIN(33, clock_pair.monotonic_ns),
    PLAIN(34, clock_pair.tsc_ticks),
    PLAIN(35, clock_pair.line_us),
    PLAIN(36, clock_pair.line_ns),
};

static const struct rkt_field CLOCK_EXCHANGE[] = {
    COMMON_FIELDS,
    PLAIN(32, clock_exchange.t2_ns),
    PLAIN(33, clock_exchange.t3_ns),
    PLAIN(34, clock_exchange.peer_source),
    PLAIN(35, clock_exchange.burst),
};

static const struct rkt_field LOSS[] = {
    COMMON_FIELDS,
    PLAIN(32, loss.count),
    PLAIN(33, loss.bytes),
    PLAIN(34, loss.lost_kind),
};

static const struct rkt_field MEMORY[] = {
    COMMON_FIELDS,
    PLAIN(32, memory.address),
    PLAIN(33, memory.bytes),
    PLAIN(34, memory.device_id),
    PLAIN(35, memory.context_id),
    PLAIN(36, memory.stream_id),
    PLAIN(37, memory.memory_kind),
};

static const struct rkt_field GRAPH[] = {
    COMMON_FIELDS,
    PLAIN(32, graph.device_id),
    PLAIN(33, graph.context_id),
    PLAIN(34, graph.stream_id),
    PLAIN(35, graph.graph_id),
};

static const struct rkt_field OVERHEAD[] = {
    COMMON_FIELDS,
    PLAIN(32, overhead.device_id),
    PLAIN(33, overhead.context_id),
    PLAIN(34, overhead.stream_id),
};

static const struct rkt_field COUNTER[] = {
    COMMON_FIELDS,
    PLAIN(32, counter.value),
    PLAIN(33, counter.device_id),
};

static const struct rkt_field WINDOW[] = {
    COMMON_FIELDS,
    PLAIN(32, window.step),
};

static const struct rkt_field DEVICE[] = {
    COMMON_FIELDS,
    PLAIN(32, device.uuid_high),
    PLAIN(33, device.uuid_low),
    PLAIN(34, device.device_id),
    PLAIN(35, device.pci_domain),
    PLAIN(36, device.pci_bus),
    PLAIN(37, device.pci_device),
};

static const struct rkt_field CLOCK_STATE[] = {
    COMMON_FIELDS,
    PLAIN(32, clock_state.offset_ns),
    PLAIN(33, clock_state.max_error_ns),
    PLAIN(34, clock_state.est_error_ns),
    PLAIN(35, clock_state.frequency_ppb),
    PLAIN(36, clock_state.status),
};

static const struct rkt_field CLOCK_TRUE[] = {
    COMMON_FIELDS,
    PLAIN(32, clock_true.earliest_ns),
    PLAIN(33, clock_true.latest_ns),
};

#define TABLE(fields)                                \
    {                                                \
        (fields), sizeof(fields) / sizeof(*(fields)) \
    }

static const struct {
    const struct rkt_field *fields;
    size_t count;
} TABLES[RKT_EVENT_KIND_COUNT] = {
    [RKT_EVENT_KERNEL] = TABLE(KERNEL),
    [RKT_EVENT_MEMCPY] = TABLE(MEMCPY),
    [RKT_EVENT_MEMSET] = TABLE(MEMSET),
    [RKT_EVENT_SYNC] = TABLE(SYNC),
    [RKT_EVENT_API] = TABLE(API),
    [RKT_EVENT_NCCL] = TABLE(NCCL),
    [RKT_EVENT_RANGE] = TABLE(RANGE),
    [RKT_EVENT_BUCKET] = TABLE(BUCKET),
    [RKT_EVENT_NAME] = TABLE(NAME),
    [RKT_EVENT_COMM] = TABLE(COMM),
    [RKT_EVENT_SHAPE] = TABLE(SHAPE),
    [RKT_EVENT_CLOCK_PAIR] = TABLE(CLOCK_PAIR),
    [RKT_EVENT_CLOCK_EXCHANGE] = TABLE(CLOCK_EXCHANGE),
    [RKT_EVENT_LOSS] = TABLE(LOSS),
    [RKT_EVENT_MEMORY] = TABLE(MEMORY),
    [RKT_EVENT_GRAPH] = TABLE(GRAPH),
    [RKT_EVENT_OVERHEAD] = TABLE(OVERHEAD),
    [RKT_EVENT_COUNTER] = TABLE(COUNTER),
    [RKT_EVENT_WINDOW] = TABLE(WINDOW),
    [RKT_EVENT_DEVICE] = TABLE(DEVICE),
    [RKT_EVENT_CLOCK_STATE] = TABLE(CLOCK_STATE),
    [RKT_EVENT_CLOCK_TRUE] = TABLE(CLOCK_TRUE),
};

const struct rkt_field *rkt_event_fields(enum rkt_event_kind kind, size_t *count_out)
{
    if ((unsigned)kind >= RKT_EVENT_KIND_COUNT) {
        *count_out = 0;
        return NULL;
    }
    *count_out = TABLES[kind].count;
    return TABLES[kind].fields;
}
