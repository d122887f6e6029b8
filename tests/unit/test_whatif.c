/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/critical_path.h"
#include "analysis/efficiency.h"
#include "analysis/stages.h"
#include "fake_job.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define US INT64_C(1000)
#define ALL_MAX 8
#define STEPS 10
#define STEP_SUM(us) (STEPS * INT64_C(us) * US)

/* metrics.md: gradients at 0-10 and 10-20, AllReduces 10-40 and 40-50. */
static void init_queued(struct fake_job *job)
{
    fake_job_init_data_parallel(job, 2);
    for (int s = 0; s < 4; s++) {
        for (int bucket = 0; bucket < 2; bucket++) {
            fake_job_compute(job, 0, 10);
            fake_job_compute(job, 1, 10);
            fake_job_post(job, 0, bucket == 0 ? 30 : 10);
        }
        fake_job_join(job, 0);
        fake_job_end_step(job);
    }
    fake_job_find(job);
}

static void queued_collectives_leave_half_of_the_step_to_transfers(void **state)
{
    struct fake_job job;

    (void)state;
    init_queued(&job);
    fake_job_assert_replayed(&job);
    assert_int_equal(job.run.result.whatif.steps_ns, 200 * US);
    assert_int_equal(job.run.result.whatif.inst_ns, 80 * US);
    assert_true(fabs(job.run.result.whatif.slowdown - 1) < 1e-9); /* ranks are alike */
    assert_false(job.run.result.straggler.is_found);
    fake_job_release(&job);
}

/* On GPUs that can do 500 TFLOP/s. */
static const struct rkt_efficiency *find_efficiency(struct fake_job *job, double step_flops)
{
    const struct rkt_analysis_options options = {.step_flops = step_flops, .peak_flops = 5e14};
    struct rkt_error err;

    assert_rkt_ok(rkt_find_efficiency(&job->run.result, &options, &job->run.arena, &err), err);
    return job->run.result.efficiency;
}

/* The example above: SerE 1, TE 0.4. */
static void factors_of_a_run_multiply_to_its_efficiency(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 400, 300};
    const struct rkt_efficiency *efficiency;
    struct fake_job job;

    (void)state;
    init_queued(&job);
    efficiency = find_efficiency(&job, 0);
    assert_int_equal(efficiency->useful_ns, 160 * US);
    assert_int_equal(efficiency->windows_ns, 400 * US);
    assert_true(fabs(efficiency->parallel - 0.4) < 1e-9);
    assert_true(fabs(efficiency->balance - 1) < 1e-9);
    assert_true(fabs(efficiency->serial - 1) < 1e-9);
    assert_true(fabs(efficiency->transfer - 0.4) < 1e-9);
    assert_true(isnan(efficiency->mfu));
    fake_job_release(&job);

    /* useful 1150, 1550, 1450 of 1950; without transfers 1550 */
    fake_job_init_data_parallel(&job, 3);
    for (int s = 0; s < STEPS; s++)
        fake_job_data_parallel_step(&job, 0, late_us);
    fake_job_find(&job);
    efficiency = find_efficiency(&job, 1.17e12);
    assert_true(fabs(efficiency->parallel - 4150. / 5850) < 1e-9);
    assert_true(fabs(efficiency->balance - 4150. / 4650) < 1e-9);
    assert_true(fabs(efficiency->comm - 1550. / 1950) < 1e-9);
    assert_true(fabs(efficiency->serial - 1) < 1e-9);
    assert_true(fabs(efficiency->transfer - 1550. / 1950) < 1e-9);
    assert_true(fabs(efficiency->balance * efficiency->serial * efficiency->transfer -
                     efficiency->parallel * efficiency->spread) < 1e-9);
    /* 3 GPUs, 1.17e12 in 1.95 ms: 200 TFLOP/s each, of 500 */
    assert_true(fabs(efficiency->flops_per_s - 2e14) < 1e6);
    assert_true(fabs(efficiency->mfu - 0.4) < 1e-9);
    fake_job_release(&job);
}

