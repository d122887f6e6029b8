/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

/* Rank 0 of a fake run, and what the stages make of it. */
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

static void mark_step(struct fixture *fx, uint64_t number, int64_t start_ns, int64_t end_ns)
{
    fake_add_range(&fx->run, 0, RKT_RANGE_STEP, "", start_ns, end_ns);
    fx->run.traces[0].ranges[fx->run.traces[0].range_count - 1].value = number;
}

enum {
    MAIN = 1,
    AUTOGRAD = 2,
    LOADER = 3,
};

static void launch_on(struct fixture *fx, uint32_t thread_id, int64_t at_ns)
{
    uint32_t work = fake_add_work(
        &fx->run, 0,
        (struct fake_work){RKT_WORK_COMPUTE, "k", 7, at_ns + 5, at_ns + 15, at_ns, thread_id});

    fx->run.traces[0].works[work].launch_end_ns = at_ns + 1;
}

static void name_thread(struct fixture *fx, struct rkt_named *named, const char *name)
{
    struct rkt_rank_trace *trace = &fx->run.traces[0];

    *named = (struct rkt_named){
        .object_id = AUTOGRAD,
        .name_id = rkt_strtab_intern(trace->names, name, strlen(name)),
        .type = RKT_NAMED_THREAD,
    };
    trace->named = named;
    trace->named_count = 1;
}

static void find_phases(struct fixture *fx)
{
    struct rkt_error err;

    fx->result = (struct rkt_rank_result){.trace = &fx->run.traces[0]};
    assert_rkt_ok(rkt_find_steps(&fx->run.traces[0], NULL, &fx->run.arena, &fx->result, &err), err);
    assert_rkt_ok(rkt_find_phases(&fx->run.traces[0], &fx->result, &err), err);
}

/* One letter per work, in order: f, b, o or - for none. */
static void expect_phases(const struct fixture *fx, const char *want)
{
    static const char letters[] = "-fbo";
    char got[64] = {0};

    for (size_t i = 0; i < fx->run.traces[0].work_count; i++)
        got[i] = letters[fx->run.traces[0].works[i].phase];
    if (strcmp(got, want) != 0)
        fail_msg("phases are \"%s\", not \"%s\"", got, want);
}

/* The worked example of analysis/doc/metrics.md, "Phases": two micro-batches. */
static void forward_leads_to_a_backward_and_the_optimizer_comes_last(void **state)
{
    struct fixture *fx = *state;
    struct rkt_named named;

    mark_step(fx, 1, 100, 1000);
    name_thread(fx, &named, "pt_autograd_0");
    launch_on(fx, MAIN, 150);
    launch_on(fx, MAIN, 190);
    launch_on(fx, AUTOGRAD, 300);
    launch_on(fx, AUTOGRAD, 380);
    launch_on(fx, MAIN, 450);
    launch_on(fx, AUTOGRAD, 500);
    launch_on(fx, AUTOGRAD, 580);
    launch_on(fx, MAIN, 700);
    launch_on(fx, MAIN, 800);
    launch_on(fx, MAIN, 1100); /* outside */
    find_phases(fx);
    assert_int_equal(fx->result.phase_source, RKT_PHASES_THREAD_NAME);
    expect_phases(fx, "ffbbfbboo-");
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_FORWARD], (300 - 100) + (500 - 381));
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_BACKWARD], 81 + 81);
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_OPTIMIZER], 1000 - 581);
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_NONE], RKT_NA);
}

static void a_prefetching_thread_does_not_split_a_backward_pass(void **state)
{
    struct fixture *fx = *state;
    struct rkt_named named;

    mark_step(fx, 1, 100, 1000);
    name_thread(fx, &named, "thread 2 (pt_autograd_0)");
    launch_on(fx, MAIN, 150);
    launch_on(fx, AUTOGRAD, 300);
    launch_on(fx, LOADER, 320);
    launch_on(fx, AUTOGRAD, 380);
    launch_on(fx, MAIN, 700);
    find_phases(fx);
    expect_phases(fx, "fb-bo");
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_BACKWARD], 81);
}

static void marks_tell_the_backward_of_every_thread(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 1000);
    fake_add_range(&fx->run, 0, RKT_RANGE_FORWARD, "", 120, 280);
    fake_add_range(&fx->run, 0, RKT_RANGE_BACKWARD, "", 280, 400);
    fake_add_range(&fx->run, 0, RKT_RANGE_INPUT, "", 100, 120);
    launch_on(fx, MAIN, 150);
    launch_on(fx, AUTOGRAD, 300);
    launch_on(fx, MAIN, 390);
    launch_on(fx, MAIN, 400);
    find_phases(fx);
    assert_int_equal(fx->result.phase_source, RKT_PHASES_MARKS);
    expect_phases(fx, "fbbo");
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_FORWARD], 160);
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_BACKWARD], 120);
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_NONE], 20);
}

