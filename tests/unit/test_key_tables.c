/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of metrics.md, "Key tables", and what holds of any trace. */
#include <math.h>
#include <stdio.h>

#include "analysis/activity.h"
#include "analysis/segment.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "key_tables.h"
#include "rkt_random.h"
#include "rkt_test.h"

/* ---- kernels ---- */

/*
 *     rank 0, step 1    |gemm 10 us|  |add 3 us|  |gemm 20 us|      step 0: warm-up
 *     rank 1, step 1    |gemm 30 us|  |add 4 us|
 */
static void kernels_are_summed_by_name_over_steady_steps_and_ranks(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;
    const struct rkt_row *gemm;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_step(&run, r, 0, 100000)->is_warmup = true;
        fake_add_step(&run, r, 100000, 200000);
        key_tables_add_kernel(&run, r, "gemm", 0, 10000, 90000);
    }
    key_tables_add_kernel(&run, 0, "gemm", 1, 110000, 120000);
    key_tables_add_kernel(&run, 0, "add", 1, 121000, 124000);
    key_tables_add_kernel(&run, 0, "gemm", 1, 130000, 150000);
    key_tables_add_kernel(&run, 1, "gemm", 1, 110000, 140000);
    key_tables_add_kernel(&run, 1, "add", 1, 150000, 154000);
    tables = key_tables_make(&run);
    gemm = key_tables_row(tables, RKT_TABLE_KERNELS, "gemm");
    assert_string_equal(gemm->kind, "compute");
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "count", 3);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "total_ns", 60000);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "min_ns", 10000);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "max_ns", 30000);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "mean_ns", 20000);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "share", 60.0 / 67);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "launch_ns", 3000);
    assert_int_equal(gemm->by_rank[0], 30000);
    assert_int_equal(gemm->by_rank[1], 30000);
    check_key_value(tables, RKT_TABLE_KERNELS, "add", "short_count", 1); /* 3 us, not 4 us */
    assert_ptr_equal(gemm, &tables->of[RKT_TABLE_KERNELS].rows[0]);
    fake_run_release(&run);
}

static void a_kernel_that_a_rank_lacks_is_not_known_of_it(void **state)
{
    struct fake_run run;
    const struct rkt_row *row;

    (void)state;
    fake_run_init(&run, 3);
    key_tables_add_kernel(&run, 1, "gemm", RKT_INDEX_NONE, 110000, 120000);
    run.result.ranks[2].is_set_apart = true;
    key_tables_add_kernel(&run, 2, "gemm", RKT_INDEX_NONE, 110000, 120000);
    row = key_tables_row(key_tables_make(&run), RKT_TABLE_KERNELS, "gemm");
    assert_int_equal(row->values[RKT_COLUMN_COUNT], 1);
    assert_true(row->by_rank[0] == RKT_NA);
    assert_int_equal(row->by_rank[1], 10000);
    assert_true(row->by_rank[2] == RKT_NA);
    fake_run_release(&run);
}

static void kernels_of_no_length_have_no_share(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    key_tables_add_kernel(&run, 0, "nothing", RKT_INDEX_NONE, 110000, 110000);
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_KERNELS, "nothing", "count", 1);
    check_key_value(tables, RKT_TABLE_KERNELS, "nothing", "mean_ns", 0);
    check_key_value(tables, RKT_TABLE_KERNELS, "nothing", "share", (double)NAN);
    check_key_value(tables, RKT_TABLE_KERNELS, "nothing", "shape_count", (double)NAN);
    fake_run_release(&run);
}

static void a_rank_that_recorded_nothing_has_empty_tables(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 2);
    tables = key_tables_make(&run);
    for (size_t id = 0; id < RKT_TABLE_COUNT; id++)
        assert_int_equal(tables->of[id].row_count, 0);
    fake_run_release(&run);
}

/* ---- operators ---- */

/*
 *     aten::linear    |0                        100|
 *       aten::addmm        |20          80|              of a kernel of 500
 *         launch              |40 45|
 */
static void work_belongs_to_the_innermost_operator(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "aten::linear", 1000, 1100);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "aten::addmm", 1020, 1080);
    fake_add_range(&run, 0, RKT_RANGE_USER, "mine", 1000, 1100);
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "gemm", .start_ns = 1200, .end_ns = 1700, .launch_ns = 1040});
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "gemm", .start_ns = 1800, .end_ns = 1810, .launch_ns = 1100});
    tables = key_tables_make(&run);
    assert_int_equal(tables->of[RKT_TABLE_OPERATORS].row_count, 2);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::linear", "total_ns", 100);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::linear", "self_host_ns", 40);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::linear", "device_ns", 500);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::linear", "self_device_ns", 0);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::linear", "host_minus_device_ns", 40);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::addmm", "self_host_ns", 60);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::addmm", "self_device_ns", 500);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::addmm", "launch_count", 1);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::addmm", "host_minus_device_ns", -440);
    fake_run_release(&run);
}

