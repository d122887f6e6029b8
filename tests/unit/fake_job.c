/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_job.h"

#include <stdio.h>

#include "analysis/activity.h"
#include "analysis/analysis.h"
#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "analysis/stages.h"
#include "analysis/time_sort.h"
#include "rkt_test.h"

#define US INT64_C(1000)
#define START_US 1000000 /* so that launches are long before */

void fake_job_init(struct fake_job *job, size_t rank_count)
{
    *job = (struct fake_job){.launch_us = 1};
    fake_run_init(&job->run, rank_count);
    for (size_t r = 0; r < rank_count; r++) {
        job->now_us[r] = job->end_us[r] = START_US;
        job->run.result.ranks[r].step_source = RKT_STEPS_MARKS;
    }
}

void fake_job_release(struct fake_job *job)
{
    fake_run_release(&job->run);
}

size_t fake_job_add_comm(struct fake_job *job, const uint32_t *ranks, size_t count)
{
    size_t number = job->comm_count++;
    struct fake_job_comm *comm = &job->comms[number];

    assert_true(number < FAKE_JOB_COMMS_MAX);
    for (size_t i = 0; i < count; i++) {
        comm->members[comm->member_count++] = ranks[i];
        fake_add_comm(&job->run, ranks[i], 100 + number, (int32_t)i, (uint32_t)count);
    }
    return number;
}

static void add_work(struct fake_job *job, uint32_t rank, struct fake_work work)
{
    uint32_t index;

    work.launch_ns = job->launch_us++ * US;
    index = fake_add_work(&job->run, rank, work);
    job->run.traces[rank].works[index].step = job->step;
    if (work.end_ns > job->end_us[rank] * US)
        job->end_us[rank] = work.end_ns / US;
}

void fake_job_compute(struct fake_job *job, uint32_t rank, int64_t us)
{
    int64_t start_us = job->now_us[rank];

    job->now_us[rank] += us;
    job->useful_us[rank] += us;
    if (us > 0)
        add_work(job, rank,
                 (struct fake_work){.work_class = RKT_WORK_COMPUTE,
                                    .name = "gemm",
                                    .stream_id = 7,
                                    .start_ns = start_us * US,
                                    .end_ns = job->now_us[rank] * US});
}

void fake_job_idle(struct fake_job *job, uint32_t rank, int64_t us)
{
    job->now_us[rank] += us;
}

/* Of member i: one, or for an AllToAll a send and a receive for each. */
static void add_ops(struct fake_job *job, size_t number, size_t i, int64_t transfer_us,
                    enum rkt_nccl_func func)
{
    const struct fake_job_comm *comm = &job->comms[number];
    bool is_pair = func == RKT_NCCL_FUNC_SENDRECV;
    struct fake_op op = {100 + number, comm->seq, (uint64_t)transfer_us,
                         is_pair ? (int32_t)(1 - i) : -1,
                         !is_pair ? func
                         : i == 0 ? RKT_NCCL_FUNC_SEND
                                  : RKT_NCCL_FUNC_RECV};

    for (size_t peer = 0; func == RKT_NCCL_FUNC_ALLTOALL && peer < 2 * comm->member_count; peer++) {
        op.func = peer % 2 == 0 ? RKT_NCCL_FUNC_SEND : RKT_NCCL_FUNC_RECV;
        op.peer = (int32_t)(peer / 2);
        fake_add_op(&job->run, comm->members[i], op);
    }
    if (func != RKT_NCCL_FUNC_ALLTOALL)
        fake_add_op(&job->run, comm->members[i], op);
}

static void post(struct fake_job *job, size_t number, int64_t transfer_us, enum rkt_nccl_func func)
{
    struct fake_job_comm *comm = &job->comms[number];
    int64_t last_us = 0;

    for (size_t i = 0; i < comm->member_count; i++) {
        int64_t now_us = job->now_us[comm->members[i]];

        last_us = now_us > last_us ? now_us : last_us;
    }
    last_us = comm->end_us > last_us ? comm->end_us : last_us;
    for (size_t i = 0; i < comm->member_count; i++) {
        uint32_t rank = comm->members[i];
        int64_t now_us = job->now_us[rank];
        int64_t start_us = comm->end_us > now_us ? comm->end_us : now_us;

        add_work(job, rank,
                 (struct fake_work){.work_class = RKT_WORK_COMM,
                                    .name = func == RKT_NCCL_FUNC_ALLREDUCE
                                                ? "ncclDevKernel_AllReduce"
                                                : "ncclDevKernel_SendRecv",
                                    .stream_id = 20 + (uint32_t)number,
                                    .start_ns = start_us * US,
                                    .end_ns = (last_us + transfer_us) * US});
        add_ops(job, number, i, transfer_us, func);
    }
    comm->end_us = last_us + transfer_us;
    comm->seq++;
}

void fake_job_post(struct fake_job *job, size_t comm, int64_t transfer_us)
{
    post(job, comm, transfer_us, RKT_NCCL_FUNC_ALLREDUCE);
}

void fake_job_send(struct fake_job *job, size_t comm, int64_t transfer_us)
{
    post(job, comm, transfer_us, RKT_NCCL_FUNC_SENDRECV);
}

void fake_job_all_to_all(struct fake_job *job, size_t comm, int64_t transfer_us)
{
    post(job, comm, transfer_us, RKT_NCCL_FUNC_ALLTOALL);
}

