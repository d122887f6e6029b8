/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/host_view.h"

#include <math.h>

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

/*
 * The worked example of analysis/doc/metrics.md, one step of 1000:
 *
 *   0    100      400               800       900   1000
 *   input forward  backward (waits   optimizer  host
 *                  from 700)
 *          bucket 0: 500 to 650     bucket 1: 690 to 780
 */
static void add_step_of_the_example(struct fake_run *run, size_t rank, int64_t at)
{
    fake_add_step(run, rank, at, at + 1000);
    fake_add_range(run, rank, RKT_RANGE_INPUT, "next", at, at + 100);
    fake_add_range(run, rank, RKT_RANGE_FORWARD, "forward", at + 100, at + 400);
    fake_add_range(run, rank, RKT_RANGE_BACKWARD, "backward", at + 400, at + 800);
    fake_add_range(run, rank, RKT_RANGE_COMM_WAIT, "wait", at + 700, at + 800);
    fake_add_range(run, rank, RKT_RANGE_OPTIMIZER, "step", at + 800, at + 900);
    fake_add_bucket(run, rank, run->result.ranks[rank].step_count - 1, 0, at + 500, at + 650);
    fake_add_bucket(run, rank, run->result.ranks[rank].step_count - 1, 1, at + 690, at + 780);
}

/* The views of all ranks, as an analysis makes them; [FAKE_RANKS_MAX] of the caller's. */
static void make_views(struct fake_run *run, struct rkt_host_view **views)
{
    struct rkt_error err;

    for (size_t r = 0; r < run->result.rank_count; r++) {
        assert_rkt_ok(rkt_host_view_create(&run->traces[r], &views[r], &err), err);
        run->result.ranks[r].host_view = views[r];
    }
}

static void release(struct fake_run *run, struct rkt_host_view **views)
{
    for (size_t r = 0; r < run->result.rank_count; r++)
        rkt_host_view_destroy(views[r]);
    fake_run_release(run);
}

static void a_step_is_split_as_the_documentation_says(void **state)
{
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct fake_run run;
    struct rkt_error err;
    struct rkt_window *window;

    (void)state;
    fake_run_init(&run, 1);
    add_step_of_the_example(&run, 0, 5000);
    make_views(&run, views);
    window = &run.result.ranks[0].steps[0].window;
    assert_rkt_ok(rkt_host_view_window(&run.result.ranks[0], window, &err), err);
    assert_true(window->is_host_view);
    assert_int_equal(window->host.window_ns, 1000);
    assert_int_equal(window->host.overlapped_ns, 160); /* 500..650, 690..700 */
    assert_int_equal(window->host.compute_ns, 700 - 160);
    assert_int_equal(window->host.comm_ns, 80);
    assert_int_equal(window->host.input_ns, 100);
    assert_int_equal(window->host.host_ns, 20 + 100); /* 780..800 and after the optimizer */
    assert_int_equal(window->compute_ns, 700);
    assert_int_equal(window->comm_ns, 240);
    assert_true(fabs(window->comm_share - 0.24) < 1e-9);
    assert_true(fabs(window->exposed_share - 0.08) < 1e-9);
    assert_true(fabs(window->overlap - 160.0 / 240) < 1e-9);
    assert_true(isnan(window->gpu_util));
    assert_true(window->copy_ns == RKT_NA);
    release(&run, views);
}

static void buckets_overlap_the_backward_of_their_step(void **state)
{
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 1);
    add_step_of_the_example(&run, 0, 0);
    add_step_of_the_example(&run, 0, 1000);
    make_views(&run, views);
    assert_rkt_ok(rkt_find_overlaps(&run.result.ranks[0], &err), err);
    for (size_t i = 0; i < 2; i++) {
        const struct rkt_step_result *step = &run.result.ranks[0].steps[i];

        assert_int_equal(step->backward.bucket_count, 2);
        assert_int_equal(step->backward.buckets_ns, 240);
        assert_int_equal(step->backward.overlapped_ns, 160);
        assert_int_equal(step->backward.tail_ns, 80);
        assert_true(fabs(step->backward.ratio - 160.0 / 240) < 1e-9);
    }
    release(&run, views);
}

static void add_phase(struct fake_run *run, enum rkt_range_type type, int64_t start_ns,
                      int64_t end_ns, uint64_t asleep_ns)
{
    fake_add_range(run, 0, type, "", start_ns, end_ns);
    run->traces[0].ranges[run->traces[0].range_count - 1].value = asleep_ns;
}

