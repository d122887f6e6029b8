/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_layout.h"

#include <stdlib.h>

#define COMM_ID UINT64_C(0x5eed0001)
#define S_NS UINT64_C(1000000000)

/* Communicators of a kind, numbered within it: that of a rank, and its first member. */
struct shape {
    uint32_t count;
    uint32_t stride;
    uint32_t rank_count;
    uint32_t meeting_count;
    uint64_t bytes;
};

static uint32_t copies(const struct rkt_scenario *scenario)
{
    return scenario->rank_count / (scenario->tensor_ranks * scenario->stage_count);
}

static struct shape shape_of(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind)
{
    uint32_t stage_ranks = scenario->rank_count / scenario->stage_count;

    switch (kind) {
    case RKT_SIM_COMM_DATA:
        return (struct shape){scenario->stage_count * scenario->tensor_ranks,
                              scenario->tensor_ranks, copies(scenario), scenario->bucket_count,
                              scenario->bucket_bytes};
    case RKT_SIM_COMM_TENSOR:
        return (struct shape){
            scenario->tensor_ranks > 1 ? scenario->rank_count / scenario->tensor_ranks : 0, 1,
            scenario->tensor_ranks, 2 * scenario->tensor_collectives * scenario->micro_batches,
            scenario->tensor_bytes};
    case RKT_SIM_COMM_LINK:
        break;
    }
    return (struct shape){(scenario->stage_count - 1) * stage_ranks, stage_ranks, 2,
                          2 * scenario->micro_batches, scenario->stage_bytes};
}

static uint32_t first_rank(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind,
                           uint32_t number)
{
    if (kind == RKT_SIM_COMM_DATA)
        return number / scenario->tensor_ranks * copies(scenario) * scenario->tensor_ranks +
               number % scenario->tensor_ranks;
    return kind == RKT_SIM_COMM_TENSOR ? number * scenario->tensor_ranks : number;
}

/* A ring moves 2 (n - 1) / n of an AllReduce's bytes, a send all. */
static int64_t transfer_ns(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind,
                           const struct shape *shape)
{
    uint64_t n = shape->rank_count;
    unsigned __int128 bytes = shape->bytes;

    if (kind != RKT_SIM_COMM_LINK)
        bytes = bytes * 2 * (n - 1) / n;
    return (int64_t)(scenario->collective_ns + (uint64_t)(bytes * S_NS / scenario->bytes_per_s));
}

static void add_comms(struct rkt_sim_layout *layout, enum rkt_sim_comm_kind kind)
{
    const struct rkt_scenario *scenario = layout->scenario;
    struct shape shape = shape_of(scenario, kind);

    for (uint32_t i = 0; i < shape.count; i++) {
        layout->comms[layout->comm_count] = (struct rkt_sim_comm){
            .kind = kind,
            .id = COMM_ID + layout->comm_count,
            .first_rank = first_rank(scenario, kind, i),
            .stride = shape.stride,
            .rank_count = shape.rank_count,
            .meeting_count = shape.meeting_count,
            .first_meeting = layout->meeting_count,
            .first_place = layout->place_count,
            .bytes = shape.bytes,
            .transfer_ns = transfer_ns(scenario, kind, &shape),
        };
        layout->comm_count++;
        layout->meeting_count += shape.meeting_count;
        layout->place_count += (size_t)shape.meeting_count * shape.rank_count;
    }
}

enum rkt_status rkt_sim_layout_init(struct rkt_sim_layout *layout,
                                    const struct rkt_scenario *scenario, struct rkt_error *err)
{
    size_t count = (size_t)shape_of(scenario, RKT_SIM_COMM_DATA).count +
                   shape_of(scenario, RKT_SIM_COMM_TENSOR).count +
                   shape_of(scenario, RKT_SIM_COMM_LINK).count;

    *layout = (struct rkt_sim_layout){.scenario = scenario};
    layout->comms = calloc(count, sizeof(*layout->comms));
    if (!layout->comms)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu communicators", count);
    add_comms(layout, RKT_SIM_COMM_DATA);
    add_comms(layout, RKT_SIM_COMM_TENSOR);
    add_comms(layout, RKT_SIM_COMM_LINK);
    return RKT_OK;
}

