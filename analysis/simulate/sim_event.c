/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_event.h"

#include "common/clock.h"

#define FLOAT32 7u /* ncclFloat32 */
#define GPUS 8u    /* of a machine */

/* As its process counts GPUs: of more ranks several share one. */
static uint32_t device_of(uint32_t rank)
{
    return rank % GPUS;
}

const char *rkt_sim_name(unsigned name)
{
    static const char *const NAMES[RKT_SIM_NAME_COMM] = {
        [RKT_SIM_NAME_NONE] = "",
        [RKT_SIM_NAME_FORWARD_KERNEL] = "forward_gemm",
        [RKT_SIM_NAME_BACKWARD_KERNEL] = "backward_gemm",
        [RKT_SIM_NAME_OPTIMIZER_KERNEL] = "adam_update",
        [RKT_SIM_NAME_EXTRA_KERNEL] = "extra_work",
        [RKT_SIM_NAME_EXPERT_KERNEL] = "expert_gemm",
        [RKT_SIM_NAME_COMM_KERNEL] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        [RKT_SIM_NAME_LINK_KERNEL] = "ncclDevKernel_SendRecv",
        [RKT_SIM_NAME_LAUNCH] = "cudaLaunchKernel",
        [RKT_SIM_NAME_COMM_LAUNCH] = "cuLaunchKernelEx",
        [RKT_SIM_NAME_COPY] = "cudaMemcpyAsync",
        [RKT_SIM_NAME_SYNC] = "cudaStreamSynchronize",
        [RKT_SIM_NAME_ALLOC] = "cudaMalloc",
        [RKT_SIM_NAME_AUTOGRAD] = "pt_autograd_0",
        [RKT_SIM_NAME_MAIN] = "python",
        [RKT_SIM_NAME_FORWARD_OP] = "aten::linear",
        [RKT_SIM_NAME_BACKWARD_OP] = "AddmmBackward0",
        [RKT_SIM_NAME_OPTIMIZER_OP] = "Optimizer.step#AdamW.step",
        [RKT_SIM_NAME_EXPERT_OP] = "aten::bmm",
        [RKT_SIM_NAME_LAUNCH_OP] = "aten::mm",
        [RKT_SIM_NAME_COPY_OP] = "aten::copy_",
        [RKT_SIM_NAME_RESERVED] = "reserved memory",
        [RKT_SIM_NAME_ALLOCATED] = "allocated memory",
        [RKT_SIM_NAME_INPUTS] = "[[16, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 1] = "[[32, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 2] = "[[48, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 3] = "[[64, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 4] = "[[80, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 5] = "[[96, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 6] = "[[112, 64]] [\"float\"]",
        [RKT_SIM_NAME_INPUTS + 7] = "[[128, 64]] [\"float\"]",
    };

    return name < RKT_SIM_NAME_COMM
               ? NAMES[name]
               : rkt_sim_comm_kind_name((enum rkt_sim_comm_kind)(name - RKT_SIM_NAME_COMM));
}

uint32_t rkt_sim_thread(enum rkt_sim_phase phase)
{
    return phase == RKT_SIM_PHASE_BACKWARD ? RKT_SIM_AUTOGRAD_THREAD : RKT_SIM_MAIN_THREAD;
}

static struct rkt_event make(enum rkt_event_kind kind, enum rkt_clock_id clock_id,
                             uint32_t thread_id, struct rkt_sim_span span)
{
    return (struct rkt_event){
        .kind = (uint8_t)kind,
        .clock_id = (uint8_t)clock_id,
        .start_ns = (uint64_t)span.start_ns,
        .end_ns = (uint64_t)span.end_ns,
        .thread_id = thread_id,
    };
}

struct rkt_event rkt_sim_range_event(enum rkt_range_type type, struct rkt_sim_span span,
                                     uint64_t value)
{
    struct rkt_event event =
        make(RKT_EVENT_RANGE, RKT_CLOCK_MONOTONIC_RAW, RKT_SIM_MAIN_THREAD, span);

    event.type = (uint8_t)type;
    event.range.value = value;
    return event;
}

/* ---- what stamps with REALTIME: a framework's profiler, CUPTI ---- */

struct rkt_event rkt_sim_operator_event(enum rkt_sim_name name, enum rkt_sim_name inputs,
                                        uint32_t thread_id, struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_RANGE, RKT_CLOCK_REALTIME, thread_id, span);

    event.type = RKT_RANGE_CPU_OP;
    event.name_id = (uint32_t)name;
    event.range.inputs_id = (uint32_t)inputs;
    return event;
}

uint32_t rkt_sim_shape_count(const struct rkt_scenario *scenario)
{
    return (RKT_SIM_NAME_EXPERT_KERNEL - RKT_SIM_NAME_FORWARD_KERNEL + 1) * scenario->shape_count *
           RKT_SIM_SHAPE_VARIANTS;
}

uint32_t rkt_sim_shape_id(const struct rkt_scenario *scenario, enum rkt_sim_name name,
                          uint32_t index, uint32_t variant)
{
    uint32_t count = scenario->shape_count;
    uint32_t kernel = (uint32_t)name - RKT_SIM_NAME_FORWARD_KERNEL;

    return count == 0 ? 0 : (kernel * count + index % count) * RKT_SIM_SHAPE_VARIANTS + variant + 1;
}

struct rkt_event rkt_sim_shape_event(const struct rkt_scenario *scenario, uint32_t shape_id,
                                     int64_t at_ns)
{
    struct rkt_event event =
        make(RKT_EVENT_SHAPE, RKT_CLOCK_REALTIME, 0, (struct rkt_sim_span){at_ns, at_ns});

    event.name_id = RKT_SIM_NAME_FORWARD_KERNEL +
                    (shape_id - 1) / (scenario->shape_count * RKT_SIM_SHAPE_VARIANTS);
    event.shape = (struct rkt_event_shape){.shape_id = shape_id,
                                           .grid_x = shape_id,
                                           .grid_y = 1,
                                           .grid_z = 1,
                                           .block_x = 256,
                                           .block_y = 1,
                                           .block_z = 1};
    return event;
}

struct rkt_event rkt_sim_call_event(enum rkt_sim_name name, uint32_t thread_id,
                                    struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_API, RKT_CLOCK_REALTIME, thread_id, span);

    event.type = name == RKT_SIM_NAME_COMM_LAUNCH ? RKT_API_DRIVER : RKT_API_RUNTIME;
    event.name_id = (uint32_t)name;
    return event;
}

struct rkt_event rkt_sim_kernel_event(enum rkt_sim_name name, uint32_t rank, uint32_t stream_id,
                                      struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_KERNEL, RKT_CLOCK_REALTIME, 0, span);

    event.name_id = (uint32_t)name;
    event.kernel = (struct rkt_event_kernel){
        .device_id = device_of(rank), .context_id = 1, .stream_id = stream_id};
    return event;
}

