/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_rank.h"

#include <stdlib.h>

#include "analysis/simulate/sim_clock.h"
#include "common/clock.h"

#define START_NS INT64_C(1000000000) /* of the job, in job time */
#define CALL_NS INT64_C(1000)        /* a call that launches nothing and does not wait */
#define PAGEABLE_FACTOR 4u
#define COMM_ID UINT64_C(0x5eed0001)
#define FLOAT32 7u /* ncclFloat32 */
#define KERNEL_KEY UINT64_C(0x6b65726e00000000)
#define JITTER_KEY UINT64_C(0x6a69740000000000)

struct span {
    int64_t start_ns;
    int64_t end_ns;
};

struct rkt_sim_rank {
    const struct rkt_scenario *scenario;
    uint32_t rank;
    rkt_sim_event_fn fn;
    void *ctx;
    enum rkt_status status; /* of the first event that was not taken */
    struct rkt_error err;

    uint32_t step;
    uint32_t correlation_id;
    int64_t host_ns; /* where the host is */
    int64_t stream_free_ns;
    int64_t comm_free_ns;
    int64_t step_start_ns;
    int64_t window_end_ns; /* of the step before */

    int64_t *pending_ns; /* ends of the last launches, a ring */
    uint32_t pending_next;
    int64_t *ready_ns;  /* of this step's collectives */
    uint32_t *comm_ids; /* their correlation ids */

    struct span *computes; /* of this step, those that touch joined */
    size_t compute_count;
    int64_t compute_ns;
    int64_t copy_ns;
};

const char *rkt_sim_name(enum rkt_sim_name name)
{
    static const char *const NAMES[RKT_SIM_NAME_COUNT] = {
        [RKT_SIM_NAME_NONE] = "",
        [RKT_SIM_NAME_FORWARD_KERNEL] = "forward_gemm",
        [RKT_SIM_NAME_BACKWARD_KERNEL] = "backward_gemm",
        [RKT_SIM_NAME_OPTIMIZER_KERNEL] = "adam_update",
        [RKT_SIM_NAME_EXTRA_KERNEL] = "extra_work",
        [RKT_SIM_NAME_COMM_KERNEL] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        [RKT_SIM_NAME_LAUNCH] = "cudaLaunchKernel",
        [RKT_SIM_NAME_COMM_LAUNCH] = "cuLaunchKernelEx",
        [RKT_SIM_NAME_COPY] = "cudaMemcpyAsync",
        [RKT_SIM_NAME_SYNC] = "cudaStreamSynchronize",
        [RKT_SIM_NAME_AUTOGRAD] = "pt_autograd_0",
        [RKT_SIM_NAME_MAIN] = "python",
    };

    return NAMES[name];
}

/* ---- chance ---- */

/* Its own length, the same on all ranks, and what this run of it differs by. */
static int64_t kernel_ns(const struct rkt_sim_rank *sim, uint32_t index)
{
    const struct rkt_scenario *scenario = sim->scenario;
    uint64_t own_ns = scenario->kernel_ns / 2 +
                      rkt_sim_draw(scenario, KERNEL_KEY | index, scenario->kernel_ns + 1);
    uint64_t spread_ns = own_ns * scenario->jitter_ppm / 1000000;
    uint64_t key = JITTER_KEY ^ (uint64_t)(sim->rank + 1) << 42 ^ (uint64_t)sim->step << 21 ^ index;
    int64_t jitter_ns =
        (int64_t)rkt_sim_draw(scenario, key, 2 * spread_ns + 1) - (int64_t)spread_ns;

    return (int64_t)own_ns + jitter_ns;
}

/* ---- events ---- */

static void give(struct rkt_sim_rank *sim, const struct rkt_event *event)
{
    if (sim->fn && sim->status == RKT_OK)
        sim->status = sim->fn(sim->ctx, event, &sim->err);
}

static struct rkt_event host_event(enum rkt_event_kind kind, uint32_t thread_id, int64_t start_ns,
                                   int64_t end_ns)
{
    return (struct rkt_event){
        .kind = (uint8_t)kind,
        .clock_id = RKT_CLOCK_MONOTONIC_RAW,
        .start_ns = (uint64_t)start_ns,
        .end_ns = (uint64_t)end_ns,
        .thread_id = thread_id,
    };
}

static void give_range(struct rkt_sim_rank *sim, enum rkt_range_type type, int64_t start_ns,
                       uint64_t value)
{
    struct rkt_event event =
        host_event(RKT_EVENT_RANGE, RKT_SIM_MAIN_THREAD, start_ns, sim->host_ns);

    event.type = (uint8_t)type;
    event.range.value = value;
    give(sim, &event);
}