static void operators_of_autograd_tell_its_thread(void **state)
{
    struct fixture *fx = *state;
    struct rkt_rank_trace *trace = &fx->run.traces[0];

    mark_step(fx, 1, 100, 1000);
    fake_add_range(&fx->run, 0, RKT_RANGE_CPU_OP,
                   "autograd::engine::evaluate_function: MulBackward0", 300, 320);
    trace->ranges[trace->range_count - 1].thread_id = AUTOGRAD;
    launch_on(fx, MAIN, 150);
    launch_on(fx, AUTOGRAD, 310);
    launch_on(fx, AUTOGRAD, 350); /* the callback at the end of backward is in no operator */
    launch_on(fx, MAIN, 400);
    find_phases(fx);
    assert_int_equal(fx->result.phase_source, RKT_PHASES_AUTOGRAD_OPS);
    expect_phases(fx, "fbbo");
}

static void an_engine_on_the_main_thread_is_told_by_time(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 1000);
    fake_add_range(&fx->run, 0, RKT_RANGE_CPU_OP,
                   "autograd::engine::evaluate_function: MulBackward0", 300, 320);
    launch_on(fx, MAIN, 150);
    launch_on(fx, MAIN, 310);
    launch_on(fx, MAIN, 350);
    find_phases(fx);
    assert_int_equal(fx->result.phase_source, RKT_PHASES_AUTOGRAD_OPS);
    expect_phases(fx, "fbo");
}

static void without_any_sign_of_backward_there_are_no_phases(void **state)
{
    struct fixture *fx = *state;

    mark_step(fx, 1, 100, 1000);
    launch_on(fx, MAIN, 150);
    launch_on(fx, AUTOGRAD, 310);
    find_phases(fx);
    assert_int_equal(fx->result.phase_source, RKT_PHASES_NONE);
    expect_phases(fx, "--");
    assert_int_equal(fx->result.steps[0].phase_ns[RKT_PHASE_BACKWARD], RKT_NA);
}

static void without_marks_of_steps_only_backward_is_told(void **state)
{
    struct fixture *fx = *state;
    struct rkt_named named;

    name_thread(fx, &named, "pt_autograd_0");
    launch_on(fx, MAIN, 150);
    launch_on(fx, AUTOGRAD, 310);
    launch_on(fx, MAIN, 350); /* the optimizer, or the next forward */
    find_phases(fx);
    assert_int_equal(fx->result.step_source, RKT_STEPS_WINDOW);
    expect_phases(fx, "-b-");
}

static void gradient_collectives_of_the_backward_pass_are_buckets(void **state)
{
    static const struct {
        const char *what;
        const char *name;
        enum rkt_nccl_func func; /* unknown: no operation is known */
        uint32_t thread_id;
        bool want;
    } table[] = {
        {"AllReduce", "ncclDevKernel_Generic", RKT_NCCL_FUNC_ALLREDUCE, AUTOGRAD, true},
        {"ReduceScatter", "ncclDevKernel_Generic", RKT_NCCL_FUNC_REDUCESCATTER, AUTOGRAD, true},
        {"AllGather", "ncclDevKernel_Generic", RKT_NCCL_FUNC_ALLGATHER, AUTOGRAD, false},
        {"forward's", "ncclDevKernel_Generic", RKT_NCCL_FUNC_ALLREDUCE, MAIN, false},
        {"by name", "ncclDevKernel_AllReduce_Sum", RKT_NCCL_FUNC_UNKNOWN, AUTOGRAD, true},
        {"by name", "ncclDevKernel_SendRecv", RKT_NCCL_FUNC_UNKNOWN, AUTOGRAD, false},
    };
    struct fixture *fx = *state;
    struct rkt_rank_trace *trace = &fx->run.traces[0];
    struct rkt_named named;

    mark_step(fx, 1, 100, 10000);
    name_thread(fx, &named, "pt_autograd_0");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint32_t work = fake_add_comm_work(&fx->run, 0, table[i].name, 200 + 10 * (int64_t)i,
                                           205 + 10 * (int64_t)i);

        trace->works[work].launch_start_ns = 190 + 10 * (int64_t)i;
        trace->works[work].launch_end_ns = 191 + 10 * (int64_t)i;
        trace->works[work].launch_thread_id = table[i].thread_id;
        if (table[i].func != RKT_NCCL_FUNC_UNKNOWN)
            fake_add_op(&fx->run, 0, (struct fake_op){1, i, 4, -1, table[i].func});
    }
    find_phases(fx);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (trace->works[i].is_bucket != table[i].want)
            fail_msg("%s (%s) is %staken for a bucket", table[i].what, table[i].name,
                     table[i].want ? "not " : "");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(forward_leads_to_a_backward_and_the_optimizer_comes_last),
        TEST(a_prefetching_thread_does_not_split_a_backward_pass),
        TEST(marks_tell_the_backward_of_every_thread),
        TEST(operators_of_autograd_tell_its_thread),
        TEST(an_engine_on_the_main_thread_is_told_by_time),
        TEST(without_any_sign_of_backward_there_are_no_phases),
        TEST(without_marks_of_steps_only_backward_is_told),
        TEST(gradient_collectives_of_the_backward_pass_are_buckets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
