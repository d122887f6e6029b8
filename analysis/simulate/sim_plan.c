/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_plan.h"

#include <stdlib.h>

#define NO_PART UINT32_MAX

struct planner {
    const struct rkt_scenario *scenario;
    struct rkt_sim_plan *plan;
    const struct rkt_sim_comm *comms[RKT_SIM_LANE_COUNT]; /* NULL: has none */
    uint32_t members[RKT_SIM_LANE_COUNT];
    uint32_t posted[RKT_SIM_LANE_COUNT];
};

/* Where piece `i` of [first, end) begins, of `count`. */
static uint32_t piece_begin(uint32_t first, uint32_t end, uint32_t i, uint32_t count)
{
    return first + (uint32_t)((uint64_t)(end - first) * i / count);
}

static void add_op(struct planner *planner, enum rkt_sim_op_kind kind, enum rkt_sim_phase phase,
                   uint32_t first, uint32_t end)
{
    planner->plan->ops[planner->plan->op_count++] = (struct rkt_sim_op){kind, phase, first, end};
}

/* Returns the part's number; NO_PART where the rank has no such lane. */
static uint32_t add_post(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane,
                         bool gives, bool takes)
{
    uint32_t number = planner->plan->part_count;

    if (!planner->comms[lane])
        return NO_PART;
    planner->plan->parts[planner->plan->part_count++] = (struct rkt_sim_part){
        .comm = planner->comms[lane],
        .index = planner->posted[lane]++,
        .member = planner->members[lane],
        .lane = lane,
        .gives = gives,
        .takes = takes,
    };
    add_op(planner, RKT_SIM_OP_POST, phase, number, 0);
    return number;
}

static void add_join(struct planner *planner, enum rkt_sim_phase phase, uint32_t number)
{
    if (number != NO_PART)
        add_op(planner, RKT_SIM_OP_JOIN, phase, number, 0);
}

static void add_collective(struct planner *planner, enum rkt_sim_phase phase,
                           enum rkt_sim_lane lane)
{
    add_join(planner, phase, add_post(planner, phase, lane, true, true));
}

static void add_receive(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane)
{
    add_join(planner, phase, add_post(planner, phase, lane, false, true));
}

static void add_send(struct planner *planner, enum rkt_sim_phase phase, enum rkt_sim_lane lane)
{
    (void)add_post(planner, phase, lane, true, false);
}

/* ---- kernels ---- */

/* What comes between kernels [first, end), `count` times: behind each piece of them, or before. */
struct rhythm {
    uint32_t first;
    uint32_t end;
    uint32_t count;
    bool is_before;
    uint32_t done;
};

/* Whether it is due where kernel `at` comes next. */
static bool is_due(struct rhythm *rhythm, uint32_t at)
{
    uint32_t pieces = rhythm->done + (rhythm->is_before ? 0 : 1);

    if (rhythm->done == rhythm->count ||
        at != piece_begin(rhythm->first, rhythm->end, pieces, rhythm->count))
        return false;
    rhythm->done++;
    return true;
}

static void add_experts(struct planner *planner, enum rkt_sim_phase phase)
{
    uint32_t turn = planner->posted[RKT_SIM_LANE_EXPERT] / 2;

    add_collective(planner, phase, RKT_SIM_LANE_EXPERT);
    add_op(planner, RKT_SIM_OP_EXPERTS, phase, turn, 0);
    add_collective(planner, phase, RKT_SIM_LANE_EXPERT);
}

/* Kernels [first, end) of a phase, with what slices and experts share, and the buckets. */
static void add_kernels(struct planner *planner, enum rkt_sim_phase phase, uint32_t first,
                        uint32_t end, uint32_t bucket_count)
{
    const struct rkt_scenario *scenario = planner->scenario;
    bool has_slices = planner->comms[RKT_SIM_LANE_TENSOR] != NULL;
    bool has_experts = planner->comms[RKT_SIM_LANE_EXPERT] != NULL;
    struct rhythm slices = {first, end, has_slices ? scenario->tensor_collectives : 0, false, 0};
    struct rhythm buckets = {first, end, bucket_count, false, 0};
    struct rhythm experts = {first, end, has_experts ? scenario->expert_layers : 0,
                             phase == RKT_SIM_PHASE_BACKWARD, 0};
    uint32_t done = first;

    for (uint32_t at = first; at <= end; at++) {
        bool is_slices = is_due(&slices, at);
        bool is_bucket = is_due(&buckets, at);
        bool is_experts = is_due(&experts, at);

        if (at > done && (is_slices || is_bucket || is_experts || at == end)) {
            add_op(planner, RKT_SIM_OP_KERNELS, phase, done, at);
            done = at;
        }
        if (is_slices)
            add_collective(planner, phase, RKT_SIM_LANE_TENSOR);
        if (is_bucket)
            (void)add_post(planner, phase, RKT_SIM_LANE_DATA, true, true);
        if (is_experts)
            add_experts(planner, phase);
    }
}