static void give_call(struct rkt_sim_rank *sim, enum rkt_sim_name name, uint32_t thread_id,
                      int64_t start_ns, int64_t end_ns)
{
    struct rkt_event event = host_event(RKT_EVENT_API, thread_id, start_ns, end_ns);

    event.clock_id = RKT_CLOCK_REALTIME; /* as CUPTI stamps it */
    event.type = name == RKT_SIM_NAME_COMM_LAUNCH ? RKT_API_DRIVER : RKT_API_RUNTIME;
    event.name_id = (uint32_t)name;
    event.correlation_id = sim->correlation_id;
    give(sim, &event);
}

static void give_kernel(struct rkt_sim_rank *sim, enum rkt_sim_name name, uint32_t stream_id,
                        struct span span)
{
    struct rkt_event event = {
        .kind = RKT_EVENT_KERNEL,
        .clock_id = RKT_CLOCK_REALTIME,
        .name_id = (uint32_t)name,
        .start_ns = (uint64_t)span.start_ns,
        .end_ns = (uint64_t)span.end_ns,
        .correlation_id = sim->correlation_id,
        .kernel = {.device_id = sim->rank, .context_id = 1, .stream_id = stream_id},
    };

    give(sim, &event);
}

static void give_nccl(struct rkt_sim_rank *sim, enum rkt_nccl_type type, uint64_t seq,
                      int64_t start_ns, int64_t end_ns)
{
    struct rkt_event event = host_event(RKT_EVENT_NCCL, RKT_SIM_AUTOGRAD_THREAD, start_ns, end_ns);

    event.type = (uint8_t)type;
    event.nccl = (struct rkt_event_nccl){
        .comm_id = COMM_ID,
        .seq = type == RKT_NCCL_COLL ? seq : UINT64_MAX,
        .count = sim->scenario->bucket_bytes / 4,
        .peer = 0,
        .func = RKT_NCCL_FUNC_ALLREDUCE,
        .datatype = FLOAT32,
        .algo = type == RKT_NCCL_COLL ? RKT_ALGO_RING : RKT_ALGO_UNKNOWN,
        .proto = type == RKT_NCCL_COLL ? RKT_PROTO_LL : RKT_PROTO_UNKNOWN,
    };
    give(sim, &event);
}

/* ---- the device ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_compute(struct rkt_sim_rank *sim, struct span span)
{
    size_t count = sim->compute_count;

    sim->compute_ns += span.end_ns - span.start_ns;
    if (count > 0 && sim->computes[count - 1].end_ns == span.start_ns)
        sim->computes[count - 1].end_ns = span.end_ns;
    else
        sim->computes[sim->compute_count++] = span;
}

/* Launch from where the host is; it waits while too many launches are pending. */
static void launch(struct rkt_sim_rank *sim, enum rkt_sim_name name, uint32_t thread_id,
                   int64_t length_ns, int64_t not_before_ns)
{
    int64_t called_ns = sim->host_ns;
    int64_t oldest_ns = sim->pending_ns[sim->pending_next];
    struct span span;

    sim->host_ns = later(called_ns + (int64_t)sim->scenario->launch_ns, oldest_ns);
    span.start_ns = later(later(called_ns + (int64_t)sim->scenario->launch_latency_ns, oldest_ns),
                          later(sim->stream_free_ns, not_before_ns));
    span.end_ns = span.start_ns + length_ns;
    sim->stream_free_ns = span.end_ns;
    sim->pending_ns[sim->pending_next] = span.end_ns;
    sim->pending_next = (sim->pending_next + 1) % sim->scenario->queue_kernels;
    add_compute(sim, span);
    sim->correlation_id++;
    give_call(sim, RKT_SIM_NAME_LAUNCH, thread_id, called_ns, sim->host_ns);
    give_kernel(sim, name, RKT_SIM_STREAM, span);
}

