/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

/* Rank 0 of a fake run, and what rkt_find_steps makes of it. */
struct fixture {
    struct fake_run run;
    struct rkt_rank_result result;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    fake_run_init(&fx->run, 1);
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

static void find(struct fixture *fx, const char *step_range)
{
    const struct rkt_analysis_options options = {.step_range = step_range};
    struct rkt_error err;

    fx->result = (struct rkt_rank_result){.trace = &fx->run.traces[0]};
    assert_rkt_ok(rkt_find_steps(&fx->run.traces[0], &options, &fx->run.arena, &fx->result, &err),
                  err);
}

static void add_kernel(struct fixture *fx, int64_t launch_ns, int64_t start_ns, int64_t end_ns)
{
    uint32_t work = fake_add_work(
        &fx->run, 0, (struct fake_work){RKT_WORK_COMPUTE, "k", 7, start_ns, end_ns, launch_ns, 0});

    if (launch_ns != 0)
        fx->run.traces[0].works[work].launch_end_ns = launch_ns + 1;
}

static void mark_step(struct fixture *fx, uint64_t number, int64_t start_ns, int64_t end_ns)
{
    fake_add_range(&fx->run, 0, RKT_RANGE_STEP, "", start_ns, end_ns);
    fx->run.traces[0].ranges[fx->run.traces[0].range_count - 1].value = number;
}

static void expect_host(const struct fixture *fx, size_t i, uint64_t number, int64_t start_ns,
                        int64_t end_ns)
{
    const struct rkt_step_result *step = &fx->result.steps[i];

    if (step->number != number || step->host_start_ns != start_ns || step->host_end_ns != end_ns)
        fail_msg("step %zu is %llu [%lld, %lld), not %llu [%lld, %lld)", i,
                 (unsigned long long)step->number, (long long)step->host_start_ns,
                 (long long)step->host_end_ns, (unsigned long long)number, (long long)start_ns,
                 (long long)end_ns);
}

static void expect_window(const struct fixture *fx, size_t i, int64_t start_ns, int64_t end_ns)
{
    const struct rkt_window *window = &fx->result.steps[i].window;

    if (window->start_ns != start_ns || window->end_ns != end_ns)
        fail_msg("window %zu is [%lld, %lld), not [%lld, %lld)", i, (long long)window->start_ns,
                 (long long)window->end_ns, (long long)start_ns, (long long)end_ns);
}

/*
 * The worked example of analysis/doc/metrics.md, "Steps and windows":
 *
 *   host    [100  step 1  200)[200  step 2  300)
 *   device        [150  230)     [250      340) copy [340 360)
 */
static void a_step_ends_with_the_last_of_what_it_launched(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    mark_step(fx, 2, 200, 300);
    add_kernel(fx, 50, 60, 90); /* before the first mark */
    add_kernel(fx, 110, 150, 180);
    add_kernel(fx, 190, 180, 230); /* launched in step 1, runs into step 2 */
    add_kernel(fx, 210, 250, 340);
    fake_add_work(&fx->run, 0, (struct fake_work){RKT_WORK_COPY, "c", 8, 340, 360, 290, 0});
    add_kernel(fx, 310, 365, 400); /* after the last mark */
    find(fx, NULL);
    assert_int_equal(fx->result.step_source, RKT_STEPS_MARKS);
    assert_int_equal(fx->result.step_count, 2);
    expect_host(fx, 0, 1, 100, 200);
    expect_host(fx, 1, 2, 200, 300);
    assert_int_equal(fx->result.run.start_ns, 60);
    assert_int_equal(fx->result.run.end_ns, 400);
    expect_window(fx, 0, 100, 230);
    expect_window(fx, 1, 230, 340); /* the copy does not move the end */
    assert_int_equal(fx->run.traces[0].works[0].step, RKT_INDEX_NONE);
    assert_int_equal(fx->run.traces[0].works[2].step, 0);
    assert_int_equal(fx->run.traces[0].works[3].step, 1);
    assert_int_equal(fx->run.traces[0].works[4].step, 1);
    assert_int_equal(fx->run.traces[0].works[5].step, RKT_INDEX_NONE);
}

static void work_of_before_the_first_mark_pushes_its_window(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    add_kernel(fx, 90, 95, 130);
    add_kernel(fx, 120, 140, 180);
    find(fx, NULL);
    expect_window(fx, 0, 130, 180);
}

static void a_step_without_gpu_work_has_an_empty_window(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    mark_step(fx, 2, 200, 300);
    mark_step(fx, 3, 300, 400);
    add_kernel(fx, 110, 150, 180);
    add_kernel(fx, 310, 320, 380);
    find(fx, NULL);
    expect_window(fx, 0, 150, 180);
    expect_window(fx, 1, 180, 180);
    expect_window(fx, 2, 180, 380);
}

static void a_launch_between_two_marks_belongs_to_the_earlier(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    mark_step(fx, 2, 250, 300);
    add_kernel(fx, 110, 150, 180);
    add_kernel(fx, 220, 230, 240);
    add_kernel(fx, 260, 270, 290);
    find(fx, NULL);
    assert_int_equal(fx->run.traces[0].works[1].step, 0);
    expect_window(fx, 0, 150, 240);
}

static void work_without_a_launch_belongs_to_the_window_it_starts_in(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    mark_step(fx, 2, 200, 300);
    add_kernel(fx, 110, 150, 220);
    add_kernel(fx, 0, 210, 215); /* of a graph: started in window 1, after mark 1 */
    add_kernel(fx, 230, 240, 290);
    add_kernel(fx, 240, 245, 250);
    add_kernel(fx, 0, 250, 260);
    add_kernel(fx, 0, 295, 299); /* after the last window */
    find(fx, NULL);
    assert_int_equal(fx->run.traces[0].works[1].step, 0);
    assert_int_equal(fx->run.traces[0].works[4].step, 1);
    assert_int_equal(fx->run.traces[0].works[5].step, RKT_INDEX_NONE);
}

static void without_any_launch_starts_stand_for_launches(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 200);
    mark_step(fx, 2, 200, 300);
    add_kernel(fx, 0, 150, 210);
    add_kernel(fx, 0, 220, 290);
    find(fx, NULL);
    expect_window(fx, 0, 150, 210);
    expect_window(fx, 1, 210, 290);
}

