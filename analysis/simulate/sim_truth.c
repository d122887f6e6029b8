/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_truth.h"

#include "analysis/simulate/sim_clock.h"
#include "common/json_writer.h"

/* How long the run would be without fault `left_out`; without any where that is fault_count. */
static enum rkt_status length_without(const struct rkt_scenario *scenario, size_t left_out,
                                      int64_t *length_ns_out, struct rkt_error *err)
{
    struct rkt_scenario other = *scenario;
    struct rkt_sim_run run;
    enum rkt_status status;

    other.fault_count = 0;
    for (size_t i = 0; i < scenario->fault_count && left_out < scenario->fault_count; i++) {
        if (i != left_out)
            other.faults[other.fault_count++] = scenario->faults[i];
    }
    status = rkt_sim_run_init(&run, &other, false, err);
    if (status != RKT_OK)
        return status;
    *length_ns_out = rkt_sim_run_length_ns(&run);
    rkt_sim_run_release(&run);
    return RKT_OK;
}

static void put_nodes(struct rkt_json *json, const struct rkt_scenario *scenario)
{
    rkt_json_begin_array(json, "nodes");
    for (uint32_t node = 0; node < scenario->node_count; node++) {
        struct rkt_sim_clock clock = rkt_sim_clock_of(scenario, node);

        rkt_json_begin_object(json, NULL);
        rkt_json_i64(json, "offset_ns", clock.offset_ns);
        rkt_json_i64(json, "drift_ppb", clock.drift_ppb);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

static enum rkt_status put_faults(struct rkt_json *json, const struct rkt_sim_run *run,
                                  struct rkt_error *err)
{
    const struct rkt_scenario *scenario = run->scenario;
    enum rkt_status status = RKT_OK;

    rkt_json_begin_array(json, "faults");
    for (size_t i = 0; i < scenario->fault_count && status == RKT_OK; i++) {
        const struct rkt_fault *fault = &scenario->faults[i];
        int64_t length_ns = 0;

        status = length_without(scenario, i, &length_ns, err);
        rkt_json_begin_object(json, NULL);
        rkt_json_text(json, "kind", rkt_fault_name(fault->kind));
        rkt_json_u64(json, "first_rank", fault->first_rank);
        rkt_json_u64(json, "end_rank", fault->end_rank);
        rkt_json_u64(json, "first_step", fault->first_step);
        rkt_json_u64(json, "end_step", fault->end_step);
        rkt_json_u64(json, "amount", fault->amount);
        rkt_json_i64(json, "gain_ns", rkt_sim_run_length_ns(run) - length_ns);
        rkt_json_end(json);
    }
    rkt_json_end(json);
    return status;
}

static void put_idle(struct rkt_json *json, const struct rkt_sim_step *truth)
{
    rkt_json_begin_object(json, "idle_ns");
    for (int cause = 0; cause < RKT_SIM_IDLE_CAUSE_COUNT; cause++)
        rkt_json_i64(json, rkt_sim_idle_name((enum rkt_sim_idle_cause)cause),
                     truth->idle_ns[cause]);
    rkt_json_end(json);
}

static void put_steps(struct rkt_json *json, const struct rkt_sim_run *run)
{
    rkt_json_begin_array(json, "steps");
    for (uint32_t step = 0; step < run->scenario->step_count; step++) {
        rkt_json_begin_object(json, NULL);
        rkt_json_u64(json, "step", step);
        rkt_json_begin_array(json, "ranks");
        for (uint32_t rank = 0; rank < run->scenario->rank_count; rank++) {
            const struct rkt_sim_step *truth = rkt_sim_run_step(run, step, rank);

            rkt_json_begin_object(json, NULL);
            rkt_json_i64(json, "window_ns", truth->window_end_ns - truth->window_start_ns);
            rkt_json_i64(json, "compute_ns", truth->compute_ns);
            rkt_json_i64(json, "comm_ns", truth->comm_ns);
            rkt_json_i64(json, "overlap_ns", truth->overlap_ns);
            rkt_json_i64(json, "transfer_ns", truth->transfer_ns);
            rkt_json_i64(json, "copy_ns", truth->copy_ns);
            put_idle(json, truth);
            rkt_json_i64(json, "buckets_ns", truth->buckets_ns);
            rkt_json_i64(json, "hidden_ns", truth->hidden_ns);
            rkt_json_i64(json, "tail_ns", truth->tail_ns);
            rkt_json_end(json);
        }
        rkt_json_end(json);
        rkt_json_end(json);
    }
    rkt_json_end(json);
}

static void put_meeting(struct rkt_json *json, const struct rkt_sim_run *run, uint32_t step,
                        const struct rkt_sim_comm *comm, uint32_t index)
{
    const int64_t *starts_ns = run->starts_ns + (size_t)step * run->layout.place_count +
                               comm->first_place + (size_t)index * comm->rank_count;
    int64_t end_ns = rkt_sim_run_ends(run, step)[comm->first_meeting + index];
    int64_t transfer_ns = rkt_sim_transfer_ns(&run->layout, comm, step, index);
    int64_t latest_ns = end_ns - transfer_ns;
    uint32_t last_rank = 0;

    for (uint32_t i = 0; i < comm->rank_count; i++) {
        if (starts_ns[i] == latest_ns)
            last_rank = rkt_sim_comm_rank(comm, i);
    }
    rkt_json_begin_object(json, NULL);
    rkt_json_u64(json, "step", step);
    rkt_json_text(json, "kind", rkt_sim_comm_kind_name(comm->kind));
    rkt_json_u64(json, "comm_id", comm->id);
    rkt_json_u64(json, "index", index);
    rkt_json_u64(json, "seq", (uint64_t)step * comm->meeting_count + index);
    rkt_json_u64(json, "bytes", rkt_sim_bytes(&run->layout, comm, step, index));
    rkt_json_u64(json, "last_rank", last_rank);
    rkt_json_i64(json, "transfer_ns", transfer_ns);
    rkt_json_i64(json, "end_ns", RKT_SIM_RAW_BASE_NS + end_ns);
    rkt_json_begin_array(json, "ranks");
    for (uint32_t i = 0; i < comm->rank_count; i++)
        rkt_json_u64(json, NULL, rkt_sim_comm_rank(comm, i));
    rkt_json_end(json);
    rkt_json_begin_array(json, "wait_ns");
    for (uint32_t i = 0; i < comm->rank_count; i++)
        rkt_json_i64(json, NULL, latest_ns - starts_ns[i]);
    rkt_json_end(json);
    rkt_json_end(json);
}

static void put_meetings(struct rkt_json *json, const struct rkt_sim_run *run, uint32_t step)
{
    for (uint32_t i = 0; i < run->layout.comm_count; i++) {
        const struct rkt_sim_comm *comm = &run->layout.comms[i];

        for (uint32_t k = 0; k < comm->meeting_count; k++)
            put_meeting(json, run, step, comm, k);
    }
}

enum rkt_status rkt_sim_truth_write(const struct rkt_sim_run *run, FILE *out, struct rkt_error *err)
{
    const struct rkt_scenario *scenario = run->scenario;
    int64_t clean_ns = 0;
    struct rkt_json json;
    enum rkt_status status = length_without(scenario, scenario->fault_count, &clean_ns, err);

    if (status != RKT_OK)
        return status;
    rkt_json_init(&json, out, 2);
    rkt_json_begin_object(&json, NULL);
    rkt_json_u64(&json, "seed", scenario->seed);
    rkt_json_u64(&json, "rank_count", scenario->rank_count);
    rkt_json_u64(&json, "step_count", scenario->step_count);
    rkt_json_i64(&json, "length_ns", rkt_sim_run_length_ns(run));
    rkt_json_i64(&json, "clean_length_ns", clean_ns);
    put_nodes(&json, scenario);
    status = put_faults(&json, run, err);
    put_steps(&json, run);
    rkt_json_begin_array(&json, "collectives");
    for (uint32_t step = 0; step < scenario->step_count; step++)
        put_meetings(&json, run, step);
    rkt_json_end(&json);
    rkt_json_end(&json);
    return status == RKT_OK ? rkt_json_finish(&json, err) : status;
}
