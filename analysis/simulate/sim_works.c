/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_works.h"

#include <inttypes.h>

#include "analysis/simulate/sim_clock.h"

static const char *phase_name(enum rkt_sim_phase phase)
{
    static const char *const NAMES[RKT_SIM_PHASE_COUNT] = {
        [RKT_SIM_PHASE_INPUT] = "input",
        [RKT_SIM_PHASE_FORWARD] = "forward",
        [RKT_SIM_PHASE_BACKWARD] = "backward",
        [RKT_SIM_PHASE_OPTIMIZER] = "optimizer",
    };

    return NAMES[phase];
}

static const char *class_name(enum rkt_sim_name name)
{
    if (name == RKT_SIM_NAME_COPY)
        return "copy";
    return rkt_sim_is_compute(name) ? "compute" : "comm";
}

static void put_span(FILE *out, struct rkt_sim_span span)
{
    (void)fprintf(out, ",%" PRId64 ",%" PRId64, RKT_SIM_RAW_BASE_NS + span.start_ns,
                  RKT_SIM_RAW_BASE_NS + span.end_ns);
}

static void put_work(FILE *out, const struct rkt_sim_log_work *work)
{
    const char *name = work->is_pinned ? "pinned" : "pageable";

    if (work->name != RKT_SIM_NAME_COPY)
        name = rkt_sim_name(work->name);
    (void)fprintf(out, "%s,%s,%s,%" PRIu32, class_name(work->name), name, phase_name(work->phase),
                  work->stream_id);
    put_span(out, work->run);
    put_span(out, work->launch);
    (void)fprintf(out, ",%" PRIu64 ",%" PRIu32 "\n", work->bytes, work->shape_id);
}

static void put_host(FILE *out, const struct rkt_sim_log_host *host)
{
    (void)fprintf(out, "%s,%s,,", host->name == RKT_SIM_NAME_NONE ? "input" : "call",
                  rkt_sim_name(host->name));
    put_span(out, host->span);
    (void)fprintf(out, ",,,,\n");
}

static void put_operator(FILE *out, const struct rkt_sim_log_operator *op)
{
    (void)fprintf(out, "operator,%s,%s,", rkt_sim_name(op->name), phase_name(op->phase));
    put_span(out, op->span);
    (void)fprintf(out, ",,,,%d\n", (int)op->inputs);
}

static void put_memory(FILE *out, enum rkt_sim_name name, int64_t at_ns, uint64_t bytes)
{
    (void)fprintf(out, "memory,%s,,", rkt_sim_name(name));
    put_span(out, (struct rkt_sim_span){at_ns, at_ns});
    (void)fprintf(out, ",,,%" PRIu64 ",\n", bytes);
}

static void put_step(FILE *out, uint32_t rank, uint32_t step, const struct rkt_sim_log *log)
{
    for (size_t i = 0; i < log->work_count; i++) {
        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",", rank, step);
        put_work(out, &log->works[i]);
    }
    for (size_t i = 0; i < log->host_count; i++) {
        if (log->hosts[i].name == RKT_SIM_NAME_COPY)
            continue; /* the launch of one of the works */
        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",", rank, step);
        put_host(out, &log->hosts[i]);
    }
    for (size_t i = 0; i < log->operator_count; i++) {
        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",", rank, step);
        put_operator(out, &log->operators[i]);
    }
    for (size_t i = 0; i < log->memory_count; i++) {
        const struct rkt_sim_log_memory *memory = &log->memory[i];

        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",", rank, step);
        put_memory(out, RKT_SIM_NAME_RESERVED, memory->at_ns, memory->reserved_bytes);
        (void)fprintf(out, "%" PRIu32 ",%" PRIu32 ",", rank, step);
        put_memory(out, RKT_SIM_NAME_ALLOCATED, memory->at_ns, memory->allocated_bytes);
    }
}

static enum rkt_status put_rank(const struct rkt_sim_run *run, uint32_t rank, FILE *out,
                                struct rkt_error *err)
{
    struct rkt_sim_rank *sim = NULL;
    enum rkt_status status = rkt_sim_rank_create(&run->layout, rank, NULL, NULL, &sim, err);
    bool is_done; /* always: the ends are known */

    for (uint32_t step = 0; step < run->scenario->step_count && status == RKT_OK; step++) {
        rkt_sim_rank_begin_step(sim, step, rkt_sim_run_ends(run, step));
        status = rkt_sim_rank_advance(sim, &is_done, err);
        if (status == RKT_OK)
            put_step(out, rank, step, rkt_sim_rank_log(sim));
    }
    rkt_sim_rank_destroy(sim);
    return status;
}

enum rkt_status rkt_sim_works_write(const struct rkt_sim_run *run, FILE *out, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    (void)fputs(
        "rank,step,what,name,phase,stream,start_ns,end_ns,call_start_ns,call_end_ns,bytes,shape\n",
        out);
    for (uint32_t rank = 0; rank < run->scenario->rank_count && status == RKT_OK; rank++)
        status = put_rank(run, rank, out, err);
    if (status == RKT_OK && ferror(out))
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot write what ranks did");
    return status;
}
