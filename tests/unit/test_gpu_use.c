/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of GPUs over a stretch of time, and as the cause of a straggler. */
#include "rkt_test.h"

#include <math.h>

#include "analysis/gpu_use.h"
#include "analysis/stages.h"
#include "fake_run.h"

#define MS INT64_C(1000000)
#define STEP_NS (100 * MS)
#define STEPS 10

static void a_mean_counts_by_time_and_a_moment_once(void **state)
{
    struct fake_run run;
    struct rkt_gpu_use use;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_counter(&run, 0, RKT_COUNTER_SM_ACTIVE, 0, 60, 1000);
    fake_add_counter(&run, 0, RKT_COUNTER_POWER, 30, 30, 5);
    fake_add_counter(&run, 0, RKT_COUNTER_POWER, 40, 40, 300);
    fake_add_counter(&run, 0, RKT_COUNTER_SM_ACTIVE, 60, 70, 2000);
    fake_add_counter(&run, 0, RKT_COUNTER_POWER, 69, 69, 500);
    fake_add_counter(&run, 0, RKT_COUNTER_POWER, 80, 80, 7);
    use = rkt_gpu_use_over(&run.traces[0], 0, 40, 80);
    assert_true(fabs(use.mean[RKT_COUNTER_SM_ACTIVE] - (20 * 1000.0 + 10 * 2000) / 30) < 1e-9);
    assert_true(use.mean[RKT_COUNTER_POWER] == 400);
    assert_true(use.most[RKT_COUNTER_POWER] == 500);
    assert_int_equal(use.count[RKT_COUNTER_POWER], 2);
    assert_true(isnan(use.mean[RKT_COUNTER_SM_CLOCK]));
    assert_true(isnan(use.most[RKT_COUNTER_SM_CLOCK]));
    assert_true(isnan(use.throttled));
    use = rkt_gpu_use_over(&run.traces[0], 1, 0, 100); /* another GPU */
    assert_true(isnan(use.mean[RKT_COUNTER_POWER]));
    fake_run_release(&run);
}

static void throttled_is_the_share_of_readings_that_name_a_limit(void **state)
{
    static const uint64_t READINGS[] = {0, RKT_THROTTLE_IDLE, RKT_THROTTLE_POWER_CAP,
                                        RKT_THROTTLE_POWER_CAP | RKT_THROTTLE_HW_THERMAL};
    struct fake_run run;
    struct rkt_gpu_use use;

    (void)state;
    fake_run_init(&run, 1);
    for (int64_t i = 0; i < 4; i++)
        fake_add_counter(&run, 0, RKT_COUNTER_THROTTLE_REASONS, i, i, READINGS[i]);
    use = rkt_gpu_use_over(&run.traces[0], 0, 0, 10);
    assert_true(use.throttled == 0.5);
    assert_true(use.throttled_by[0] == 0.25);
    assert_true(use.throttled_by[2] == 0.5);
    assert_true(use.throttled_by[6] == 0.25);
    assert_true(use.throttled_by[7] == 0);
    fake_run_release(&run);
}

static void the_gpu_with_most_work_is_first_and_steady_values_hold(void **state)
{
    struct fake_run run;
    struct rkt_error err = {0};
    const struct rkt_rank_result *rank;

    (void)state;
    fake_run_init(&run, 2);
    fake_add_counter(&run, 0, RKT_COUNTER_SM_CLOCK_MAX, 1, 1, 1980); /* before the steps */
    for (size_t i = 0; i < 4; i++)
        fake_add_counter(&run, 0, RKT_COUNTER_SM_CLOCK, 150 + (int64_t)i, 150 + (int64_t)i, 1000);
    run.traces[0].gpu.counters[3].device_id = 1;
    run.traces[0].gpu.counters[4].device_id = 1;
    for (size_t i = 0; i < 3; i++) {
        uint32_t work = fake_add_work(
            &run, 0,
            (struct fake_work){.name = "gemm", .start_ns = 110 + (int64_t)i, .end_ns = 120});

        run.traces[0].works[work].device_id = i > 0;
    }
    fake_add_step(&run, 0, 100, 200)->is_warmup = false;
    run.result.ranks[0].step_source = RKT_STEPS_MARKS;
    rkt_rank_trace_count(run.result.ranks[0].trace);
    assert_rkt_ok(rkt_find_gpu_use(&run.result, &run.arena, &err), err);
    rank = &run.result.ranks[0];
    assert_int_equal(rank->gpu_count, 2);
    assert_int_equal(rank->gpus[0].device_id, 1);
    assert_int_equal(rank->gpus[1].device_id, 0);
    assert_true(rank->gpus[1].mean[RKT_COUNTER_SM_CLOCK_MAX] == 1980);
    assert_int_equal(run.result.ranks[1].gpu_count, 0);
    fake_run_release(&run);
}

