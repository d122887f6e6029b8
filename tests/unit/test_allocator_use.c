/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/allocator_use.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

/* What the allocator of a GPU holds from then on. */
static void say(struct fake_run *run, uint32_t device_id, int64_t time_ns, uint64_t reserved_bytes,
                uint64_t allocated_bytes)
{
    static const char *const NAMES[] = {"allocated memory", "reserved memory"};
    const uint64_t values[] = {allocated_bytes, reserved_bytes};
    struct rkt_rank_trace *trace = &run->traces[0];

    for (size_t i = 0; i < 2; i++) {
        struct rkt_counter_sample *sample = &trace->gpu.counters[trace->gpu.counter_count];

        fake_add_counter(run, 0, RKT_COUNTER_NAMED, time_ns, time_ns, values[i]);
        sample->device_id = device_id;
        sample->name_id = rkt_strtab_intern(trace->names, NAMES[i], strlen(NAMES[i]));
    }
}

static void expect(const struct fake_run *run, int64_t start_ns, int64_t end_ns,
                   struct rkt_allocator_use want)
{
    struct rkt_allocator_use use;

    assert_true(rkt_allocator_use_over(&run->traces[0], start_ns, end_ns, &use));
    assert_int_equal(use.device_id, want.device_id);
    assert_int_equal(use.reserved_bytes, want.reserved_bytes);
    assert_int_equal(use.allocated_bytes, want.allocated_bytes);
    assert_int_equal(use.gap_bytes, want.gap_bytes);
    assert_int_equal(use.gap_ns, want.gap_ns);
}

/* The worked example of analysis/doc/metrics.md, "The allocator's memory". */
static void the_gap_is_what_is_held_and_not_in_use_at_one_time(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    say(&run, 0, 100, 10, 8);
    say(&run, 0, 200, 10, 3);
    say(&run, 0, 300, 14, 13);
    say(&run, 0, 400, 14, 5);
    say(&run, 0, 500, 20, 1);
    expect(&run, 150, 450, (struct rkt_allocator_use){0, 14, 13, 9, 400});
    expect(&run, 150, 160, (struct rkt_allocator_use){0, 10, 8, 2, 150}); /* said before */
    expect(&run, 0, 1000, (struct rkt_allocator_use){0, 20, 13, 19, 500});
    fake_run_release(&run);
}

/* A moment's numbers are two records: between them there is no gap that was not there. */
static void numbers_of_one_moment_are_taken_together(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    say(&run, 0, 100, 10, 10);
    say(&run, 0, 200, 4, 2); /* 8 apart from what was reserved before */
    expect(&run, 0, 1000, (struct rkt_allocator_use){0, 10, 10, 2, 200});
    fake_run_release(&run);
}

static void the_gpu_counts_of_which_most_is_held(void **state)
{
    struct rkt_allocator_use use;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    assert_false(rkt_allocator_use_over(&run.traces[0], 0, 1000, &use));
    fake_add_counter(&run, 0, RKT_COUNTER_POWER, 50, 50, 1000);
    assert_false(rkt_allocator_use_over(&run.traces[0], 0, 1000, &use));
    say(&run, 1, 100, 7, 1);
    say(&run, 0, 110, 5, 0);
    expect(&run, 0, 1000, (struct rkt_allocator_use){1, 7, 1, 6, 100});
    fake_run_release(&run);
}

static void it_is_of_the_steady_steps(void **state)
{
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, 1);
    run.result.ranks[0].step_source = RKT_STEPS_MARKS;
    fake_add_step(&run, 0, 0, 200)->is_warmup = true;
    fake_add_step(&run, 0, 200, 400);
    say(&run, 0, 100, 50, 1);
    say(&run, 0, 150, 9, 8);
    say(&run, 0, 300, 9, 7);
    say(&run, 0, 450, 50, 1);
    assert_rkt_ok(rkt_find_allocator_use(&run.result, &run.arena, &err), err);
    assert_non_null(run.result.ranks[0].allocator);
    assert_int_equal(run.result.ranks[0].allocator->reserved_bytes, 9);
    assert_int_equal(run.result.ranks[0].allocator->gap_bytes, 2);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gap_is_what_is_held_and_not_in_use_at_one_time),
        cmocka_unit_test(numbers_of_one_moment_are_taken_together),
        cmocka_unit_test(the_gpu_counts_of_which_most_is_held),
        cmocka_unit_test(it_is_of_the_steady_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
