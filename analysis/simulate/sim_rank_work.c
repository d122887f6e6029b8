/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank does: its kernels, copies and calls, and what chance and faults make of them. */
#include "analysis/simulate/sim_clock.h"
#include "analysis/simulate/sim_rank_parts.h"

#define CALL_NS INT64_C(1000) /* a call that launches nothing and does not wait */
#define PAGEABLE_FACTOR 4u
#define CLOCK_MHZ UINT64_C(1980)
#define KERNEL_KEY UINT64_C(0x6b65726e00000000)
#define JITTER_KEY UINT64_C(0x6a69740000000000)
#define STEP_KEY UINT64_C(0x7374657000000000)
#define STALL_KEY UINT64_C(0x7374616c00000000)
#define STALL_EVERY 16u /* steps, in the mean */

/* ---- chance ---- */

static int64_t draw_signed(const struct rkt_scenario *scenario, uint64_t key, uint64_t limit)
{
    return (int64_t)rkt_sim_draw(scenario, key, 2 * limit + 1) - (int64_t)limit;
}

static uint64_t step_key(const struct rkt_sim_rank *sim)
{
    return (uint64_t)(sim->rank + 1) << 42 ^ (uint64_t)sim->step << 21;
}

/* Its own length, the same on all ranks, and what this run of it differs by. */
static int64_t kernel_ns(const struct rkt_sim_rank *sim, uint32_t index)
{
    const struct rkt_scenario *scenario = sim->scenario;
    uint64_t own_ns = scenario->kernel_ns / 2 +
                      rkt_sim_draw(scenario, KERNEL_KEY | index, scenario->kernel_ns + 1);
    uint64_t spread_ns = own_ns * scenario->jitter_ppm / 1000000;
    int64_t step_ppm = draw_signed(scenario, STEP_KEY ^ step_key(sim), scenario->step_jitter_ppm);

    return (int64_t)own_ns + draw_signed(scenario, JITTER_KEY ^ step_key(sim) ^ index, spread_ns) +
           (int64_t)own_ns * step_ppm / 1000000;
}

/* ---- events ---- */

void rkt_sim_give(struct rkt_sim_rank *sim, const struct rkt_event *event)
{
    if (sim->fn && sim->status == RKT_OK)
        sim->status = sim->fn(sim->ctx, event, &sim->err);
}

void rkt_sim_give_event(struct rkt_sim_rank *sim, struct rkt_event event)
{
    rkt_sim_give(sim, &event);
}

/* With the correlation id of the last call. */
void rkt_sim_give_correlated(struct rkt_sim_rank *sim, struct rkt_event event)
{
    event.correlation_id = sim->correlation_id;
    rkt_sim_give(sim, &event);
}

void rkt_sim_give_range(struct rkt_sim_rank *sim, enum rkt_range_type type, int64_t start_ns,
                        uint64_t value)
{
    struct rkt_event event =
        rkt_sim_range_event(type, (struct rkt_sim_span){start_ns, sim->host_ns}, value);

    rkt_sim_give(sim, &event);
}

/* From called_ns to where the host is. */
static void give_call(struct rkt_sim_rank *sim, enum rkt_sim_name name, int64_t called_ns)
{
    sim->correlation_id++;
    rkt_sim_give_correlated(sim,
                            rkt_sim_call_event(name, rkt_sim_thread(sim->phase),
                                               (struct rkt_sim_span){called_ns, sim->host_ns}));
}

/* ---- the device ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

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

/* From start_ns to where the host is, around what it launched meanwhile. */
static void give_operator(struct rkt_sim_rank *sim, enum rkt_sim_name name,
                          enum rkt_sim_name inputs, int64_t start_ns)
{
    struct rkt_sim_span span = {start_ns, sim->host_ns};

    if (!sim->scenario->has_operators)
        return;
    rkt_sim_give_event(sim, rkt_sim_operator_event(name, inputs, rkt_sim_thread(sim->phase), span));
    rkt_sim_log_add_operator(&sim->log,
                             (struct rkt_sim_log_operator){name, inputs, sim->phase, span});
}