/* The example of the documentation again, and what phases may tell that cannot be. */
static void what_phases_slept_is_told_less_their_waits(void **state)
{
    static const struct {
        const char *what;
        uint64_t forward, backward, wait, optimizer; /* told */
        int64_t want[RKT_PHASE_OPTIMIZER + 1];
    } CASES[] = {
        {"nothing", 0, 0, 0, 0, {0, 0, 0, 0}},
        {"backward and its wait", 0, 250, 90, 0, {0, 0, 160, 0}},
        {"all of them", 10, 250, 90, 20, {0, 10, 160, 20}},
        {"a wait that slept longer than the phase around it", 0, 50, 90, 0, {0, 0, 0, 0}},
        {"no more than there is outside waits", 300, 400, 0, 100, {0, 300, 300, 100}},
        {"more than the length", UINT64_MAX, UINT64_MAX, 0, 1u << 20, {0, 300, 300, 100}},
        {"more than the length of the wait", 0, 400, UINT64_MAX, 0, {0, 0, 300, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_host_view *views[FAKE_RANKS_MAX];
        struct rkt_window window = {.start_ns = 0, .end_ns = 1000};
        int64_t asleep_ns[RKT_PHASE_OPTIMIZER + 1];
        struct fake_run run;

        fake_run_init(&run, 1);
        add_phase(&run, RKT_RANGE_FORWARD, 100, 400, CASES[i].forward);
        add_phase(&run, RKT_RANGE_BACKWARD, 400, 800, CASES[i].backward);
        add_phase(&run, RKT_RANGE_COMM_WAIT, 700, 800, CASES[i].wait);
        add_phase(&run, RKT_RANGE_OPTIMIZER, 800, 900, CASES[i].optimizer);
        make_views(&run, views);
        rkt_host_view_asleep(views[0], &window, asleep_ns);
        rkt_host_view_fill(views[0], &window);
        assert_int_equal(window.compute_ns + asleep_ns[RKT_PHASE_FORWARD] +
                             asleep_ns[RKT_PHASE_BACKWARD] + asleep_ns[RKT_PHASE_OPTIMIZER],
                         700);
        assert_int_equal(window.host.host_ns, 1000 - window.compute_ns);
        for (int phase = 0; phase <= RKT_PHASE_OPTIMIZER; phase++) {
            if (asleep_ns[phase] != CASES[i].want[phase])
                fail_msg("%s: phase %d slept %lld", CASES[i].what, phase,
                         (long long)asleep_ns[phase]);
        }
        release(&run, views);
    }
}

static void a_phase_in_another_and_a_wait_elsewhere_do_not_count(void **state)
{
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct rkt_window window = {.start_ns = 0, .end_ns = 1000};
    int64_t asleep_ns[RKT_PHASE_OPTIMIZER + 1];
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    add_phase(&run, RKT_RANGE_OPTIMIZER, 100, 500, 70); /* its closure computes the loss again */
    add_phase(&run, RKT_RANGE_FORWARD, 150, 250, 30);
    add_phase(&run, RKT_RANGE_BACKWARD, 250, 450, 40);
    add_phase(&run, RKT_RANGE_COMM_WAIT, 600, 650, 50); /* in no phase */
    add_phase(&run, RKT_RANGE_FORWARD, 700, 800, 60);
    add_phase(&run, RKT_RANGE_COMM_WAIT, 760, 800, 40);
    run.traces[0].ranges[5].thread_id = 7; /* another thread than the phase's */
    make_views(&run, views);
    rkt_host_view_asleep(views[0], &window, asleep_ns);
    assert_int_equal(asleep_ns[RKT_PHASE_OPTIMIZER], 70);
    assert_int_equal(asleep_ns[RKT_PHASE_FORWARD], 60);
    assert_int_equal(asleep_ns[RKT_PHASE_BACKWARD], 0);
    release(&run, views);
}

static void parts_add_up_to_any_window_of_any_marks(void **state)
{
    static const enum rkt_range_type TYPES[] = {RKT_RANGE_INPUT,     RKT_RANGE_FORWARD,
                                                RKT_RANGE_BACKWARD,  RKT_RANGE_OPTIMIZER,
                                                RKT_RANGE_COMM_WAIT, RKT_RANGE_USER};
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct fake_run run;
    uint32_t seed = 7;

    (void)state;
    fake_run_init(&run, 1);
    for (int64_t at = 0; at < 100000; at += 100) {
        seed = seed * 1664525u + 1013904223u;
        fake_add_range(&run, 0, TYPES[seed % 6], "r", at, at + seed / 65536 % 700);
        if (seed % 5 == 0)
            fake_add_bucket(&run, 0, 0, 0, at + 10, at + seed / 1024 % 900);
    }
    make_views(&run, views);
    for (int64_t start_ns = -500; start_ns < 101000; start_ns += 777) {
        struct rkt_window window = {.start_ns = start_ns, .end_ns = start_ns + seed % 1500};
        const struct rkt_host_partition *parts = &window.host;
        struct rkt_error err;

        seed = seed * 1664525u + 1013904223u;
        assert_rkt_ok(rkt_host_view_window(&run.result.ranks[0], &window, &err), err);
        assert_int_equal(rkt_host_partition_sum(parts), window.end_ns - window.start_ns);
        assert_int_equal(parts->window_ns, window.end_ns - window.start_ns);
        assert_true(parts->overlapped_ns >= 0 && parts->compute_ns >= 0 && parts->comm_ns >= 0 &&
                    parts->input_ns >= 0 && parts->host_ns >= 0);
    }
    release(&run, views);
}

static void fill(const struct rkt_host_view *view, int64_t start_ns, int64_t end_ns,
                 struct rkt_window *window)
{
    *window = (struct rkt_window){.start_ns = start_ns, .end_ns = end_ns};
    rkt_host_view_fill(view, window);
}

static void windows_side_by_side_are_one(void **state)
{
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    add_step_of_the_example(&run, 0, 0);
    make_views(&run, views);
    for (int64_t cut_ns = 0; cut_ns <= 1000; cut_ns += 25) {
        struct rkt_window whole, first, second;

        fill(views[0], 0, 1000, &whole);
        fill(views[0], 0, cut_ns, &first);
        fill(views[0], cut_ns, 1000, &second);
        rkt_host_view_add(&first, &second);
        assert_memory_equal(&first.host, &whole.host, sizeof(whole.host));
        assert_int_equal(first.compute_ns, whole.compute_ns);
        assert_int_equal(first.comm_ns, whole.comm_ns);
        assert_true(fabs(first.overlap - whole.overlap) < 1e-9);
        assert_true(fabs(first.comm_share - whole.comm_share) < 1e-9);
    }
    release(&run, views);
}

static void a_rank_that_sleeps_in_its_input_is_named(void **state)
{
    const int64_t ms = 1000000;
    struct rkt_host_view *views[FAKE_RANKS_MAX];
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        run.result.ranks[r].step_source = RKT_STEPS_MARKS;
        for (int64_t i = 0; i < 10; i++) {
            int64_t slept = r == 1 ? 20 * ms : 0;
            int64_t at = i * 100 * ms;

            fake_add_step(&run, r, at, at + 100 * ms);
            fake_add_range(&run, r, RKT_RANGE_INPUT, "next(loader)", at, at + ms + slept);
            fake_add_range(&run, r, RKT_RANGE_FORWARD, "", at + ms + slept, at + 20 * ms + slept);
            fake_add_range(&run, r, RKT_RANGE_BACKWARD, "", at + 20 * ms + slept, at + 90 * ms);
            fake_add_range(&run, r, RKT_RANGE_COMM_WAIT, "", at + 60 * ms + slept, at + 90 * ms);
            fake_add_bucket(&run, r, (uint64_t)i, 0, at + 40 * ms + slept, at + 65 * ms);
            fake_add_bucket(&run, r, (uint64_t)i, 1, at + 60 * ms + slept, at + 90 * ms);
        }
    }
    make_views(&run, views);
    fake_match(&run);
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 10; i++)
            assert_rkt_ok(rkt_host_view_window(&run.result.ranks[r],
                                               &run.result.ranks[r].steps[i].window, &err),
                          err);
    }
    assert_rkt_ok(rkt_find_straggler(&run.result, &run.arena, &err), err);
    assert_true(run.result.straggler.is_found);
    assert_int_equal(run.result.straggler.rank, 1);
    assert_int_equal(run.result.straggler.cause, RKT_CAUSE_INPUT);
    assert_string_equal(run.result.straggler.cause_detail, "next(loader)");
    assert_int_equal(run.result.straggler.cause_ns, 20 * ms);
    assert_rkt_ok(rkt_find_last_arriver(&run.result, &err), err);
    assert_int_equal(run.result.last_arriver.rank, 1);
    assert_int_equal(run.result.last_arriver.last_count, 10);
    assert_int_equal(run.result.last_arriver.collective_count, 10);
    assert_int_equal(run.result.last_arriver.last_by_ns, 20 * ms);
    release(&run, views);
}