const char *rkt_sim_comm_kind_name(enum rkt_sim_comm_kind kind)
{
    static const char *const NAMES[] = {
        [RKT_SIM_COMM_DATA] = "data",
        [RKT_SIM_COMM_TENSOR] = "tensor",
        [RKT_SIM_COMM_LINK] = "link",
    };

    return NAMES[kind];
}

void rkt_sim_layout_release(struct rkt_sim_layout *layout)
{
    free(layout->comms);
    *layout = (struct rkt_sim_layout){0};
}

/* A slow link is between the fault's ranks: of communicators that have no others. */
int64_t rkt_sim_transfer_ns(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                            uint32_t step)
{
    const struct rkt_scenario *scenario = layout->scenario;
    uint32_t last_rank = rkt_sim_comm_rank(comm, comm->rank_count - 1);
    int64_t time_ns = comm->transfer_ns;

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];

        if (fault->kind == RKT_FAULT_SLOW_LINK &&
            rkt_fault_applies(fault, comm->first_rank, step) &&
            rkt_fault_applies(fault, last_rank, step))
            time_ns += (int64_t)fault->amount;
    }
    return time_ns;
}

/* ---- plans ---- */

struct planner {
    const struct rkt_scenario *scenario;
    struct rkt_sim_plan *plan;
    const struct rkt_sim_comm *comms[RKT_SIM_LANE_COUNT]; /* NULL: has none */
    uint32_t members[RKT_SIM_LANE_COUNT];
    uint32_t posted[RKT_SIM_LANE_COUNT];
};

static void add_op(struct planner *planner, enum rkt_sim_op_kind kind, enum rkt_sim_phase phase,
                   uint32_t first, uint32_t end)
{
    planner->plan->ops[planner->plan->op_count++] = (struct rkt_sim_op){kind, phase, first, end};
}

/* Returns the part's number. */
static uint32_t add_post(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane,
                         bool is_send)
{
    uint32_t number = planner->plan->part_count++;

    planner->plan->parts[number] = (struct rkt_sim_part){
        .comm = planner->comms[lane],
        .index = planner->posted[lane]++,
        .member = planner->members[lane],
        .lane = lane,
        .is_send = is_send,
    };
    add_op(planner, RKT_SIM_OP_POST, phase, number, 0);
    return number;
}

static void add_blocking(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane)
{
    if (planner->comms[lane])
        add_op(planner, RKT_SIM_OP_JOIN, phase, add_post(planner, phase, lane, false), 0);
}

static void add_send(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane)
{
    if (planner->comms[lane])
        (void)add_post(planner, phase, lane, true);
}

/* Where piece i of [first, end) ends, of `count`. */
static uint32_t piece_end(uint32_t first, uint32_t end, uint32_t i, uint32_t count)
{
    return first + (uint32_t)((uint64_t)(end - first) * (i + 1) / count);
}

/* Kernels [first, end) of a phase, with what the slices share after each piece, and the buckets. */
static void add_kernels(struct planner *planner, enum rkt_sim_phase phase, uint32_t first,
                        uint32_t end, uint32_t bucket_count)
{
    uint32_t pieces =
        planner->comms[RKT_SIM_LANE_TENSOR] ? planner->scenario->tensor_collectives : 0;
    uint32_t piece = 0, bucket = 0, done = first;

    for (uint32_t i = first; i < end; i++) {
        bool ends_piece = piece < pieces && piece_end(first, end, piece, pieces) == i + 1;
        bool ends_bucket =
            bucket < bucket_count && piece_end(first, end, bucket, bucket_count) == i + 1;

        if (!ends_piece && !ends_bucket && i + 1 < end)
            continue;
        add_op(planner, RKT_SIM_OP_KERNELS, phase, done, i + 1);
        done = i + 1;
        if (ends_piece) {
            add_blocking(planner, phase, RKT_SIM_LANE_TENSOR);
            piece++;
        }
        if (ends_bucket) {
            (void)add_post(planner, phase, RKT_SIM_LANE_DATA, false);
            bucket++;
        }
    }
}

