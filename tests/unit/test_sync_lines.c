/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sync_lines.h"

#include "analysis/stages.h"
#include "tests/unit/fake_run.h"
#include "tests/unit/rkt_test.h"

static int set_up(void **state)
{
    static struct fake_run run;

    fake_run_init(&run, 1);
    *state = &run;
    return 0;
}

static int tear_down(void **state)
{
    fake_run_release(*state);
    return 0;
}

static void name_lines(struct fake_run *run)
{
    struct rkt_error err;

    for (size_t r = 0; r < run->result.rank_count; r++)
        rkt_rank_trace_count(run->result.ranks[r].trace);
    fake_sum_names(run);
    assert_rkt_ok(rkt_name_waiting_lines(&run->result, &run->arena, &err), err);
}

/* The drawing of analysis/doc/metrics.md. */
static void a_line_waits_while_its_calls_block(void **state)
{
    struct fake_run *run = *state;
    const struct rkt_sync_line *line;

    fake_add_step(run, 0, 0, 100);
    fake_add_sync_call(run, 0, "train.py:31", "Tensor.item", 3, 13);
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaMemcpyAsync", 4, 12);
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 12, 13);
    name_lines(run);
    assert_int_equal(run->result.ranks[0].sync_line_count, 1);
    line = run->result.ranks[0].sync_lines;
    assert_string_equal(line->site, "train.py:31");
    assert_string_equal(line->call, "Tensor.item");
    assert_int_equal(line->wait_ns, 9);
    assert_int_equal(line->count, 1);
}

static void only_blocking_calls_of_the_thread_count_and_once(void **state)
{
    struct fake_run *run = *state;

    fake_add_step(run, 0, 0, 100);
    fake_add_sync_call(run, 0, "a.py:1", "Tensor.cpu", 10, 30);
    fake_add_call(run, 0, RKT_CALL_LAUNCH, "cudaLaunchKernel", 11, 14);
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 15, 25); /* runtime */
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cuStreamSynchronize", 16, 24);   /* driver, in it */
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "of another thread", 26, 28);
    run->traces[0].calls[run->traces[0].call_count - 1].thread_id = 2;
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "past its end", 29, 40);
    name_lines(run);
    assert_int_equal(run->result.ranks[0].sync_line_count, 1);
    assert_int_equal(run->result.ranks[0].sync_lines[0].wait_ns, 10 + 1);
}

static void a_call_may_seem_to_begin_before_its_line_by_the_clocks_error(void **state)
{
    struct fake_run *run = *state;

    run->traces[0].clock_error_ns = 2;
    fake_add_step(run, 0, 0, 100);
    fake_add_sync_call(run, 0, "a.py:1", "Tensor.cpu", 10, 30);
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 8, 20);
    name_lines(run);
    assert_int_equal(run->result.ranks[0].sync_lines[0].wait_ns, 10);
}

static void lines_are_summed_and_the_longest_is_first(void **state)
{
    struct fake_run *run = *state;
    const struct rkt_sync_line *lines;

    fake_add_step(run, 0, 0, 500);
    for (int64_t i = 0; i < 3; i++) {
        int64_t at = 100 + i * 100;

        fake_add_sync_call(run, 0, "a.py:1", "Tensor.item", at, at + 10);
        fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", at, at + 10);
        fake_add_sync_call(run, 0, "b.py:2", "Tensor.item", at + 20, at + 50);
        fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", at + 20, at + 40);
        fake_add_sync_call(run, 0, "c.py:3", "Tensor.item", at + 60,
                           at + 70); /* is there already */
    }
    name_lines(run);
    lines = run->result.ranks[0].sync_lines;
    assert_int_equal(run->result.ranks[0].sync_line_count, 2);
    assert_string_equal(lines[0].site, "b.py:2");
    assert_int_equal(lines[0].wait_ns, 60);
    assert_int_equal(lines[0].count, 3);
    assert_string_equal(lines[1].site, "a.py:1");
    assert_int_equal(lines[1].wait_ns, 30);
}

static void warm_up_and_what_is_outside_the_steps_do_not_count(void **state)
{
    struct fake_run *run = *state;

    fake_add_step(run, 0, 100, 200)->is_warmup = true;
    fake_add_step(run, 0, 200, 300);
    fake_add_step(run, 0, 300, 400);
    for (int64_t at = 50; at < 500; at += 100) {
        fake_add_sync_call(run, 0, "a.py:1", "Tensor.item", at, at + 10);
        fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", at, at + 10);
    }
    name_lines(run);
    assert_int_equal(run->result.ranks[0].sync_lines[0].count, 2);
}

static void a_run_without_such_calls_has_no_lines(void **state)
{
    struct fake_run *run = *state;

    fake_add_step(run, 0, 0, 100);
    fake_add_call(run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 10, 20);
    name_lines(run);
    assert_int_equal(run->result.ranks[0].sync_line_count, 0);
    assert_null(run->result.ranks[0].sync_lines);
}

#define WITH_RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RUN(a_line_waits_while_its_calls_block),
        WITH_RUN(only_blocking_calls_of_the_thread_count_and_once),
        WITH_RUN(a_call_may_seem_to_begin_before_its_line_by_the_clocks_error),
        WITH_RUN(lines_are_summed_and_the_longest_is_first),
        WITH_RUN(warm_up_and_what_is_outside_the_steps_do_not_count),
        WITH_RUN(a_run_without_such_calls_has_no_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