/* 2 ranks, 10 steps of 100 ms: rank 1's backward is 20 ms longer. */
static void make_longer_backward(struct fake_run *run, int64_t asleep_ns)
{
    const int64_t ms = 1000000;

    fake_run_init(run, 2);
    for (size_t r = 0; r < 2; r++) {
        int64_t more = r == 1 ? 20 * ms : 0;

        run->result.ranks[r].step_source = RKT_STEPS_MARKS;
        for (int64_t i = 0; i < 10; i++) {
            int64_t at = i * 100 * ms;

            fake_add_step(run, r, at, at + 100 * ms);
            fake_add_range(run, r, RKT_RANGE_FORWARD, "", at, at + 20 * ms);
            fake_add_range(run, r, RKT_RANGE_BACKWARD, "", at + 20 * ms, at + 90 * ms);
            run->traces[r].ranges[run->traces[r].range_count - 1].value =
                (uint64_t)(r == 1 ? asleep_ns : 0);
            fake_add_range(run, r, RKT_RANGE_COMM_WAIT, "", at + 40 * ms + more, at + 90 * ms);
            fake_add_bucket(run, r, (uint64_t)i, 0, at + 40 * ms + more, at + 90 * ms);
        }
    }
}

static void find_straggler(struct fake_run *run, struct rkt_host_view **views)
{
    struct rkt_error err;

    make_views(run, views);
    fake_match(run);
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 10; i++) {
            struct rkt_step_result *step = &run->result.ranks[r].steps[i];

            assert_rkt_ok(rkt_host_view_window(&run->result.ranks[r], &step->window, &err), err);
            rkt_host_view_asleep(views[r], &step->window, step->asleep_ns);
        }
    }
    assert_rkt_ok(rkt_find_straggler(&run->result, &run->arena, &err), err);
    assert_true(run->result.straggler.is_found);
    assert_int_equal(run->result.straggler.rank, 1);
}

