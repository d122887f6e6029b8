/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/selection.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define STEPS 5

/* Rank 0 of a fake run whose host makes steps 10 to 14 of 100 each, with a kernel and a call in
 * each. */
struct fixture {
    struct fake_run run;
    struct rkt_rank_result result;
};

static void add_kernel(struct fixture *fx, uint32_t stream_id, int64_t launch_ns, int64_t start_ns,
                       int64_t end_ns)
{
    fake_add_work(
        &fx->run, 0,
        (struct fake_work){RKT_WORK_COMPUTE, "k", stream_id, start_ns, end_ns, launch_ns, 0});
}

static void make_run(struct fixture *fx)
{
    fake_run_init(&fx->run, 1);
    for (int64_t i = 0; i < STEPS; i++) {
        fake_add_range(&fx->run, 0, RKT_RANGE_STEP, "", 1000 + i * 100, 1100 + i * 100);
        fx->run.traces[0].ranges[i].value = (uint64_t)i + 10;
        fake_add_call(&fx->run, 0, RKT_CALL_LAUNCH, "launch", 1010 + i * 100, 1020 + i * 100);
    }
}

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    make_run(fx);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    fake_run_release(&fx->run);
    free(fx);
    return 0;
}

/* Each step's kernel runs 50 after its launch, and for 90. */
static void add_kernels(struct fixture *fx)
{
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t launch_ns = 1010 + i * 100;

        add_kernel(fx, 7, launch_ns, launch_ns + 50, launch_ns + 140);
        fake_add_op(&fx->run, 0, (struct fake_op){.comm_id = 1, .seq = (uint64_t)i});
    }
}

static void select_part(struct fixture *fx, struct rkt_selection_texts texts)
{
    struct rkt_rank_trace *trace = &fx->run.traces[0];
    struct rkt_selection selection;
    struct rkt_error err;

    assert_rkt_ok(rkt_selection_parse(&texts, &selection, &err), err);
    selection.job_start_ns = 1000;
    rkt_rank_trace_count(trace);
    fx->result = (struct rkt_rank_result){.trace = trace};
    assert_rkt_ok(rkt_find_steps(trace, NULL, &fx->run.arena, &fx->result, &err), err);
    rkt_select_part(&selection, trace, &fx->result);
}

static void expect_step(const struct fixture *fx, size_t i, uint64_t number, bool is_selected)
{
    assert_int_equal(fx->result.steps[i].number, number);
    assert_int_equal(fx->result.steps[i].is_unrecorded, !is_selected);
}

/*
 * The worked example of analysis/doc/metrics.md, "A part of a run": --steps 12:14.
 *
 *   host     1000|  10  |  11  |  12  |  13  |  14  |1500
 *   device        1060.1150 1160.1250 1260.1350 1360.1450 1460.1550
 *   windows                          [1250 1350)[1350 1450)
 *   stays               | c    | x      x   |                        records of 1100 to 1450
 */
static void steps_keep_their_windows_and_what_is_far_from_them_goes(void **state)
{
    struct fixture *fx = *state;
    const struct rkt_rank_trace *trace = &fx->run.traces[0];

    add_kernels(fx);
    select_part(fx, (struct rkt_selection_texts){.steps = "12:14"});
    assert_int_equal(fx->result.step_count, 3);
    expect_step(fx, 0, 11, false);
    expect_step(fx, 1, 12, true);
    expect_step(fx, 2, 13, true);
    assert_int_equal(fx->result.steps[1].window.start_ns, 1250);
    assert_int_equal(fx->result.steps[1].window.end_ns, 1350);
    assert_int_equal(fx->result.steps[2].window.end_ns, 1450);
    assert_int_equal(fx->result.run.start_ns, 1250);
    assert_int_equal(fx->result.run.end_ns, 1450);
    assert_int_equal(trace->work_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(trace->works[i].step, i);
        assert_int_equal(trace->works[i].launch_start_ns, 1110 + (int64_t)i * 100);
        assert_int_equal(trace->ops[trace->works[i].op].nccl.seq, i + 1);
        assert_int_equal(trace->ops[trace->works[i].op].work, i);
    }
    assert_int_equal(trace->op_count, 3);
    /* Of step 14 the host's part that ran beside the last kernel of 13. */
    assert_int_equal(trace->call_count, 4);
    assert_int_equal(trace->calls[0].start_ns, 1110);
    assert_int_equal(trace->range_count, 4);
    assert_int_equal(fx->result.whole.step_count, STEPS);
    assert_int_equal(fx->result.whole.first_step, 10);
    assert_int_equal(fx->result.whole.last_step, 14);
    assert_int_equal(fx->result.whole.length_ns, 550);
    assert_int_equal(fx->result.whole.selected_count, 2);
}