static void a_late_rank_is_named_with_what_it_costs(void **state)
{
    static const size_t RANK_COUNTS[] = {2, 3, 8};

    (void)state;
    for (size_t i = 0; i < sizeof(RANK_COUNTS) / sizeof(RANK_COUNTS[0]); i++) {
        const int64_t late_us[ALL_MAX] = {0, 400};
        const struct rkt_straggler *straggler;
        struct fake_job job;

        fake_job_init_data_parallel(&job, RANK_COUNTS[i]);
        for (int s = 0; s < STEPS; s++)
            fake_job_data_parallel_step(&job, 0, late_us);
        fake_job_find(&job);
        fake_job_assert_replayed(&job);
        fake_job_assert_gains(&job, late_us); /* the whole delay is on the critical path */
        straggler = &job.run.result.straggler;
        assert_true(straggler->is_found && straggler->is_persistent);
        assert_int_equal(straggler->rank, 1);
        assert_int_equal(straggler->step_count, STEPS);
        assert_int_equal(straggler->gain_ns, 400 * US);
        assert_int_equal(straggler->excess_ns, 400 * US);
        assert_int_equal(straggler->cause, RKT_CAUSE_COMPUTE);
        assert_true(fabs(straggler->loss_share - 400. / 1950) < 1e-9);
        fake_job_release(&job);
    }
}

/* Rank 1 has 400 us more. It is up and down by 25, and rank 0 at other times, or not. */
static void find_varying(struct fake_job *job, bool has_rank_0)
{
    static const int64_t UPS_US[3][2] = {{0, 50}, {50, 0}, {25, 25}};

    fake_job_init_data_parallel(job, 2);
    for (int s = 0; s < STEPS; s++) {
        const int64_t late_us[ALL_MAX] = {has_rank_0 ? UPS_US[s % 3][0] : 0,
                                          400 + UPS_US[s % 3][1]};

        fake_job_data_parallel_step(job, 0, late_us);
    }
    fake_job_find(job);
    fake_job_assert_replayed(job);
}

static void a_rank_that_is_as_fast_as_the_others_is_up_and_down_as_they_are(void **state)
{
    static const int64_t STEPS_US[3] = {450, 350, 400}; /* at the other's in each step */
    const struct rkt_result *result;
    struct fake_job job;

    (void)state;
    find_varying(&job, true);
    result = &job.run.result;
    for (size_t s = 0; s < STEPS; s++)
        assert_int_equal(result->whatif.steps[s].gain_ns, STEPS_US[s % 3] * US);
    /* without its 400 it has 50, 0, 25 where the other has 0, 50, 25: 400, 350, 400 less */
    assert_int_equal(result->straggler.gain_ns, (4 * 400 + 3 * 350 + 3 * 400) / 10 * US);
    assert_int_equal(result->ranks[1].gain_ns, result->straggler.gain_ns);
    fake_job_release(&job);

    /* the other never is: then that is not how ranks are */
    find_varying(&job, false);
    assert_int_equal(job.run.result.straggler.gain_ns, (4 * 450 + 3 * 400 + 3 * 425) * US / 10);
    fake_job_release(&job);
}

/* Rank 1's 1400, then transfers of 300 and 200 in a row, then 50 after the join. */
static void the_critical_path_runs_through_the_late_rank_and_the_transfers(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 400};
    const struct rkt_critical_path *path;
    int64_t own_ns = 0;
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 3);
    for (int s = 0; s < STEPS; s++)
        fake_job_data_parallel_step(&job, 0, late_us);
    fake_job_find(&job);
    path = job.run.result.whatif.path;
    assert_non_null(path);
    assert_int_equal(path->total_ns, STEP_SUM(1950));
    assert_int_equal(path->transfer_ns, STEP_SUM(500));
    assert_int_equal(path->own_ns[RKT_CAUSE_COMPUTE], STEP_SUM(1450));
    for (size_t r = 0; r < 3; r++)
        own_ns += path->rank_ns[r];
    assert_int_equal(own_ns + path->transfer_ns, path->total_ns);
    assert_true(path->rank_ns[1] >= STEP_SUM(1400));
    assert_int_equal(path->piece_count, 4);
    assert_int_equal(path->pieces[0].rank, 1);
    assert_int_equal(path->pieces[0].cause, RKT_CAUSE_COMPUTE);
    assert_int_equal(path->pieces[0].start_ns, 0);
    assert_int_equal(path->pieces[0].end_ns, 1400 * US);
    assert_int_equal(path->pieces[1].end_ns, 1700 * US);
    assert_true(path->pieces[1].collective != RKT_INDEX_NONE);
    assert_int_equal(path->pieces[2].end_ns, 1900 * US);
    assert_int_equal(path->pieces[3].end_ns, 1950 * US);
    fake_job_release(&job);
}

