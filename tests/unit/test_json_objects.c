/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/import/json_objects.h"

#define TEXT_CAP 65536u

/* What a parse gave out: "key=value," of each field, '+' before those of args, ";" behind each. */
struct seen {
    char text[TEXT_CAP];
    bool wants_args;
};

/* Any number that differs between keys, and between those inside and outside args. */
static uint16_t meaning_of(const char *key, size_t bytes, bool in_args)
{
    uint16_t sum = in_args;

    for (size_t i = 0; i < bytes; i++)
        sum = (uint16_t)(sum * 31 + (unsigned char)key[i]);
    return sum;
}

static bool wants_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    const struct seen *seen = ctx;

    (void)fields;
    (void)count;
    return seen->wants_args;
}

static bool see(void *ctx, const struct rkt_json_object *object)
{
    struct seen *seen = ctx;
    size_t used = strlen(seen->text);

    assert_int_equal(object->text[0], '{');
    assert_int_equal(object->text_end[-1], '}');
    for (size_t i = 0; i < object->count; i++) {
        const struct rkt_json_field *field = &object->fields[i];

        assert_int_equal(field->meaning, meaning_of(field->key, field->key_bytes, field->in_args));
        used += (size_t)snprintf(seen->text + used, TEXT_CAP - used, "%s%.*s=%.*s,",
                                 field->in_args ? "+" : "", (int)field->key_bytes, field->key,
                                 (int)field->value_bytes, field->value);
        assert_true(used < TEXT_CAP);
    }
    (void)snprintf(seen->text + used, TEXT_CAP - used, ";");
    return true;
}

static int make_parser(void **state)
{
    *state = rkt_json_parser_create(meaning_of);
    return *state ? 0 : 1;
}

static int drop_parser(void **state)
{
    rkt_json_parser_destroy(*state);
    return 0;
}

static enum rkt_json_outcome parse(struct rkt_json_parser *parser, const char *text,
                                   struct seen *seen, size_t *last_out)
{
    static char padded[TEXT_CAP + RKT_JSON_PADDING];
    struct rkt_json_object_visitor visitor = {seen, wants_args, see};
    struct rkt_json_progress progress;
    size_t len = strlen(text);
    enum rkt_json_outcome outcome;

    assert_true(len < TEXT_CAP);
    memset(padded, 0, sizeof(padded));
    (void)snprintf(padded, TEXT_CAP, "%s", text);
    seen->text[0] = '\0';
    outcome = rkt_json_parse_array(parser, padded, len, &visitor, &progress);
    *last_out = progress.last ? (size_t)(progress.last - padded) : SIZE_MAX;
    return outcome;
}

/* Each after all the others, twice: what was foreseen from one is wrong for the next. */
static void fields_are_the_same_whatever_came_before(void **state)
{
    static const struct {
        const char *text;
        const char *fields;
    } CASES[] = {
        {"[{\"ph\": \"X\", \"cat\": \"kernel\", \"dur\": 5}]", "ph=X,cat=kernel,dur=5,;"},
        {"[{\"ph\":\"X\",\"cat\":\"kernel\",\"dur\":5}]", "ph=X,cat=kernel,dur=5,;"},
        {"[{ \"ph\" : \"X\" , \"cat\" :\"kernel\",\"dur\" : 5 } ]", "ph=X,cat=kernel,dur=5,;"},
        {"[{\"ph\": \"X\", \"dur\": 5, \"cat\": \"kernel\"}]", "ph=X,dur=5,cat=kernel,;"},
        {"[{\"ph\": \"X\", \"args\": {\"ph\": 1, \"dur\": 2}, \"dur\": 3}]",
         "ph=X,+ph=1,+dur=2,dur=3,;"},
        {"[{\"ph\": \"X\", \"args\": {}, \"dur\": 3}]", "ph=X,dur=3,;"},
        {"[{\"ph\": \"X\", \"args\": 7, \"dur\": 3}]", "ph=X,args=7,dur=3,;"},
        {"[{\"ph\": \"X\", \"args\": 7, \"ph\": 3}]", "ph=X,args=7,ph=3,;"},
        {"[{\"ph\": \"X\", \"args\": {}, \"ph\": 3}]", "ph=X,ph=3,;"},
        {"[{\"args\": {\"args\": {\"a\": [1]}}}]", "+args={\"a\": [1]},;"},
        {"[{\"ph\": [1, {\"a\": 2}], \"pha\": \"\", \"\": true}]",
         "ph=[1, {\"a\": 2}],pha=,=true,;"},
        {"[{\"shared memory\": 1, \"shared memoir\": 2, \"registers per thread\": 3, "
         "\"registers for thread\": 4}]",
         "shared memory=1,shared memoir=2,registers per thread=3,registers for thread=4,;"},
        {"[{\"a key of more bytes than are kept of any key\": 1, \"ph\": 2}]",
         "a key of more bytes than are kept of any key=1,ph=2,;"},
        {"[{\"p\\\"h\": \"a\\\"b\", \"ph\": \"}]\"}, {}, {\"ph\": -1.5e3}]",
         "p\\\"h=a\\\"b,ph=}],;;ph=-1.5e3,;"},
        {"[]", ""},
    };
    const size_t count = sizeof(CASES) / sizeof(CASES[0]);
    static struct seen seen = {.wants_args = true};

    for (size_t i = 0; i < 2 * count * count; i++) {
        size_t one = i % 2 ? i / 2 % count : i / 2 / count;
        size_t last;

        if (parse(*state, CASES[one].text, &seen, &last) != RKT_JSON_DONE ||
            strcmp(seen.text, CASES[one].fields) != 0)
            fail_msg("%s gives %s", CASES[one].text, seen.text);
    }
}

