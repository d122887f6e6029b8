/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/simulate/sim_rank_parts.h"

#define WEIGHTS 8u                   /* of a kernel's results in memory, all along */
#define START_NS INT64_C(1000000000) /* of the job, in job time */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
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
        rkt_sim_give_correlated(sim, rkt_sim_kernel_event(name, sim->rank, stream_id, span));
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
        rkt_sim_give_range(sim, TYPES[sim->phase], sim->phase_start_ns, 0);
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
        rkt_sim_run_input(sim);
        break;
    case RKT_SIM_OP_KERNELS:
        rkt_sim_run_kernels(sim, op);
        break;
    case RKT_SIM_OP_EXPERTS:
        rkt_sim_run_experts(sim, op->first);
        break;
    case RKT_SIM_OP_EXTRA:
        rkt_sim_run_extra(sim);
        break;
    case RKT_SIM_OP_POST:
        rkt_sim_post(sim, op->first);
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
    rkt_sim_give_range(sim, RKT_RANGE_STEP, sim->step_start_ns, sim->step);
    rkt_sim_read_gpu(sim);
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

    rkt_sim_give(sim, &event);
    event = rkt_sim_thread_name_event(RKT_SIM_MAIN_THREAD, RKT_SIM_NAME_MAIN, START_NS);
    rkt_sim_give(sim, &event);
    for (uint32_t i = 0; i < sim->plan.part_count; i++) {
        if (sim->plan.parts[i].index > 0)
            continue; /* each communicator once */
        event = rkt_sim_comm_event(&sim->plan.parts[i], sim->scenario, START_NS);
        rkt_sim_give(sim, &event);
    }
    for (uint32_t id = 1; id <= rkt_sim_shape_count(sim->scenario); id++)
        rkt_sim_give_event(sim, rkt_sim_shape_event(sim->scenario, id, START_NS));
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
    sim->allocated_bytes = WEIGHTS * sim->scenario->allocator_bytes;
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