/* ---- the cause of a straggler ---- */

/* What a rank's GPU does in all steps; mhz 0: its clock is not known. */
struct gpu {
    uint64_t mhz;
    uint64_t reasons;
    unsigned int readings_in_ten; /* that name the reasons; the others name none */
};

static void add_rank(struct fake_run *run, size_t rank, int64_t extra_ns, bool is_input,
                     const struct gpu *gpu)
{
    struct fake_op op = {99, 0, 8, -1, RKT_NCCL_FUNC_ALLREDUCE};

    for (int64_t i = 0; i < STEPS; i++) {
        struct rkt_step_result *step = fake_add_step(run, rank, i * STEP_NS, (i + 1) * STEP_NS);
        struct rkt_partition *parts = &step->window.parts;
        int64_t at = i * STEP_NS + 50 * MS;

        parts->window_ns = STEP_NS;
        parts->compute_ns = 60 * MS + (is_input ? 0 : extra_ns);
        parts->idle_ns[RKT_IDLE_INPUT] = is_input ? extra_ns : 0;
        parts->comm_wait_ns = STEP_NS - rkt_partition_sum(parts);
        if (gpu->mhz > 0)
            fake_add_counter(run, rank, RKT_COUNTER_SM_CLOCK, at, at, gpu->mhz);
        fake_add_counter(run, rank, RKT_COUNTER_THROTTLE_REASONS, at, at,
                         (uint64_t)i % 10 < gpu->readings_in_ten ? gpu->reasons : 0);
    }
    run->result.ranks[rank].step_source = RKT_STEPS_MARKS;
    fake_add_comm(run, rank, op.comm_id, (int32_t)rank, (uint32_t)run->result.rank_count);
    fake_add_collective(run, rank, op, STEPS * STEP_NS, STEPS * STEP_NS + MS);
}

