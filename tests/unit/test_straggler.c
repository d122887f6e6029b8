/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define MS INT64_C(1000000)
#define STEP_NS (100 * MS)

/* Where a part lies in struct rkt_partition; 0 is the window, and stands for none. */
#define PART(member) offsetof(struct rkt_partition, member)
#define COMPUTE PART(compute_ns)
#define INPUT PART(idle_ns[RKT_IDLE_INPUT])
#define SYNC PART(idle_ns[RKT_IDLE_SYNC])

/*
 * Steps of 100 ms of which a rank computes 60 ms, transfers 5 ms and loses `extra_ns` more to
 * one part; the rest it waits for the others.
 */
static void add_steps(struct fake_run *run, size_t rank, size_t step_count, int64_t extra_ns,
                      size_t part)
{
    for (size_t i = 0; i < step_count; i++) {
        struct rkt_step_result *step =
            fake_add_step(run, rank, (int64_t)i * STEP_NS, (int64_t)(i + 1) * STEP_NS);
        struct rkt_partition *parts = &step->window.parts;
        /* a little noise that differs between ranks and steps */
        int64_t noise_ns = (int64_t)((i * 7 + rank * 13) % 5) * 20000;

        parts->window_ns = STEP_NS;
        parts->compute_ns = 60 * MS + noise_ns;
        parts->comm_transfer_ns = 5 * MS;
        parts->idle_ns[RKT_IDLE_HOST] = 2 * MS;
        if (part != 0)
            *(int64_t *)((char *)parts + part) += extra_ns;
        parts->comm_wait_ns = STEP_NS - rkt_partition_sum(parts);
        run->result.ranks[rank].step_source = RKT_STEPS_MARKS;
    }
}

/* One collective at the end: ranks that share none do not wait for each other. */
static void add_shared_collective(struct fake_run *run)
{
    for (size_t r = 0; r < run->result.rank_count; r++) {
        struct fake_op op = {99, 0, 8, -1, RKT_NCCL_FUNC_ALLREDUCE};

        fake_add_comm(run, r, op.comm_id, (int32_t)r, (uint32_t)run->result.rank_count);
        fake_add_collective(run, r, op, 1000 * STEP_NS, 1000 * STEP_NS + MS);
    }
}

static void find(struct fake_run *run)
{
    struct rkt_error err;

    add_shared_collective(run);
    fake_match(run);
    assert_rkt_ok(rkt_find_straggler(&run->result, &run->arena, &err), err);
    assert_rkt_ok(rkt_find_last_arriver(&run->result, &err), err);
}

static void a_run_of_equal_ranks_names_nobody(void **state)
{
    static const size_t STEPS[] = {3, 12, 40};

    (void)state;
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        struct fake_run run;

        fake_run_init(&run, 4);
        for (size_t r = 0; r < 4; r++)
            add_steps(&run, r, STEPS[i], 0, 0);
        find(&run);
        if (run.result.straggler.is_found)
            fail_msg("%zu steps", STEPS[i]);
        assert_int_equal(run.result.straggler.steps_in_all, STEPS[i]);
        fake_run_release(&run);
    }
}