struct rkt_event rkt_sim_copy_event(uint32_t rank, uint64_t bytes, bool is_pinned,
                                    struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_MEMCPY, RKT_CLOCK_REALTIME, 0, span);

    event.flags = RKT_FLAG_ASYNC;
    event.memcpy = (struct rkt_event_memcpy){
        .device_id = device_of(rank),
        .context_id = 1,
        .stream_id = RKT_SIM_STREAM,
        .peer_device_id = device_of(rank),
        .bytes = bytes,
        .copy_kind = RKT_COPY_HTOD,
        .src_kind = is_pinned ? RKT_MEMORY_PINNED : RKT_MEMORY_PAGEABLE,
        .dst_kind = RKT_MEMORY_DEVICE,
    };
    return event;
}

struct rkt_event rkt_sim_sync_event(uint32_t rank, struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_SYNC, RKT_CLOCK_REALTIME, 0, span);

    event.type = RKT_SYNC_STREAM;
    event.sync = (struct rkt_event_sync){.device_id = device_of(rank),
                                         .context_id = 1,
                                         .stream_id = RKT_SIM_STREAM,
                                         .cuda_event_id = UINT32_MAX};
    return event;
}

/* ---- NCCL ---- */

/* Links: a send, a receive, or both. Experts: a send to each member, then a receive from each. */
uint32_t rkt_sim_op_count(const struct rkt_sim_part *part)
{
    if (part->comm->kind == RKT_SIM_COMM_LINK)
        return (uint32_t)part->gives + part->takes;
    return part->comm->kind == RKT_SIM_COMM_EXPERT ? 2 * part->comm->rank_count : 1;
}

static struct rkt_event_nccl link_op(const struct rkt_sim_call *call, uint32_t op)
{
    const struct rkt_sim_part *part = call->part;
    bool is_send = part->gives && op == 0;

    return (struct rkt_event_nccl){
        .seq = UINT64_MAX,
        .count = part->comm->bytes / 4,
        .peer = part->member == 0 ? 1 : 0,
        .func = is_send ? RKT_NCCL_FUNC_SEND : RKT_NCCL_FUNC_RECV,
    };
}

/* Tokens go to whose experts they are for; on the way back these send as much. */
static struct rkt_event_nccl expert_op(const struct rkt_sim_call *call, uint32_t op)
{
    const struct rkt_sim_part *part = call->part;
    uint32_t rank_count = part->comm->rank_count;
    bool is_send = op < rank_count;
    bool is_back = part->index % 2 == 1;
    uint32_t peer = op % rank_count;