/* Of two that begin together the longer is around the other, whichever was recorded first. */
static void operators_that_begin_together_are_nested_by_length(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "inner", 1000, 1030);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "outer", 1000, 1100);
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_OPERATORS, "outer", "self_host_ns", 70);
    check_key_value(tables, RKT_TABLE_OPERATORS, "inner", "self_host_ns", 30);
    fake_run_release(&run);
}

/* One that outlasts the operator around it takes no more of it than that has. */
static void operators_that_cross_take_no_time_twice(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "outer", 1000, 1100);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "crossing", 1060, 1200);
    fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "other thread", 1060, 1070);
    run.traces[0].ranges[2].thread_id = 2;
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_OPERATORS, "outer", "self_host_ns", 60);
    check_key_value(tables, RKT_TABLE_OPERATORS, "crossing", "self_host_ns", 140);
    check_key_value(tables, RKT_TABLE_OPERATORS, "other thread", "self_host_ns", 10);
    fake_run_release(&run);
}

static void without_operators_the_programs_ranges_stand_in(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_NVTX, "layer 1", 1000, 1100);
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "gemm", .start_ns = 1200, .end_ns = 1700, .launch_ns = 1040});
    tables = key_tables_make(&run);
    assert_string_equal(key_tables_row(tables, RKT_TABLE_OPERATORS, "layer 1")->kind, "range");
    check_key_value(tables, RKT_TABLE_OPERATORS, "layer 1", "self_device_ns", 500);
    fake_run_release(&run);
}

/* ---- copies ---- */

static struct rkt_work *add_copy(struct fake_run *run, uint8_t src_kind, uint64_t bytes,
                                 int64_t start_ns, int64_t end_ns)
{
    uint32_t index = fake_add_work(run, 0,
                                   (struct fake_work){.work_class = RKT_WORK_COPY,
                                                      .name = "copy",
                                                      .start_ns = start_ns,
                                                      .end_ns = end_ns,
                                                      .launch_ns = start_ns - 2000});
    struct rkt_work *work = &run->traces[0].works[index];

    work->src_kind = src_kind;
    work->dst_kind = RKT_MEMORY_DEVICE;
    work->bytes = bytes;
    return work;
}

/*
 *     pinned      |0        60|               compute |0 20|
 *     pageable         |40      100|          exposed: 20 to 60, 60 to 100
 */
static void copies_are_summed_by_memory_and_size(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;
    const struct rkt_row *pageable;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){.name = "gemm", .start_ns = 10000, .end_ns = 10020});
    add_copy(&run, RKT_MEMORY_PINNED, 600, 10000, 10060);
    add_copy(&run, RKT_MEMORY_PAGEABLE, 1024, 10040, 10100)->launch_end_ns = 10100;
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_COPIES, "pinned to device", "exposed_ns", 40);
    check_key_value(tables, RKT_TABLE_COPIES, "pinned to device", "wait_count", 0);
    check_key_value(tables, RKT_TABLE_COPIES, "pinned to device", "bytes_per_s", 1e10);
    check_key_value(tables, RKT_TABLE_COPIES, "pageable to device", "exposed_ns", 40);
    check_key_value(tables, RKT_TABLE_COPIES, "pageable to device", "wait_count", 1);
    pageable = key_tables_row(tables, RKT_TABLE_COPIES, "pageable to device");
    assert_string_equal(pageable->kind, "HtoD");
    assert_int_equal(pageable->bin, 1024);
    assert_int_equal(key_tables_row(tables, RKT_TABLE_COPIES, "pinned to device")->bin, 512);
    fake_run_release(&run);
}

static void copies_of_any_size_have_a_class(void **state)
{
    static const struct {
        uint64_t bytes;
        int64_t from_bytes;
    } CASES[] = {{0, 0}, {1, 1}, {4095, 2048}, {4096, 4096}, {UINT64_MAX, INT64_MAX}};
    struct fake_run run;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_table *table;

        fake_run_init(&run, 1);
        add_copy(&run, RKT_MEMORY_PINNED, CASES[i].bytes, 10000, 10000);
        add_copy(&run, RKT_MEMORY_PINNED, CASES[i].bytes, 10000, 10000);
        table = &key_tables_make(&run)->of[RKT_TABLE_COPIES];
        assert_int_equal(table->row_count, 1);
        assert_int_equal(table->rows[0].bin, CASES[i].from_bytes);
        assert_true(table->rows[0].values[RKT_COPY_BYTES] >= 0);
        fake_run_release(&run);
    }
}

/* ---- calls ---- */

/*
 *     device   ======= 10|                             |20 ======
 *     host        |4 sync 12|      Python     |17 18|              idle 2, tail 5
 */
