/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "analysis/step_marks.h"

/* Three marks at 0, 100 and 200; the program ends at 260. */
static const struct rkt_range MARKS[] = {
    {.start_ns = 0, .end_ns = 100, .value = 7, .type = RKT_RANGE_STEP},
    {.start_ns = 10, .end_ns = 20, .type = RKT_RANGE_FORWARD},
    {.start_ns = 100, .end_ns = 200, .value = 8, .type = RKT_RANGE_STEP},
    {.start_ns = 110, .end_ns = 120, .type = RKT_RANGE_FORWARD},
    {.start_ns = 200, .end_ns = 260, .value = 9, .type = RKT_RANGE_STEP},
    {.start_ns = 210, .end_ns = 220, .type = RKT_RANGE_INPUT},
};

static size_t count_steps(struct rkt_rank_trace *trace)
{
    struct rkt_step_marks marks = {0};
    enum rkt_step_source source;
    size_t count;

    assert_int_equal(rkt_step_marks_find(trace, NULL, &marks, &source), RKT_OK);
    assert_int_equal(source, RKT_STEPS_MARKS);
    count = marks.count;
    free(marks.items);
    return count;
}

static void a_mark_after_the_last_iteration_begins_no_step(void **state)
{
    struct rkt_range ranges[6];
    struct rkt_rank_trace trace = {.ranges = ranges, .range_count = 6};

    (void)state;
    memcpy(ranges, MARKS, sizeof(MARKS));
    assert_int_equal(count_steps(&trace), 2);
}

static void a_launch_in_the_last_one_makes_it_a_step(void **state)
{
    struct rkt_range ranges[6];
    struct rkt_call call = {.start_ns = 230, .end_ns = 231, .call_class = RKT_CALL_LAUNCH};
    struct rkt_rank_trace trace = {
        .ranges = ranges, .range_count = 6, .calls = &call, .call_count = 1};

    (void)state;
    memcpy(ranges, MARKS, sizeof(MARKS));
    assert_int_equal(count_steps(&trace), 3);
}

static void without_phases_and_launches_every_mark_counts(void **state)
{
    struct rkt_range ranges[] = {MARKS[0], MARKS[2], MARKS[4]};
    struct rkt_rank_trace trace = {.ranges = ranges, .range_count = 3};

    (void)state;
    assert_int_equal(count_steps(&trace), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_after_the_last_iteration_begins_no_step),
        cmocka_unit_test(a_launch_in_the_last_one_makes_it_a_step),
        cmocka_unit_test(without_phases_and_launches_every_mark_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