struct range_row {
    const char *name;
    enum rkt_range_type type;
    int64_t start_ns;
    int64_t end_ns;
};

struct want_row {
    uint64_t number;
    int64_t start_ns;
    int64_t end_ns;
    bool is_cut;
};

static void marks_are_outermost_disjoint_and_numbered(void **state)
{
    static const struct {
        const char *what;
        const char *step_range;
        enum rkt_step_source source;
        struct range_row ranges[4];
        struct want_row want[4];
    } table[] = {
        {"ProfilerStep#N by default",
         NULL,
         RKT_STEPS_ANNOTATION,
         {{"ProfilerStep#7", RKT_RANGE_ANNOTATION, 100000, 200000},
          {"ProfilerStep#8", RKT_RANGE_ANNOTATION, 200000, 300000}},
         {{7, 100000, 200000, false}, {8, 200000, 300000, false}}},
        {"old traces call it an operator, and newer ones show both",
         NULL,
         RKT_STEPS_ANNOTATION,
         {{"ProfilerStep#7", RKT_RANGE_ANNOTATION, 100000, 200000},
          {"ProfilerStep#7", RKT_RANGE_CPU_OP, 100001, 199999},
          {"ProfilerStep#8", RKT_RANGE_CPU_OP, 200000, 300000}},
         {{7, 100000, 200000, false}, {8, 200000, 300000, false}}},
        {"the copy of a mark on the GPU's track is none",
         NULL,
         RKT_STEPS_ANNOTATION,
         {{"ProfilerStep#7", RKT_RANGE_ANNOTATION, 100000, 200000},
          {"ProfilerStep#7", RKT_RANGE_GPU_ANNOTATION, 150000, 250000}},
         {{7, 100000, 200000, false}}},
        {"the user's name, with and without a number",
         "train_step",
         RKT_STEPS_ANNOTATION,
         {{"train_step", RKT_RANGE_NVTX, 100000, 200000},
          {"train_step 5", RKT_RANGE_NVTX, 200000, 300000}},
         {{0, 100000, 200000, false}, {5, 200000, 300000, false}}},
        {"a name that does not occur gives way to the next best",
         "train_step",
         RKT_STEPS_ANNOTATION,
         {{"ProfilerStep#7", RKT_RANGE_ANNOTATION, 100000, 200000}},
         {{7, 100000, 200000, false}}},
        {"marks of the job are better than a name",
         "train_step",
         RKT_STEPS_MARKS,
         {{"train_step", RKT_RANGE_NVTX, 100000, 200000}, {"", RKT_RANGE_STEP, 120000, 220000}},
         {{0, 120000, 220000, false}}},
        {"nested: the outermost",
         "step",
         RKT_STEPS_ANNOTATION,
         {{"step1", RKT_RANGE_NVTX, 100000, 200000},
          {"step11", RKT_RANGE_NVTX, 100000, 150000},
          {"step12", RKT_RANGE_NVTX, 150000, 200000},
          {"step2", RKT_RANGE_NVTX, 210000, 300000}},
         {{1, 100000, 200000, false}, {2, 210000, 300000, false}}},
        {"nested: its end rounded past the outer one's (BR-33)",
         "step",
         RKT_STEPS_ANNOTATION,
         {{"step1", RKT_RANGE_NVTX, 100000, 200000}, {"step2", RKT_RANGE_NVTX, 150000, 201000}},
         {{1, 100000, 200000, false}}},
        {"overlapping: cut at the next start, and said",
         "step",
         RKT_STEPS_ANNOTATION,
         {{"step1", RKT_RANGE_NVTX, 100000, 200000}, {"step2", RKT_RANGE_NVTX, 150000, 300000}},
         {{1, 100000, 150000, true}, {2, 150000, 300000, false}}},
        {"an overlap of a microsecond is rounding (BR-88)",
         "step",
         RKT_STEPS_ANNOTATION,
         {{"step1", RKT_RANGE_NVTX, 100000, 201000}, {"step2", RKT_RANGE_NVTX, 200000, 300000}},
         {{1, 100000, 200000, false}, {2, 200000, 300000, false}}},
        {"instants begin a step that the next one ends",
         "step",
         RKT_STEPS_ANNOTATION,
         {{"step1", RKT_RANGE_NVTX, 100000, 100000},
          {"step2", RKT_RANGE_NVTX, 200000, 200000},
          {"other", RKT_RANGE_NVTX, 210000, 290000}},
         {{1, 100000, 200000, false}, {2, 200000, 290000, false}}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct fixture fx = {0};

        fake_run_init(&fx.run, 1);
        for (size_t k = 0; k < 4 && table[i].ranges[k].name; k++)
            fake_add_range(&fx.run, 0, table[i].ranges[k].type, table[i].ranges[k].name,
                           table[i].ranges[k].start_ns, table[i].ranges[k].end_ns);
        find(&fx, table[i].step_range);
        if (fx.result.step_source != table[i].source)
            fail_msg("%s: the source is %s", table[i].what,
                     rkt_step_source_name(fx.result.step_source));
        for (size_t k = 0; k < 4 && (table[i].want[k].end_ns || k < fx.result.step_count); k++) {
            const struct want_row *want = &table[i].want[k];
            const struct rkt_step_result *step = &fx.result.steps[k];

            if (k >= fx.result.step_count || step->number != want->number ||
                step->host_start_ns != want->start_ns || step->host_end_ns != want->end_ns ||
                step->is_cut != want->is_cut)
                fail_msg("%s: step %zu is wrong", table[i].what, k);
        }
        fake_run_release(&fx.run);
    }
}

/* Host view: from mark to mark. */
/* Steps of 100 ns with a kernel in each; "." for one that counts, "x" for one that does not. */
static void expect_recorded(struct fixture *fx, struct rkt_open_span span, const char *expected)
{
    struct rkt_rank_trace *trace = &fx->run.traces[0];
    char text[16] = "";

    trace->has_windows = true;
    trace->open_spans = &span;
    trace->open_count = 1;
    find(fx, NULL);
    for (size_t i = 0; i < fx->result.step_count; i++)
        text[i] = fx->result.steps[i].is_unrecorded ? 'x' : '.';
    trace->open_spans = NULL;
    assert_string_equal(text, expected);
}

static void steps_that_are_not_wholly_in_a_capture_window_are_left_out(void **state)
{
    struct fixture *fx = *state;

    for (int64_t step = 0; step < 6; step++)
        mark_step(fx, (uint64_t)step, step * 100, step * 100 + 100);
    for (int64_t step = 2; step < 5; step++) /* step 2 is the warm-up */
        add_kernel(fx, step * 100 + 10, step * 100 + 20, step * 100 + 120);
    expect_recorded(fx, (struct rkt_open_span){300, 500, 200}, "xxx..x");
    expect_window(fx, 3, 320, 420); /* it begins where the warm-up's work ends */
    expect_recorded(fx, (struct rkt_open_span){300, 500, 300}, "xxxx.x");
    expect_recorded(fx, (struct rkt_open_span){301, 499, 200}, "xxxxxx");
    expect_recorded(fx, (struct rkt_open_span){INT64_MIN, 200, INT64_MIN}, "..xxxx");
    expect_recorded(fx, (struct rkt_open_span){400, INT64_MAX, 300}, "xxxx..");
}

static void in_host_view_a_window_needs_no_warmup(void **state)
{
    struct fixture *fx = *state;

    for (int64_t step = 0; step < 4; step++)
        mark_step(fx, (uint64_t)step, step * 100, step * 100 + 100);
    expect_recorded(fx, (struct rkt_open_span){100, 300, 100}, "x..x");
}

static void without_gpu_work_windows_go_from_mark_to_mark(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 180);
    mark_step(fx, 2, 200, 300);
    find(fx, NULL);
    assert_true(fx->result.steps[0].window.is_host_view);
    expect_window(fx, 0, 100, 200);
    expect_window(fx, 1, 200, 300);
    assert_int_equal(fx->result.run.start_ns, 100);
    assert_int_equal(fx->result.run.end_ns, 300);
}

