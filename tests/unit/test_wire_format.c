/* SPDX-License-Identifier: Apache-2.0 */
/* common/doc/wire-format.md says what the code does: its tables and its example. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/codec.h"
#include "common/codec_keys.h"
#include "common/event_fields.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/strtab.h"
#include "tests/unit/sample.h"

#define EXAMPLE_ROWS 3u

static char *read_doc(void)
{
    size_t len;
    char *text = (char *)sample_file_read(RKT_SOURCE_DIR "/common/doc/wire-format.md", &len);

    text[len] = '\0'; /* sample_file_read leaves room for it */
    return text;
}

/* True if some line of the page begins with `start`. */
static bool has_line(const char *doc, const char *start)
{
    size_t len = strlen(start);

    for (const char *line = doc; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, start, len) == 0)
            return true;
    }
    return false;
}

static size_t count_text(const char *doc, const char *text)
{
    size_t count = 0;

    for (const char *at = strstr(doc, text); at; at = strstr(at + 1, text))
        count++;
    return count;
}

static const char *coding_name(const struct rkt_field *field)
{
    switch ((enum rkt_field_coding)field->coding) {
    case RKT_CODING_PLAIN:
        return "PLAIN";
    case RKT_CODING_CHANGE:
        return "CHANGE";
    case RKT_CODING_START:
        return "START";
    case RKT_CODING_DURATION:
        return "DURATION";
    }
    return "?";
}

/* As an unsigned or a signed number; the sign is not in the code's table. */
static bool has_column(const char *doc, const char *kind, const struct rkt_field *field)
{
    char line[2][160];

    for (int i = 0; i < 2; i++)
        snprintf(line[i], sizeof(line[i]), "| %s | %u | `%s` | %c%u | %s |", kind, field->column,
                 field->name, i ? 'i' : 'u', field->bytes, coding_name(field));
    return has_line(doc, line[0]) || has_line(doc, line[1]);
}

static void every_column_is_in_the_table_and_no_other(void **state)
{
    char *doc = read_doc();
    size_t own_count = 0;

    (void)state;
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        size_t count;
        const struct rkt_field *fields = rkt_event_fields((enum rkt_event_kind)kind, &count);

        for (size_t f = 0; f < count; f++) {
            bool is_common = fields[f].column < 32;
            const char *name = is_common ? "*" : rkt_event_kind_name((enum rkt_event_kind)kind);

            if (!has_column(doc, name, &fields[f]))
                fail_msg("%s %u %s is not in the table", name, fields[f].column, fields[f].name);
            own_count += !is_common;
        }
    }
    assert_int_equal(count_text(doc, "| PLAIN | ") + count_text(doc, "| START | ") +
                         count_text(doc, "| CHANGE | ") + count_text(doc, "| DURATION | "),
                     own_count + 7 + 4); /* 7 common columns; 4 lines say what a coding is */
    free(doc);
}

static void every_event_kind_and_clock_has_its_number(void **state)
{
    char *doc = read_doc();
    char line[100];

    (void)state;
    for (int kind = 1; kind < RKT_EVENT_KIND_COUNT; kind++) {
        snprintf(line, sizeof(line), "| %d | %s |", kind,
                 rkt_event_kind_name((enum rkt_event_kind)kind));
        if (!has_line(doc, line))
            fail_msg("no line \"%s\"", line);
    }
    for (int clock = 0; clock < RKT_CLOCK_COUNT; clock++) {
        snprintf(line, sizeof(line), "| %d | %s |", clock,
                 rkt_clock_name((enum rkt_clock_id)clock));
        if (!has_line(doc, line))
            fail_msg("no line \"%s\"", line);
    }
    free(doc);
}

static void every_limit_is_the_codes(void **state)
{
    static const struct {
        const char *what;
        unsigned long value;
    } LIMITS[] = {
        {"raw bytes", RKT_FRAME_RAW_BYTES_MAX},
        {"packed bytes", RKT_FRAME_PACKED_BYTES_MAX},
        {"rows of a batch", RKT_BATCH_EVENTS_MAX},
        {"bytes of a name", RKT_STRING_BYTES_MAX},
        {"id of a name", RKT_STRING_COUNT_MAX - 1},
        {"jump of name ids past those known", RKT_STRINGS_JUMP_MAX},
        {"knots of an alignment", RKT_ALIGN_KNOTS_MAX},
        {"source in a store", RKT_STORE_SOURCE_COUNT_MAX - 1},
    };
    char *doc = read_doc();

    (void)state;
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(*LIMITS); i++) {
        char line[100];

        snprintf(line, sizeof(line), "| %s | %lu |", LIMITS[i].what, LIMITS[i].value);
        if (!has_line(doc, line))
            fail_msg("no line \"%s\"", line);
    }
    free(doc);
}