static void a_slow_rank_is_named_with_the_part_that_is_larger(void **state)
{
    static const struct {
        const char *what;
        size_t part;
        enum rkt_cause cause;
        size_t ranks, steps;
    } CASES[] = {
        {"compute", COMPUTE, RKT_CAUSE_COMPUTE, 4, 10},
        {"input", INPUT, RKT_CAUSE_INPUT, 4, 10},
        {"sync", SYNC, RKT_CAUSE_SYNC, 8, 10},
        {"copies", PART(copy_ns[RKT_COPY_PART_HTOD]), RKT_CAUSE_COPY, 4, 10},
        {"compute under communication", PART(overlapped_ns), RKT_CAUSE_COMPUTE, 4, 10},
        {"host", PART(idle_ns[RKT_IDLE_HOST]), RKT_CAUSE_HOST, 4, 10},
        {"allocations", PART(idle_ns[RKT_IDLE_ALLOC]), RKT_CAUSE_ALLOC, 4, 10},
        {"launches", PART(idle_ns[RKT_IDLE_LAUNCH]), RKT_CAUSE_LAUNCH, 4, 10},
        {"another stream", PART(idle_ns[RKT_IDLE_DEPENDENCY]), RKT_CAUSE_OTHER, 4, 10},
        {"short gaps", PART(idle_ns[RKT_IDLE_DEVICE]), RKT_CAUSE_OTHER, 4, 10},
        {"no launch records", PART(idle_ns[RKT_IDLE_UNKNOWN]), RKT_CAUSE_OTHER, 4, 10},
        {"two ranks", INPUT, RKT_CAUSE_INPUT, 2, 10},
        {"few steps", INPUT, RKT_CAUSE_INPUT, 4, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_straggler *straggler;
        struct fake_run run;

        fake_run_init(&run, CASES[i].ranks);
        for (size_t r = 0; r < CASES[i].ranks; r++)
            add_steps(&run, r, CASES[i].steps, r == 1 ? 20 * MS : 0, CASES[i].part);
        find(&run);
        straggler = &run.result.straggler;
        if (!straggler->is_found || straggler->rank != 1 || straggler->cause != CASES[i].cause)
            fail_msg("%s: %d rank %u cause %s", CASES[i].what, straggler->is_found, straggler->rank,
                     rkt_cause_name(straggler->cause));
        assert_int_equal(straggler->step_count, CASES[i].steps);
        assert_true(llabs(straggler->excess_ns - 20 * MS) < MS / 10);
        assert_true(llabs(straggler->cause_ns - 20 * MS) < MS / 10);
        fake_run_release(&run);
    }
}

static void a_delay_in_few_steps_or_below_one_percent_names_nobody(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    for (size_t r = 0; r < 4; r++) {
        add_steps(&run, r, 20, r == 1 ? MS * 9 / 10 : 0, INPUT);
        for (size_t i = 0; r == 2 && i < 9; i++) { /* a checkpoint now and then */
            struct rkt_partition *parts = &run.result.ranks[r].steps[i * 2].window.parts;

            parts->idle_ns[RKT_IDLE_HOST] += 20 * MS;
            parts->comm_wait_ns -= 20 * MS;
        }
    }
    find(&run);
    assert_false(run.result.straggler.is_found);
    fake_run_release(&run);
}

static void a_constant_delay_is_found_under_noise_and_noise_alone_is_not(void **state)
{
    static const size_t STEPS[] = {10, 60};

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        bool is_delayed = seed % 2 == 1;
        struct rkt_random random = {seed};
        struct fake_run run;

        fake_run_init(&run, 2);
        for (size_t r = 0; r < 2; r++) {
            add_steps(&run, r, STEPS[seed / 2 % 2], r == 1 && is_delayed ? 20 * MS : 0, INPUT);
            for (size_t i = 0; i < STEPS[seed / 2 % 2]; i++) {
                struct rkt_partition *parts = &run.result.ranks[r].steps[i].window.parts;
                int64_t noise_ns = (int64_t)rkt_random_below(&random, 20 * MS) - 10 * MS;

                parts->compute_ns += noise_ns;
                parts->comm_wait_ns -= noise_ns;
            }
        }
        find(&run);
        if (run.result.straggler.is_found != is_delayed)
            fail_msg("seed %u: %d", (unsigned)seed, run.result.straggler.is_found);
        if (is_delayed)
            assert_int_equal(run.result.straggler.cause, RKT_CAUSE_INPUT);
        fake_run_release(&run);
    }
}

