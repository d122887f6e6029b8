/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_walk.h"
#include "rkt_test.h"

#define SAID_BYTES 1024

/* "path|form=value" of each value. */
static enum rkt_status say(void *ctx, const struct rkt_json_value *value, struct rkt_error *err)
{
    static const char *const NAMES[] = {"null", "bool", "number", "text", "begin", "end"};
    char *said = ctx;
    size_t used = strlen(said);

    (void)err;
    (void)snprintf(said + used, SAID_BYTES - used, "%s|%s=%s", value->path, value->form,
                   NAMES[value->type]);
    used = strlen(said);
    if (value->type == RKT_JSON_TEXT)
        (void)snprintf(said + used, SAID_BYTES - used, ":%s", value->text);
    if (value->type == RKT_JSON_NUMBER || value->type == RKT_JSON_BOOL)
        (void)snprintf(said + used, SAID_BYTES - used, ":%g", value->number);
    if (value->is_integer)
        (void)snprintf(said + strlen(said), SAID_BYTES - strlen(said), "=%lld",
                       (long long)value->integer);
    (void)snprintf(said + strlen(said), SAID_BYTES - strlen(said), " ");
    return RKT_OK;
}

static enum rkt_status walk(const char *text, char said[SAID_BYTES], struct rkt_error *err)
{
    char *copy = strdup(text);
    enum rkt_status status;

    said[0] = '\0';
    status = rkt_json_walk(copy, say, said, err);
    free(copy);
    return status;
}

static void values_come_in_order_with_path_and_form(void **state)
{
    static const struct {
        const char *text;
        const char *said;
    } CASES[] = {
        {" 7 ", "|=number:7=7 "},
        {"\"\"", "|=text: "},
        {"[]", "|=begin |=end "},
        {"{\"a\": {}}", "|=begin a|a=begin a|a=end |=end "},
        {"{\"a\": [1, {\"b\": null}], \"c\": true}",
         "|=begin a|a=begin a[0]|a[]=number:1=1 a[1]|a[]=begin a[1].b|a[].b=null a[1]|a[]=end "
         "a|a=end c|c=bool:1 |=end "},
        {"[[false]]", "|=begin [0]|[]=begin [0][0]|[][]=bool:0 [0]|[]=end |=end "},
        {"[1.5, -2, 1e3]",
         "|=begin [0]|[]=number:1.5 [1]|[]=number:-2=-2 [2]|[]=number:1000 |=end "},
        {"[9223372036854775807, 9223372036854775808]",
         "|=begin [0]|[]=number:9.22337e+18=9223372036854775807 [1]|[]=number:9.22337e+18 |=end "},
        {"[\"a\\\"b\\\\c\\n\\u0041\\u00e9\\u20ac\\ud800\"]",
         "|=begin [0]|[]=text:a\"b\\c\nA\xc3\xa9\xe2\x82\xac\xef\xbf\xbd |=end "},
        {"{\"k\\\"\": 1}", "|=begin k\"|k\"=number:1=1 |=end "},
    };
    char said[SAID_BYTES];
    struct rkt_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_rkt_ok(walk(CASES[i].text, said, &err), err);
        assert_string_equal(said, CASES[i].said);
    }
}

static void what_is_no_json_is_refused_with_its_byte(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } CASES[] = {
        {"", "byte 0 is no JSON: a value expected"},
        {"[1, ]", "byte 4 is no JSON: a value expected"},
        {"[1 2]", "byte 3 is no JSON: ',' or an end expected"},
        {"[1", "byte 2 is no JSON: ',' or an end expected"},
        {"{\"a\" 1}", "byte 5 is no JSON: ':' expected"},
        {"{a: 1}", "byte 1 is no JSON: a key expected"},
        {"{\"a\": 1,}", "byte 8 is no JSON: a key expected"},
        {"[1}", "byte 2 is no JSON: ',' or an end expected"},
        {"1 2", "byte 2 is no JSON: the end expected"},
        {"\"a", "byte 2 is no JSON: the end of a text expected"},
        {"\"a\nb\"", "byte 2 is no JSON: the end of a text expected"},
        {"\"\\x\"", "byte 2 is no JSON: an escape expected"},
        {"\"\\u12", "byte 2 is no JSON: an escape expected"},
        {"\"\\", "byte 2 is no JSON: an escape expected"},
        {"nul", "byte 0 is no JSON: a value expected"},
        {"nan", "byte 0 is no JSON: a value expected"},
        {"0x10", "byte 0 is no JSON: a number expected"},
        {"1e999", "byte 0 is no JSON: a number expected"},
        {"-", "byte 0 is no JSON: a number expected"},
    };
    char said[SAID_BYTES];
    struct rkt_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        assert_int_equal(walk(CASES[i].text, said, &err), RKT_ERR_FORMAT);
        assert_string_equal(err.text, CASES[i].error);
    }
}

/* {"kkk":1} with so long a key, or with [1] in its place. */
static enum rkt_status walk_long_key(int length, const char *value, struct rkt_error *err)
{
    char said[SAID_BYTES];
    char *text = NULL;
    enum rkt_status status;

    assert_true(asprintf(&text, "{\"%0*d\":%s}", length, 0, value) > 0);
    status = walk(text, said, err);
    free(text);
    return status;
}

static void depth_and_paths_have_limits(void **state)
{
    const int path_bytes = (int)RKT_JSON_WALK_PATH_BYTES;
    char deep[2 * RKT_JSON_WALK_DEPTH_MAX + 3] = "";
    char said[SAID_BYTES];
    struct rkt_error err;

    (void)state;
    memset(deep, '[', RKT_JSON_WALK_DEPTH_MAX);
    memset(deep + RKT_JSON_WALK_DEPTH_MAX, ']', RKT_JSON_WALK_DEPTH_MAX);
    assert_rkt_ok(walk(deep, said, &err), err);
    memset(deep, '[', RKT_JSON_WALK_DEPTH_MAX + 1);
    assert_int_equal(walk(deep, said, &err), RKT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "nests deeper than 32"));

    assert_rkt_ok(walk_long_key(path_bytes - 1, "1", &err), err);
    assert_int_equal(walk_long_key(path_bytes, "1", &err), RKT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "a path is longer than 512 bytes"));
    assert_rkt_ok(walk_long_key(path_bytes - 4, "[1]", &err), err);
    assert_int_equal(walk_long_key(path_bytes - 3, "[1]", &err), RKT_ERR_FORMAT);
}

static enum rkt_status stop_at_two(void *ctx, const struct rkt_json_value *value,
                                   struct rkt_error *err)
{
    (void)ctx;
    return value->number > 1.5 ? rkt_fail(err, RKT_ERR_RANGE, "stop at %s", value->path) : RKT_OK;
}

static void the_reader_can_end_the_walk(void **state)
{
    char text[] = "[1, 2, x";
    struct rkt_error err;

    (void)state;
    assert_int_equal(rkt_json_walk(text, stop_at_two, NULL, &err), RKT_ERR_RANGE);
    assert_string_equal(err.text, "stop at [1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_in_order_with_path_and_form),
        cmocka_unit_test(what_is_no_json_is_refused_with_its_byte),
        cmocka_unit_test(depth_and_paths_have_limits),
        cmocka_unit_test(the_reader_can_end_the_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