/* One AllReduce of `count` elements, launched at launch_ns, in a kernel right after. */
static void add_collective(struct fixture *fx, uint64_t count, int64_t launch_ns)
{
    uint32_t work = fake_add_collective(&fx->run, 0,
                                        (struct fake_op){.comm_id = 1,
                                                         .seq = UINT64_MAX,
                                                         .count = count,
                                                         .peer = -1,
                                                         .func = RKT_NCCL_FUNC_ALLREDUCE},
                                        launch_ns + 10, launch_ns + 20);

    fx->run.traces[0].works[work].launch_start_ns = launch_ns;
    fx->run.traces[0].works[work].launch_end_ns = launch_ns + 5;
}

/* B B . A A C . A A C . A A C . A: broadcasts first, three steps, and a cut one. */
static void repeating_collectives_make_steps(void **state)
{
    struct fixture *fx = *state;

    add_collective(fx, 7, 10);
    add_collective(fx, 7, 40);
    for (int64_t step = 0; step < 3; step++) {
        add_collective(fx, 100, 1000 + 1000 * step);
        add_collective(fx, 100, 1030 + 1000 * step);
        add_collective(fx, 5, 1060 + 1000 * step);
    }
    add_collective(fx, 100, 4000);
    find(fx, NULL);
    assert_int_equal(fx->result.step_source, RKT_STEPS_COLLECTIVES);
    assert_int_equal(fx->result.step_count, 3);
    expect_host(fx, 0, 0, 45, 1065);
    expect_host(fx, 1, 1, 1065, 2065);
    expect_host(fx, 2, 2, 2065, 3065);
    assert_int_equal(fx->run.traces[0].works[2].step, 0);
    assert_int_equal(fx->run.traces[0].works[4].step, 0);
    assert_int_equal(fx->run.traces[0].works[5].step, 1);
    assert_int_equal(fx->run.traces[0].works[11].step, RKT_INDEX_NONE);
}