static void warmup_is_left_out(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        add_steps(&run, r, 8, r == 1 ? 20 * MS : 0, COMPUTE);
        for (size_t i = 0; i < 2; i++) { /* the first two take seconds, and more on rank 0 */
            struct rkt_window *window = &run.result.ranks[r].steps[i].window;

            window->end_ns = window->start_ns + 4000 * MS;
            window->parts.compute_ns = r == 0 ? 3900 * MS : 100 * MS;
        }
    }
    find(&run);
    assert_true(run.result.straggler.is_found);
    assert_int_equal(run.result.straggler.rank, 1);
    assert_int_equal(run.result.straggler.steps_in_all, 6);
    assert_true(run.result.ranks[0].steps[1].is_warmup);
    assert_true(run.result.ranks[1].steps[1].is_warmup);
    assert_false(run.result.ranks[1].steps[2].is_warmup);
    fake_run_release(&run);
}

static void only_steps_that_all_ranks_have_are_compared(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    add_steps(&run, 0, 6, 0, 0);
    add_steps(&run, 1, 4, 20 * MS, COMPUTE);
    for (size_t i = 0; i < 4; i++)
        run.result.ranks[1].steps[i].number += 3; /* began later: steps 3 to 6 */
    find(&run);
    assert_int_equal(run.result.straggler.steps_in_all, 3);
    fake_run_release(&run);
}

static void the_step_with_which_some_ranks_begin_later_is_left_out(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    add_steps(&run, 0, 7, 0, 0);
    add_steps(&run, 1, 4, 20 * MS, COMPUTE);
    for (size_t i = 0; i < 4; i++)
        run.result.ranks[1].steps[i].number += 3; /* both have 3 to 6 */
    find(&run);
    assert_int_equal(run.result.straggler.steps_in_all, 3);
    fake_run_release(&run);
}

static void ranks_without_a_common_collective_hold_nobody_up(void **state)
{
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++)
        add_steps(&run, r, 8, r == 1 ? 20 * MS : 0, COMPUTE);
    fake_match(&run);
    assert_rkt_ok(rkt_find_straggler(&run.result, &run.arena, &err), err);
    assert_false(run.result.straggler.is_found);
    fake_run_release(&run);
}

static void with_too_few_steps_nobody_is_looked_for(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++)
        add_steps(&run, r, 2, r == 1 ? 20 * MS : 0, COMPUTE);
    find(&run);
    assert_false(run.result.straggler.is_found);
    assert_int_equal(run.result.straggler.steps_in_all, 0);
    fake_run_release(&run);
}

static void without_steps_nobody_is_looked_for(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        add_steps(&run, r, 4, r == 1 ? 20 * MS : 0, COMPUTE);
        run.result.ranks[r].step_source = RKT_STEPS_WINDOW;
    }
    find(&run);
    assert_false(run.result.straggler.is_found);
    assert_int_equal(run.result.straggler.steps_in_all, 0);
    fake_run_release(&run);
}

static void a_rank_that_is_set_apart_is_not_compared(void **state)
{
    static const size_t APART[] = {0, 2};

    (void)state;
    for (size_t i = 0; i < sizeof(APART) / sizeof(APART[0]); i++) {
        struct fake_run run;

        fake_run_init(&run, 4);
        run.result.ranks[APART[i]].is_set_apart = true;
        for (size_t r = 0; r < 4; r++) {
            if (r != APART[i]) /* the other one has no step at all */
                add_steps(&run, r, 10, r == 3 ? 20 * MS : 0, INPUT);
            else if (i == 0)
                add_steps(&run, r, 10, 90 * MS, COMPUTE);
        }
        find(&run);
        assert_true(run.result.straggler.is_found);
        assert_int_equal(run.result.straggler.rank, 3);
        assert_int_equal(run.result.straggler.cause, RKT_CAUSE_INPUT);
        assert_int_equal(run.result.straggler.steps_in_all, 10);
        fake_run_release(&run);
    }
}

