/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_rank.h"

#include <stdlib.h>

#include "analysis/simulate/sim_account.h"
#include "analysis/simulate/sim_clock.h"

#define START_NS INT64_C(1000000000) /* of the job, in job time */
#define CALL_NS INT64_C(1000)        /* a call that launches nothing and does not wait */
#define PAGEABLE_FACTOR 4u
#define CLOCK_MHZ UINT64_C(1980)
#define KERNEL_KEY UINT64_C(0x6b65726e00000000)
#define JITTER_KEY UINT64_C(0x6a69740000000000)
#define STEP_KEY UINT64_C(0x7374657000000000)
#define STALL_KEY UINT64_C(0x7374616c00000000)
#define STALL_EVERY 16u /* steps, in the mean */

struct rkt_sim_rank {
    const struct rkt_sim_layout *layout;
    const struct rkt_scenario *scenario;
    uint32_t rank;
    rkt_sim_event_fn fn;
    void *ctx;
    enum rkt_status status; /* of the first event that was not taken */
    struct rkt_error err;

    struct rkt_sim_plan plan;
    uint32_t step;
    const int64_t *ends_ns; /* of the step's meetings, by communicator */
    size_t op;              /* the next of the plan */
    bool is_done;
    enum rkt_sim_phase phase;
    int64_t phase_start_ns;

    uint32_t correlation_id;
    int64_t host_ns;        /* where the host is */
    int64_t stream_free_ns; /* and what it waits for has happened */
    int64_t lane_free_ns[RKT_SIM_LANE_COUNT];
    int64_t step_start_ns;
    int64_t window_end_ns; /* of the step before */
    int64_t read_ns;       /* when its GPU is read next */

    int64_t *pending_ns; /* ends of the last launches, a ring */
    uint32_t pending_next;
    int64_t *ready_ns;                /* by part */
    uint32_t *comm_ids;               /* their correlation ids */
    struct rkt_sim_span *comm_calls;  /* and their launches */
    enum rkt_sim_phase *comm_phases;  /* in which these were */
    struct rkt_sim_log log;           /* of the step */
    struct rkt_sim_meeting *meetings; /* by part, then in order of their starts */
    uint32_t post_count;              /* parts that are launched */
    uint32_t taken_count;             /* of these, those that the caller knows of */

    struct rkt_sim_step truth;
};

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

static void give(struct rkt_sim_rank *sim, const struct rkt_event *event)
{
    if (sim->fn && sim->status == RKT_OK)
        sim->status = sim->fn(sim->ctx, event, &sim->err);
}

static void give_event(struct rkt_sim_rank *sim, struct rkt_event event)
{
    give(sim, &event);
}

/* With the correlation id of the last call. */
static void give_correlated(struct rkt_sim_rank *sim, struct rkt_event event)
{
    event.correlation_id = sim->correlation_id;
    give(sim, &event);
}

static void give_range(struct rkt_sim_rank *sim, enum rkt_range_type type, int64_t start_ns,
                       uint64_t value)
{
    struct rkt_event event =
        rkt_sim_range_event(type, (struct rkt_sim_span){start_ns, sim->host_ns}, value);

    give(sim, &event);
}

