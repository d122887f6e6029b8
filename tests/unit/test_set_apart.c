/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/set_apart.h"

#include <string.h>

#include "fake_run.h"
#include "rkt_test.h"

#define RANKS 4

static void whose_steps_were_found_in_another_way_is_set_apart(void **state)
{
    static const struct {
        const char *what;
        enum rkt_step_source sources[RANKS];
        const char *has_gpu; /* by rank: g, or - */
        const char *apart;   /* by rank: . compared, s other steps, h host only */
    } CASES[] = {
        {"all alike",
         {RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_MARKS},
         "gggg",
         "...."},
        {"marks and ranges both have the job's numbers",
         {RKT_STEPS_ANNOTATION, RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_MARKS},
         "gggg",
         "...."},
        {"one without marks",
         {RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_COLLECTIVES, RKT_STEPS_MARKS},
         "gggg",
         "..s."},
        {"one without any steps",
         {RKT_STEPS_WINDOW, RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_MARKS},
         "gggg",
         "s..."},
        {"only rank 0 marks its steps",
         {RKT_STEPS_MARKS, RKT_STEPS_COLLECTIVES, RKT_STEPS_COLLECTIVES, RKT_STEPS_COLLECTIVES},
         "gggg",
         "s..."},
        {"of as many of each kind those with marks are compared",
         {RKT_STEPS_COLLECTIVES, RKT_STEPS_MARKS, RKT_STEPS_COLLECTIVES, RKT_STEPS_MARKS},
         "gggg",
         "s.s."},
        {"most have no steps, which is no way to find them",
         {RKT_STEPS_WINDOW, RKT_STEPS_WINDOW, RKT_STEPS_WINDOW, RKT_STEPS_COLLECTIVES},
         "gggg",
         "sss."},
        {"nobody has steps",
         {RKT_STEPS_WINDOW, RKT_STEPS_WINDOW, RKT_STEPS_WINDOW, RKT_STEPS_WINDOW},
         "gggg",
         "...."},
        {"ranks without GPU work do not decide",
         {RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_COLLECTIVES},
         "---g",
         "hhh."},
        {"a job without GPUs",
         {RKT_STEPS_MARKS, RKT_STEPS_MARKS, RKT_STEPS_WINDOW, RKT_STEPS_MARKS},
         "----",
         "..s."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;

        fake_run_init(&run, RANKS);
        for (size_t r = 0; r < RANKS; r++) {
            run.result.ranks[r].step_source = CASES[i].sources[r];
            run.traces[r].has_gpu = CASES[i].has_gpu[r] == 'g';
        }
        rkt_set_apart(&run.result);
        for (size_t r = 0; r < RANKS; r++) {
            const struct rkt_rank_result *rank = &run.result.ranks[r];
            char is = (char)(rank->has_other_steps ? 's' : rank->is_set_apart ? 'h' : '.');

            if (is != CASES[i].apart[r])
                fail_msg("%s: rank %zu is %c", CASES[i].what, r, is);
        }
        fake_run_release(&run);
    }
}

static const char *note(const struct fake_run *run, size_t i)
{
    return i < run->result.note_count ? run->result.notes[i].text : "";
}

static void who_is_set_apart_is_named(void **state)
{
    struct rkt_error err;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, RANKS);
    for (size_t r = 0; r < RANKS; r++) {
        run.result.ranks[r].step_source = r > 1 ? RKT_STEPS_COLLECTIVES : RKT_STEPS_MARKS;
        run.traces[r].has_gpu = true;
    }
    rkt_set_apart(&run.result);
    assert_rkt_ok(rkt_note_set_apart(&run.result, &run.arena, &err), err);
    assert_int_equal(run.result.note_count, 1);
    assert_non_null(strstr(note(&run, 0),
                           "ranks 2, 3: steps from collectives, those of the others from marks"));
    assert_ptr_equal(rkt_first_compared(&run.result), &run.result.ranks[0]);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whose_steps_were_found_in_another_way_is_set_apart),
        cmocka_unit_test(who_is_set_apart_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
