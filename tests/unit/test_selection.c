/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection.h"
#include "tests/unit/rkt_test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void what_is_given_is_said_in_words(void **state)
{
    static const struct {
        struct rkt_selection_texts texts;
        const char *words;
    } cases[] = {
        {{.ranks = "0-3,7"}, "ranks 0-3,7"},
        {{.ranks = "7,2,0-1,3"}, "ranks 0-3,7"},
        {{.ranks = "5-9,6"}, "ranks 5-9"},
        {{.ranks = "4294967295"}, "ranks 4294967295"},
        {{.steps = "10:20"}, "steps 10 to 19"},
        {{.steps = "10:11"}, "step 10"},
        {{.steps = "10:"}, "steps from 10 on"},
        {{.steps = ":20"}, "steps 0 to 19"},
        {{.since = "1s"}, "from 1.000 s after the run's start to the end"},
        {{.until = "250ms"}, "from 0 ns after the run's start to 250.0 ms"},
        {{"1", "2:4", "1s", "2s"},
         "ranks 1; steps 2 to 3; from 1.000 s after the run's start to 2.000 s"},
        {{NULL, NULL, NULL, NULL}, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[RKT_SELECTION_TEXT_BYTES];
        struct rkt_selection selection;
        struct rkt_error err;

        assert_rkt_ok(rkt_selection_parse(&cases[i].texts, &selection, &err), err);
        assert_string_equal(rkt_selection_describe(&selection, text), cases[i].words);
        assert_int_equal(rkt_selection_is_part(&selection), cases[i].words[0] != '\0');
    }
}

static void what_makes_no_sense_is_refused_by_the_options_name(void **state)
{
    static const struct {
        struct rkt_selection_texts texts;
        const char *words;
    } cases[] = {
        {{.ranks = ""}, "option '--ranks': ''"},
        {{.ranks = "0,"}, "option '--ranks': ''"},
        {{.ranks = "0,x"}, "option '--ranks': 'x'"},
        {{.ranks = "3-1"}, "option '--ranks': '3-1'"},
        {{.ranks = "1-"}, "option '--ranks': '1-'"},
        {{.ranks = "-1"}, "option '--ranks': '-1'"},
        {{.ranks = "4294967296"}, "option '--ranks': '4294967296'"},
        {{.steps = ""}, "option '--steps': '' is not FROM:TO"},
        {{.steps = ":"}, "option '--steps': ':' is not FROM:TO"},
        {{.steps = "7"}, "option '--steps': '7' is not FROM:TO"},
        {{.steps = "a:b"}, "option '--steps': 'a:b' is not FROM:TO"},
        {{.steps = "1:2:3"}, "option '--steps': '1:2:3' is not FROM:TO"},
        {{.steps = "20:10"}, "option '--steps': '20:10' holds no step"},
        {{.steps = "10:10"}, "option '--steps': '10:10' holds no step"},
        {{.since = "5"}, "option '--since': '5' is no duration"},
        {{.until = "soon"}, "option '--until': 'soon' is no duration"},
        {{.until = "0"}, "option '--until': '0' is not later than --since ('0')"},
        {{.since = "2s", .until = "1s"}, "option '--until': '1s' is not later than --since ('2s')"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rkt_selection selection = {.first_step = 77};
        struct rkt_error err = {0};

        assert_rkt_status(rkt_selection_parse(&cases[i].texts, &selection, &err), RKT_ERR_INVALID);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].words);
        assert_int_equal(selection.first_step, 77);
    }
}

static void more_parts_than_there_is_room_for_are_refused(void **state)
{
    char list[2 * (RKT_RANK_SPANS_MAX + 1)]; /* "0,0, ... 0" */
    struct rkt_selection_texts texts = {.ranks = list};
    struct rkt_selection selection;
    struct rkt_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(list); i++)
        list[i] = i % 2 == 0 ? '0' : ',';
    list[sizeof(list) - 1] = '\0';
    assert_rkt_status(rkt_selection_parse(&texts, &selection, &err), RKT_ERR_INVALID);
    list[sizeof(list) - 3] = '\0';
    assert_rkt_ok(rkt_selection_parse(&texts, &selection, &err), err);
}

static void ranks_and_steps_are_in_it_by_their_numbers(void **state)
{
    const struct rkt_selection_texts texts = {.ranks = "1-2,5", .steps = "3:5"};
    const struct rkt_selection_texts to_the_end = {.steps = "3:"};
    struct rkt_selection selection;
    struct rkt_error err;

    (void)state;
    assert_rkt_ok(rkt_selection_parse(&texts, &selection, &err), err);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(rkt_selection_has_rank(&selection, i), i == 1 || i == 2 || i == 5);
        assert_int_equal(rkt_selection_has_step(&selection, i), i == 3 || i == 4);
    }
    assert_rkt_ok(rkt_selection_parse(&to_the_end, &selection, &err), err);
    assert_true(rkt_selection_has_rank(&selection, UINT32_MAX));
    assert_true(rkt_selection_has_step(&selection, UINT64_MAX));
    assert_false(rkt_selection_has_step(&selection, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_is_said_in_words),
        cmocka_unit_test(what_makes_no_sense_is_refused_by_the_options_name),
        cmocka_unit_test(more_parts_than_there_is_room_for_are_refused),
        cmocka_unit_test(ranks_and_steps_are_in_it_by_their_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
