/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_test.h"

#define RANKS 3
#define STEPS 8

/* Which steps each rank has recorded, ".": all of it, "x": not. */
static void make_run(struct fake_run *run, const char *const recorded[RANKS])
{
    fake_run_init(run, RANKS);
    for (size_t r = 0; r < RANKS; r++) {
        run->traces[r].has_windows = true;
        run->result.ranks[r].step_source = RKT_STEPS_MARKS;
        for (size_t i = 0; recorded[r][i] != '\0'; i++) {
            struct rkt_step_result *step =
                fake_add_step(run, r, (int64_t)i * 100, (int64_t)i * 100 + 100);

            step->is_unrecorded = recorded[r][i] != '.';
        }
    }
}

static void compare(struct fake_run *run)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_compare_windows(&run->result, &run->arena, &err), err);
}

static void expect(const struct fake_run *run, size_t rank, const char *expected)
{
    char text[STEPS + 1] = "";

    for (size_t i = 0; i < run->result.ranks[rank].step_count; i++)
        text[i] = run->result.ranks[rank].steps[i].is_unrecorded ? 'x' : '.';
    assert_string_equal(text, expected);
}

static bool says(const struct fake_run *run, const char *words)
{
    for (size_t i = 0; i < run->result.note_count; i++) {
        if (strstr(run->result.notes[i].text, words))
            return true;
    }
    return false;
}

static void only_steps_that_all_ranks_recorded_count(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){"xx....xx", "xxx...xx", "xx....xx"});
    compare(&run);
    for (size_t r = 0; r < RANKS; r++)
        expect(&run, r, "xxx...xx");
    assert_true(says(&run, "steps 3 to 5 recorded"));
    assert_true(says(&run, "the 5 others not"));
    assert_true(says(&run, "differ: 1 step that not all of them recorded is left out"));
    fake_run_release(&run);
}

static void several_windows_are_listed(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){".x..x.x.", ".x..x.x.", ".x..x.x."});
    compare(&run);
    expect(&run, 0, ".x..x.x.");
    assert_true(says(&run, "steps 0, 2 to 3, 5, 7 recorded"));
    assert_false(says(&run, "differ"));
    fake_run_release(&run);
}

/* It would leave nothing to compare. */
static void a_rank_that_recorded_no_step_leaves_the_others_their_own(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){"xx..xxxx", "xxxxxxxx", "xx..xxxx"});
    compare(&run);
    expect(&run, 0, "xx..xxxx");
    expect(&run, 2, "xx..xxxx");
    fake_run_release(&run);
}

static void that_no_step_was_recorded_is_a_warning(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){"xxxx", "xxxx", "xxxx"});
    compare(&run);
    assert_true(says(&run, "no step was recorded"));
    assert_int_equal(run.result.notes[0].level, 1);
    fake_run_release(&run);
}

static void a_window_without_a_warmup_says_what_it_cost(void **state)
{
    struct rkt_open_span open = {300, 600, 300};
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){"xxxx..xx", "xxxx..xx", "xxxx..xx"});
    for (size_t r = 0; r < RANKS; r++) {
        run.traces[r].open_spans = &open;
        run.traces[r].open_count = 1;
    }
    compare(&run);
    assert_true(says(&run, "1 step is left out with which a window began"));
    fake_run_release(&run);
}

static void without_windows_nothing_changes(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, (const char *[]){"....", "...", "...."});
    for (size_t r = 0; r < RANKS; r++)
        run.traces[r].has_windows = false;
    compare(&run);
    expect(&run, 0, "....");
    assert_int_equal(run.result.note_count, 0);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_steps_that_all_ranks_recorded_count),
        cmocka_unit_test(several_windows_are_listed),
        cmocka_unit_test(a_rank_that_recorded_no_step_leaves_the_others_their_own),
        cmocka_unit_test(that_no_step_was_recorded_is_a_warning),
        cmocka_unit_test(a_window_without_a_warmup_says_what_it_cost),
        cmocka_unit_test(without_windows_nothing_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