/* The trace begins inside a step: the same cuts, and the parts at both ends are outside. */
static void a_window_that_begins_inside_a_step_is_cut_at_whole_ones(void **state)
{
    struct fixture *fx = *state;

    add_collective(fx, 5, 60);
    for (int64_t step = 0; step < 4; step++) {
        add_collective(fx, 100, 1000 + 1000 * step);
        add_collective(fx, 5, 1060 + 1000 * step);
    }
    find(fx, NULL);
    assert_int_equal(fx->result.step_count, 4);
    expect_host(fx, 0, 0, 65, 1065);
    assert_int_equal(fx->run.traces[0].works[0].step, RKT_INDEX_NONE);
}

static void collectives_that_repeat_twice_make_no_steps(void **state)
{
    struct fixture *fx = *state;

    add_collective(fx, 1, 100);
    add_collective(fx, 2, 200);
    add_collective(fx, 1, 300);
    add_collective(fx, 2, 400);
    find(fx, NULL);
    assert_int_equal(fx->result.step_source, RKT_STEPS_WINDOW);
    assert_int_equal(fx->result.step_count, 1);
    expect_window(fx, 0, 110, 420);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fx->run.traces[0].works[i].step, 0);
}

static void an_empty_rank_has_one_empty_step(void **state)
{
    struct fixture *fx = *state;

    find(fx, NULL);
    assert_int_equal(fx->result.step_source, RKT_STEPS_WINDOW);
    assert_int_equal(fx->result.step_count, 1);
    expect_window(fx, 0, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_step_ends_with_the_last_of_what_it_launched),
        TEST(work_of_before_the_first_mark_pushes_its_window),
        TEST(a_step_without_gpu_work_has_an_empty_window),
        TEST(a_launch_between_two_marks_belongs_to_the_earlier),
        TEST(work_without_a_launch_belongs_to_the_window_it_starts_in),
        TEST(without_any_launch_starts_stand_for_launches),
        cmocka_unit_test(marks_are_outermost_disjoint_and_numbered),
        TEST(steps_that_are_not_wholly_in_a_capture_window_are_left_out),
        TEST(in_host_view_a_window_needs_no_warmup),
        TEST(without_gpu_work_windows_go_from_mark_to_mark),
        TEST(repeating_collectives_make_steps),
        TEST(a_window_that_begins_inside_a_step_is_cut_at_whole_ones),
        TEST(collectives_that_repeat_twice_make_no_steps),
        TEST(an_empty_rank_has_one_empty_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