    return (struct rkt_event_nccl){
        .seq = UINT64_MAX,
        .count =
            rkt_sim_token_count(call->layout, part->comm, is_send == is_back ? part->member : peer,
                                call->step, part->index / 2),
        .peer = (int32_t)peer,
        .func = is_send ? RKT_NCCL_FUNC_SEND : RKT_NCCL_FUNC_RECV,
    };
}

static struct rkt_event_nccl all_reduce_op(const struct rkt_sim_call *call, bool is_api)
{
    const struct rkt_sim_comm *comm = call->part->comm;

    return (struct rkt_event_nccl){
        .seq = is_api ? UINT64_MAX : (uint64_t)call->step * comm->meeting_count + call->part->index,
        .count = comm->bytes / 4,
        .func = RKT_NCCL_FUNC_ALLREDUCE,
        .algo = is_api ? RKT_ALGO_UNKNOWN : RKT_ALGO_RING,
        .proto = is_api ? RKT_PROTO_UNKNOWN : RKT_PROTO_LL,
    };
}

struct rkt_event rkt_sim_op_event(const struct rkt_sim_call *call, uint32_t op, bool is_api,
                                  struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_NCCL, RKT_CLOCK_MONOTONIC_RAW, call->thread_id, span);

    event.type = is_api ? RKT_NCCL_P2P_API : RKT_NCCL_P2P;
    switch (call->part->comm->kind) {
    case RKT_SIM_COMM_LINK:
        event.nccl = link_op(call, op);
        break;
    case RKT_SIM_COMM_EXPERT:
        event.nccl = expert_op(call, op);
        break;
    case RKT_SIM_COMM_DATA:
    case RKT_SIM_COMM_TENSOR:
    case RKT_SIM_COMM_KIND_COUNT:
        event.type = is_api ? RKT_NCCL_COLL_API : RKT_NCCL_COLL;
        event.nccl = all_reduce_op(call, is_api);
        break;
    }
    event.nccl.comm_id = call->part->comm->id;
    event.nccl.datatype = FLOAT32;
    return event;
}

struct rkt_event rkt_sim_group_event(const struct rkt_sim_call *call, enum rkt_nccl_type type,
                                     struct rkt_sim_span span)
{
    struct rkt_event event = make(RKT_EVENT_NCCL, RKT_CLOCK_MONOTONIC_RAW, call->thread_id, span);

    event.type = (uint8_t)type;
    event.nccl = (struct rkt_event_nccl){.seq = UINT64_MAX, .count = UINT64_MAX, .peer = -1};
    return event;
}

struct rkt_event rkt_sim_comm_event(const struct rkt_sim_part *part,
                                    const struct rkt_scenario *scenario, int64_t at_ns)
{
    const struct rkt_sim_comm *comm = part->comm;
    struct rkt_event event = make(RKT_EVENT_COMM, RKT_CLOCK_MONOTONIC_RAW, RKT_SIM_MAIN_THREAD,
                                  (struct rkt_sim_span){at_ns, at_ns});

    event.name_id = RKT_SIM_NAME_COMM + (uint32_t)comm->kind;
    event.comm = (struct rkt_event_comm){
        .comm_id = comm->id,
        .rank = (int32_t)part->member,
        .rank_count = comm->rank_count,
        .node_count = comm->rank_count == scenario->rank_count ? scenario->node_count : 0,
    };
    return event;
}

/* ---- others ---- */

struct rkt_event rkt_sim_thread_name_event(uint32_t thread_id, enum rkt_sim_name name,
                                           int64_t at_ns)
{
    struct rkt_event event = make(RKT_EVENT_NAME, RKT_CLOCK_MONOTONIC_RAW, thread_id,
                                  (struct rkt_sim_span){at_ns, at_ns});

    event.type = RKT_NAMED_THREAD;
    event.name_id = (uint32_t)name;
    event.name.object_id = thread_id;
    return event;
}

struct rkt_event rkt_sim_counter_event(enum rkt_counter counter, uint32_t rank, uint64_t value,
                                       int64_t at_ns)
{
    struct rkt_event event =
        make(RKT_EVENT_COUNTER, RKT_CLOCK_MONOTONIC_RAW, 0, (struct rkt_sim_span){at_ns, at_ns});

    event.type = (uint8_t)counter;
    event.counter = (struct rkt_event_counter){.value = value, .device_id = device_of(rank)};
    return event;
}

struct rkt_event rkt_sim_memory_event(enum rkt_sim_name name, uint32_t rank, uint64_t bytes,
                                      int64_t at_ns)
{
    struct rkt_event event =
        make(RKT_EVENT_COUNTER, RKT_CLOCK_REALTIME, 0, (struct rkt_sim_span){at_ns, at_ns});

    event.type = RKT_COUNTER_NAMED;
    event.name_id = (uint32_t)name;
    event.counter = (struct rkt_event_counter){.value = bytes, .device_id = device_of(rank)};
    return event;
}