static void the_kernel_that_is_slower_is_named(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_steps(&run, r, 6, r == 2 ? 20 * MS : 0, COMPUTE);
        for (size_t i = 0; i < 6; i++) {
            int64_t at = (int64_t)i * STEP_NS + MS;
            uint32_t work;

            work = fake_add_work(&run, r,
                                 (struct fake_work){.name = "long_but_equal",
                                                    .start_ns = at,
                                                    .end_ns = at + 50 * MS});
            run.traces[r].works[work].step = (uint32_t)i;
            work = fake_add_work(&run, r,
                                 (struct fake_work){.name = "slow_gemm",
                                                    .start_ns = at + 60 * MS,
                                                    .end_ns = at + (r == 2 ? 90 : 70) * MS});
            run.traces[r].works[work].step = (uint32_t)i;
        }
    }
    find(&run);
    assert_int_equal(run.result.straggler.rank, 2);
    assert_string_equal(run.result.straggler.cause_detail, "slow_gemm");
    fake_run_release(&run);
}

/* Kernels of one name in each of a rank's six steps. */
static void add_kernels(struct fake_run *run, size_t rank, const char *name, uint32_t shape_id,
                        int64_t count, int64_t one_ns)
{
    for (uint32_t i = 0; i < 6; i++) {
        for (int64_t k = 0; k < count; k++) {
            int64_t at = i * STEP_NS + MS + k * one_ns;
            uint32_t work = fake_add_work(
                run, rank, (struct fake_work){.name = name, .start_ns = at, .end_ns = at + one_ns});

            run->traces[rank].works[work].step = i;
            run->traces[rank].works[work].shape_id = shape_id;
        }
    }
}

static void release_with_shapes(struct fake_run *run, size_t rank_count)
{
    for (size_t r = 0; r < rank_count; r++)
        run->traces[r].shapes = NULL;
    fake_run_release(run);
}

/* Three ranks, of which the last has 20 ms more to compute; shapes 1 and 2 are two grids. */
static void make_compute_straggler(struct fake_run *run)
{
    static struct rkt_event_shape shapes[] = {{.shape_id = 1, .grid_x = 8},
                                              {.shape_id = 2, .grid_x = 16}};

    fake_run_init(run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_steps(run, r, 6, r == 2 ? 20 * MS : 0, COMPUTE);
        run->traces[r].shapes = shapes;
        run->traces[r].shape_count = 2;
    }
}

/* The worked example of metrics.md, in steps of another length. */
static void a_straggler_that_computes_is_slower_or_has_more_to_do(void **state)
{
    const struct rkt_compute_cause *cause;
    struct fake_run run;

    (void)state;
    make_compute_straggler(&run);
    for (size_t r = 0; r < 3; r++) {
        add_kernels(&run, r, "gemm", 1, r == 2 ? 12 : 10, (r == 2 ? 3 : 2) * MS / 1000);
        add_kernels(&run, r, "add", 1, 10, 2 * MS / 1000);
    }
    add_kernels(&run, 2, "norm", 2, 1, 4 * MS / 1000);
    find(&run);
    cause = &run.result.straggler.compute;
    assert_int_equal(run.result.straggler.cause, RKT_CAUSE_COMPUTE);
    assert_int_equal(cause->kind, RKT_COMPUTE_SLOWER);
    assert_int_equal(cause->slower_ns, 12 * MS / 1000);
    assert_int_equal(cause->more_ns, 8 * MS / 1000);
    assert_int_equal(cause->shapes_ns, 0);
    assert_float_equal(cause->slowdown, 1.5, 1e-9);
    assert_float_equal(cause->kernel_count, 23, 1e-9);
    assert_float_equal(cause->others_kernel_count, 20, 1e-9);
    release_with_shapes(&run, 3);
}