static void a_delay_that_others_hide_gains_what_is_left_of_it(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 400, 300, 0};
    const int64_t gains_us[ALL_MAX] = {0, 100, 0, 0};
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 4);
    for (int s = 0; s < STEPS; s++)
        fake_job_data_parallel_step(&job, 0, late_us);
    fake_job_find(&job);
    fake_job_assert_gains(&job, gains_us);
    assert_int_equal(job.run.result.straggler.rank, 1);
    /* all at the mean: 175 more than those that are not late */
    assert_true(fabs(job.run.result.whatif.slowdown - 1950. / 1725) < 1e-9);
    assert_true(fabs(job.run.result.whatif.waste - 225. / 1950) < 1e-9);
    fake_job_release(&job);
}

/*
 * Ranks 0 and 1 share their tensors, and so do 2 and 3; 0 and 2, 1 and 3 their data. Rank 1 is late
 * for its peer 0, which is then late for rank 2: rank 0 is a victim, not a cause.
 */
static void a_tensor_parallel_wait_is_not_blamed_on_its_victim(void **state)
{
    static const uint32_t TP[2][2] = {{0, 1}, {2, 3}}, DP[2][2] = {{0, 2}, {1, 3}};
    const int64_t gains_us[] = {0, 500, 0, 0};
    struct fake_job job;
    size_t comms[4];

    (void)state;
    fake_job_init(&job, 4);
    for (size_t i = 0; i < 2; i++) {
        comms[i] = fake_job_add_comm(&job, TP[i], 2);
        comms[2 + i] = fake_job_add_comm(&job, DP[i], 2);
    }
    for (int s = 0; s < STEPS; s++) {
        for (uint32_t r = 0; r < 4; r++)
            fake_job_compute(&job, r, r == 1 ? 1500 : 1000);
        for (size_t i = 0; i < 2; i++) {
            fake_job_post(&job, comms[i], 100);
            fake_job_join(&job, comms[i]);
        }
        for (uint32_t r = 0; r < 4; r++)
            fake_job_compute(&job, r, 700);
        for (size_t i = 2; i < 4; i++) {
            fake_job_post(&job, comms[i], 200);
            fake_job_join(&job, comms[i]);
        }
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    fake_job_assert_gains(&job, gains_us);
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 1);
    assert_false(job.run.result.whatif.group.is_found);
    fake_job_release(&job);
}

/* Rank 2 is always late, the others in turn: what it costs varies by more than that, but it is
 * never another. */
static void who_holds_up_every_step_is_named_whatever_the_others_hide_of_it(void **state)
{
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 4);
    for (int s = 0; s < STEPS; s++) {
        const int64_t late_us[ALL_MAX] = {s % 3 == 1 ? 1000 : 0, 0, 2000, s % 3 == 2 ? 1800 : 0};

        fake_job_data_parallel_step(&job, 0, late_us);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 2);
    assert_int_equal(job.run.result.straggler.step_count, STEPS);
    fake_job_release(&job);
}

/* Tokens are dealt out, worked on and given back, twice; rank 2 has the expert that most of the
 * first go to, rank 1 one that gets a few more of the second. */
static void a_hot_expert_gains_what_its_peers_do_not_have(void **state)
{
    const int64_t work_us[2][ALL_MAX] = {{100, 100, 500, 100}, {100, 150, 100, 100}};
    const int64_t gains_us[ALL_MAX] = {0, 50, 400, 0};
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 4);
    for (int s = 0; s < STEPS; s++) {
        for (size_t turn = 0; turn < 2; turn++) {
            for (uint32_t r = 0; r < 4; r++)
                fake_job_compute(&job, r, 1000);
            fake_job_all_to_all(&job, 0, 80);
            fake_job_join(&job, 0);
            for (uint32_t r = 0; r < 4; r++)
                fake_job_compute(&job, r, work_us[turn][r]);
            fake_job_all_to_all(&job, 0, 80);
            fake_job_join(&job, 0);
        }
        for (uint32_t r = 0; r < 4; r++)
            fake_job_compute(&job, r, 50);
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    fake_job_assert_gains(&job, gains_us);
    assert_int_equal(job.run.result.straggler.rank, 2);
    fake_job_release(&job);
}