static void copy(struct rkt_sim_rank *sim, uint64_t bytes, bool is_pinned)
{
    int64_t called_ns = sim->host_ns;
    uint64_t unit_ns = (is_pinned ? 1 : PAGEABLE_FACTOR) * UINT64_C(1000000000);
    int64_t length_ns =
        (int64_t)((unsigned __int128)bytes * unit_ns / sim->scenario->copy_bytes_per_s);
    int64_t start_ns =
        later(called_ns + (int64_t)sim->scenario->launch_latency_ns, sim->stream_free_ns);
    struct rkt_event event = {
        .kind = RKT_EVENT_MEMCPY,
        .clock_id = RKT_CLOCK_REALTIME,
        .flags = RKT_FLAG_ASYNC,
        .start_ns = (uint64_t)start_ns,
        .end_ns = (uint64_t)(start_ns + length_ns),
        .correlation_id = ++sim->correlation_id,
        .memcpy = {.device_id = sim->rank,
                   .context_id = 1,
                   .stream_id = RKT_SIM_STREAM,
                   .peer_device_id = sim->rank,
                   .bytes = bytes,
                   .copy_kind = RKT_COPY_HTOD,
                   .src_kind = is_pinned ? RKT_MEMORY_PINNED : RKT_MEMORY_PAGEABLE,
                   .dst_kind = RKT_MEMORY_DEVICE},
    };

    sim->stream_free_ns = start_ns + length_ns;
    sim->copy_ns += length_ns;
    sim->host_ns =
        is_pinned ? called_ns + (int64_t)sim->scenario->launch_ns : sim->stream_free_ns + CALL_NS;
    give_call(sim, RKT_SIM_NAME_COPY, RKT_SIM_MAIN_THREAD, called_ns, sim->host_ns);
    give(sim, &event);
}

static void synchronize(struct rkt_sim_rank *sim)
{
    int64_t called_ns = sim->host_ns;
    struct rkt_event event;

    sim->host_ns = later(called_ns, sim->stream_free_ns) + CALL_NS;
    sim->correlation_id++;
    give_call(sim, RKT_SIM_NAME_SYNC, RKT_SIM_MAIN_THREAD, called_ns, sim->host_ns);
    event = host_event(RKT_EVENT_SYNC, 0, called_ns, sim->host_ns);
    event.clock_id = RKT_CLOCK_REALTIME;
    event.type = RKT_SYNC_STREAM;
    event.correlation_id = sim->correlation_id;
    event.sync = (struct rkt_event_sync){.device_id = sim->rank,
                                         .context_id = 1,
                                         .stream_id = RKT_SIM_STREAM,
                                         .cuda_event_id = UINT32_MAX};
    give(sim, &event);
}

/* ---- the host ---- */

/* The sum over this step's faults of a kind. */
static uint64_t fault_amount(const struct rkt_sim_rank *sim, enum rkt_fault_kind kind)
{
    uint64_t amount = 0;

    for (size_t i = 0; i < sim->scenario->fault_count; i++) {
        const struct rkt_fault *fault = &sim->scenario->faults[i];

        if (fault->kind == kind && rkt_fault_applies(fault, sim->rank, sim->step))
            amount += fault->amount;
    }
    return amount;
}

/* Piece `index` of `total` in `count` pieces that add up. */
static int64_t share(uint64_t total, uint32_t index, uint32_t count)
{
    return (int64_t)(total / count + (index < total % count));
}

static void run_input(struct rkt_sim_rank *sim)
{
    int64_t start_ns = sim->host_ns;
    uint64_t pageable_bytes = fault_amount(sim, RKT_FAULT_PAGEABLE_COPY);

    sim->host_ns += (int64_t)(sim->scenario->input_ns + fault_amount(sim, RKT_FAULT_SLOW_INPUT));
    give_range(sim, RKT_RANGE_INPUT, start_ns, 0);
    if (sim->scenario->input_bytes > 0)
        copy(sim, sim->scenario->input_bytes, true);
    if (pageable_bytes > 0)
        copy(sim, pageable_bytes, false);
    sim->host_ns += (int64_t)fault_amount(sim, RKT_FAULT_SLOW_HOST);
}

static void run_forward(struct rkt_sim_rank *sim)
{
    uint32_t count = sim->scenario->forward_kernels;
    uint64_t gaps_ns = fault_amount(sim, RKT_FAULT_LAUNCH_GAPS);
    uint64_t sync_count = fault_amount(sim, RKT_FAULT_HIDDEN_SYNC);
    uint64_t extra_ns = fault_amount(sim, RKT_FAULT_EXTRA_WORK);
    int64_t start_ns = sim->host_ns;
    uint64_t synced = 0;

    for (uint32_t i = 0; i < count; i++) {
        launch(sim, RKT_SIM_NAME_FORWARD_KERNEL, RKT_SIM_MAIN_THREAD, kernel_ns(sim, i), 0);
        for (; synced < sync_count && synced * count < sync_count * (i + 1); synced++)
            synchronize(sim);
        sim->host_ns += share(gaps_ns, i, count); /* behind a wait: it is what shows then */
    }
    if (extra_ns > 0)
        launch(sim, RKT_SIM_NAME_EXTRA_KERNEL, RKT_SIM_MAIN_THREAD, (int64_t)extra_ns, 0);
    give_range(sim, RKT_RANGE_FORWARD, start_ns, 0);
}

