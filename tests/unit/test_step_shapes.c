/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of launches and of operators' inputs that change from step to step. */
#include <math.h>

#include "fake_run.h"
#include "key_tables.h"
#include "rkt_test.h"

/*
 *     step        1     2     3     4
 *     shape 1     x     x           x         gemm: 2 shapes, 2 changes
 *     shape 2                 x
 *     shape 3     x     x     x     x         add: 1 shape, none
 */
static void shapes_that_change_between_steps_are_counted(void **state)
{
    static struct rkt_event_shape shapes[] = {{.shape_id = 1}, {.shape_id = 2}, {.shape_id = 3}};
    static const uint32_t GEMM[] = {1, 1, 2, 1};
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    run.traces[0].shapes = shapes;
    run.traces[0].shape_count = 3;
    for (uint32_t step = 0; step < 4; step++) {
        int64_t at_ns = 100000 * (int64_t)(step + 1);

        fake_add_step(&run, 0, at_ns, at_ns + 100000);
        key_tables_add_kernel(&run, 0, "gemm", step, at_ns + 10000, at_ns + 20000)->shape_id =
            GEMM[step];
        key_tables_add_kernel(&run, 0, "add", step, at_ns + 30000, at_ns + 35000)->shape_id = 3;
        key_tables_add_kernel(&run, 0, "gemm", step, at_ns + 40000, at_ns + 50000)->shape_id =
            GEMM[step];
        key_tables_add_kernel(&run, 0, "lost", step, at_ns + 60000, at_ns + 61000)->shape_id = 99;
    }
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "shape_count", 2);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "shape_changes", 2);
    check_key_value(tables, RKT_TABLE_KERNELS, "gemm", "step_count", 4);
    check_key_value(tables, RKT_TABLE_KERNELS, "add", "shape_count", 1);
    check_key_value(tables, RKT_TABLE_KERNELS, "add", "shape_changes", 0);
    check_key_value(tables, RKT_TABLE_KERNELS, "lost", "shape_count", (double)NAN);
    run.traces[0].shapes = NULL;
    fake_run_release(&run);
}

static void add_operator(struct fake_run *run, const char *name, const char *inputs,
                         int64_t start_ns)
{
    struct rkt_rank_trace *trace = &run->traces[0];

    fake_add_range(run, 0, RKT_RANGE_CPU_OP, name, start_ns, start_ns + 1000);
    trace->ranges[trace->range_count - 1].domain_id =
        rkt_strtab_intern(trace->names, inputs, strlen(inputs));
}

/*
 *     step        0        1        2        3
 *     [[8]]       mm mul   mm mul            mm       mm: 2 shapes in 4 steps, 2 changes
 *     [[9]]                         mm mul            mul: 2 shapes in 3 steps, 1 change
 */
static void inputs_that_change_between_steps_are_counted(void **state)
{
    static const char *const INPUTS[] = {"[[8]]", "[[8]]", "[[9]]", "[[8]]"};
    struct fake_run run;
    const struct rkt_tables *tables;

    (void)state;
    fake_run_init(&run, 1);
    for (int step = 0; step < 4; step++) {
        int64_t at_ns = 100000 * (int64_t)(step + 1);

        fake_add_step(&run, 0, at_ns, at_ns + 100000);
        add_operator(&run, "aten::mm", INPUTS[step], at_ns + 1000);
        add_operator(&run, "aten::mm", INPUTS[step], at_ns + 3000); /* again: the same set */
        if (step < 3)
            add_operator(&run, "aten::mul", INPUTS[step], at_ns + 5000);
        fake_add_range(&run, 0, RKT_RANGE_CPU_OP, "aten::plain", at_ns + 7000, at_ns + 8000);
    }
    add_operator(&run, "aten::mm", "[[10]]", 900000); /* behind the last step: a shape, no change */
    tables = key_tables_make(&run);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mm", "step_count", 4);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mm", "shape_count", 3);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mm", "shape_changes", 2);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mul", "step_count", 3);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mul", "shape_count", 2);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::mul", "shape_changes", 1);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::plain", "count", 4);
    check_key_value(tables, RKT_TABLE_OPERATORS, "aten::plain", "shape_changes", (double)NAN);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_change_between_steps_are_counted),
        cmocka_unit_test(inputs_that_change_between_steps_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