/* Three stages, two batches: each sends on what it has computed, and the first computes slowly. A
 * batch of it takes 1350; were it as fast as the others, the second would take 50 + 1000 + 50. */
/* Three stages, two batches a step; the first computes longer, and is up by more. */
static void find_pipeline(struct fake_job *job, int64_t late_us, bool varies)
{
    static const uint32_t PAIRS[2][2] = {{0, 1}, {1, 2}};
    static const int64_t UPS_US[3][2] = {{90, 30}, {0, 0}, {0, 0}};

    fake_job_init(job, 3);
    for (size_t i = 0; i < 2; i++)
        (void)fake_job_add_comm(job, PAIRS[i], 2);
    for (int s = 0; s < STEPS; s++) {
        for (int batch = 0; batch < 2; batch++) {
            for (uint32_t stage = 0; stage < 3; stage++) {
                int64_t up_us = varies ? UPS_US[s % 3][stage > 0] : 0;

                fake_job_compute(job, stage, 1000 + up_us + (stage == 0 ? late_us : 0));
                if (stage == 2)
                    continue;
                fake_job_send(job, stage, 50);
                fake_job_join(job, stage);
            }
        }
        fake_job_end_step(job);
    }
    fake_job_find(job);
    fake_job_assert_replayed(job);
}

static void a_slow_stage_of_a_pipeline_is_named(void **state)
{
    const int64_t gains_us[ALL_MAX] = {500};
    struct fake_job job, fixed;

    (void)state;
    find_pipeline(&job, 300, false);
    fake_job_assert_gains(&job, gains_us);
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 0);
    fake_job_release(&job);

    /* without peers it keeps its ups and downs by whole steps: as the job is without the fault */
    find_pipeline(&job, 300, true);
    find_pipeline(&fixed, 0, true);
    assert_int_equal(job.run.result.straggler.gain_ns,
                     (job.run.result.whatif.steps_ns - fixed.run.result.whatif.steps_ns) / 9);
    fake_job_release(&job);
    fake_job_release(&fixed);
}

static void a_step_that_is_late_once_is_named_and_no_more(void **state)
{
    const struct rkt_whatif *whatif;
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 3);
    for (int s = 0; s < STEPS; s++) {
        const int64_t late_us[ALL_MAX] = {0, 0, s == 6 ? 400 : 0};

        fake_job_data_parallel_step(&job, 0, late_us);
    }
    fake_job_find(&job);
    assert_false(job.run.result.straggler.is_found);
    assert_true(job.run.result.straggler.loss_share == 0);
    whatif = &job.run.result.whatif;
    assert_int_equal(whatif->step_count, STEPS);
    for (size_t s = 0; s < STEPS; s++) {
        assert_int_equal(whatif->steps[s].is_named, s == 6);
        assert_int_equal(whatif->steps[s].gain_ns, s == 6 ? 400 * US : 0);
    }
    assert_int_equal(whatif->steps[6].rank, 2);
    fake_job_release(&job);
}

static void equal_ranks_with_jitter_name_nobody(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rkt_random random = {seed};
        struct fake_job job;

        fake_job_init_data_parallel(&job, 4);
        for (int s = 0; s < STEPS; s++) {
            int64_t late_us[ALL_MAX];

            for (size_t r = 0; r < 4; r++)
                late_us[r] = (int64_t)rkt_random_below(&random, 60);
            fake_job_data_parallel_step(&job, 0, late_us);
        }
        fake_job_find(&job);
        if (job.run.result.straggler.is_found)
            fail_msg("seed %d names rank %u", (int)seed, job.run.result.straggler.rank);
        fake_job_release(&job);
    }
}

/* Two stages of two ranks that share tensors: each stage is a group without a peer outside. Chance
 * names somebody in 1 of 100 runs at most. */