/* Which of its shapes forward has in this step. */
static uint32_t shape_variant(const struct rkt_sim_rank *sim)
{
    uint64_t changing = fault_amount(sim, RKT_FAULT_CHANGING_SHAPES);

    if (fault_amount(sim, RKT_FAULT_OTHER_SHAPES) > 0)
        return RKT_SIM_SHAPE_VARIANTS - 1;
    return changing > 0 ? sim->step % (uint32_t)changing : 0;
}

/* Kernel `index` of a name, launched from where the host is; it waits while too many launches are
 * pending. */
static void launch(struct rkt_sim_rank *sim, enum rkt_sim_name name, uint32_t index,
                   int64_t length_ns)
{
    uint64_t longer_ppm = fault_amount(sim, RKT_FAULT_THROTTLED);
    int64_t called_ns = sim->host_ns;
    int64_t oldest_ns = sim->pending_ns[sim->pending_next];
    uint32_t shape_id = rkt_sim_shape_id(
        sim->scenario, name, index, name == RKT_SIM_NAME_FORWARD_KERNEL ? shape_variant(sim) : 0);
    struct rkt_event event;
    struct rkt_sim_span span;

    sim->host_ns = later(called_ns + (int64_t)sim->scenario->launch_ns, oldest_ns);
    span.start_ns = later(later(called_ns + (int64_t)sim->scenario->launch_latency_ns, oldest_ns),
                          sim->stream_free_ns);
    span.end_ns =
        span.start_ns + length_ns + (int64_t)((unsigned __int128)length_ns * longer_ppm / 1000000);
    sim->stream_free_ns = span.end_ns;
    sim->pending_ns[sim->pending_next] = span.end_ns;
    sim->pending_next = (sim->pending_next + 1) % sim->scenario->queue_kernels;
    sim->truth.compute_ns += span.end_ns - span.start_ns;
    give_call(sim, RKT_SIM_NAME_LAUNCH, called_ns);
    event = rkt_sim_kernel_event(name, sim->rank, RKT_SIM_STREAM, span);
    event.kernel.shape_id = shape_id;
    rkt_sim_give_correlated(sim, event);
    give_operator(sim, RKT_SIM_NAME_LAUNCH_OP, RKT_SIM_NAME_NONE, called_ns);
    rkt_sim_log_add_work(&sim->log, (struct rkt_sim_log_work){.name = name,
                                                              .phase = sim->phase,
                                                              .stream_id = RKT_SIM_STREAM,
                                                              .shape_id = shape_id,
                                                              .run = span,
                                                              .launch = {called_ns, sim->host_ns}});
}

static void copy(struct rkt_sim_rank *sim, uint64_t bytes, bool is_pinned)
{
    int64_t called_ns = sim->host_ns;
    uint64_t unit_ns = (is_pinned ? 1 : PAGEABLE_FACTOR) * UINT64_C(1000000000);
    int64_t length_ns =
        (int64_t)((unsigned __int128)bytes * unit_ns / sim->scenario->copy_bytes_per_s);
    struct rkt_sim_span span;

    span.start_ns =
        later(called_ns + (int64_t)sim->scenario->launch_latency_ns, sim->stream_free_ns);
    span.end_ns = sim->stream_free_ns = span.start_ns + length_ns;
    sim->truth.copy_ns += length_ns;
    sim->host_ns =
        is_pinned ? called_ns + (int64_t)sim->scenario->launch_ns : span.end_ns + CALL_NS;
    give_call(sim, RKT_SIM_NAME_COPY, called_ns);
    rkt_sim_give_correlated(sim, rkt_sim_copy_event(sim->rank, bytes, is_pinned, span));
    give_operator(sim, RKT_SIM_NAME_COPY_OP, RKT_SIM_NAME_NONE, called_ns);
    rkt_sim_log_add_work(&sim->log, (struct rkt_sim_log_work){.name = RKT_SIM_NAME_COPY,
                                                              .phase = sim->phase,
                                                              .stream_id = RKT_SIM_STREAM,
                                                              .is_pinned = is_pinned,
                                                              .bytes = bytes,
                                                              .run = span,
                                                              .launch = {called_ns, sim->host_ns}});
    if (!is_pinned)
        rkt_sim_log_add_host(&sim->log, RKT_SIM_NAME_COPY,
                             (struct rkt_sim_span){called_ns, sim->host_ns});
}