/* A step's window holds whatever runs in it. */
static void work_of_another_step_that_runs_in_a_window_stays(void **state)
{
    struct fixture *fx = *state;

    add_kernels(fx);
    add_kernel(fx, 8, 1415, 1440, 1480); /* of step 14, beside the kernel of 13 */
    add_kernel(fx, 8, 1416, 1480, 1490);
    select_part(fx, (struct rkt_selection_texts){.steps = "13:14"});
    assert_int_equal(fx->run.traces[0].work_count, 3);
    assert_int_equal(fx->run.traces[0].works[2].start_ns, 1440);
    assert_int_equal(fx->run.traces[0].works[2].step, RKT_INDEX_NONE);
}

static void steps_whose_windows_lie_in_the_time_are_selected(void **state)
{
    static const struct {
        const char *since;
        const char *until;
        size_t count;
        uint64_t first; /* with the one before */
    } cases[] = {
        {"150ns", "350ns", 3, 10}, {"151ns", "350ns", 2, 11}, {"150ns", "349ns", 2, 10},
        {NULL, "250ns", 2, 10},    {"351ns", NULL, 2, 13},    {"0", "550ns", 5, 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture fx;

        make_run(&fx);
        add_kernels(&fx);
        select_part(&fx,
                    (struct rkt_selection_texts){.since = cases[i].since, .until = cases[i].until});
        assert_int_equal(fx.result.step_count, cases[i].count);
        assert_int_equal(fx.result.steps[0].number, cases[i].first);
        fake_run_release(&fx.run);
    }
}

static void without_steps_a_stretch_of_the_run_is_cut_out(void **state)
{
    struct fixture *fx = *state;

    fx->run.traces[0].range_count = 0;
    add_kernels(fx); /* without a launch that repeats three times: one window */
    for (size_t i = 0; i < STEPS; i++)
        fx->run.traces[0].works[i].op = RKT_INDEX_NONE;
    fx->run.traces[0].op_count = 0;
    rkt_rank_trace_count(&fx->run.traces[0]);
    select_part(fx, (struct rkt_selection_texts){.since = "100ns", .until = "200ns"});
    assert_int_equal(fx->result.step_source, RKT_STEPS_WINDOW);
    assert_int_equal(fx->result.step_count, 1);
    assert_false(fx->result.steps[0].is_unrecorded);
    assert_int_equal(fx->result.run.start_ns, 1100);
    assert_int_equal(fx->result.run.end_ns, 1200);
    assert_int_equal(fx->result.steps[0].window.start_ns, 1100);
    assert_int_equal(fx->run.traces[0].work_count, 2);
    assert_int_equal(fx->result.whole.selected_count, 1);
}

static void of_what_is_not_there_nothing_is_selected(void **state)
{
    struct fixture *fx = *state;

    add_kernels(fx);
    select_part(fx, (struct rkt_selection_texts){.steps = "50:60"});
    assert_int_equal(fx->result.whole.selected_count, 0);
    assert_int_equal(fx->result.step_count, 1);
    assert_true(fx->result.steps[0].is_unrecorded);
    assert_int_equal(fx->run.traces[0].work_count, 0);
    assert_int_equal(fx->run.traces[0].call_count, 0);
    assert_int_equal(fx->result.run.end_ns - fx->result.run.start_ns, 0);
}

/* Numbers may begin again with each epoch. */
static void of_numbers_that_come_twice_both_are_selected(void **state)
{
    struct fixture *fx = *state;

    for (size_t i = 0; i < STEPS; i++)
        fx->run.traces[0].ranges[i].value = i % 3;
    add_kernels(fx);
    select_part(fx, (struct rkt_selection_texts){.steps = "1:2"});
    assert_int_equal(fx->result.step_count, 5);
    for (size_t i = 0; i < STEPS; i++)
        expect_step(fx, i, i % 3, i % 3 == 1);
    assert_int_equal(fx->result.whole.selected_count, 2);
}

static void ranks_alone_leave_a_rank_whole(void **state)
{
    struct fixture *fx = *state;

    add_kernels(fx);
    select_part(fx, (struct rkt_selection_texts){.ranks = "0"});
    assert_int_equal(fx->result.step_count, STEPS);
    assert_int_equal(fx->run.traces[0].work_count, STEPS);
    expect_step(fx, 0, 10, true);
}

#define PART_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PART_TEST(steps_keep_their_windows_and_what_is_far_from_them_goes),
        PART_TEST(work_of_another_step_that_runs_in_a_window_stays),
        cmocka_unit_test(steps_whose_windows_lie_in_the_time_are_selected),
        PART_TEST(without_steps_a_stretch_of_the_run_is_cut_out),
        PART_TEST(of_what_is_not_there_nothing_is_selected),
        PART_TEST(of_numbers_that_come_twice_both_are_selected),
        PART_TEST(ranks_alone_leave_a_rank_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
