/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_layout.h"

#include <stdlib.h>

#include "analysis/simulate/sim_clock.h"

#define COMM_ID UINT64_C(0x5eed0001)
#define S_NS UINT64_C(1000000000)
#define PPM UINT64_C(1000000)
#define LOAD_KEY UINT64_C(0x6c6f616400000000)
#define TOKEN_BYTES 4 /* of what counts one */

/* Communicators of a kind, numbered within it: that of a rank, and its first member. */
struct shape {
    uint32_t count;
    uint32_t stride;
    uint32_t rank_count;
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
                              scenario->tensor_ranks, copies(scenario), scenario->bucket_bytes};
    case RKT_SIM_COMM_TENSOR:
        return (struct shape){
            scenario->tensor_ranks > 1 ? scenario->rank_count / scenario->tensor_ranks : 0, 1,
            scenario->tensor_ranks, scenario->tensor_bytes};
    case RKT_SIM_COMM_EXPERT:
        return (struct shape){
            scenario->expert_ranks > 1 ? scenario->rank_count / scenario->expert_ranks : 0,
            scenario->tensor_ranks, scenario->expert_ranks, scenario->expert_bytes};
    case RKT_SIM_COMM_LINK:
    case RKT_SIM_COMM_KIND_COUNT:
        break;
    }
    return (struct shape){(scenario->stage_count - 1) * stage_ranks, stage_ranks, 2,
                          scenario->stage_bytes};
}

/* Of a link in 1F1B, what fills the pipeline and empties it goes alone; the rest goes both ways at
 * once (sim_plan). */
static uint32_t meeting_count(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind,
                              uint32_t number)
{
    uint32_t stage = number / (scenario->rank_count / scenario->stage_count);

    switch (kind) {
    case RKT_SIM_COMM_DATA:
        return scenario->bucket_count;
    case RKT_SIM_COMM_TENSOR:
        return 2 * scenario->tensor_collectives * scenario->micro_batches;
    case RKT_SIM_COMM_EXPERT:
        return 4 * scenario->expert_layers * scenario->micro_batches;
    case RKT_SIM_COMM_LINK:
    case RKT_SIM_COMM_KIND_COUNT:
        break;
    }
    return scenario->micro_batches +
           (scenario->has_1f1b ? rkt_sim_ahead(scenario, stage) : scenario->micro_batches);
}

/* Those of slices are blocks of `rank_count` slices of each stage; experts' blocks are smaller. */
static uint32_t first_rank(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind,
                           const struct shape *shape, uint32_t number)
{
    if (kind == RKT_SIM_COMM_DATA || kind == RKT_SIM_COMM_EXPERT)
        return number / scenario->tensor_ranks * shape->rank_count * scenario->tensor_ranks +
               number % scenario->tensor_ranks;
    return kind == RKT_SIM_COMM_TENSOR ? number * scenario->tensor_ranks : number;
}

/* A ring moves 2 (n - 1) / n of an AllReduce's bytes, an AllToAll what is not a rank's own, a send
 * all. */
static int64_t transfer_ns(const struct rkt_scenario *scenario, enum rkt_sim_comm_kind kind,
                           uint64_t n, uint64_t all_bytes)
{
    unsigned __int128 bytes = all_bytes;

    if (kind != RKT_SIM_COMM_LINK)
        bytes = bytes * (kind == RKT_SIM_COMM_EXPERT ? 1 : 2) * (n - 1) / n;
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
            .first_rank = first_rank(scenario, kind, &shape, i),
            .stride = shape.stride,
            .rank_count = shape.rank_count,
            .meeting_count = meeting_count(scenario, kind, i),
            .first_meeting = layout->meeting_count,
            .first_place = layout->place_count,
            .bytes = shape.bytes,
            .transfer_ns = transfer_ns(scenario, kind, shape.rank_count, shape.bytes),
        };
        layout->meeting_count += layout->comms[layout->comm_count].meeting_count;
        layout->place_count +=
            (size_t)layout->comms[layout->comm_count].meeting_count * shape.rank_count;
        layout->comm_count++;
    }
}