static void synchronize(struct rkt_sim_rank *sim)
{
    int64_t called_ns = sim->host_ns;

    sim->host_ns = later(called_ns, sim->stream_free_ns) + CALL_NS;
    give_call(sim, RKT_SIM_NAME_SYNC, called_ns);
    rkt_sim_give_correlated(
        sim, rkt_sim_sync_event(sim->rank, (struct rkt_sim_span){called_ns, sim->host_ns}));
    rkt_sim_log_add_host(&sim->log, RKT_SIM_NAME_SYNC,
                         (struct rkt_sim_span){called_ns, sim->host_ns});
}

/* What is read of the GPU from the last time on; a lower clock makes kernels longer. */
void rkt_sim_read_gpu(struct rkt_sim_rank *sim)
{
    uint64_t longer_ppm = fault_amount(sim, RKT_FAULT_THROTTLED);
    uint64_t clock_mhz = CLOCK_MHZ * 1000000 / (1000000 + longer_ppm);
    uint64_t reasons = longer_ppm > 0 ? RKT_THROTTLE_SW_THERMAL : 0;
    int64_t every_ns = (int64_t)sim->scenario->gpu_samples_ns;
    struct rkt_event event;

    for (; every_ns > 0 && sim->read_ns <= sim->host_ns; sim->read_ns += every_ns) {
        event = rkt_sim_counter_event(RKT_COUNTER_SM_CLOCK, sim->rank, clock_mhz, sim->read_ns);
        rkt_sim_give(sim, &event);
        event =
            rkt_sim_counter_event(RKT_COUNTER_THROTTLE_REASONS, sim->rank, reasons, sim->read_ns);
        rkt_sim_give(sim, &event);
    }
}

/* ---- the host ---- */

/* Piece `index` of `total` in `count` pieces that add up. */
static int64_t share(uint64_t total, uint32_t index, uint32_t count)
{
    return (int64_t)(total / count + (index < total % count));
}

static void allocate_memory(struct rkt_sim_rank *sim, uint64_t length_ns)
{
    int64_t called_ns = sim->host_ns;

    if (length_ns == 0)
        return;
    sim->host_ns += (int64_t)length_ns;
    give_call(sim, RKT_SIM_NAME_ALLOC, called_ns);
    rkt_sim_log_add_host(&sim->log, RKT_SIM_NAME_ALLOC,
                         (struct rkt_sim_span){called_ns, sim->host_ns});
}

void rkt_sim_run_input(struct rkt_sim_rank *sim)
{
    int64_t start_ns = sim->host_ns;
    uint64_t pageable_bytes = fault_amount(sim, RKT_FAULT_PAGEABLE_COPY);

    sim->host_ns += (int64_t)(sim->scenario->input_ns + fault_amount(sim, RKT_FAULT_SLOW_INPUT));
    rkt_sim_give_range(sim, RKT_RANGE_INPUT, start_ns, 0);
    rkt_sim_log_add_host(&sim->log, RKT_SIM_NAME_NONE,
                         (struct rkt_sim_span){start_ns, sim->host_ns});
    if (sim->scenario->input_bytes > 0)
        copy(sim, sim->scenario->input_bytes, true);
    if (pageable_bytes > 0)
        copy(sim, pageable_bytes, false);
    sim->host_ns += (int64_t)fault_amount(sim, RKT_FAULT_SLOW_HOST);
    if (rkt_sim_draw(sim->scenario, STALL_KEY ^ step_key(sim), STALL_EVERY) == 0)
        sim->host_ns += (int64_t)sim->scenario->stall_ns;
    allocate_memory(sim, fault_amount(sim, RKT_FAULT_DEVICE_ALLOC));
}