/* NCCL's calls around one launch. The kernel itself comes when all ranks' ends are known. */
static void launch_collective(struct rkt_sim_rank *sim, uint32_t bucket)
{
    uint64_t seq = (uint64_t)sim->step * sim->scenario->bucket_count + bucket;
    int64_t at_ns = sim->host_ns;
    int64_t called_ns = at_ns + 2 * CALL_NS;
    int64_t launched_ns = called_ns + (int64_t)sim->scenario->launch_ns;

    sim->ready_ns[bucket] =
        later(called_ns + (int64_t)sim->scenario->launch_latency_ns, sim->stream_free_ns);
    sim->host_ns = launched_ns + 2 * CALL_NS;
    sim->comm_ids[bucket] = ++sim->correlation_id;
    give_nccl(sim, RKT_NCCL_COLL_API, seq, at_ns, at_ns + CALL_NS);
    give_call(sim, RKT_SIM_NAME_COMM_LAUNCH, RKT_SIM_AUTOGRAD_THREAD, called_ns, launched_ns);
    give_nccl(sim, RKT_NCCL_KERNEL_LAUNCH, seq, called_ns - CALL_NS, launched_ns + CALL_NS);
    give_nccl(sim, RKT_NCCL_COLL, seq, launched_ns + CALL_NS, sim->host_ns);
}

/* How many kernels of backward come before those of this bucket. */
static uint32_t kernels_before(const struct rkt_scenario *scenario, uint32_t bucket)
{
    return (uint32_t)((uint64_t)scenario->backward_kernels * bucket / scenario->bucket_count);
}

static void run_backward(struct rkt_sim_rank *sim)
{
    const struct rkt_scenario *scenario = sim->scenario;
    uint64_t slow_ns = fault_amount(sim, RKT_FAULT_SLOW_COMPUTE);
    uint32_t count = scenario->backward_kernels;
    int64_t start_ns = sim->host_ns;
    uint32_t bucket = 0;

    for (uint32_t i = 0; i < count; i++) {
        int64_t length_ns = kernel_ns(sim, scenario->forward_kernels + i);

        launch(sim, RKT_SIM_NAME_BACKWARD_KERNEL, RKT_SIM_AUTOGRAD_THREAD,
               length_ns + share(slow_ns, i, count), 0);
        while (scenario->has_overlap && bucket < scenario->bucket_count &&
               kernels_before(scenario, bucket + 1) == i + 1)
            launch_collective(sim, bucket++);
    }
    while (bucket < scenario->bucket_count)
        launch_collective(sim, bucket++);
    give_range(sim, RKT_RANGE_BACKWARD, start_ns, 0);
}

/* ---- steps ---- */

enum rkt_status rkt_sim_rank_begin_step(struct rkt_sim_rank *sim, uint32_t step,
                                        int64_t *ready_ns_out, struct rkt_error *err)
{
    sim->step = step;
    sim->compute_count = 0;
    sim->compute_ns = sim->copy_ns = 0;
    sim->step_start_ns = sim->host_ns;
    if (step == 0)
        sim->window_end_ns = sim->host_ns;
    run_input(sim);
    run_forward(sim);
    run_backward(sim);
    for (uint32_t i = 0; i < sim->scenario->bucket_count; i++)
        ready_ns_out[i] = sim->ready_ns[i];
    if (sim->status != RKT_OK && err)
        *err = sim->err;
    return sim->status;
}

int64_t rkt_sim_rank_comm_free_ns(const struct rkt_sim_rank *sim)
{
    return sim->comm_free_ns;
}

/* The part of [start, end) in which compute runs. */
static int64_t overlap_ns(const struct rkt_sim_rank *sim, int64_t start_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < sim->compute_count; i++) {
        int64_t from_ns = later(start_ns, sim->computes[i].start_ns);
        int64_t to_ns = sim->computes[i].end_ns < end_ns ? sim->computes[i].end_ns : end_ns;

        if (to_ns > from_ns)
            sum_ns += to_ns - from_ns;
    }
    return sum_ns;
}

static void run_collectives(struct rkt_sim_rank *sim, const int64_t *ends_ns,
                            struct rkt_sim_step *truth)
{
    uint32_t last_id = sim->correlation_id;