void fake_job_join(struct fake_job *job, size_t comm)
{
    const struct fake_job_comm *waited = &job->comms[comm];

    for (size_t i = 0; i < waited->member_count; i++) {
        if (waited->end_us > job->now_us[waited->members[i]])
            job->now_us[waited->members[i]] = waited->end_us;
    }
}

void fake_job_end_step(struct fake_job *job)
{
    for (size_t r = 0; r < job->run.result.rank_count; r++) {
        const struct rkt_rank_result *rank = &job->run.result.ranks[r];
        int64_t start_ns =
            rank->step_count > 0 ? rank->steps[rank->step_count - 1].window.end_ns : START_US * US;
        struct rkt_step_result *step = fake_add_step(&job->run, r, start_ns, job->end_us[r] * US);

        step->window.parts.window_ns = job->end_us[r] * US - start_ns;
        step->window.parts.compute_ns = job->useful_us[r] * US;
        step->window.parts.comm_unsplit_ns =
            step->window.parts.window_ns - step->window.parts.compute_ns;
        step->window.compute_ns = job->useful_us[r] * US;
        job->useful_us[r] = 0;
    }
    job->step++;
}

void fake_job_find(struct fake_job *job)
{
    fake_job_find_in(&job->run);
}

void fake_job_find_in(struct fake_run *run)
{
    struct rkt_result *result = &run->result;
    struct rkt_error err;

    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_rank_trace *trace = result->ranks[r].trace;

        assert_int_equal(
            rkt_time_sort(trace->works, trace->work_count, sizeof(*trace->works), RKT_BY_START_END),
            RKT_OK);
        assert_rkt_ok(rkt_find_arrivals(trace, &err), err);
        assert_rkt_ok(rkt_activity_create(trace, &result->ranks[r].activity, &err), err);
        assert_rkt_ok(rkt_lane_find(trace, &result->ranks[r], &err), err);
        rkt_measure_end(&result->ranks[r]);
    }
    fake_match(run);
    assert_rkt_ok(rkt_find_straggler(result, &run->arena, &err), err);
}

void fake_job_make_run(struct fake_run *run)
{
    static const uint32_t RANKS[] = {0, 1, 2, 3};
    const struct rkt_analysis_options options = {.step_flops = 1.9e12, .peak_flops = 989e12};
    struct fake_job job;
    struct rkt_error err;

    fake_job_init(&job, 4);
    (void)fake_job_add_comm(&job, RANKS, 4);
    for (size_t i = 0; i < 6; i++) {
        for (uint32_t r = 0; r < 4; r++)
            fake_job_compute(&job, r, r < 2 ? 1000 : i == 2 ? 1900 : 1400);
        fake_job_post(&job, 0, 300);
        fake_job_join(&job, 0);
        fake_job_end_step(&job);
    }
    *run = job.run;
    run->result.run = &run->info;
    run->result.health = &run->health;
    for (size_t r = 0; r < 4; r++) {
        (void)snprintf(run->traces[r].source.info.host, 16, "node%zu", r / 2);
        run->result.ranks[r].run.start_ns = run->result.ranks[r].steps[0].window.start_ns;
        run->result.ranks[r].run.end_ns = run->result.ranks[r].steps[5].window.end_ns;
    }
    fake_job_find_in(run);
    assert_rkt_ok(rkt_find_efficiency(&run->result, &options, &run->arena, &err), err);
    assert_rkt_ok(rkt_find_last_arriver(&run->result, &err), err);
    assert_rkt_ok(rkt_summarise(&run->result, &run->arena, &err), err);
}

/* ---- data parallel jobs ---- */

void fake_job_init_data_parallel(struct fake_job *job, size_t rank_count)
{
    uint32_t ranks[FAKE_RANKS_MAX];

    for (uint32_t r = 0; r < rank_count; r++)
        ranks[r] = r;
    fake_job_init(job, rank_count);
    (void)fake_job_add_comm(job, ranks, rank_count);
}

void fake_job_data_parallel_step(struct fake_job *job, size_t comm, const int64_t *late_us)
{
    size_t rank_count = job->run.result.rank_count;

    for (uint32_t r = 0; r < rank_count; r++)
        fake_job_compute(job, r, 1000 + late_us[r]);
    fake_job_post(job, comm, 300);
    for (uint32_t r = 0; r < rank_count; r++)
        fake_job_compute(job, r, 100);
    fake_job_post(job, comm, 200);
    fake_job_join(job, comm);
    for (uint32_t r = 0; r < rank_count; r++)
        fake_job_compute(job, r, 50);
    fake_job_end_step(job);
}

void fake_job_assert_replayed(const struct fake_job *job)
{
    const struct rkt_whatif *whatif = &job->run.result.whatif;

    assert_string_equal(whatif->why_not, "");
    assert_true(whatif->miss < 1e-9);
}

void fake_job_assert_gains(const struct fake_job *job, const int64_t *gains_us)
{
    for (size_t r = 0; r < job->run.result.rank_count; r++) {
        if (job->run.result.ranks[r].gain_ns != gains_us[r] * US)
            fail_msg("rank %zu gains %lld ns", r, (long long)job->run.result.ranks[r].gain_ns);
    }
}