static void more_kernels_and_other_shapes_are_not_slower_ones(void **state)
{
    struct fake_run run;

    (void)state;
    make_compute_straggler(&run);
    for (size_t r = 0; r < 3; r++)
        add_kernels(&run, r, "gemm", 1, r == 2 ? 20 : 10, MS);
    find(&run);
    assert_int_equal(run.result.straggler.compute.kind, RKT_COMPUTE_MORE);
    assert_int_equal(run.result.straggler.compute.more_ns, 10 * MS);
    assert_int_equal(run.result.straggler.compute.slower_ns, 0);
    release_with_shapes(&run, 3);

    make_compute_straggler(&run);
    for (size_t r = 0; r < 3; r++)
        add_kernels(&run, r, "gemm", r == 2 ? 2 : 1, 10, (r == 2 ? 2 : 1) * MS);
    find(&run);
    assert_int_equal(run.result.straggler.compute.kind, RKT_COMPUTE_SHAPES);
    assert_int_equal(run.result.straggler.compute.shapes_ns, 10 * MS);
    assert_int_equal(run.result.straggler.compute.more_ns, 0);
    assert_true(isnan(run.result.straggler.compute.slowdown));
    release_with_shapes(&run, 3);
}

static void without_kernels_nothing_is_said_of_them(void **state)
{
    struct fake_run run;

    (void)state;
    make_compute_straggler(&run);
    find(&run);
    assert_int_equal(run.result.straggler.cause, RKT_CAUSE_COMPUTE);
    assert_int_equal(run.result.straggler.compute.kind, RKT_COMPUTE_UNKNOWN);
    release_with_shapes(&run, 3);
}

static void the_innermost_range_that_holds_the_excess_is_named(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_steps(&run, r, 6, r == 1 ? 20 * MS : 0, INPUT);
        for (size_t i = 0; i < 6; i++) {
            int64_t at = (int64_t)i * STEP_NS + MS;

            fake_add_range(&run, r, RKT_RANGE_ANNOTATION, "ProfilerStep#", at - MS,
                           at - MS + STEP_NS);
            fake_add_range(&run, r, RKT_RANGE_ANNOTATION, "train_batch", at, at + 60 * MS);
            fake_add_range(&run, r, RKT_RANGE_INPUT, "next(loader)", at,
                           at + (r == 1 ? 30 : 10) * MS);
        }
    }
    find(&run);
    assert_int_equal(run.result.straggler.rank, 1);
    assert_string_equal(run.result.straggler.cause_detail, "next(loader)");
    fake_run_release(&run);
}

static void a_line_that_waits_is_named_before_the_call_it_makes(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_steps(&run, r, 6, r == 1 ? 20 * MS : 0, SYNC);
        for (size_t i = 0; i < 6; i++) {
            int64_t at = (int64_t)i * STEP_NS + MS;
            int64_t wait_ns = r == 1 ? 25 * MS : 5 * MS;

            fake_add_sync_call(&run, r, "train.py:31", "Tensor.item", at, at + wait_ns);
            fake_add_call(&run, r, RKT_CALL_BLOCKING, "cudaStreamSynchronize", at, at + wait_ns);
            fake_add_sync_call(&run, r, "train.py:40", "Tensor.cpu", at + 30 * MS, at + 60 * MS);
        }
    }
    find(&run);
    assert_int_equal(run.result.straggler.cause, RKT_CAUSE_SYNC);
    assert_string_equal(run.result.straggler.cause_detail, "train.py:31");
    fake_run_release(&run);
}

static void names_that_hold_a_hash_are_the_same_on_all_ranks(void **state)
{
    static const char *const HASHED[] = {"Graph f5w7lf5mgif3wsod3kkxcc3iksbyxa ##",
                                         "Graph femq2gbbte6f3oh5t3i5xwjjvorafq ##",
                                         "Graph fmk2rpxre4jjuky7fuwqzyd6gvzrot ##"};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        add_steps(&run, r, 6, r == 1 ? 20 * MS : 0, INPUT);
        for (size_t i = 0; i < 6; i++) {
            int64_t at = (int64_t)i * STEP_NS + MS;

            fake_add_range(&run, r, RKT_RANGE_ANNOTATION, HASHED[r], at, at + 40 * MS);
            fake_add_range(&run, r, RKT_RANGE_ANNOTATION, "logging", at + 50 * MS,
                           at + (r == 1 ? 75 : 55) * MS);
        }
    }
    find(&run);
    assert_string_equal(run.result.straggler.cause_detail, "logging");
    fake_run_release(&run);
}