/* What is taken from the device is an eighth more than is needed, and not given back. */
static void hold_memory(struct rkt_sim_rank *sim, uint64_t allocated_bytes)
{
    if (sim->scenario->allocator_bytes == 0)
        return;
    sim->allocated_bytes = allocated_bytes;
    if (allocated_bytes > sim->reserved_bytes)
        sim->reserved_bytes = allocated_bytes + allocated_bytes / 8;
    rkt_sim_give_event(sim, rkt_sim_memory_event(RKT_SIM_NAME_RESERVED, sim->rank,
                                                 sim->reserved_bytes, sim->host_ns));
    rkt_sim_give_event(sim, rkt_sim_memory_event(RKT_SIM_NAME_ALLOCATED, sim->rank,
                                                 sim->allocated_bytes, sim->host_ns));
    rkt_sim_log_add_memory(
        &sim->log, (struct rkt_sim_log_memory){sim->host_ns, sim->reserved_bytes, allocated_bytes});
}

/* Kernel i of forward, and what keeps the host between it and the next. */
static void launch_forward(struct rkt_sim_rank *sim, uint32_t i)
{
    uint32_t count = sim->scenario->forward_kernels;
    uint64_t sync_count = fault_amount(sim, RKT_FAULT_HIDDEN_SYNC);
    uint64_t synced = (sync_count * i + count - 1) / count;

    hold_memory(sim, sim->allocated_bytes + (i == 0 ? 2 : 1) * sim->scenario->allocator_bytes);
    launch(sim, RKT_SIM_NAME_FORWARD_KERNEL, i,
           kernel_ns(sim, i) + share(fault_amount(sim, RKT_FAULT_OTHER_SHAPES), i, count));
    for (; synced < sync_count && synced * count < sync_count * (i + 1); synced++)
        synchronize(sim);
    /* behind a wait: it is what shows then */
    sim->host_ns += share(fault_amount(sim, RKT_FAULT_LAUNCH_GAPS), i, count);
}

static void launch_backward(struct rkt_sim_rank *sim, uint32_t i)
{
    uint64_t slow_ns = fault_amount(sim, RKT_FAULT_SLOW_COMPUTE);

    launch(sim, RKT_SIM_NAME_BACKWARD_KERNEL, i,
           kernel_ns(sim, sim->scenario->forward_kernels + i) +
               share(slow_ns, i, sim->scenario->backward_kernels));
    hold_memory(sim, sim->allocated_bytes - (uint64_t)share(sim->scenario->allocator_bytes *
                                                                sim->scenario->forward_kernels,
                                                            i, sim->scenario->backward_kernels));
}

void rkt_sim_run_kernels(struct rkt_sim_rank *sim, const struct rkt_sim_op *op)
{
    static const enum rkt_sim_name OPERATORS[] = {
        [RKT_SIM_PHASE_FORWARD] = RKT_SIM_NAME_FORWARD_OP,
        [RKT_SIM_PHASE_BACKWARD] = RKT_SIM_NAME_BACKWARD_OP,
        [RKT_SIM_PHASE_OPTIMIZER] = RKT_SIM_NAME_OPTIMIZER_OP,
    };
    enum rkt_sim_name inputs = RKT_SIM_NAME_NONE;
    int64_t start_ns = sim->host_ns;

    for (uint32_t i = op->first; i < op->end; i++) {
        if (op->phase == RKT_SIM_PHASE_FORWARD)
            launch_forward(sim, i);
        else if (op->phase == RKT_SIM_PHASE_BACKWARD)
            launch_backward(sim, i - sim->scenario->forward_kernels);
        else
            launch(sim, RKT_SIM_NAME_OPTIMIZER_KERNEL, i, kernel_ns(sim, i));
    }
    if (op->phase == RKT_SIM_PHASE_FORWARD)
        inputs = (enum rkt_sim_name)(RKT_SIM_NAME_INPUTS + shape_variant(sim));
    give_operator(sim, OPERATORS[op->phase], inputs, start_ns);
}