static void add_forward_kernels(struct planner *planner, uint32_t micro_batch)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t count = scenario->micro_batches;

    add_kernels(planner, RKT_SIM_PHASE_FORWARD,
                piece_begin(0, scenario->forward_kernels, micro_batch, count),
                piece_begin(0, scenario->forward_kernels, micro_batch + 1, count), 0);
}

/* Gradients are summed over micro-batches first: the last one's backward has the buckets. */
static void add_backward_kernels(struct planner *planner, uint32_t micro_batch)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t count = scenario->micro_batches;
    uint32_t first = scenario->forward_kernels;
    uint32_t end = first + scenario->backward_kernels;
    bool has_buckets = scenario->has_overlap && micro_batch + 1 == count;

    add_kernels(planner, RKT_SIM_PHASE_BACKWARD, piece_begin(first, end, micro_batch, count),
                piece_begin(first, end, micro_batch + 1, count),
                has_buckets ? scenario->bucket_count : 0);
}

/* What faults add to forward comes behind its last micro-batch. */
static void add_extra(struct planner *planner, uint32_t micro_batch)
{
    if (micro_batch + 1 == planner->scenario->micro_batches)
        add_op(planner, RKT_SIM_OP_EXTRA, RKT_SIM_PHASE_FORWARD, 0, 0);
}

/* ---- schedules ---- */

/* Forwards [0, end), each received and sent on. */
static void add_forwards(struct planner *planner, uint32_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        add_receive(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_PREVIOUS);
        add_forward_kernels(planner, i);
        add_send(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_NEXT);
        add_extra(planner, i);
    }
}

static void add_backwards(struct planner *planner, uint32_t begin)
{
    for (uint32_t i = begin; i < planner->scenario->micro_batches; i++) {
        add_receive(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_NEXT);
        add_backward_kernels(planner, i);
        add_send(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_PREVIOUS);
    }
}

/* A forward, then the backward that is `ahead` before it; what goes to a neighbour and what comes
 * from it for the next are exchanged. */
static void add_pairs(struct planner *planner, uint32_t ahead)
{
    uint32_t count = planner->scenario->micro_batches;

    for (uint32_t i = ahead; i < count; i++) {
        uint32_t exchange;

        if (i == ahead)
            add_receive(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_PREVIOUS);
        add_forward_kernels(planner, i);
        exchange = add_post(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_NEXT, true, true);
        add_extra(planner, i);
        add_join(planner, RKT_SIM_PHASE_FORWARD, exchange);
        add_backward_kernels(planner, i - ahead);
        if (i + 1 == count)
            add_send(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_PREVIOUS);
        else
            add_collective(planner, RKT_SIM_PHASE_FORWARD, RKT_SIM_LANE_PREVIOUS);
    }
}

static void add_step(struct planner *planner, uint32_t stage)
{
    const struct rkt_scenario *scenario = planner->scenario;
    uint32_t first = scenario->forward_kernels + scenario->backward_kernels;
    uint32_t ahead = scenario->has_1f1b ? rkt_sim_ahead(scenario, stage) : scenario->micro_batches;

    add_op(planner, RKT_SIM_OP_INPUT, RKT_SIM_PHASE_INPUT, 0, 0);
    add_forwards(planner, ahead);
    add_pairs(planner, ahead);
    add_backwards(planner, scenario->micro_batches - ahead);
    while (planner->posted[RKT_SIM_LANE_DATA] < scenario->bucket_count)
        (void)add_post(planner, RKT_SIM_PHASE_BACKWARD, RKT_SIM_LANE_DATA, true, true);
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
        else if (comm->kind == RKT_SIM_COMM_EXPERT)
            lane = RKT_SIM_LANE_EXPERT;
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
    /* kernels end where a part is posted, or with a micro-batch; a part is posted and joined twice
     * at most, and stands before experts */
    piece_count = part_count + 2 * (size_t)layout->scenario->micro_batches;
    plan->parts = calloc(part_count + 1, sizeof(*plan->parts));
    plan->ops = calloc(piece_count + 4 * part_count + 4, sizeof(*plan->ops));
    if (!plan->parts || !plan->ops) {
        rkt_sim_plan_release(plan);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the plan of rank %u", rank);
    }
    add_step(&planner, rank / (layout->scenario->rank_count / layout->scenario->stage_count));
    return RKT_OK;
}

void rkt_sim_plan_release(struct rkt_sim_plan *plan)
{
    free(plan->ops);
    free(plan->parts);
    *plan = (struct rkt_sim_plan){0};
}
