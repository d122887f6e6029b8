/* SPDX-License-Identifier: Apache-2.0 */
/* What-if runs of ranks whose hosts launch when it matters: ideal, without transfers, as the
 * others. */
#include <math.h>

#include "fake_job.h"
#include "rkt_test.h"

#define US INT64_C(1000)
#define START_US 1000000 /* of fake_job */
#define RANKS 2u
#define STEPS 10

/* The rank's last work is launched at this time. */
static void launch_last_at(struct fake_job *job, uint32_t rank, int64_t launch_us)
{
    const struct rkt_rank_trace *trace = &job->run.traces[rank];
    struct rkt_work *work = &trace->works[trace->work_count - 1];

    work->launch_start_ns = launch_us * US;
    work->launch_end_ns = work->launch_start_ns + US;
}

/* Launched 1 us before it begins. */
static void compute(struct fake_job *job, uint32_t rank, int64_t us)
{
    int64_t start_us = job->now_us[rank];

    fake_job_compute(job, rank, us);
    launch_last_at(job, rank, start_us - 1);
}

/* Of both ranks, each launched 1 us before it is ready. */
static void post(struct fake_job *job, int64_t transfer_us)
{
    fake_job_post(job, 0, transfer_us);
    for (uint32_t r = 0; r < RANKS; r++)
        launch_last_at(job, r, job->now_us[r] - 1);
}

static void wait_from_to(struct fake_job *job, uint32_t rank, int64_t start_us, int64_t end_us)
{
    fake_add_call(&job->run, rank, RKT_CALL_BLOCKING, "cudaDeviceSynchronize", start_us * US,
                  end_us * US);
}

static void ideal_transfers_are_as_long_as_others_of_their_size(void **state)
{
    const struct rkt_whatif *whatif;
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, RANKS);
    for (int s = 0; s < STEPS; s++) {
        for (uint32_t r = 0; r < RANKS; r++)
            fake_job_compute(&job, r, 100);
        fake_job_post(&job, 0, s == 5 ? 50 : 30);
        for (uint32_t r = 0; r < RANKS; r++)
            job.run.traces[r].ops[s].nccl.count = 1000;
        fake_job_join(&job, 0);
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    whatif = &job.run.result.whatif;
    assert_int_equal(whatif->steps_ns, (10 * 130 + 20) * US);
    assert_true(fabs(whatif->slowdown - 1320. / 1300) < 1e-9);
    fake_job_release(&job);
}

/*
 *     host    |K| waits for K |AR|   20 of Python   |L|K| ...
 *     lane     |=====10=====| 2  |      21 idle      |====10====| 1 |==K==
 *     AR                         |--10--|
 *
 * Did the host not wait, it would be 9 earlier at the AllReduce, and the step as much shorter.
 */
static void ranks_that_are_alike_wait_in_an_ideal_run_as_they_did(void **state)
{
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, RANKS);
    for (int s = 0; s < STEPS; s++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            fake_job_idle(&job, r, 1);
            compute(&job, r, 10);
            wait_from_to(&job, r, job.now_us[r] - 9, job.now_us[r]);
            fake_job_idle(&job, r, 2);
        }
        post(&job, 10);
        for (uint32_t r = 0; r < RANKS; r++) {
            fake_job_idle(&job, r, 21);
            compute(&job, r, 10);
        }
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    assert_int_equal(job.run.result.whatif.steps_ns, STEPS * (44 * US));
    assert_true(fabs(job.run.result.whatif.slowdown - 1) < 1e-9);
    fake_job_release(&job);
}

/*
 * A step takes 40, its AllReduce 30 of it; the host launches one each 35:
 *
 *     host    |K0,AR0|      35      |K1,AR1|      35      |K2 ...
 *     lane     |=10=|     waits       |=10=|     waits      |=10=
 *     AR            |-------30--------|    |------30--------|
 */
static void without_transfers_a_step_is_no_shorter_than_its_host(void **state)
{
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, RANKS);
    for (int s = 0; s < STEPS; s++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            if (s == 0)
                fake_job_idle(&job, r, 2);
            fake_job_compute(&job, r, 10);
            launch_last_at(&job, r, START_US + 1 + 35 * s);
        }
        fake_job_post(&job, 0, 30);
        for (uint32_t r = 0; r < RANKS; r++)
            launch_last_at(&job, r, START_US + 3 + 35 * s);
        fake_job_join(&job, 0);
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    assert_int_equal(job.run.result.whatif.steps_ns, (2 + STEPS * 40) * US);
    /* the first K ends at 12, each other 35 after the one before */
    assert_int_equal(job.run.result.whatif.inst_ns, (12 + (STEPS - 1) * 35) * US);
    fake_job_release(&job);
}

/* The host has launched nothing before the first kernel; then it works so long before each
 * step's. */
static void add_launch_bound_step(struct fake_job *job, int64_t host_us[RANKS],
                                  const int64_t work_us[RANKS])
{
    for (uint32_t r = 0; r < RANKS; r++) {
        host_us[r] += work_us[r];
        if (host_us[r] + 1 > job->now_us[r])
            fake_job_idle(job, r, host_us[r] + 1 - job->now_us[r]);
        fake_job_compute(job, r, 100);
        launch_last_at(job, r, host_us[r]);
    }
    fake_job_post(job, 0, 300);
    for (uint32_t r = 0; r < RANKS; r++)
        launch_last_at(job, r, host_us[r] + 1);
    fake_job_join(job, 0);
    for (uint32_t r = 0; r < RANKS; r++) {
        fake_job_compute(job, r, 50);
        launch_last_at(job, r, host_us[r] + 2);
        host_us[r] += 3;
    }
    fake_job_end_step(job);
}

/*
 * Rank 1's host takes 400 longer and is up and down by 25; so is rank 0's at other times, and lies
 * ahead.
 *
 *     host    |===Python 1000===|K|AR|K'|===Python 1000===|K|AR|K'| ...
 *     lane                       |=100=|     |=50=|        |=100=|
 *     AR                               |-300-|                   |-300-|
 */
static void a_host_that_is_as_fast_as_the_others_is_up_and_down_as_they_are(void **state)
{
    static const int64_t UPS_US[3][RANKS] = {{0, 50}, {50, 0}, {25, 25}};
    static const int64_t STEPS_US[3] = {450, 350, 400}; /* at the other's in each step */
    const struct rkt_result *result;
    int64_t host_us[RANKS] = {START_US, START_US};
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, RANKS);
    add_launch_bound_step(&job, host_us, (const int64_t[RANKS]){1, 1}); /* a warm-up */
    for (int s = 0; s < STEPS; s++)
        add_launch_bound_step(
            &job, host_us,
            (const int64_t[RANKS]){1000 + UPS_US[s % 3][0], 1400 + UPS_US[s % 3][1]});
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    result = &job.run.result;
    assert_int_equal(result->whatif.step_count, STEPS);
    for (size_t s = 0; s < STEPS; s++)
        assert_int_equal(result->whatif.steps[s].gain_ns, STEPS_US[s % 3] * US);
    assert_int_equal(result->straggler.rank, 1);
    /* without its 400 it is, from the first step on, never before the other: 400 in each */
    assert_int_equal(result->straggler.gain_ns, 400 * US);
    fake_job_release(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ideal_transfers_are_as_long_as_others_of_their_size),
        cmocka_unit_test(ranks_that_are_alike_wait_in_an_ideal_run_as_they_did),
        cmocka_unit_test(without_transfers_a_step_is_no_shorter_than_its_host),
        cmocka_unit_test(a_host_that_is_as_fast_as_the_others_is_up_and_down_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
