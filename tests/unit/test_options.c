/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/options.h"

struct fields {
    bool verbose;
    const char *output;
    uint32_t count;
    uint64_t hold_ns;
    uint64_t queue_bytes;
    double rate;
    struct rkt_option_list names;
};

#define FIELD(name) offsetof(struct fields, name)

static const struct rkt_option OPTIONS[] = {
    {"verbose", 'v', NULL, RKT_OPTION_FLAG, FIELD(verbose), NULL, NULL, "say more"},
    {"output", 'o', "RANKTRACE_TEST_OUTPUT", RKT_OPTION_STRING, FIELD(output), "DIR", "out",
     "where"},
    {"count", 0, NULL, RKT_OPTION_U32, FIELD(count), "N", "3", "how many"},
    {"hold", 0, NULL, RKT_OPTION_DURATION, FIELD(hold_ns), "TIME", "30s", "how long"},
    {"queue", 0, NULL, RKT_OPTION_BYTES, FIELD(queue_bytes), "SIZE", "64MiB", "how much"},
    {"rate", 0, NULL, RKT_OPTION_NUMBER, FIELD(rate), "N", NULL, "how fast"},
    {"name", 'n', NULL, RKT_OPTION_LIST, FIELD(names), "NAME", NULL, "names"},
};

static const struct rkt_command COMMAND = {
    .name = "test",
    .usage = "ranktrace test",
    .summary = "for tests",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

static enum rkt_status parse_as(bool takes_command, const char **argv, struct fields *fields,
                                int *next, struct rkt_error *err)
{
    struct rkt_command command = COMMAND;
    int argc = 0;

    while (argv[argc])
        argc++;
    *fields = (struct fields){0};
    command.takes_command = takes_command;
    return rkt_options_parse(&command, argc, (char **)argv, fields, next, err);
}

static enum rkt_status parse(const char **argv, struct fields *fields, int *next,
                             struct rkt_error *err)
{
    return parse_as(false, argv, fields, next, err);
}

static void defaults_hold_where_nothing_is_given(void **state)
{
    const char *argv[] = {"test", NULL};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    assert_rkt_ok(parse(argv, &fields, &next, &err), err);
    assert_string_equal(fields.output, "out");
    assert_int_equal(fields.count, 3);
    assert_int_equal(fields.hold_ns, 30000000000u);
    assert_int_equal(fields.queue_bytes, 64u << 20);
    assert_false(fields.verbose);
    assert_int_equal(next, 1);
}

static void the_first_word_begins_a_command_where_one_is_taken(void **state)
{
    const char *argv[] = {"test", "-v",       "--output=a", "--count", "7",      "-n",
                          "x",    "--name=y", "cmd",        "-v",      "--typo", NULL};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    assert_rkt_ok(parse_as(true, argv, &fields, &next, &err), err);
    assert_true(fields.verbose);
    assert_string_equal(fields.output, "a");
    assert_int_equal(fields.count, 7);
    assert_int_equal(fields.names.count, 2);
    assert_string_equal(fields.names.items[1], "y");
    assert_string_equal(argv[next], "cmd");
}

static void options_may_stand_between_and_behind_the_words(void **state)
{
    const char *argv[] = {"test", "in1", "-v", "in2", "--count", "7", "in3",
                          "-o",   "a",   "--", "-v",  "x",       NULL};
    static const char *const WORDS[] = {"in1", "in2", "in3", "-v", "x"};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    assert_rkt_ok(parse(argv, &fields, &next, &err), err);
    assert_true(fields.verbose);
    assert_int_equal(fields.count, 7);
    assert_string_equal(fields.output, "a");
    assert_int_equal(next, 7);
    for (int i = 0; i < 5; i++)
        assert_string_equal(argv[next + i], WORDS[i]);
}

static void a_number_may_have_a_point_and_an_exponent(void **state)
{
    const char *argv[] = {"test", "--rate", "1.5e3", NULL};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    assert_rkt_ok(parse(argv, &fields, &next, &err), err);
    assert_true(fields.rate == 1500);
}

static void two_dashes_end_the_options(void **state)
{
    const char *argv[] = {"test", "--", "--output", NULL};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    assert_rkt_ok(parse(argv, &fields, &next, &err), err);
    assert_string_equal(argv[next], "--output");
}

static void command_line_beats_environment_beats_default(void **state)
{
    const char *none[] = {"test", NULL};
    const char *given[] = {"test", "-o", "cli", NULL};
    struct fields fields;
    struct rkt_error err;
    int next;

    (void)state;
    setenv("RANKTRACE_TEST_OUTPUT", "env", 1);
    assert_rkt_ok(parse(none, &fields, &next, &err), err);
    assert_string_equal(fields.output, "env");
    assert_rkt_ok(parse(given, &fields, &next, &err), err);
    assert_string_equal(fields.output, "cli");
    unsetenv("RANKTRACE_TEST_OUTPUT");
}

static void wrong_use_is_one_line_that_says_what_to_do(void **state)
{
    static const struct {
        const char *words[3];
        const char *text;
    } cases[] = {
        {{"--outptu", "x"}, "unknown option '--outptu': did you mean '--output'?"},
        {{"--zzzzzzzz"}, "unknown option '--zzzzzzzz': see 'ranktrace test --help'"},
        {{"-x"}, "unknown option '-x': see 'ranktrace test --help'"},
        {{"--hold", "30"},
         "option '--hold': '30' is not a duration with its unit, such as 250ms, 30s or 2min"},
        {{"--count", "-1"}, "option '--count': '-1' is not a whole number from 0 to 4294967295"},
        {{"--count=4294967296"},
         "option '--count': '4294967296' is not a whole number from 0 to 4294967295"},
        {{"--output"}, "option '--output' needs a value: a text"},
        {{"--verbose=1"}, "option '--verbose' takes no value"},
        {{"--rate", "0"}, "option '--rate': '0' is not a number above 0, such as 1.5 or 3e12"},
        {{"--rate", "-2"}, "option '--rate': '-2' is not a number above 0, such as 1.5 or 3e12"},
        {{"--rate", "inf"}, "option '--rate': 'inf' is not a number above 0, such as 1.5 or 3e12"},
        {{"--rate", "1e999"},
         "option '--rate': '1e999' is not a number above 0, such as 1.5 or 3e12"},
        {{"--rate", "1e3x"},
         "option '--rate': '1e3x' is not a number above 0, such as 1.5 or 3e12"},
        {{"--rate", "0x10"},
         "option '--rate': '0x10' is not a number above 0, such as 1.5 or 3e12"},
        {{"--queue", "64"}, "option '--queue': '64' is not a size with its unit, such as 64MiB"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *argv[] = {"test", cases[i].words[0], cases[i].words[1], NULL};
        struct fields fields;
        struct rkt_error err;
        int next;

        assert_rkt_status(parse(argv, &fields, &next, &err), RKT_ERR_INVALID);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void a_wrong_value_is_said_by_the_way_it_came(void **state)
{
    static const char GIVEN[] = "a,b";
    struct rkt_error err;
    const char *set;

    (void)state;
    assert_int_equal(setenv("RANKTRACE_TEST_NAME", "a,b", 1), 0);
    set = getenv("RANKTRACE_TEST_NAME");
    assert_rkt_status(rkt_fail_value(&err, "test-name", GIVEN, "'%s' is bad", GIVEN),
                      RKT_ERR_INVALID);
    assert_string_equal(err.text, "option '--test-name': 'a,b' is bad");
    assert_rkt_status(rkt_fail_value(&err, "test-name", set, "it is bad"), RKT_ERR_INVALID);
    assert_string_equal(err.text, "variable RANKTRACE_TEST_NAME: it is bad");
    assert_rkt_status(rkt_fail_value(&err, "test-name", set + 2, "'%s' is bad", set + 2),
                      RKT_ERR_INVALID);
    assert_string_equal(err.text, "variable RANKTRACE_TEST_NAME: 'b' is bad");
    assert_rkt_status(rkt_fail_value(&err, "test", set, "it is bad"), RKT_ERR_INVALID);
    assert_string_equal(err.text, "option '--test': it is bad");
    unsetenv("RANKTRACE_TEST_NAME");
}

static void the_nearest_name_is_near_or_none(void **state)
{
    static const char *const names[] = {"report", "run", "merge"};

    (void)state;
    assert_string_equal(rkt_nearest_name("reprot", names, 3), "report");
    assert_string_equal(rkt_nearest_name("rnu", names, 3), "run");
    assert_null(rkt_nearest_name("frobnicate", names, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_hold_where_nothing_is_given),
        cmocka_unit_test(the_first_word_begins_a_command_where_one_is_taken),
        cmocka_unit_test(options_may_stand_between_and_behind_the_words),
        cmocka_unit_test(a_number_may_have_a_point_and_an_exponent),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(command_line_beats_environment_beats_default),
        cmocka_unit_test(wrong_use_is_one_line_that_says_what_to_do),
        cmocka_unit_test(a_wrong_value_is_said_by_the_way_it_came),
        cmocka_unit_test(the_nearest_name_is_near_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
