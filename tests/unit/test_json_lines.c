/* SPDX-License-Identifier: Apache-2.0 */
/* Events alone, one a line, which is no JSON as a whole. */
#include "rkt_test.h"

#include <stdio.h>

#include "analysis/import/json_reader.h"

#define NAMES_BYTES 4096u

#define A "{\"ph\":\"X\",\"name\":\"a\"}"
#define B "{\"ph\":\"X\",\"name\":\"b\"}"
#define C "{\"ph\":\"X\",\"name\":\"c\"}"

static char names[NAMES_BYTES]; /* of the events that were seen, a comma behind each */

static enum rkt_status see_event(void *ctx, const struct rkt_json_object *event,
                                 struct rkt_error *err)
{
    char *seen = ctx;

    (void)err;
    for (size_t i = 0; i < event->count; i++) {
        const struct rkt_json_field *field = &event->fields[i];
        size_t used = strlen(seen);

        if (!field->in_args && field->key_bytes == 4 && memcmp(field->key, "name", 4) == 0)
            (void)snprintf(seen + used, NAMES_BYTES - used, "%.*s,", (int)field->value_bytes,
                           field->value);
    }
    return RKT_OK;
}

static enum rkt_status no_member(void *ctx, const struct rkt_json_field *member,
                                 struct rkt_error *err)
{
    (void)ctx;
    return rkt_fail(err, RKT_ERR_FORMAT, "a member %.*s", (int)member->key_bytes, member->key);
}

static enum rkt_status walk(const char *text, size_t len, size_t window, char *seen,
                            struct rkt_json_stats *stats)
{
    struct rkt_json_handler handler = {.ctx = seen, .event = see_event, .member = no_member};
    struct rkt_text_source *source = rkt_text_source_from_memory(text, len);
    enum rkt_status status;

    assert_non_null(source);
    seen[0] = '\0';
    status = rkt_json_read(source, window, &handler, stats, NULL);
    rkt_text_source_close(source);
    return status;
}

static void events_alone_one_a_line_are_a_list(void **state)
{
    static const struct {
        const char *text;
        const char *names;
        uint64_t damaged_count;
        bool is_cut;
    } LINES[] = {
        {A "\n" B "\n" C "\n", "a,b,c,", 0, false},
        {"\n" A "\r\n" B "\r\n\r\n" C, "a,b,c,", 0, false},
        {A B C, "a,b,c,", 0, false},
        {A "\n" B, "a,b,", 0, false},
        {A "\n{\"ph\":\"X\",\"na\n" C "\n", "a,c,", 1, false},
        {A "\n" B "\n{\"ph\":\"X\",\"na", "a,b,", 1, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]); i++) {
        struct rkt_json_stats stats;

        assert_rkt_status(walk(LINES[i].text, strlen(LINES[i].text), 0, names, &stats), RKT_OK);
        assert_string_equal(names, LINES[i].names);
        assert_int_equal(stats.damaged_count, LINES[i].damaged_count);
        assert_int_equal(stats.is_cut, LINES[i].is_cut);
        assert_true(stats.is_lines);
        assert_false(stats.has_rest);
    }
}

static void many_lines_are_read_in_windows_of_any_size(void **state)
{
    static char text[131072];
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "{\"ph\":\"X\",\"name\":\"%d\",\"ts\":%d,\"args\":{\"l\":[{},{}]}}\n", i % 10, i);
    for (size_t window = RKT_JSON_WINDOW_BYTES_MIN; window <= 65536; window = window * 3 - 7) {
        struct rkt_json_stats stats;

        assert_rkt_status(walk(text, used, window, names, &stats), RKT_OK);
        assert_int_equal(stats.event_count, 1000);
        assert_int_equal(stats.damaged_count, 0);
        assert_int_equal(strlen(names), 2000);
        assert_false(stats.is_cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_alone_one_a_line_are_a_list),
        cmocka_unit_test(many_lines_are_read_in_windows_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