static void the_last_arriver_is_counted_over_collectives_that_were_not_queued(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        add_steps(&run, r, 6, r == 1 ? 20 * MS : 0, INPUT);
        fake_add_comm(&run, r, 5, (int32_t)r, 2);
        for (uint64_t i = 0; i < 6; i++) {
            struct fake_op op = {5, 2 * i, 8, -1, RKT_NCCL_FUNC_ALLREDUCE};
            int64_t at = (int64_t)i * STEP_NS;

            fake_add_collective(&run, r, op, at + (r == 1 ? 70 : 50) * MS, at + 75 * MS);
            op.seq++; /* starts when the one before has ended */
            fake_add_collective(&run, r, op, at + 75 * MS + 1000 * (int64_t)r, at + 80 * MS);
        }
    }
    find(&run);
    assert_int_equal(run.result.last_arriver.rank, 1);
    assert_int_equal(run.result.last_arriver.last_count, 6);
    assert_int_equal(run.result.last_arriver.collective_count, 6);
    assert_int_equal(run.result.last_arriver.last_by_ns, 20 * MS);
    assert_int_equal(run.result.last_arriver.blurred_count, 0);
    fake_run_release(&run);
}

static void nobody_comes_last_by_less_than_the_clocks_may_be_off(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        add_steps(&run, r, 6, r == 1 ? 20 * MS : 0, INPUT);
        fake_add_comm(&run, r, 5, (int32_t)r, 2);
        for (uint64_t i = 0; i < 6; i++) {
            struct fake_op op = {5, i, 8, -1, RKT_NCCL_FUNC_ALLREDUCE};
            int64_t at = (int64_t)i * STEP_NS;

            fake_add_collective(&run, r, op, at + (r == 1 ? 70 : 50) * MS, at + 75 * MS);
        }
    }
    run.result.ranks[1].bound_ns = 20 * MS;
    find(&run);
    assert_int_equal(run.result.last_arriver.last_count, 0);
    assert_int_equal(run.result.last_arriver.collective_count, 0);
    assert_int_equal(run.result.last_arriver.blurred_count, run.result.collective_count);
    assert_true(run.result.straggler.is_found); /* on one clock each, by durations */
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_equal_ranks_names_nobody),
        cmocka_unit_test(a_slow_rank_is_named_with_the_part_that_is_larger),
        cmocka_unit_test(a_delay_in_few_steps_or_below_one_percent_names_nobody),
        cmocka_unit_test(a_constant_delay_is_found_under_noise_and_noise_alone_is_not),
        cmocka_unit_test(warmup_is_left_out),
        cmocka_unit_test(only_steps_that_all_ranks_have_are_compared),
        cmocka_unit_test(the_step_with_which_some_ranks_begin_later_is_left_out),
        cmocka_unit_test(ranks_without_a_common_collective_hold_nobody_up),
        cmocka_unit_test(with_too_few_steps_nobody_is_looked_for),
        cmocka_unit_test(without_steps_nobody_is_looked_for),
        cmocka_unit_test(a_rank_that_is_set_apart_is_not_compared),
        cmocka_unit_test(the_kernel_that_is_slower_is_named),
        cmocka_unit_test(a_straggler_that_computes_is_slower_or_has_more_to_do),
        cmocka_unit_test(more_kernels_and_other_shapes_are_not_slower_ones),
        cmocka_unit_test(without_kernels_nothing_is_said_of_them),
        cmocka_unit_test(the_innermost_range_that_holds_the_excess_is_named),
        cmocka_unit_test(a_line_that_waits_is_named_before_the_call_it_makes),
        cmocka_unit_test(names_that_hold_a_hash_are_the_same_on_all_ranks),
        cmocka_unit_test(the_last_arriver_is_counted_over_collectives_that_were_not_queued),
        cmocka_unit_test(nobody_comes_last_by_less_than_the_clocks_may_be_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
