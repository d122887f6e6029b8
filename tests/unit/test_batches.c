/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/batches.h"

#include "key_tables.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define STEP_NS INT64_C(1000)
#define NAMES 3

static const char *const NAME[NAMES] = {"gemm", "add", "norm"};

static void find(struct fake_run *run)
{
    struct rkt_error err;

    (void)key_tables_make(run);
    fake_sum_names(run);
    assert_rkt_ok(rkt_find_batches(&run->result, &run->arena, &err), err);
}

static const int64_t *times_of(const struct fake_run *run, const char *name)
{
    const struct rkt_table *table = &run->result.tables->of[RKT_TABLE_KERNELS];

    return run->result.batches
        ->kernels[key_tables_row(run->result.tables, RKT_TABLE_KERNELS, name) - table->rows];
}

static void add_steps(struct fake_run *run, size_t rank, uint32_t count)
{
    run->result.ranks[rank].step_source = RKT_STEPS_MARKS;
    for (uint32_t i = 0; i < count; i++)
        fake_add_step(run, rank, i * STEP_NS, (i + 1) * STEP_NS);
}

static void add(struct fake_run *run, size_t rank, const char *name, uint32_t step, int64_t ns)
{
    int64_t start_ns = step * STEP_NS + 10;

    key_tables_add_kernel(run, rank, name, step, start_ns, start_ns + ns);
}

/* Two ranks, steps 0 to 3 of rank 0, 1 to 3 of rank 1: three steps are of both, a batch each. */
static void each_step_is_a_batch_where_they_are_few(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    add_steps(&run, 0, 4);
    add_steps(&run, 1, 3);
    for (uint32_t step = 0; step < 4; step++)
        add(&run, 0, "gemm", step, 100 + step);
    add(&run, 0, "gemm", 2, 50);
    for (uint32_t step = 0; step < 3; step++) {
        run.result.ranks[1].steps[step].number = step + 1;
        add(&run, 1, "gemm", step, 200);
    }
    add(&run, 1, "add", 2, 7);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "mm", 2 * STEP_NS + 5, 2 * STEP_NS + 55);
    find(&run);
    assert_int_equal(run.result.batches->count, 3);
    assert_int_equal(run.result.batches->rank_count, 2);
    assert_int_equal(run.result.batches->items[2].first_step, 3);
    assert_int_equal(run.result.batches->items[2].step_count, 1);
    assert_int_equal(times_of(&run, "gemm")[0], 101 + 200);
    assert_int_equal(times_of(&run, "gemm")[1], 102 + 50 + 200);
    assert_int_equal(times_of(&run, "gemm")[2], 103 + 200);
    assert_int_equal(times_of(&run, "add")[1], 0);
    assert_int_equal(times_of(&run, "add")[2], 7);
    assert_int_equal(run.result.batches->host[0][0], 0);
    assert_int_equal(run.result.batches->host[0][1], 50);
    fake_run_release(&run);
}

static void steps_stand_in_32_batches_that_are_alike(void **state)
{
    struct fake_run run;
    uint64_t next = 0;

    (void)state;
    fake_run_init(&run, 1);
    add_steps(&run, 0, 100);
    add(&run, 0, "gemm", 0, 10);
    find(&run);
    assert_int_equal(run.result.batches->count, RKT_BATCHES_MAX);
    for (size_t b = 0; b < RKT_BATCHES_MAX; b++) {
        const struct rkt_batch *batch = &run.result.batches->items[b];

        assert_in_range(batch->step_count, 3, 4);
        assert_int_equal(batch->first_step, next);
        assert_int_equal(batch->last_step - batch->first_step + 1, batch->step_count);
        next = batch->last_step + 1;
    }
    assert_int_equal(next, 100);
    fake_run_release(&run);
}

static void without_steps_or_names_there_are_none(void **state)
{
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 1);
    add(&run, 0, "gemm", 0, 10);
    run.traces[0].works[0].step = RKT_INDEX_NONE;
    find(&run);
    assert_null(run.result.batches);
    fake_run_release(&run);

    fake_run_init(&run, 1);
    add_steps(&run, 0, 6);
    add(&run, 0, "gemm", 0, 10);
    (void)key_tables_make(&run);
    assert_rkt_ok(rkt_find_batches(&run.result, &run.arena, &err), err);
    assert_null(run.result.batches); /* nothing is known by name */
    fake_run_release(&run);
}