static void args_that_nobody_wants_are_passed_over(void **state)
{
    static struct seen seen = {.wants_args = false};
    size_t last;

    assert_int_equal(parse(*state, "[{\"a\": 1, \"args\": {\"b\": [{}]}, \"c\": 2}]", &seen, &last),
                     RKT_JSON_DONE);
    assert_string_equal(seen.text, "a=1,c=2,;");
}

/* More than the parser keeps, and more than it has room for at first. */
static void any_number_of_keys_have_their_meanings(void **state)
{
    static struct seen seen;
    char text[16384];
    size_t used = 0;
    size_t last;

    for (unsigned i = 0; i < 700; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"key %u\": %u",
                                 i == 0 ? "[{" : ", ", i, i);
    (void)snprintf(text + used, sizeof(text) - used, "}]");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(parse(*state, text, &seen, &last), RKT_JSON_DONE);
        assert_non_null(strstr(seen.text, "key 0=0,key 1=1,"));
        assert_non_null(strstr(seen.text, "key 699=699,;"));
    }
}

/* Around and far beyond what is kept of a key: nothing is written over what is known of others. */
static void keys_of_any_length_have_their_meanings(void **state)
{
    static struct seen seen;
    size_t last;

    for (int bytes = 1; bytes < 1000; bytes++) {
        char text[2048], fields[2048];

        (void)snprintf(text, sizeof(text), "[{\"a\": 1, \"%0*d\": 2, \"b\": 3}]", bytes,
                       bytes % 10);
        (void)snprintf(fields, sizeof(fields), "a=1,%0*d=2,b=3,;", bytes, bytes % 10);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(parse(*state, text, &seen, &last), RKT_JSON_DONE);
            assert_string_equal(seen.text, fields);
        }
    }
}

static void what_is_wrong_is_found_behind_what_is_right(void **state)
{
    static const char *const WRONG[] = {
        "{\"ph\": }",
        "{\"ph\": ,}",
        "{\"ph\" 1}",
        "{\"ph\"}",
        "{\"ph\": 1,}",
        "{ph: 1}",
        "{\"ph\": 1",
        "{\"ph\": 1 \"cat\": 2}",
        "{\"ph\": 1 2}",
        "{\"ph\": [1}",
        "{\"ph\": {\"a\": 1",
        "{\"args\": {\"ph\": 1}",
        "{\"args\": {",
        "{\"args\": {,}",
        "7",
        "[]",
        "{\"args\": {1: 2",
        "{,}",
        "{\"ph\": 1]",
        "{\"ph\": : 1}",
    };
    static struct seen seen = {.wants_args = true};

    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        char text[256];
        size_t last;

        (void)snprintf(text, sizeof(text), "[{\"ph\": 1}, %s]", WRONG[i]);
        if (parse(*state, text, &seen, &last) != RKT_JSON_WRONG ||
            strcmp(seen.text, "ph=1,;") != 0 || last != strlen("[{\"ph\": 1}, "))
            fail_msg("%s gives %s and stops at %zu", text, seen.text, last);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_are_the_same_whatever_came_before, make_parser,
                                        drop_parser),
        cmocka_unit_test_setup_teardown(args_that_nobody_wants_are_passed_over, make_parser,
                                        drop_parser),
        cmocka_unit_test_setup_teardown(any_number_of_keys_have_their_meanings, make_parser,
                                        drop_parser),
        cmocka_unit_test_setup_teardown(keys_of_any_length_have_their_meanings, make_parser,
                                        drop_parser),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_found_behind_what_is_right, make_parser,
                                        drop_parser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