static void a_call_that_waits_has_the_idle_time_that_it_makes(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 4000, 12000);
    fake_add_call(&run, 0, RKT_CALL_LAUNCH, "cudaLaunchKernel", 17000, 18000);
    fake_add_work(&run, 0, (struct fake_work){.name = "a", .start_ns = 1000, .end_ns = 10000});
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "b", .start_ns = 20000, .end_ns = 30000, .launch_ns = 17000});
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_CALLS, "cudaStreamSynchronize", "count", 1);
    check_key_value(tables, RKT_TABLE_CALLS, "cudaStreamSynchronize", "total_ns", 8000);
    check_key_value(tables, RKT_TABLE_CALLS, "cudaStreamSynchronize", "idle_ns", 2000);
    check_key_value(tables, RKT_TABLE_CALLS, "cudaStreamSynchronize", "tail_ns", 5000);
    check_key_value(tables, RKT_TABLE_CALLS, "cudaLaunchKernel", "idle_ns", 0);
    assert_string_equal(key_tables_row(tables, RKT_TABLE_CALLS, "cudaLaunchKernel")->kind,
                        "launch");
    fake_run_release(&run);
}

/* ---- streams ---- */

/*
 *     host     |L1 0 |L2 3 |L3 5
 *     stream       |==1==  2 .. 10|==2==  10 .. 20|==3==  20 .. 22|      queued 2 + 7 + 15 = 24
 *     depth    1      1     2
 */
static void a_stream_tells_how_far_the_host_is_ahead(void **state)
{
    static const int64_t TIMES[][3] = {{100000, 102000, 110000},
                                       {103000, 110000, 120000},
                                       {105000, 120000, 122000},
                                       {140000, 139000, 141000}}; /* before its launch */
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    run.result.ranks[0].run = (struct rkt_window){.start_ns = 102000, .end_ns = 142000};
    for (size_t i = 0; i < 4; i++)
        fake_add_work(&run, 0,
                      (struct fake_work){.name = "a",
                                         .stream_id = 7,
                                         .start_ns = TIMES[i][1],
                                         .end_ns = TIMES[i][2],
                                         .launch_ns = TIMES[i][0]});
    tables = key_tables_make(&run);
    assert_string_equal(key_tables_row(tables, RKT_TABLE_STREAMS, "stream 7")->kind, "main GPU");
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "queued_ns", 24000);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "depth_max", 2);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "depth_mean", 0.6);
    /* the last; what the first found is not known */
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "found_empty_count", 1);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "found_empty_launch_ns", 1000);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "short_count", 2);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "short_ns", 4000);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 7", "short_launch_ns", 2000);
    fake_run_release(&run);
}

static void work_that_begins_as_another_is_launched_is_not_pending(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "a", .start_ns = 110000, .end_ns = 120000, .launch_ns = 100000});
    fake_add_work(
        &run, 0,
        (struct fake_work){.name = "a", .start_ns = 120000, .end_ns = 130000, .launch_ns = 110000});
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_STREAMS, "stream 0", "depth_max", 1);
    fake_run_release(&run);
}

/* ---- of any trace ---- */

static void draw(struct rkt_random *random, struct fake_run *run)
{
    int64_t at_ns = 100000;

    for (int step = 0; step < 20; step++) {
        int64_t end_ns = at_ns + 2000 + (int64_t)rkt_random_below(random, 30000);

        fake_add_step(run, 0, at_ns, end_ns)->is_warmup = step < 3;
        at_ns = end_ns + (int64_t)rkt_random_below(random, 3) * 1000;
    }
    at_ns = 90000;
    for (int i = 0; i < 200; i++) {
        uint32_t index;

        at_ns += (int64_t)rkt_random_below(random, 4000);
        index = fake_add_work(
            run, 0,
            (struct fake_work){.work_class = rkt_random_below(random, 2) == 0 ? RKT_WORK_COPY
                                                                              : RKT_WORK_COMPUTE,
                               .name = "work",
                               .stream_id = (uint32_t)rkt_random_below(random, 3),
                               .start_ns = at_ns,
                               .end_ns = at_ns + (int64_t)rkt_random_below(random, 5000),
                               .launch_ns = at_ns - (int64_t)rkt_random_below(random, 5000)});
        run->traces[0].works[index].copy_kind = (uint8_t)(1 + rkt_random_below(random, 10));
    }
    at_ns = 85000;
    for (int i = 0; i < 150; i++) {
        at_ns += (int64_t)rkt_random_below(random, 6000);
        fake_add_call(run, 0, rkt_random_below(random, 3) == 0 ? RKT_CALL_OTHER : RKT_CALL_BLOCKING,
                      "call", at_ns, at_ns + (int64_t)rkt_random_below(random, 4000));
    }
    run->result.ranks[0].run = (struct rkt_window){.start_ns = 90000, .end_ns = 1000000};
}