/* From called_ns to where the host is. */
static void give_call(struct rkt_sim_rank *sim, enum rkt_sim_name name, int64_t called_ns)
{
    sim->correlation_id++;
    give_correlated(sim, rkt_sim_call_event(name, rkt_sim_thread(sim->phase),
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

/* Launch from where the host is; it waits while too many launches are pending. */
static void launch(struct rkt_sim_rank *sim, enum rkt_sim_name name, int64_t length_ns)
{
    uint64_t longer_ppm = fault_amount(sim, RKT_FAULT_THROTTLED);
    int64_t called_ns = sim->host_ns;
    int64_t oldest_ns = sim->pending_ns[sim->pending_next];
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
    give_correlated(sim, rkt_sim_kernel_event(name, sim->rank, RKT_SIM_STREAM, span));
    rkt_sim_log_add_work(&sim->log, (struct rkt_sim_log_work){.name = name,
                                                              .phase = sim->phase,
                                                              .stream_id = RKT_SIM_STREAM,
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
    give_correlated(sim, rkt_sim_copy_event(sim->rank, bytes, is_pinned, span));
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
    give_correlated(sim,
                    rkt_sim_sync_event(sim->rank, (struct rkt_sim_span){called_ns, sim->host_ns}));
    rkt_sim_log_add_host(&sim->log, RKT_SIM_NAME_SYNC,
                         (struct rkt_sim_span){called_ns, sim->host_ns});
}

/* What is read of the GPU from the last time on; a lower clock makes kernels longer. */
static void read_gpu(struct rkt_sim_rank *sim)
{
    uint64_t longer_ppm = fault_amount(sim, RKT_FAULT_THROTTLED);
    uint64_t clock_mhz = CLOCK_MHZ * 1000000 / (1000000 + longer_ppm);
    uint64_t reasons = longer_ppm > 0 ? RKT_THROTTLE_SW_THERMAL : 0;
    int64_t every_ns = (int64_t)sim->scenario->gpu_samples_ns;
    struct rkt_event event;

    for (; every_ns > 0 && sim->read_ns <= sim->host_ns; sim->read_ns += every_ns) {
        event = rkt_sim_counter_event(RKT_COUNTER_SM_CLOCK, sim->rank, clock_mhz, sim->read_ns);
        give(sim, &event);
        event =
            rkt_sim_counter_event(RKT_COUNTER_THROTTLE_REASONS, sim->rank, reasons, sim->read_ns);
        give(sim, &event);
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

static void run_input(struct rkt_sim_rank *sim)
{
    int64_t start_ns = sim->host_ns;
    uint64_t pageable_bytes = fault_amount(sim, RKT_FAULT_PAGEABLE_COPY);

    sim->host_ns += (int64_t)(sim->scenario->input_ns + fault_amount(sim, RKT_FAULT_SLOW_INPUT));
    give_range(sim, RKT_RANGE_INPUT, start_ns, 0);
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

/* Kernel i of forward, and what keeps the host between it and the next. */
static void launch_forward(struct rkt_sim_rank *sim, uint32_t i)
{
    uint32_t count = sim->scenario->forward_kernels;
    uint64_t sync_count = fault_amount(sim, RKT_FAULT_HIDDEN_SYNC);
    uint64_t synced = (sync_count * i + count - 1) / count;

    launch(sim, RKT_SIM_NAME_FORWARD_KERNEL, kernel_ns(sim, i));
    for (; synced < sync_count && synced * count < sync_count * (i + 1); synced++)
        synchronize(sim);
    /* behind a wait: it is what shows then */
    sim->host_ns += share(fault_amount(sim, RKT_FAULT_LAUNCH_GAPS), i, count);
}

static void launch_backward(struct rkt_sim_rank *sim, uint32_t i)
{
    uint64_t slow_ns = fault_amount(sim, RKT_FAULT_SLOW_COMPUTE);

    launch(sim, RKT_SIM_NAME_BACKWARD_KERNEL,
           kernel_ns(sim, sim->scenario->forward_kernels + i) +
               share(slow_ns, i, sim->scenario->backward_kernels));
}

static void run_kernels(struct rkt_sim_rank *sim, const struct rkt_sim_op *op)
{
    for (uint32_t i = op->first; i < op->end; i++) {
        if (op->phase == RKT_SIM_PHASE_FORWARD)
            launch_forward(sim, i);
        else if (op->phase == RKT_SIM_PHASE_BACKWARD)
            launch_backward(sim, i - sim->scenario->forward_kernels);
        else
            launch(sim, RKT_SIM_NAME_OPTIMIZER_KERNEL, kernel_ns(sim, i));
    }
}

/* They take as long as tokens came. */
static void run_experts(struct rkt_sim_rank *sim, uint32_t turn)
{
    const struct rkt_scenario *scenario = sim->scenario;
    uint32_t first = scenario->forward_kernels + scenario->backward_kernels +
                     scenario->optimizer_kernels + turn * scenario->expert_kernels;
    uint64_t load_ppm = rkt_sim_load_ppm(scenario, sim->rank, sim->step, turn);

    for (uint32_t i = 0; i < scenario->expert_kernels; i++) {
        int64_t even_ns = kernel_ns(sim, first + i);

        launch(sim, RKT_SIM_NAME_EXPERT_KERNEL,
               (int64_t)((unsigned __int128)even_ns * load_ppm / 1000000));
    }
}

static void run_extra(struct rkt_sim_rank *sim)
{
    uint64_t extra_ns = fault_amount(sim, RKT_FAULT_EXTRA_WORK);

    if (extra_ns > 0)
        launch(sim, RKT_SIM_NAME_EXTRA_KERNEL, (int64_t)extra_ns);
}

/* NCCL's calls around one launch. The kernel itself comes when all ranks' ends are known. */
static void post(struct rkt_sim_rank *sim, uint32_t number)
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
        give_event(sim, rkt_sim_group_event(&call, RKT_NCCL_GROUP_API,
                                            (struct rkt_sim_span){at_ns, done_ns}));
    for (uint32_t i = 0; i < op_count; i++)
        give_event(sim,
                   rkt_sim_op_event(&call, i, true, (struct rkt_sim_span){at_ns, at_ns + CALL_NS}));
    sim->host_ns = launched_ns;
    give_call(sim, RKT_SIM_NAME_COMM_LAUNCH, called_ns);
    sim->comm_ids[number] = sim->correlation_id;
    sim->comm_phases[number] = sim->phase;
    sim->comm_calls[number] = (struct rkt_sim_span){called_ns, launched_ns};
    sim->host_ns = done_ns;
    give_event(sim, rkt_sim_group_event(
                        &call, RKT_NCCL_KERNEL_LAUNCH,
                        (struct rkt_sim_span){called_ns - CALL_NS, launched_ns + CALL_NS}));
    for (uint32_t i = 0; i < op_count; i++)
        give_event(sim, rkt_sim_op_event(&call, i, false,
                                         (struct rkt_sim_span){launched_ns + CALL_NS, done_ns}));
    sim->post_count++;
}

/* ---- meetings that have ended ---- */

static int64_t end_of(const struct rkt_sim_rank *sim, const struct rkt_sim_part *part)
{
    return sim->ends_ns[part->comm->first_meeting + part->index];
}

static void run_meetings(struct rkt_sim_rank *sim)
{
    uint32_t last_id = sim->correlation_id;

    for (uint32_t i = 0; i < sim->plan.part_count; i++) {
        const struct rkt_sim_part *part = &sim->plan.parts[i];
        bool is_reduced = part->lane == RKT_SIM_LANE_DATA || part->lane == RKT_SIM_LANE_TENSOR;
        enum rkt_sim_name name = is_reduced ? RKT_SIM_NAME_COMM_KERNEL : RKT_SIM_NAME_LINK_KERNEL;
        uint32_t stream_id = RKT_SIM_COMM_STREAM + (uint32_t)part->lane;
        int64_t *free_ns = &sim->lane_free_ns[part->lane];
        struct rkt_sim_span span = {later(sim->ready_ns[i], *free_ns), end_of(sim, part)};

        sim->correlation_id = sim->comm_ids[i];
        give_correlated(sim, rkt_sim_kernel_event(name, sim->rank, stream_id, span));
        *free_ns = span.end_ns;
        rkt_sim_log_add_work(&sim->log, (struct rkt_sim_log_work){.name = name,
                                                                  .phase = sim->comm_phases[i],
                                                                  .stream_id = stream_id,
                                                                  .run = span,
                                                                  .launch = sim->comm_calls[i]});
        sim->meetings[i] = (struct rkt_sim_meeting){
            .span = span,
            .release_ns =
                span.end_ns - rkt_sim_transfer_ns(sim->layout, part->comm, sim->step, part->index),
            .is_bucket = part->lane == RKT_SIM_LANE_DATA,
        };
    }
    sim->correlation_id = last_id;
    rkt_sim_account(&sim->log, sim->meetings, sim->plan.part_count, &sim->truth);
}

/* ---- steps ---- */

void rkt_sim_rank_begin_step(struct rkt_sim_rank *sim, uint32_t step, const int64_t *ends_ns)
{
    if (step == 0)
        sim->window_end_ns = sim->host_ns;
    sim->step = step;
    sim->ends_ns = ends_ns;
    sim->op = 0;
    sim->is_done = false;
    sim->phase = RKT_SIM_PHASE_INPUT;
    sim->post_count = sim->taken_count = 0;
    rkt_sim_log_reset(&sim->log);
    sim->step_start_ns = sim->host_ns;
    sim->truth = (struct rkt_sim_step){.window_start_ns = sim->window_end_ns};
}

/* The range of the phase that ends here. Input has given its own, which is shorter. */
static void enter_phase(struct rkt_sim_rank *sim, enum rkt_sim_phase phase)
{
    static const enum rkt_range_type TYPES[] = {
        [RKT_SIM_PHASE_FORWARD] = RKT_RANGE_FORWARD,
        [RKT_SIM_PHASE_BACKWARD] = RKT_RANGE_BACKWARD,
        [RKT_SIM_PHASE_OPTIMIZER] = RKT_RANGE_OPTIMIZER,
    };

    if (sim->phase != RKT_SIM_PHASE_INPUT)
        give_range(sim, TYPES[sim->phase], sim->phase_start_ns, 0);
    sim->phase = phase;
    sim->phase_start_ns = sim->host_ns;
}

/* False: the end of what it joins is not known yet. */
static bool run_op(struct rkt_sim_rank *sim, const struct rkt_sim_op *op)
{
    int64_t end_ns;

    if (op->phase != sim->phase)
        enter_phase(sim, op->phase);
    switch (op->kind) {
    case RKT_SIM_OP_INPUT:
        run_input(sim);
        break;
    case RKT_SIM_OP_KERNELS:
        run_kernels(sim, op);
        break;
    case RKT_SIM_OP_EXPERTS:
        run_experts(sim, op->first);
        break;
    case RKT_SIM_OP_EXTRA:
        run_extra(sim);
        break;
    case RKT_SIM_OP_POST:
        post(sim, op->first);
        break;
    case RKT_SIM_OP_JOIN:
        end_ns = end_of(sim, &sim->plan.parts[op->first]);
        if (end_ns == RKT_SIM_UNKNOWN_NS)
            return false;
        sim->stream_free_ns = later(sim->stream_free_ns, end_ns);
        break;
    case RKT_SIM_OP_MEETINGS:
        run_meetings(sim);
        break;
    }
    return true;
}

static void end_step(struct rkt_sim_rank *sim)
{
    enter_phase(sim, RKT_SIM_PHASE_INPUT);
    give_range(sim, RKT_RANGE_STEP, sim->step_start_ns, sim->step);
    read_gpu(sim);
    sim->window_end_ns = sim->truth.window_end_ns = sim->stream_free_ns;
    rkt_sim_idle_sum(&sim->log, sim->truth.window_start_ns, sim->truth.idle_ns);
    sim->is_done = true;
}

enum rkt_status rkt_sim_rank_advance(struct rkt_sim_rank *sim, bool *is_done_out,
                                     struct rkt_error *err)
{
    while (sim->op < sim->plan.op_count && run_op(sim, &sim->plan.ops[sim->op]))
        sim->op++;
    if (sim->op == sim->plan.op_count &&
        !sim->is_done) /* of ranks that meet, some are done before others */
        end_step(sim);
    *is_done_out = sim->is_done;
    if (sim->log.has_failed)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for what rank %u does", sim->rank);
    if (sim->status != RKT_OK && err)
        *err = sim->err;
    return sim->status;
}

const struct rkt_sim_part *rkt_sim_rank_take_post(struct rkt_sim_rank *sim, int64_t *ready_ns_out)
{
    if (sim->taken_count == sim->post_count)
        return NULL;
    *ready_ns_out = sim->ready_ns[sim->taken_count];
    return &sim->plan.parts[sim->taken_count++];
}

const struct rkt_sim_step *rkt_sim_rank_truth(const struct rkt_sim_rank *sim)
{
    return &sim->truth;
}

const struct rkt_sim_log *rkt_sim_rank_log(const struct rkt_sim_rank *sim)
{
    return &sim->log;
}

/* ---- life ---- */

/* What a rank tells of itself before its first step. */
static void give_names(struct rkt_sim_rank *sim)
{
    struct rkt_event event =
        rkt_sim_thread_name_event(RKT_SIM_AUTOGRAD_THREAD, RKT_SIM_NAME_AUTOGRAD, START_NS);

    give(sim, &event);
    event = rkt_sim_thread_name_event(RKT_SIM_MAIN_THREAD, RKT_SIM_NAME_MAIN, START_NS);
    give(sim, &event);
    for (uint32_t i = 0; i < sim->plan.part_count; i++) {
        if (sim->plan.parts[i].index > 0)
            continue; /* each communicator once */
        event = rkt_sim_comm_event(&sim->plan.parts[i], sim->scenario, START_NS);
        give(sim, &event);
    }
}

static bool allocate(struct rkt_sim_rank *sim)
{
    const struct rkt_scenario *scenario = sim->scenario;
    size_t part_count = (size_t)sim->plan.part_count + 1;

    sim->pending_ns = calloc(scenario->queue_kernels, sizeof(*sim->pending_ns));
    sim->ready_ns = calloc(part_count, sizeof(*sim->ready_ns));
    sim->comm_ids = calloc(part_count, sizeof(*sim->comm_ids));
    sim->comm_calls = calloc(part_count, sizeof(*sim->comm_calls));
    sim->comm_phases = calloc(part_count, sizeof(*sim->comm_phases));
    sim->meetings = calloc(part_count, sizeof(*sim->meetings));
    return sim->pending_ns && sim->ready_ns && sim->comm_ids && sim->comm_calls &&
           sim->comm_phases && sim->meetings;
}

enum rkt_status rkt_sim_rank_create(const struct rkt_sim_layout *layout, uint32_t rank,
                                    rkt_sim_event_fn fn, void *ctx, struct rkt_sim_rank **rank_out,
                                    struct rkt_error *err)
{
    struct rkt_sim_rank *sim = calloc(1, sizeof(*sim));
    enum rkt_status status = RKT_OK;

    if (!sim)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for rank %u", rank);
    sim->layout = layout;
    sim->scenario = layout->scenario;
    sim->rank = rank;
    sim->fn = fn;
    sim->ctx = ctx;
    sim->host_ns = sim->stream_free_ns = sim->read_ns = START_NS;
    status = rkt_sim_plan_init(&sim->plan, layout, rank, err);
    if (status == RKT_OK && !allocate(sim))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for rank %u", rank);
    if (status != RKT_OK) {
        rkt_sim_rank_destroy(sim);
        return status;
    }
    give_names(sim);
    *rank_out = sim;
    return RKT_OK;
}

void rkt_sim_rank_destroy(struct rkt_sim_rank *sim)
{
    if (!sim)
        return;
    rkt_sim_plan_release(&sim->plan);
    free(sim->pending_ns);
    free(sim->ready_ns);
    free(sim->comm_ids);
    free(sim->comm_calls);
    free(sim->comm_phases);
    rkt_sim_log_release(&sim->log);
    free(sim->meetings);
    free(sim);
}