/* ---- the example ---- */

static size_t read_example(uint8_t *bytes, size_t cap)
{
    char *doc = read_doc();
    char *at = strstr(doc, "<!-- example-frame -->\n```\n");
    size_t count = 0;

    assert_non_null(at);
    at = strchr(at, '`') + 3;
    while (count < cap) {
        char *end;
        unsigned long byte = strtoul(at, &end, 16);

        if (end == at)
            break;
        bytes[count++] = (uint8_t)byte;
        at = end;
    }
    free(doc);
    return count;
}

static void fill_example(struct rkt_event events[EXAMPLE_ROWS])
{
    static const uint64_t DURATIONS[EXAMPLE_ROWS] = {5000, 150, 170};

    memset(events, 0, EXAMPLE_ROWS * sizeof(*events));
    for (uint32_t i = 0; i < EXAMPLE_ROWS; i++) {
        events[i].kind = RKT_EVENT_API;
        events[i].clock_id = RKT_CLOCK_MONOTONIC_RAW;
        events[i].name_id = 7;
        events[i].start_ns = 5000000000 + 1000 * (uint64_t)i;
        events[i].end_ns = events[i].start_ns + DURATIONS[i];
        events[i].thread_id = 4711;
        events[i].correlation_id = i + 1;
        events[i].api.cbid = 211;
    }
}

static void print_frame(struct rkt_bytes frame)
{
    for (size_t i = 0; i < frame.len_bytes; i++)
        printf("%02x%s", frame.at[i], i % 16 == 15 || i + 1 == frame.len_bytes ? "\n" : " ");
}

static void the_example_is_what_this_build_writes(void **state)
{
    struct rkt_frame_head head = {.kind = RKT_FRAME_BATCH, .source = 3, .seq = 4};
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_encoder *encoder = rkt_encoder_create();
    struct rkt_event events[EXAMPLE_ROWS];
    uint8_t example[256];
    size_t example_bytes = read_example(example, sizeof(example));
    struct rkt_bytes frame;
    struct rkt_bytes raw;
    struct rkt_error err;

    (void)state;
    fill_example(events);
    assert_rkt_ok(rkt_encode_events(encoder, events, EXAMPLE_ROWS, &raw, &err), err);
    assert_rkt_ok(rkt_pack_frame(packer, &head, raw, &frame, &err), err);
    if (example_bytes != frame.len_bytes || memcmp(example, frame.at, frame.len_bytes) != 0) {
        print_frame(frame);
        fail_msg("the example is not this frame");
    }
    rkt_packer_destroy(packer);
    rkt_encoder_destroy(encoder);
}

static void the_example_decodes_to_what_is_said(void **state)
{
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_decoder *decoder = rkt_decoder_create();
    struct rkt_event events[EXAMPLE_ROWS];
    uint8_t example[256];
    size_t len = read_example(example, sizeof(example));
    struct rkt_frame_head head;
    struct rkt_batch batch;
    struct rkt_bytes raw;
    struct rkt_error err;

    (void)state;
    fill_example(events);
    assert_rkt_ok(rkt_frame_head_decode(example, len, &head, &err), err);
    assert_int_equal(len, RKT_FRAME_HEAD_BYTES + head.packed_bytes);
    assert_rkt_ok(rkt_frame_payload_check(&head, example + RKT_FRAME_HEAD_BYTES, &err), err);
    assert_rkt_ok(rkt_unpack_payload(packer, &head, example + RKT_FRAME_HEAD_BYTES, &raw, &err),
                  err);
    assert_rkt_ok(rkt_decode_events(decoder, raw, &batch, &err), err);
    assert_int_equal(batch.count, EXAMPLE_ROWS);
    assert_memory_equal(batch.events, events, sizeof(events));
    rkt_packer_destroy(packer);
    rkt_decoder_destroy(decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_in_the_table_and_no_other),
        cmocka_unit_test(every_event_kind_and_clock_has_its_number),
        cmocka_unit_test(every_limit_is_the_codes),
        cmocka_unit_test(the_example_is_what_this_build_writes),
        cmocka_unit_test(the_example_decodes_to_what_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