static void equal_stages_with_jitter_name_nobody(void **state)
{
    static const uint32_t PAIRS[4][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};

    size_t named = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rkt_random random = {seed};
        struct fake_job job;

        fake_job_init(&job, 4);
        for (size_t i = 0; i < 4; i++)
            (void)fake_job_add_comm(&job, PAIRS[i], 2);
        for (int s = 0; s < 2 * STEPS; s++) {
            for (uint32_t r = 0; r < 4; r++) {
                fake_job_compute(&job, r, 1000 + (int64_t)rkt_random_below(&random, 120));
                if (r % 2 == 0)
                    continue;
                fake_job_post(&job, r / 2, 20);
                fake_job_join(&job, r / 2);
                for (size_t link = 2; link < 4 && r == 1; link++) {
                    fake_job_send(&job, link, 50);
                    fake_job_join(&job, link);
                }
            }
            fake_job_end_step(&job);
        }
        fake_job_find(&job);
        named += job.run.result.straggler.is_found;
        fake_job_release(&job);
    }
    assert_in_range(named, 0, 2);
}

static void a_replay_that_misses_the_steps_is_not_believed(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 400};
    struct rkt_whatif *whatif;
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 3);
    for (int s = 0; s < STEPS; s++) {
        fake_job_data_parallel_step(&job, 0, late_us);
        for (uint32_t r = 0; r < 3; r++) { /* nothing that the lane knows of lasts so long */
            job.run.result.ranks[r].steps[s].window.start_ns += (int64_t)s * 100 * US;
            job.run.result.ranks[r].steps[s].window.end_ns += (int64_t)(s + 1) * 100 * US;
        }
    }
    fake_job_find(&job);
    whatif = &job.run.result.whatif;
    assert_string_not_equal(whatif->why_not, "");
    assert_true(whatif->miss > RKT_REPLAY_MISS_MAX);
    assert_true(whatif->inst_ns == RKT_NA && isnan(whatif->slowdown));
    assert_true(job.run.result.ranks[1].gain_ns == RKT_NA);
    /* by its own work it is found all the same, without a gain */
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 1);
    assert_true(job.run.result.straggler.gain_ns == RKT_NA);
    assert_true(isnan(job.run.result.straggler.loss_share));
    fake_job_release(&job);
}

static void weak_matches_name_nobody(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 400};
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 3);
    for (int s = 0; s < STEPS; s++)
        fake_job_data_parallel_step(&job, 0, late_us);
    for (size_t r = 0; r < 3; r++) { /* kernels of no known operation */
        for (size_t i = 0; i < job.run.traces[r].work_count; i++)
            job.run.traces[r].works[i].op = RKT_INDEX_NONE;
    }
    fake_job_find(&job);
    assert_true(job.run.result.whatif.is_weak);
    assert_false(job.run.result.straggler.is_found);
    assert_true(isnan(job.run.result.straggler.loss_share));
    fake_job_release(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_collectives_leave_half_of_the_step_to_transfers),
        cmocka_unit_test(factors_of_a_run_multiply_to_its_efficiency),
        cmocka_unit_test(a_late_rank_is_named_with_what_it_costs),
        cmocka_unit_test(a_rank_that_is_as_fast_as_the_others_is_up_and_down_as_they_are),
        cmocka_unit_test(the_critical_path_runs_through_the_late_rank_and_the_transfers),
        cmocka_unit_test(a_delay_that_others_hide_gains_what_is_left_of_it),
        cmocka_unit_test(a_tensor_parallel_wait_is_not_blamed_on_its_victim),
        cmocka_unit_test(who_holds_up_every_step_is_named_whatever_the_others_hide_of_it),
        cmocka_unit_test(a_hot_expert_gains_what_its_peers_do_not_have),
        cmocka_unit_test(a_slow_stage_of_a_pipeline_is_named),
        cmocka_unit_test(a_step_that_is_late_once_is_named_and_no_more),
        cmocka_unit_test(equal_ranks_with_jitter_name_nobody),
        cmocka_unit_test(equal_stages_with_jitter_name_nobody),
        cmocka_unit_test(a_replay_that_misses_the_steps_is_not_believed),
        cmocka_unit_test(weak_matches_name_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
