/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analysis/activity.h"
#include "analysis/place.h"
#include "fake_run.h"
#include "rkt_test.h"

static const struct rkt_places *find_places(struct fake_run *run)
{
    struct rkt_rank_result *rank = &run->result.ranks[0];
    struct rkt_activity *activity;
    struct rkt_error err;

    assert_rkt_ok(rkt_activity_create(&run->traces[0], &activity, &err), err);
    rank->activity = activity;
    assert_rkt_ok(rkt_find_places(rank, &run->arena, &rank->places, &err), err);
    rank->activity = NULL;
    rkt_activity_destroy(activity);
    return rank->places;
}

static void add_kernel(struct fake_run *run, const char *name, int64_t launch_ns, int64_t start_ns,
                       int64_t end_ns)
{
    fake_add_work(
        run, 0,
        (struct fake_work){
            .name = name, .start_ns = start_ns, .end_ns = end_ns, .launch_ns = launch_ns});
}

/* Of the kind the longest; NULL none. */
static const struct rkt_place *longest(const struct rkt_places *places, unsigned kind)
{
    const struct rkt_place *most = NULL;

    for (size_t i = 0; i < places->count; i++) {
        const struct rkt_place *place = &places->items[i];

        if (place->kind == kind &&
            (!most || place->end_ns - place->start_ns > most->end_ns - most->start_ns))
            most = place;
    }
    return most;
}

/* Gaps of 10, 20, 30, 40 and 50 us: the three longest stay, with the kernels that end them. */
static void the_longest_of_a_kind_are_kept(void **state)
{
    const struct rkt_places *places;
    struct fake_run run;
    char name[8];
    int64_t at_ns = 100000;

    (void)state;
    fake_run_init(&run, 1);
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof(name), "k%d", i);
        add_kernel(&run, name, at_ns, at_ns + 1000, at_ns + 5000);
        at_ns += 5000 + (i + 1) * 10000;
    }
    places = find_places(&run);
    assert_string_equal(longest(places, RKT_IDLE_HOST)->what, "k5");
    assert_int_equal(
        longest(places, RKT_IDLE_HOST)->end_ns - longest(places, RKT_IDLE_HOST)->start_ns, 50000);
    assert_int_equal(places->count, 6); /* and three launches */
    fake_run_release(&run);
}

/* Each step keeps its own, since any may turn out to be warm-up. */
static void each_segment_keeps_its_longest(void **state)
{
    const struct rkt_places *places;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_step(&run, 0, 100000, 200000);
    fake_add_step(&run, 0, 200000, 300000);
    add_kernel(&run, "a", 100000, 101000, 110000);
    add_kernel(&run, "b", 190000, 191000, 200000);
    add_kernel(&run, "c", 210000, 211000, 220000);
    places = find_places(&run);
    assert_int_equal(places->count, 4);
    assert_int_equal(places->items[0].segment, 0);
    assert_string_equal(places->items[0].what, "b");
    assert_int_equal(places->items[2].segment, 1);
    assert_string_equal(places->items[2].what, "c");
    fake_run_release(&run);
}

/*
 *     device  ==== 10|                        |40 ==== 50|HtoD 70|
 *     main        |5 sync 15|  |30 launch|
 *     frames   |train.py(1): <module>                              |
 *                |train.py(31): log      |
 *                  |torch/_tensor.py(5)|
 */
static void a_place_has_the_line_of_the_program(void **state)
{
    const struct rkt_places *places;
    struct fake_run run;
    struct rkt_work *copy;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_PYTHON, "/home/me/train.py(1): <module>", 1000, 200000);
    fake_add_range(&run, 0, RKT_RANGE_PYTHON, "/home/me/train.py(31): log", 3000, 32000);
    fake_add_range(&run, 0, RKT_RANGE_PYTHON, "torch/_tensor.py(5): item", 4000, 31000);
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 5000, 15000);
    add_kernel(&run, "a", 1000, 2000, 10000);
    add_kernel(&run, "b", 30000, 40000, 50000);
    fake_add_work(&run, 0,
                  (struct fake_work){.work_class = RKT_WORK_COPY,
                                     .name = "copy",
                                     .start_ns = 50000,
                                     .end_ns = 70000,
                                     .launch_ns = 45000});
    copy = &run.traces[0].works[2];
    copy->bytes = 4096;
    places = find_places(&run);
    assert_string_equal(longest(places, RKT_IDLE_SYNC)->what, "cudaStreamSynchronize");
    assert_string_equal(longest(places, RKT_IDLE_SYNC)->line, "train.py:31");
    assert_string_equal(longest(places, RKT_PLACE_COPY)->what, "HtoD of 4096 bytes");
    assert_string_equal(longest(places, RKT_PLACE_COPY)->line, "train.py:1");
    fake_run_release(&run);
}

/* The hook tells the line itself. */
static void a_call_that_told_its_line_has_that(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_sync_call(&run, 0, "train.py:77", "Tensor.item", 4500, 16000);
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 5000, 15000);
    add_kernel(&run, "a", 1000, 2000, 10000);
    add_kernel(&run, "b", 30000, 40000, 50000);
    assert_string_equal(longest(find_places(&run), RKT_IDLE_SYNC)->line, "train.py:77");
    fake_run_release(&run);
}

static void places_without_records_around_them_have_no_text(void **state)
{
    const struct rkt_places *places;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    add_kernel(&run, "a", 0, 2000, 10000);
    add_kernel(&run, "", 0, 40000, 50000);
    places = find_places(&run);
    assert_int_equal(places->count, 1);
    assert_int_equal(places->items[0].kind, RKT_IDLE_UNKNOWN);
    assert_string_equal(places->items[0].what, "");
    assert_string_equal(places->items[0].line, "");
    fake_run_release(&run);
}

static void frames_of_libraries_have_no_line(void **state)
{
    static const struct {
        const char *frame;
        const char *line; /* NULL: none */
    } CASES[] = {
        {"train.py(123): step", "train.py:123"},
        {"/a/b.c/train.py(7): <module>", "train.py:7"},
        {"torch/nn/modules/module.py(1501): _call_impl", NULL},
        {"/usr/lib/python3.11/threading.py(975): run", NULL},
        {"/v/lib/site-packages/numpy/x.py(3): f", NULL},
        {"<frozen importlib._bootstrap>.py(3): f", NULL},
        {"<built-in method item>", NULL},
        {"train.py(): x", NULL},
        {"train.py(", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char line[64] = "";
        bool is_found = rkt_line_of_frame(CASES[i].frame, line, sizeof(line));

        if (is_found != (CASES[i].line != NULL) || (is_found && strcmp(line, CASES[i].line) != 0))
            fail_msg("%s: '%s'", CASES[i].frame, line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_of_a_kind_are_kept),
        cmocka_unit_test(each_segment_keeps_its_longest),
        cmocka_unit_test(a_place_has_the_line_of_the_program),
        cmocka_unit_test(a_call_that_told_its_line_has_that),
        cmocka_unit_test(places_without_records_around_them_have_no_text),
        cmocka_unit_test(frames_of_libraries_have_no_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