/* They take as long as tokens came. */
void rkt_sim_run_experts(struct rkt_sim_rank *sim, uint32_t turn)
{
    const struct rkt_scenario *scenario = sim->scenario;
    uint32_t first = scenario->forward_kernels + scenario->backward_kernels +
                     scenario->optimizer_kernels + turn * scenario->expert_kernels;
    uint64_t load_ppm = rkt_sim_load_ppm(scenario, sim->rank, sim->step, turn);
    int64_t start_ns = sim->host_ns;

    for (uint32_t i = 0; i < scenario->expert_kernels; i++) {
        int64_t even_ns = kernel_ns(sim, first + i);

        launch(sim, RKT_SIM_NAME_EXPERT_KERNEL, i,
               (int64_t)((unsigned __int128)even_ns * load_ppm / 1000000));
    }
    give_operator(sim, RKT_SIM_NAME_EXPERT_OP, RKT_SIM_NAME_NONE, start_ns);
}

void rkt_sim_run_extra(struct rkt_sim_rank *sim)
{
    uint64_t extra_ns = fault_amount(sim, RKT_FAULT_EXTRA_WORK);

    if (extra_ns > 0)
        launch(sim, RKT_SIM_NAME_EXTRA_KERNEL, 0, (int64_t)extra_ns);
}

/* NCCL's calls around one launch. The kernel itself comes when all ranks' ends are known. */
void rkt_sim_post(struct rkt_sim_rank *sim, uint32_t number)
{
    const struct rkt_sim_part *part = &sim->plan.parts[number];
    const struct rkt_sim_call call = {sim->layout, part, sim->step, rkt_sim_thread(sim->phase)};
    uint32_t op_count = rkt_sim_op_count(part);
    int64_t at_ns = sim->host_ns;
    int64_t called_ns = at_ns + 2 * CALL_NS;
    int64_t launched_ns = called_ns + (int64_t)sim->scenario->launch_ns;
    int64_t done_ns = launched_ns + 2 * CALL_NS;

    sim->ready_ns[number] =
        later(called_ns + (int64_t)sim->scenario->launch_latency_ns, sim->stream_free_ns);
    if (op_count > 1)
        rkt_sim_give_event(sim, rkt_sim_group_event(&call, RKT_NCCL_GROUP_API,
                                                    (struct rkt_sim_span){at_ns, done_ns}));
    for (uint32_t i = 0; i < op_count; i++)
        rkt_sim_give_event(
            sim, rkt_sim_op_event(&call, i, true, (struct rkt_sim_span){at_ns, at_ns + CALL_NS}));
    sim->host_ns = launched_ns;
    give_call(sim, RKT_SIM_NAME_COMM_LAUNCH, called_ns);
    sim->comm_ids[number] = sim->correlation_id;
    sim->comm_phases[number] = sim->phase;
    sim->comm_calls[number] = (struct rkt_sim_span){called_ns, launched_ns};
    sim->host_ns = done_ns;
    rkt_sim_give_event(sim, rkt_sim_group_event(
                                &call, RKT_NCCL_KERNEL_LAUNCH,
                                (struct rkt_sim_span){called_ns - CALL_NS, launched_ns + CALL_NS}));
    for (uint32_t i = 0; i < op_count; i++)
        rkt_sim_give_event(sim,
                           rkt_sim_op_event(&call, i, false,
                                            (struct rkt_sim_span){launched_ns + CALL_NS, done_ns}));
    sim->post_count++;
}