static void a_slower_gpu_is_the_cause_where_it_explains_the_excess(void **state)
{
    const struct gpu fine = {1980, 0, 0};
    const struct gpu capped = {1500, RKT_THROTTLE_POWER_CAP, 10};
    const uint64_t thermal = RKT_THROTTLE_HW_THERMAL | RKT_THROTTLE_HW_SLOWDOWN;
    const struct {
        const char *what;
        struct gpu own, others;
        int64_t extra_ms;
        bool is_input;
        bool is_found;
        enum rkt_throttle_reason reason;
    } CASES[] = {
        {"too hot", {1485, thermal, 10}, fine, 18, false, true, RKT_THROTTLE_HW_THERMAL},
        {"power cap", capped, fine, 18, false, true, RKT_THROTTLE_POWER_CAP},
        {"too hot now and then",
         {1485, thermal, 4},
         fine,
         18,
         false,
         true,
         RKT_THROTTLE_HW_THERMAL},
        {"lower clock without a reason", {1485, 0, 0}, fine, 18, false, true, 0},
        {"clock a little lower, with a reason",
         {1900, RKT_THROTTLE_SW_THERMAL, 10},
         fine,
         4,
         false,
         true,
         RKT_THROTTLE_SW_THERMAL},
        {"clock a little lower, without", {1900, 0, 0}, fine, 4, false, false, 0},
        {"a reason, and the clock as high",
         {1980, RKT_THROTTLE_POWER_CAP, 10},
         fine,
         18,
         false,
         false,
         0},
        {"all alike", capped, capped, 18, false, false, 0},
        {"all alike, no clock", {0, thermal, 10}, {0, thermal, 10}, 18, false, false, 0},
        {"the reason alone, no clock",
         {0, thermal, 10},
         {0, 0, 0},
         18,
         false,
         true,
         RKT_THROTTLE_HW_THERMAL},
        {"a lower clock explains little of so much",
         {1900, thermal, 10},
         fine,
         35,
         false,
         false,
         0},
        {"idle is no limit", {0, RKT_THROTTLE_IDLE, 10}, fine, 18, false, false, 0},
        {"the cause is another", {1485, thermal, 10}, fine, 18, true, false, 0},
        {"the others are the slow ones", fine, capped, 18, false, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_straggler *straggler;
        struct rkt_error err = {0};
        struct fake_run run;

        fake_run_init(&run, 4);
        for (size_t r = 0; r < 4; r++)
            add_rank(&run, r, r == 2 ? CASES[i].extra_ms * MS : 0, CASES[i].is_input,
                     r == 2 ? &CASES[i].own : &CASES[i].others);
        fake_match(&run);
        assert_rkt_ok(rkt_find_straggler(&run.result, &run.arena, &err), err);
        straggler = &run.result.straggler;
        if (!straggler->is_found || straggler->rank != 2)
            fail_msg("%s: no straggler", CASES[i].what);
        if (straggler->gpu.is_found != CASES[i].is_found ||
            straggler->gpu.reason != CASES[i].reason)
            fail_msg("%s: found %d, reason %x", CASES[i].what, straggler->gpu.is_found,
                     straggler->gpu.reason);
        fake_run_release(&run);
    }
}

static void the_numbers_are_those_of_the_rank_and_the_median_of_the_others(void **state)
{
    const struct gpu hot = {1485, RKT_THROTTLE_SW_THERMAL, 9};
    const struct gpu others[] = {{1980, RKT_THROTTLE_SW_THERMAL, 1}, {1965, 0, 0}, {1500, 0, 0}};
    const struct rkt_gpu_cause *gpu;
    struct rkt_error err = {0};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    for (size_t r = 0; r < 3; r++)
        add_rank(&run, r, 0, false, &others[r]);
    add_rank(&run, 3, 18 * MS, false, &hot);
    fake_match(&run);
    assert_rkt_ok(rkt_find_straggler(&run.result, &run.arena, &err), err);
    gpu = &run.result.straggler.gpu;
    assert_true(gpu->is_found);
    assert_true(gpu->share == 0.9);
    assert_true(gpu->others_share == 0);
    assert_true(gpu->clock_mhz == 1485);
    assert_true(gpu->others_clock_mhz == 1965);
    fake_run_release(&run);
}

static void without_samples_there_is_no_such_cause(void **state)
{
    const struct gpu hot = {1485, RKT_THROTTLE_SW_THERMAL, 10};
    struct rkt_error err = {0};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_rank(&run, r, r == 1 ? 18 * MS : 0, false, &hot);
        if (r != 1) /* nobody to compare with */
            run.traces[r].gpu.counter_count = 0;
    }
    fake_match(&run);
    assert_rkt_ok(rkt_find_straggler(&run.result, &run.arena, &err), err);
    assert_true(run.result.straggler.is_found);
    assert_false(run.result.straggler.gpu.is_found);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_counts_by_time_and_a_moment_once),
        cmocka_unit_test(throttled_is_the_share_of_readings_that_name_a_limit),
        cmocka_unit_test(the_gpu_with_most_work_is_first_and_steady_values_hold),
        cmocka_unit_test(a_slower_gpu_is_the_cause_where_it_explains_the_excess),
        cmocka_unit_test(the_numbers_are_those_of_the_rank_and_the_median_of_the_others),
        cmocka_unit_test(without_samples_there_is_no_such_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
