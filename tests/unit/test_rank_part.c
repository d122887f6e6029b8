/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a run is read by what its source says of its batches, and has the numbers of the
 * whole. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/store_maker.h"

#define STEPS 60u
#define LAUNCHES 512u /* of a step: the host is ahead by 4 steps at most */
#define LAUNCH_NS UINT64_C(10000)
#define STEP_NS (LAUNCHES * LAUNCH_NS)
#define KERNEL_NS 6000u
#define FIRST_NS UINT64_C(1000000000)
#define THREAD 11u

struct fixture {
    struct store_maker maker;
    struct rkt_analysis *whole;
    struct rkt_analysis *part;
    uint64_t whole_bytes;
    uint64_t part_bytes;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    store_maker_init(&fx->maker, RKT_PRODUCER_CAPTURE);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    rkt_analysis_destroy(fx->whole);
    rkt_analysis_destroy(fx->part);
    store_maker_release(&fx->maker);
    free(fx);
    return 0;
}

static void add(struct fixture *fx, struct rkt_event event, uint64_t start_ns, uint64_t end_ns)
{
    event.clock_id = RKT_CLOCK_REALTIME;
    event.start_ns = start_ns;
    event.end_ns = end_ns;
    store_add(&fx->maker, 0, event);
}

/* Its kernels run `behind_ns` after their launches, each step's a little longer than those
 * before. */
static void add_step(struct fixture *fx, uint64_t step, uint64_t behind_ns)
{
    uint64_t start_ns = FIRST_NS + step * STEP_NS;
    struct rkt_error err;

    add(fx,
        (struct rkt_event){.kind = RKT_EVENT_RANGE,
                           .type = RKT_RANGE_STEP,
                           .thread_id = THREAD,
                           .range = {.value = step}},
        start_ns, start_ns + STEP_NS);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        uint32_t correlation_id = (uint32_t)step * LAUNCHES + i + 1;
        uint64_t launch_ns = start_ns + i * LAUNCH_NS;

        add(fx,
            (struct rkt_event){.kind = RKT_EVENT_API,
                               .name_id = store_name(&fx->maker, 0, "cudaLaunchKernel"),
                               .thread_id = THREAD,
                               .correlation_id = correlation_id},
            launch_ns, launch_ns + 2000);
        add(fx,
            (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                               .name_id = store_name(&fx->maker, 0, "gemm"),
                               .correlation_id = correlation_id},
            launch_ns + behind_ns, launch_ns + behind_ns + KERNEL_NS + step);
    }
    assert_rkt_ok(rkt_source_writer_flush(fx->maker.sources[0], &err), err);
}

static void make_run(struct fixture *fx, uint64_t behind_ns, bool has_end)
{
    store_add_source(&fx->maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                          .role = RKT_ROLE_RANK,
                                                          .gpu_clock = RKT_CLOCK_REALTIME,
                                                          .rank_known = true,
                                                          .world_size = 1});
    for (uint64_t step = 0; step < STEPS; step++)
        add_step(fx, step, behind_ns);
    if (has_end)
        store_end(&fx->maker, 0, (struct rkt_end_info){.reason = RKT_END_EXITED});
}

static uint64_t analyse(struct rkt_store_reader *reader, struct rkt_selection_texts texts,
                        struct rkt_analysis **analysis)
{
    const struct rkt_analysis_options options = {.part = texts};
    uint64_t before_bytes = rkt_store_reader_read_bytes(reader);
    struct rkt_error err;

    assert_rkt_ok(rkt_analysis_create(reader, &options, analysis, &err), err);
    return rkt_store_reader_read_bytes(reader) - before_bytes;
}