/* Of steps that tables keep apart. */
static void check_operators(const struct fake_run *run, uint32_t steps)
{
    const struct rkt_batches *batches = run->result.batches;
    const struct rkt_table *table = &run->result.tables->of[RKT_TABLE_OPERATORS];

    assert_int_equal(table->row_count, NAMES);
    for (size_t i = 0; i < table->row_count; i++) {
        const int64_t *device = batches->device[i], *host = batches->host[i];
        int64_t device_ns = 0, host_ns = 0;

        if ((device && host) != (steps <= 16))
            fail_msg("%u steps: operators have times, or lack them", steps);
        if (!device || !host)
            continue;
        for (size_t b = 0; b < batches->count; b++) {
            device_ns += device[b];
            host_ns += host[b];
        }
        check_key_value(run->result.tables, RKT_TABLE_OPERATORS, table->rows[i].name,
                        "self_device_ns", (double)device_ns);
        check_key_value(run->result.tables, RKT_TABLE_OPERATORS, table->rows[i].name,
                        "self_host_ns", (double)host_ns);
    }
}

static void operators_have_times_in_each_of_a_few_steps(void **state)
{
    (void)state;
    for (uint32_t steps = 5; steps <= 20; steps++) {
        struct rkt_random random = {steps};
        struct fake_run run;

        fake_run_init_small(&run, 3, 512);
        for (size_t r = 0; r < 3; r++) {
            add_steps(&run, r, steps);
            for (uint32_t i = 0; i < steps * 4; i++) {
                int64_t start_ns = i * STEP_NS / 4 + (int64_t)rkt_random_below(&random, 100);
                const char *name = NAME[i < NAMES ? i : rkt_random_below(&random, NAMES)];

                fake_add_range(&run, r, RKT_RANGE_CPU_OP, name, start_ns, start_ns + 90);
                add(&run, r, "gemm", i / 4, (int64_t)rkt_random_below(&random, 50));
                run.traces[r].works[run.traces[r].work_count - 1].launch_start_ns = start_ns + 20;
                run.traces[r].works[run.traces[r].work_count - 1].launch_end_ns = start_ns + 30;
            }
        }
        run.result.ranks[2].is_set_apart = true;
        find(&run);
        check_operators(&run, steps);
        fake_run_release(&run);
    }
}

/* Names have other ids on each rank; one rank is set apart; collectives are in no batch. */
static void batches_add_up_to_the_tables(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rkt_random random = {seed};
        uint32_t steps = 5 + (uint32_t)rkt_random_below(&random, 60);
        struct fake_run run;

        fake_run_init_small(&run, 4, 256);
        for (size_t r = 0; r < 4; r++) {
            add_steps(&run, r, steps);
            for (int i = 0; i < 200; i++)
                add(&run, r, NAME[rkt_random_below(&random, NAMES)],
                    (uint32_t)rkt_random_below(&random, steps),
                    (int64_t)rkt_random_below(&random, 900));
            fake_add_comm_work(&run, r, "ncclDevKernel_AllReduce", 500, 900);
            run.traces[r].works[run.traces[r].work_count - 1].step = 0;
        }
        run.result.ranks[3].is_set_apart = true;
        find(&run);
        assert_null(times_of(&run, "ncclDevKernel_AllReduce"));
        for (int n = 0; n < NAMES; n++) {
            int64_t sum_ns = 0;

            for (size_t b = 0; b < run.result.batches->count; b++)
                sum_ns += times_of(&run, NAME[n])[b];
            check_key_value(run.result.tables, RKT_TABLE_KERNELS, NAME[n], "total_ns",
                            (double)sum_ns);
        }
        fake_run_release(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_a_batch_where_they_are_few),
        cmocka_unit_test(steps_stand_in_32_batches_that_are_alike),
        cmocka_unit_test(without_steps_or_names_there_are_none),
        cmocka_unit_test(batches_add_up_to_the_tables),
        cmocka_unit_test(operators_have_times_in_each_of_a_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