static void a_rank_that_sleeps_in_its_backward_does_not_compute(void **state)
{
    static const struct {
        int64_t asleep_ms;
        enum rkt_cause cause;
        int64_t cause_ms;
        const char *detail;
    } CASES[] = {
        {0, RKT_CAUSE_COMPUTE, 20, ""}, /* or it was recorded by an earlier version */
        {4, RKT_CAUSE_COMPUTE, 16, ""},
        {16, RKT_CAUSE_HOST, 16, "asleep in backward"},
        {20, RKT_CAUSE_HOST, 20, "asleep in backward"},
    };
    const int64_t ms = 1000000;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_host_view *views[FAKE_RANKS_MAX] = {0};
        struct fake_run run;

        make_longer_backward(&run, CASES[i].asleep_ms * ms);
        find_straggler(&run, views);
        assert_int_equal(run.result.straggler.cause, CASES[i].cause);
        assert_int_equal(run.result.straggler.cause_ns, CASES[i].cause_ms * ms);
        assert_string_equal(run.result.straggler.cause_detail, CASES[i].detail);
        release(&run, views);
    }
}

/* The host is slower outside of all phases; that it also sleeps a little is not why. */
static void a_little_sleep_does_not_explain_another_delay(void **state)
{
    const int64_t ms = 1000000;
    struct rkt_host_view *views[FAKE_RANKS_MAX] = {0};
    struct fake_run run;

    (void)state;
    make_longer_backward(&run, 4 * ms);
    for (size_t i = 0; i < run.traces[1].range_count; i++) {
        struct rkt_range *range = &run.traces[1].ranges[i];

        if (range->type == RKT_RANGE_FORWARD)
            range->start_ns += 15 * ms; /* not marked until then */
        range->end_ns += range->type == RKT_RANGE_FORWARD ? 15 * ms : 0;
        range->start_ns += range->type == RKT_RANGE_BACKWARD ? 15 * ms : 0;
    }
    find_straggler(&run, views);
    assert_int_equal(run.result.straggler.cause, RKT_CAUSE_HOST);
    assert_int_equal(run.result.straggler.cause_ns, 19 * ms);
    assert_string_equal(run.result.straggler.cause_detail, "");
    release(&run, views);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_split_as_the_documentation_says),
        cmocka_unit_test(buckets_overlap_the_backward_of_their_step),
        cmocka_unit_test(parts_add_up_to_any_window_of_any_marks),
        cmocka_unit_test(windows_side_by_side_are_one),
        cmocka_unit_test(what_phases_slept_is_told_less_their_waits),
        cmocka_unit_test(a_phase_in_another_and_a_wait_elsewhere_do_not_count),
        cmocka_unit_test(a_rank_that_sleeps_in_its_input_is_named),
        cmocka_unit_test(a_rank_that_sleeps_in_its_backward_does_not_compute),
        cmocka_unit_test(a_little_sleep_does_not_explain_another_delay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