/* `count` steps from `first` on are all that is selected, and as they are in the whole run. */
static void expect_same(const struct fixture *fx, uint64_t first, size_t count)
{
    const struct rkt_result *whole = rkt_analysis_result(fx->whole);
    const struct rkt_result *part = rkt_analysis_result(fx->part);
    size_t selected = 0;

    assert_int_equal(part->event_count, whole->event_count);
    assert_int_equal(part->ranks[0].whole.step_count, STEPS);
    for (size_t i = 0; i < part->ranks[0].step_count; i++) {
        const struct rkt_step_result *step = &part->ranks[0].steps[i];
        const struct rkt_step_result *want = &whole->ranks[0].steps[step->number];

        assert_int_equal(step->window.start_ns, want->window.start_ns);
        assert_int_equal(step->window.end_ns, want->window.end_ns);
        if (step->is_unrecorded)
            continue;
        assert_int_equal(step->number, first + selected++);
        assert_int_equal(step->window.compute_ns, want->window.compute_ns);
        assert_memory_equal(&step->window.parts, &want->window.parts, sizeof(want->window.parts));
        assert_int_equal(step->own_work_ns, want->own_work_ns);
    }
    assert_int_equal(selected, count);
}

/* Marks are read in any case, a third of all: its batches are small. */
static void look(struct fixture *fx, struct rkt_selection_texts texts)
{
    struct rkt_store_reader *reader = store_open(&fx->maker);

    fx->whole_bytes = analyse(reader, (struct rkt_selection_texts){.steps = NULL}, &fx->whole);
    fx->part_bytes = analyse(reader, texts, &fx->part);
}

static void of_selected_steps_few_batches_are_read(void **state)
{
    struct fixture *fx = *state;

    make_run(fx, STEP_NS / 2, true);
    look(fx, (struct rkt_selection_texts){.steps = "30:32"});
    expect_same(fx, 30, 2);
    assert_true(fx->part_bytes * 3 < fx->whole_bytes * 2);
}

static void of_a_time_few_batches_are_read(void **state)
{
    struct fixture *fx = *state;

    make_run(fx, STEP_NS / 2, true);
    look(fx, (struct rkt_selection_texts){.since = "100ms", .until = "118ms"});
    expect_same(fx, 20, 2); /* windows begin half a step after 100 and 102.4 ms */
    assert_true(fx->part_bytes * 3 < fx->whole_bytes * 2);
}

static void the_first_and_the_last_steps_are_right(void **state)
{
    struct fixture *fx = *state;

    make_run(fx, 3 * STEP_NS, true);
    look(fx, (struct rkt_selection_texts){.steps = ":1"});
    expect_same(fx, 0, 1);
    assert_true(fx->part_bytes * 3 < fx->whole_bytes * 2);
    rkt_analysis_destroy(fx->part);
    fx->part_bytes =
        analyse(fx->maker.reader, (struct rkt_selection_texts){.steps = "59:"}, &fx->part);
    expect_same(fx, 59, 1);
    assert_true(fx->part_bytes * 3 < fx->whole_bytes * 2);
}

/* No driver lets the host run ahead so far, but then the windows lie elsewhere. */
static void where_the_device_is_further_behind_all_is_read(void **state)
{
    struct fixture *fx = *state;

    make_run(fx, 20 * STEP_NS, true);
    look(fx, (struct rkt_selection_texts){.steps = "30:32"});
    expect_same(fx, 30, 2);
    assert_true(fx->part_bytes >= fx->whole_bytes);
}

static void of_a_source_that_says_nothing_all_is_read(void **state)
{
    struct fixture *fx = *state;

    make_run(fx, STEP_NS / 2, false);
    look(fx, (struct rkt_selection_texts){.steps = "30:32"});
    expect_same(fx, 30, 2);
    assert_int_equal(fx->part_bytes, fx->whole_bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_selected_steps_few_batches_are_read),
        TEST(of_a_time_few_batches_are_read),
        TEST(the_first_and_the_last_steps_are_right),
        TEST(where_the_device_is_further_behind_all_is_read),
        TEST(of_a_source_that_says_nothing_all_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