enum rkt_status rkt_sim_layout_init(struct rkt_sim_layout *layout,
                                    const struct rkt_scenario *scenario, struct rkt_error *err)
{
    size_t count = 0;

    for (int kind = 0; kind < RKT_SIM_COMM_KIND_COUNT; kind++)
        count += shape_of(scenario, (enum rkt_sim_comm_kind)kind).count;
    *layout = (struct rkt_sim_layout){.scenario = scenario};
    layout->comms = calloc(count, sizeof(*layout->comms));
    if (!layout->comms)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu communicators", count);
    for (int kind = 0; kind < RKT_SIM_COMM_KIND_COUNT; kind++)
        add_comms(layout, (enum rkt_sim_comm_kind)kind);
    return RKT_OK;
}

const char *rkt_sim_comm_kind_name(enum rkt_sim_comm_kind kind)
{
    static const char *const NAMES[] = {
        [RKT_SIM_COMM_DATA] = "data",
        [RKT_SIM_COMM_TENSOR] = "tensor",
        [RKT_SIM_COMM_LINK] = "link",
        [RKT_SIM_COMM_EXPERT] = "expert",
    };

    return NAMES[kind];
}

void rkt_sim_layout_release(struct rkt_sim_layout *layout)
{
    free(layout->comms);
    *layout = (struct rkt_sim_layout){0};
}

/* ---- experts ---- */

uint64_t rkt_sim_load_ppm(const struct rkt_scenario *scenario, uint32_t rank, uint32_t step,
                          uint32_t turn)
{
    uint64_t key = LOAD_KEY ^ (uint64_t)(rank + 1) << 42 ^ (uint64_t)step << 21 ^ turn;
    uint64_t spread_ppm = scenario->expert_spread_ppm;
    uint64_t load_ppm = PPM - spread_ppm + rkt_sim_draw(scenario, key, 2 * spread_ppm + 1);

    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];

        if (fault->kind == RKT_FAULT_HOT_EXPERT && rkt_fault_applies(fault, rank, step))
            load_ppm += fault->amount;
    }
    return load_ppm;
}

uint64_t rkt_sim_token_count(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                             uint32_t member, uint32_t step, uint32_t turn)
{
    uint32_t rank = rkt_sim_comm_rank(comm, member);
    unsigned __int128 bytes = comm->bytes / comm->rank_count;

    return (uint64_t)(bytes * rkt_sim_load_ppm(layout->scenario, rank, step, turn) / PPM) /
           TOKEN_BYTES;
}

/* ---- meetings ---- */

uint64_t rkt_sim_bytes(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                       uint32_t step, uint32_t index)
{
    uint64_t most = 0;

    if (comm->kind != RKT_SIM_COMM_EXPERT)
        return comm->bytes;
    for (uint32_t i = 0; i < comm->rank_count; i++) {
        uint64_t count = rkt_sim_token_count(layout, comm, i, step, index / 2);

        most = count > most ? count : most;
    }
    return most * TOKEN_BYTES * comm->rank_count;
}

/* A slow link is between the fault's ranks: of communicators that have no others. */
int64_t rkt_sim_transfer_ns(const struct rkt_sim_layout *layout, const struct rkt_sim_comm *comm,
                            uint32_t step, uint32_t index)
{
    const struct rkt_scenario *scenario = layout->scenario;
    uint32_t last_rank = rkt_sim_comm_rank(comm, comm->rank_count - 1);
    int64_t time_ns = comm->transfer_ns;

    if (comm->kind == RKT_SIM_COMM_EXPERT)
        time_ns = transfer_ns(scenario, comm->kind, comm->rank_count,
                              rkt_sim_bytes(layout, comm, step, index));
    for (size_t i = 0; i < scenario->fault_count; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];

        if (fault->kind == RKT_FAULT_SLOW_LINK &&
            rkt_fault_applies(fault, comm->first_rank, step) &&
            rkt_fault_applies(fault, last_rank, step))
            time_ns += (int64_t)fault->amount;
    }
    return time_ns;
}
