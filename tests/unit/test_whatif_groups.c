/* SPDX-License-Identifier: Apache-2.0 */
/* What-if gains of groups of ranks: a host's, a communicator's. */
#include <stdio.h>

#include "fake_job.h"
#include "rkt_test.h"

#define US INT64_C(1000)
#define ALL_MAX 8
#define STEPS 10

static void two_slow_ranks_of_a_host_are_named_together(void **state)
{
    const int64_t late_us[ALL_MAX] = {0, 0, 400, 400};
    const int64_t gains_us[ALL_MAX] = {0};
    const struct rkt_group_gain *group;
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 4);
    for (size_t r = 0; r < 4; r++)
        (void)snprintf(job.run.traces[r].source.info.host, 16, "node%zu", r / 2);
    for (int s = 0; s < STEPS; s++)
        fake_job_data_parallel_step(&job, 0, late_us);
    fake_job_find(&job);
    fake_job_assert_gains(&job, gains_us); /* of one alone */
    group = &job.run.result.whatif.group;
    assert_true(group->is_found);
    assert_int_equal(group->kind, RKT_GROUP_HOST);
    assert_string_equal(group->name, "node1");
    assert_int_equal(group->rank_count, 2);
    assert_int_equal(group->ranks[0], 2);
    assert_int_equal(group->ranks[1], 3);
    assert_int_equal(group->gain_ns, 400 * US);
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 2);
    assert_int_equal(job.run.result.straggler.gain_ns, 400 * US);
    assert_int_equal(job.run.result.straggler.cause, RKT_CAUSE_COMPUTE);
    fake_job_release(&job);
}

/* Rank 2 is late, and twice rank 3 stalls for long: in these two steps their host gains more than
 * either. */
static void ranks_of_a_host_that_stall_by_chance_are_no_group(void **state)
{
    struct fake_job job;

    (void)state;
    fake_job_init_data_parallel(&job, 4);
    for (size_t r = 0; r < 4; r++)
        (void)snprintf(job.run.traces[r].source.info.host, 16, "node%zu", r / 2);
    for (int s = 0; s < STEPS; s++) {
        const int64_t late_us[ALL_MAX] = {0, 0, 400, s == 3 || s == 7 ? 4000 : 0};

        fake_job_data_parallel_step(&job, 0, late_us);
    }
    fake_job_find(&job);
    fake_job_assert_replayed(&job);
    assert_false(job.run.result.whatif.group.is_found);
    assert_true(job.run.result.straggler.is_found);
    assert_int_equal(job.run.result.straggler.rank, 2);
    assert_int_equal(job.run.result.straggler.step_count, 8);
    fake_job_release(&job);
}

static void slow_ranks_of_one_tensor_index_are_named_together(void **state)
{
    static const uint32_t TP[4][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
    static const uint32_t DP[2][4] = {{0, 2, 4, 6}, {1, 3, 5, 7}};
    const struct rkt_group_gain *group;
    struct fake_job job;

    (void)state;
    fake_job_init(&job, 8);
    for (size_t i = 0; i < 4; i++)
        (void)fake_job_add_comm(&job, TP[i], 2);
    for (size_t i = 0; i < 2; i++)
        (void)fake_job_add_comm(&job, DP[i], 4);
    for (int s = 0; s < STEPS; s++) {
        for (uint32_t r = 0; r < 8; r++)
            fake_job_compute(&job, r, r % 2 == 1 ? 1400 : 1000);
        for (size_t i = 0; i < 4; i++) {
            fake_job_post(&job, i, 100);
            fake_job_join(&job, i);
        }
        for (size_t i = 4; i < 6; i++) {
            fake_job_post(&job, i, 200);
            fake_job_join(&job, i);
        }
        fake_job_end_step(&job);
    }
    fake_job_find(&job);
    group = &job.run.result.whatif.group;
    assert_true(group->is_found);
    assert_int_equal(group->kind, RKT_GROUP_COMM);
    assert_int_equal(group->rank_count, 4);
    assert_int_equal(group->ranks[0], 1);
    assert_int_equal(group->gain_ns, 400 * US);
    fake_job_release(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_slow_ranks_of_a_host_are_named_together),
        cmocka_unit_test(ranks_of_a_host_that_stall_by_chance_are_no_group),
        cmocka_unit_test(slow_ranks_of_one_tensor_index_are_named_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