    for (uint32_t i = 0; i < sim->scenario->bucket_count; i++) {
        struct span span = {later(sim->ready_ns[i], sim->comm_free_ns), ends_ns[i]};

        sim->correlation_id = sim->comm_ids[i];
        give_kernel(sim, RKT_SIM_NAME_COMM_KERNEL, RKT_SIM_COMM_STREAM, span);
        truth->comm_ns += span.end_ns - span.start_ns;
        truth->overlap_ns += overlap_ns(sim, span.start_ns, span.end_ns);
        sim->comm_free_ns = span.end_ns;
    }
    sim->correlation_id = last_id;
}

enum rkt_status rkt_sim_rank_end_step(struct rkt_sim_rank *sim, const int64_t *ends_ns,
                                      struct rkt_sim_step *truth_out, struct rkt_error *err)
{
    const struct rkt_scenario *scenario = sim->scenario;
    struct rkt_sim_step truth = {.window_start_ns = sim->window_end_ns};
    int64_t start_ns = sim->host_ns;

    run_collectives(sim, ends_ns, &truth);
    for (uint32_t i = 0; i < scenario->optimizer_kernels; i++)
        launch(sim, RKT_SIM_NAME_OPTIMIZER_KERNEL, RKT_SIM_MAIN_THREAD,
               kernel_ns(sim, scenario->forward_kernels + scenario->backward_kernels + i),
               sim->comm_free_ns);
    give_range(sim, RKT_RANGE_OPTIMIZER, start_ns, 0);
    give_range(sim, RKT_RANGE_STEP, sim->step_start_ns, sim->step);
    sim->window_end_ns = truth.window_end_ns = sim->stream_free_ns;
    truth.compute_ns = sim->compute_ns;
    truth.copy_ns = sim->copy_ns;
    if (truth_out)
        *truth_out = truth;
    if (sim->status != RKT_OK && err)
        *err = sim->err;
    return sim->status;
}

/* ---- life ---- */

static void give_names(struct rkt_sim_rank *sim)
{
    struct rkt_event event =
        host_event(RKT_EVENT_NAME, RKT_SIM_AUTOGRAD_THREAD, START_NS, START_NS);

    event.type = RKT_NAMED_THREAD;
    event.name_id = RKT_SIM_NAME_AUTOGRAD;
    event.name.object_id = RKT_SIM_AUTOGRAD_THREAD;
    give(sim, &event);
    event.thread_id = RKT_SIM_MAIN_THREAD;
    event.name_id = RKT_SIM_NAME_MAIN;
    event.name.object_id = RKT_SIM_MAIN_THREAD;
    give(sim, &event);
    event = host_event(RKT_EVENT_COMM, RKT_SIM_MAIN_THREAD, START_NS, START_NS);
    event.comm = (struct rkt_event_comm){.comm_id = COMM_ID,
                                         .rank = (int32_t)sim->rank,
                                         .rank_count = sim->scenario->rank_count,
                                         .node_count = sim->scenario->node_count};
    give(sim, &event);
}

enum rkt_status rkt_sim_rank_create(const struct rkt_scenario *scenario, uint32_t rank,
                                    rkt_sim_event_fn fn, void *ctx, struct rkt_sim_rank **rank_out,
                                    struct rkt_error *err)
{
    struct rkt_sim_rank *sim = calloc(1, sizeof(*sim));
    size_t kernel_count = (size_t)scenario->forward_kernels + scenario->backward_kernels +
                          scenario->optimizer_kernels + 1;

    if (sim) {
        sim->scenario = scenario;
        sim->rank = rank;
        sim->fn = fn;
        sim->ctx = ctx;
        sim->host_ns = sim->stream_free_ns = sim->comm_free_ns = START_NS;
        sim->pending_ns = calloc(scenario->queue_kernels, sizeof(*sim->pending_ns));
        sim->ready_ns = calloc((size_t)scenario->bucket_count + 1, sizeof(*sim->ready_ns));
        sim->comm_ids = calloc((size_t)scenario->bucket_count + 1, sizeof(*sim->comm_ids));
        sim->computes = calloc(kernel_count, sizeof(*sim->computes));
    }
    if (!sim || !sim->pending_ns || !sim->ready_ns || !sim->comm_ids || !sim->computes) {
        rkt_sim_rank_destroy(sim);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for rank %u", rank);
    }
    give_names(sim);
    *rank_out = sim;
    return RKT_OK;
}

void rkt_sim_rank_destroy(struct rkt_sim_rank *sim)
{
    if (!sim)
        return;
    free(sim->pending_ns);
    free(sim->ready_ns);
    free(sim->comm_ids);
    free(sim->computes);
    free(sim);
}