static void add_forward(struct planner *planner)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t begin = 0;

    for (uint32_t i = 0; i < scenario->micro_batches; i++) {
        uint32_t end = piece_end(0, scenario->forward_kernels, i, scenario->micro_batches);

        add_blocking(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_PREVIOUS);
        add_kernels(planner, RKT_SIM_PHASE_FORWARD, begin, end, 0);
        add_send(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_NEXT);
        begin = end;
    }
    add_op(planner, RKT_SIM_OP_EXTRA, RKT_SIM_PHASE_FORWARD, 0, 0);
}

/* Gradients are summed over micro-batches first: the last one's backward has the buckets. */
static void add_backward(struct planner *planner)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t first = scenario->forward_kernels;
    uint32_t last = first + scenario->backward_kernels;
    uint32_t begin = first;

    for (uint32_t i = 0; i < scenario->micro_batches; i++) {
        uint32_t end = piece_end(first, last, i, scenario->micro_batches);
        bool has_buckets = scenario->has_overlap && i + 1 == scenario->micro_batches;

        add_blocking(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_NEXT);
        add_kernels(planner, RKT_SIM_PHASE_BACKWARD, begin, end,
                    has_buckets ? scenario->bucket_count : 0);
        add_send(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_PREVIOUS);
        begin = end;
    }
    while (planner->posted[RKT_SIM_LANE_DATA] < scenario->bucket_count)
        (void)add_post(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_DATA, false);
}

static void add_step(struct planner *planner)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t first = scenario->forward_kernels + scenario->backward_kernels;

    add_op(planner, RKT_SIM_OP_INPUT, RKT_SIM_PHASE_INPUT, 0, 0);
    add_forward(planner);
    add_backward(planner);
    for (uint32_t i = 0; i < planner->plan->part_count; i++)
        add_op(planner, RKT_SIM_OP_JOIN, RKT_SIM_PHASE_OPTIMIZER, i, 0);
    add_op(planner, RKT_SIM_OP_MEETINGS, RKT_SIM_PHASE_OPTIMIZER, 0, 0);
    add_op(planner, RKT_SIM_OP_KERNELS, RKT_SIM_PHASE_OPTIMIZER, first,
           first + scenario->optimizer_kernels);
}

static void find_comms(struct planner *planner, const struct rkt_sim_layout *layout, uint32_t rank)
{
    for (uint32_t i = 0; i < layout->comm_count; i++) {
        const struct rkt_sim_comm *comm = &layout->comms[i];
        uint32_t distance = rank - comm->first_rank;
        uint32_t member = distance / comm->stride;
        enum rkt_sim_lane lane = RKT_SIM_LANE_DATA;

        if (rank < comm->first_rank || distance % comm->stride != 0 || member >= comm->rank_count)
            continue;
        if (comm->kind == RKT_SIM_COMM_TENSOR)
            lane = RKT_SIM_LANE_TENSOR;
        else if (comm->kind == RKT_SIM_COMM_LINK)
            lane = member == 0 ? RKT_SIM_LANE_NEXT : RKT_SIM_LANE_PREVIOUS;
        planner->comms[lane] = comm;
        planner->members[lane] = member;
    }
}

enum rkt_status rkt_sim_plan_init(struct rkt_sim_plan *plan, const struct rkt_sim_layout *layout,
                                  uint32_t rank, struct rkt_error *err)
{
    struct planner planner = {.scenario = layout->scenario, .plan = plan};
    size_t part_count = 0;
    size_t piece_count;

    *plan = (struct rkt_sim_plan){0};
    find_comms(&planner, layout, rank);
    for (int lane = 0; lane < RKT_SIM_LANE_COUNT; lane++)
        part_count += planner.comms[lane] ? planner.comms[lane]->meeting_count : 0;
    /* kernels end where a part is posted, or with a micro-batch */
    piece_count = part_count + 2 * (size_t)layout->scenario->micro_batches;
    plan->parts = calloc(part_count + 1, sizeof(*plan->parts));
    plan->ops = calloc(piece_count + 3 * part_count + 4, sizeof(*plan->ops));
    if (!plan->parts || !plan->ops) {
        rkt_sim_plan_release(plan);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the plan of rank %u", rank);
    }
    add_step(&planner);
    return RKT_OK;
}

void rkt_sim_plan_release(struct rkt_sim_plan *plan)
{
    free(plan->ops);
    free(plan->parts);
    *plan = (struct rkt_sim_plan){0};
}
