/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_writer.h"

#include <math.h>
#include <stdlib.h>

#include "rkt_test.h"

struct sink {
    char *text;
    size_t len_bytes;
    FILE *out;
    struct rkt_json json;
};

static void open_sink(struct sink *sink, unsigned break_depth)
{
    sink->text = NULL;
    sink->out = open_memstream(&sink->text, &sink->len_bytes);
    assert_non_null(sink->out);
    rkt_json_init(&sink->json, sink->out, break_depth);
}

static void check_sink(struct sink *sink, const char *what, const char *want)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_json_finish(&sink->json, &err), err);
    fclose(sink->out);
    if (strcmp(sink->text, want) != 0)
        fail_msg("%s: got %s instead of %s", what, sink->text, want);
    free(sink->text);
}

static void texts_of_any_bytes_become_valid_json(void **state)
{
    static const struct {
        const char *what;
        const char *text;
        size_t len_bytes;
        const char *want;
    } CASES[] = {
        {"plain", "abc", 3, "\"abc\"\n"},
        {"empty", "", 0, "\"\"\n"},
        {"quote and backslash", "a\"b\\", 4, "\"a\\\"b\\\\\"\n"},
        {"line break and tab", "a\nb\t", 4, "\"a\\nb\\t\"\n"},
        {"control bytes", "\x01\x1f\x7f", 3, "\"\\u0001\\u001f\\u007f\"\n"},
        {"a NUL inside", "a\0b", 3, "\"a\\u0000b\"\n"},
        {"two, three, four bytes", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
         "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"\n"},
        {"a stray continuation", "a\x80z", 3, "\"a\\ufffdz\"\n"},
        {"cut at the end", "a\xe2\x82", 3, "\"a\\ufffd\\ufffd\"\n"},
        {"overlong slash", "\xc0\xaf", 2, "\"\\ufffd\\ufffd\"\n"},
        {"overlong in three", "\xe0\x80\xaf", 3, "\"\\ufffd\\ufffd\\ufffd\"\n"},
        {"a surrogate", "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"\n"},
        {"beyond U+10FFFF", "\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\"\n"},
        {"bytes that are never UTF-8", "\xff\xf8", 2, "\"\\ufffd\\ufffd\"\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sink sink;

        open_sink(&sink, 0);
        rkt_json_bytes(&sink.json, NULL, CASES[i].text, CASES[i].len_bytes);
        check_sink(&sink, CASES[i].what, CASES[i].want);
    }
}

static void numbers_keep_their_value_and_what_is_not_finite_is_null(void **state)
{
    struct sink sink;

    (void)state;
    open_sink(&sink, 0);
    rkt_json_begin_array(&sink.json, NULL);
    rkt_json_i64(&sink.json, NULL, INT64_MIN);
    rkt_json_u64(&sink.json, NULL, UINT64_MAX);
    rkt_json_double(&sink.json, NULL, 0.25);
    rkt_json_double(&sink.json, NULL, (double)NAN);
    rkt_json_double(&sink.json, NULL, (double)INFINITY);
    rkt_json_us(&sink.json, NULL, 1234567);
    rkt_json_us(&sink.json, NULL, -5);
    rkt_json_us(&sink.json, NULL, INT64_MIN);
    rkt_json_null(&sink.json, NULL);
    rkt_json_bool(&sink.json, NULL, true);
    rkt_json_end(&sink.json);
    check_sink(&sink, "numbers",
               "[-9223372036854775808, 18446744073709551615, 0.25, null, null, 1234.567, -0.005, "
               "-9223372036854775.808, null, true]\n");
}

static void members_break_lines_down_to_the_depth_asked_for(void **state)
{
    struct sink sink;

    (void)state;
    open_sink(&sink, 2);
    rkt_json_begin_object(&sink.json, NULL);
    rkt_json_begin_array(&sink.json, "events");
    for (int64_t i = 0; i < 2; i++) {
        rkt_json_begin_object(&sink.json, NULL);
        rkt_json_i64(&sink.json, "ts", i);
        rkt_json_text(&sink.json, "name", "k");
        rkt_json_end(&sink.json);
    }
    rkt_json_end(&sink.json);
    rkt_json_begin_object(&sink.json, "empty");
    rkt_json_end(&sink.json);
    rkt_json_end(&sink.json);
    check_sink(&sink, "broken",
               "{\n  \"events\": [\n    {\"ts\": 0, \"name\": \"k\"},\n"
               "    {\"ts\": 1, \"name\": \"k\"}\n  ],\n  \"empty\": {}\n}\n");
}

static void a_failed_write_is_told_at_the_end(void **state)
{
    struct rkt_json json;
    struct rkt_error err;
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    if (full == NULL)
        skip();
    rkt_json_init(&json, full, 0);
    rkt_json_text(&json, NULL, "text");
    assert_rkt_status(rkt_json_finish(&json, &err), RKT_ERR_IO);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_any_bytes_become_valid_json),
        cmocka_unit_test(numbers_keep_their_value_and_what_is_not_finite_is_null),
        cmocka_unit_test(members_break_lines_down_to_the_depth_asked_for),
        cmocka_unit_test(a_failed_write_is_told_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