static int64_t sum_of(const struct rkt_table *table, int column)
{
    int64_t sum = 0;

    for (size_t i = 0; i < table->row_count; i++)
        sum += table->rows[i].values[column];
    return sum;
}

/* What copies expose, and what waiting calls cost, is what the partition of the steady steps
 * says. */
static void tables_add_up_to_the_partition(void **state)
{
    struct rkt_random random = {.state = 20240917};

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct fake_run run;
        struct rkt_partition sum = {0};
        const struct rkt_tables *tables;
        struct rkt_activity *activity = NULL;
        struct rkt_error err;
        int64_t copy_ns = 0;

        fake_run_init(&run, 1);
        draw(&random, &run);
        assert_rkt_ok(rkt_activity_create(&run.traces[0], &activity, &err), err);
        for (size_t i = 3; i < 20; i++) {
            const struct rkt_window *window = &run.result.ranks[0].steps[i].window;
            struct rkt_partition parts;

            rkt_activity_parts_within(activity, window->start_ns, window->end_ns, &parts);
            rkt_partition_add(&sum, &parts);
        }
        rkt_activity_destroy(activity);
        tables = key_tables_make(&run);
        for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
            copy_ns += sum.copy_ns[i];
        assert_int_equal(sum_of(&tables->of[RKT_TABLE_COPIES], RKT_COPY_EXPOSED), copy_ns);
        assert_int_equal(sum_of(&tables->of[RKT_TABLE_CALLS], RKT_CALL_IDLE) +
                             sum_of(&tables->of[RKT_TABLE_CALLS], RKT_CALL_TAIL),
                         sum.idle_ns[RKT_IDLE_SYNC]);
        fake_run_release(&run);
    }
}

static void warm_up_beyond_the_first_steps_is_in_the_tables_and_said(void **state)
{
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    for (uint32_t step = 0; step < 40; step++) {
        int64_t at_ns = 100000 * (int64_t)(step + 1);

        fake_add_step(&run, 0, at_ns, at_ns + 100000)->is_warmup = step < 18;
        key_tables_add_kernel(&run, 0, "gemm", step, at_ns + 10000, at_ns + 20000);
    }
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "count", 24);
    assert_int_equal(run.result.note_count, 1);
    assert_non_null(strstr(run.result.notes[0].text, "also hold 2 steps"));
    fake_run_release(&run);
}

/* ---- order ---- */

static void rows_stand_by_any_column_and_unknown_ones_last(void **state)
{
    const struct rkt_table_form *form = rkt_table_form(RKT_TABLE_KERNELS);
    struct rkt_row rows[3] = {{.kind = "compute", .name = "b", .values = {1, 10, 5}},
                              {.kind = "compute", .name = "a", .values = {1, 10, 7}},
                              {.kind = "compute", .name = "A", .values = {0, 50, RKT_NA}}};
    struct rkt_table table = {rows, 3};

    (void)state;
    rkt_table_sort(form, &table, rkt_table_find_column(form, "total_ns"));
    assert_string_equal(rows[0].name, "A");
    assert_string_equal(rows[1].name, "a"); /* as large as b */
    rkt_table_sort(form, &table, rkt_table_find_column(form, "min_ns"));
    assert_string_equal(rows[2].name, "A");
    rkt_table_sort(form, &table, rkt_table_find_column(form, "mean_ns"));
    assert_string_equal(rows[2].name, "A"); /* of no kernel there is no mean */
    assert_true(rkt_table_find_column(form, "colour") == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_summed_by_name_over_steady_steps_and_ranks),
        cmocka_unit_test(a_kernel_that_a_rank_lacks_is_not_known_of_it),
        cmocka_unit_test(kernels_of_no_length_have_no_share),
        cmocka_unit_test(a_rank_that_recorded_nothing_has_empty_tables),
        cmocka_unit_test(work_belongs_to_the_innermost_operator),
        cmocka_unit_test(operators_that_begin_together_are_nested_by_length),
        cmocka_unit_test(operators_that_cross_take_no_time_twice),
        cmocka_unit_test(without_operators_the_programs_ranges_stand_in),
        cmocka_unit_test(copies_are_summed_by_memory_and_size),
        cmocka_unit_test(copies_of_any_size_have_a_class),
        cmocka_unit_test(a_call_that_waits_has_the_idle_time_that_it_makes),
        cmocka_unit_test(a_stream_tells_how_far_the_host_is_ahead),
        cmocka_unit_test(work_that_begins_as_another_is_launched_is_not_pending),
        cmocka_unit_test(tables_add_up_to_the_partition),
        cmocka_unit_test(warm_up_beyond_the_first_steps_is_in_the_tables_and_said),
        cmocka_unit_test(rows_stand_by_any_column_and_unknown_ones_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
