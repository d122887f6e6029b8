/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_damage.h"
#include "analysis/import/json_events.h"
#include "analysis/import/json_scan.h"
#include "analysis/import/json_swallowed.h"

#define MEMBER_KEY_BYTES_MAX 64u

static const char EVENTS_KEY[] = "\"traceEvents\"";

struct reader {
    struct rkt_json_reading reading;
    bool is_lost; /* the outer object is broken: read_more goes on */
};

static enum rkt_status next_char(struct reader *reader, char *c_out)
{
    return rkt_json_window_next(&reader->reading.window, c_out, reader->reading.err);
}

/* ---- members of the outer object ---- */

static bool is_events_key(const struct reader *reader, size_t key_end)
{
    size_t bytes = sizeof(EVENTS_KEY) - 1;

    return key_end - reader->reading.window.at == bytes &&
           memcmp(reader->reading.window.text + reader->reading.window.at, EVENTS_KEY, bytes) == 0;
}

/* Here is no member: go to where the events begin, else give the outer object up. */
static enum rkt_status find_events(struct reader *reader)
{
    struct rkt_json_window *window = &reader->reading.window;

    while (!reader->reading.stats->has_events) {
        size_t left = window->len - window->at;
        const char *from = window->text + window->at + 1;
        const char *key =
            left > 1 ? memmem(from, left - 1, EVENTS_KEY, sizeof(EVENTS_KEY) - 1) : NULL;
        enum rkt_status status;

        if (key) {
            rkt_json_skip_damage(&reader->reading, (size_t)(key - window->text));
            return RKT_OK;
        }
        if (window->has_all)
            break;
        if (left > sizeof(EVENTS_KEY))
            rkt_json_skip_damage(&reader->reading, window->len - sizeof(EVENTS_KEY));
        status = rkt_json_window_refill(window, reader->reading.err);
        if (status != RKT_OK)
            return status;
    }
    reader->reading.stats->is_cut = true;
    reader->is_lost = true;
    return RKT_OK;
}

/* Over a colon, to the first byte of the value behind it; '\0' where there is none. */
static enum rkt_status pass_colon(struct reader *reader, char *c_out)
{
    enum rkt_status status = next_char(reader, c_out);

    if (status != RKT_OK)
        return status;
    if (*c_out != ':') {
        *c_out = '\0';
        return RKT_OK;
    }
    reader->reading.window.at++;
    return next_char(reader, c_out);
}

/* Where in the value at the place, which ends at `end`, events of the list begin; `end`:
 * nowhere. */
static size_t find_swallowed(const struct reader *reader, size_t end)
{
    const struct rkt_json_window *window = &reader->reading.window;
    const char *value = window->text + window->at;
    size_t bytes = end - window->at;

    if ((*value != '[' && *value != '{') || !rkt_json_may_hold_event(value, bytes))
        return end;
    return window->at + rkt_json_find_swallowed(value, bytes, RKT_JSON_HOLDER_MEMBER);
}

static enum rkt_status give_member(struct reader *reader, struct rkt_json_field *member, size_t end)
{
    struct rkt_json_window *window = &reader->reading.window;
    size_t swallowed = find_swallowed(reader, end);

    if (swallowed < end) {
        rkt_json_skip_damage(&reader->reading, swallowed);
        return rkt_json_read_events(&reader->reading);
    }
    member->value = window->text + window->at;
    member->value_bytes = end - window->at;
    member->is_text = member->value[0] == '"';
    if (member->is_text) {
        member->value++;
        member->value_bytes -= 2;
    }
    window->at = end;
    return reader->reading.handler->member(reader->reading.handler->ctx, member,
                                           reader->reading.err);
}

/* A key that is not traceEvents, with its quotes up to key_end, and its value. */
static enum rkt_status read_member(struct reader *reader, size_t key_end)
{
    struct rkt_json_window *window = &reader->reading.window;
    char key[MEMBER_KEY_BYTES_MAX]; /* a copy, as the text moves under it */
    struct rkt_json_field member = {.key = key};
    enum rkt_scan_result result = RKT_SCAN_MORE;
    enum rkt_status status;
    size_t end = 0;
    char c;

    member.key_bytes = (uint32_t)(key_end - window->at - 2);
    if (member.key_bytes > sizeof(key))
        member.key_bytes = sizeof(key);
    memcpy(key, window->text + window->at + 1, member.key_bytes);
    window->at = key_end;
    status = pass_colon(reader, &c);
    if (status == RKT_OK && c)
        status = rkt_json_window_value(window, &result, &end, reader->reading.err);
    if (status != RKT_OK)
        return status;
    if (result == RKT_SCAN_FOUND && end > window->at)
        return give_member(reader, &member, end);
    return find_events(reader);
}

/* "traceEvents" : [ */
static enum rkt_status enter_events(struct reader *reader)
{
    enum rkt_status status;
    char c;

    reader->reading.window.at += sizeof(EVENTS_KEY) - 1;
    status = pass_colon(reader, &c);
    if (status != RKT_OK)
        return status;
    reader->reading.stats->has_events = true;
    if (c != '[')
        return find_events(reader);
    reader->reading.window.at++;
    return rkt_json_read_events(&reader->reading);
}

/* One step through the outer object; *done_out at its end. */
static enum rkt_status read_outer(struct reader *reader, bool *done_out)
{
    struct rkt_json_window *window = &reader->reading.window;
    enum rkt_scan_result result;
    enum rkt_status status;
    size_t end;
    char c;

    status = next_char(reader, &c);
    if (status != RKT_OK)
        return status;
    if (window->at == window->len) {
        reader->reading.stats->is_cut = true;
        *done_out = true;
        return RKT_OK;
    }
    if (c == ',' || c == '}') {
        window->at++;
        *done_out = c == '}';
        return RKT_OK;
    }
    if (c != '"')
        return find_events(reader);
    status = rkt_json_window_value(window, &result, &end, reader->reading.err);
    if (status != RKT_OK)
        return status;
    if (result != RKT_SCAN_FOUND)
        return find_events(reader);
    return is_events_key(reader, end) ? enter_events(reader) : read_member(reader, end);
}

static enum rkt_status read_members(struct reader *reader)
{
    bool done = false;
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK && !done && !reader->is_lost)
        status = read_outer(reader, &done);
    return status;
}

/*
 * Behind the JSON, or behind where it was given up: blanks and NULs are nothing; at an event the
 * list goes on, as a stray bracket had ended it; anything else is damage. *found_out: an event.
 */
static enum rkt_status find_more(struct reader *reader, bool *found_out)
{
    struct rkt_json_window *window = &reader->reading.window;

    *found_out = false;
    for (;;) {
        enum rkt_status status;
        size_t next;

        window->at = rkt_json_skip_padding(window->text, window->len, window->at);
        reader->reading.stats->has_rest |= !reader->is_lost && window->at < window->len;
        next = rkt_json_find_sure_event(window->text, window->len, window->at);
        *found_out = next < window->len;
        if (*found_out || window->has_all) {
            rkt_json_skip_damage(&reader->reading, next);
            return RKT_OK;
        }
        if (window->len - window->at > RKT_JSON_SURE_EVENT_BYTES)
            rkt_json_skip_damage(&reader->reading, window->len - RKT_JSON_SURE_EVENT_BYTES);
        status = rkt_json_window_refill(window, reader->reading.err);
        if (status != RKT_OK)
            return status;
    }
}

static enum rkt_status read_more(struct reader *reader)
{
    enum rkt_status status;
    bool is_found;

    while ((status = find_more(reader, &is_found)) == RKT_OK && is_found) {
        reader->is_lost = false;
        reader->reading.stats->is_cut = false;
        status = rkt_json_read_events(&reader->reading);
        if (status == RKT_OK && reader->reading.stats->is_object)
            status = read_members(reader);
        if (status != RKT_OK)
            break;
    }
    return status;
}

/* Is the object at the place an event, and another object behind it with no comma between: one
 * event a line, and nothing around them? */
static enum rkt_status see_lines(struct reader *reader, bool *is_lines_out)
{
    struct rkt_json_window *window = &reader->reading.window;
    enum rkt_scan_result result;
    enum rkt_status status;
    size_t end;
    size_t next;

    if (rkt_json_find_sure_event(window->text, window->len, window->at) != window->at)
        return RKT_OK;
    status = rkt_json_window_value(window, &result, &end, reader->reading.err);
    if (status != RKT_OK || result != RKT_SCAN_FOUND)
        return status;
    next = rkt_json_skip_blank(window->text, window->len, end);
    if (next == window->len && !window->has_all) {
        end -= window->at; /* to where refill moves it */
        status = rkt_json_window_refill(window, reader->reading.err);
        next = rkt_json_skip_blank(window->text, window->len, end);
    }
    *is_lines_out = next < window->len && window->text[next] == '{';
    return status;
}

static enum rkt_status read_object(struct reader *reader)
{
    struct rkt_json_stats *stats = reader->reading.stats;
    enum rkt_status status = see_lines(reader, &stats->is_lines);

    if (status != RKT_OK)
        return status;
    if (stats->is_lines) {
        stats->has_events = true;
        return rkt_json_read_events(&reader->reading);
    }
    stats->is_object = true;
    reader->reading.window.at++;
    return read_members(reader);
}

static enum rkt_status read_document(struct reader *reader)
{
    enum rkt_status status = rkt_json_window_refill(&reader->reading.window, reader->reading.err);
    char c;

    if (status != RKT_OK)
        return status;
    if (reader->reading.window.len >= 3 &&
        memcmp(reader->reading.window.text, "\xef\xbb\xbf", 3) == 0)
        reader->reading.window.at = 3; /* a byte order mark */
    status = next_char(reader, &c);
    if (status != RKT_OK)
        return status;
    if (c == '[') {
        reader->reading.stats->has_events = true;
        reader->reading.window.at++;
        status = rkt_json_read_events(&reader->reading);
    } else if (c == '{') {
        status = read_object(reader);
    } else {
        return rkt_json_refuse(reader->reading.window.text, reader->reading.window.len,
                               rkt_text_source_is_packed(reader->reading.window.source),
                               reader->reading.err);
    }
    return status == RKT_OK ? read_more(reader) : status;
}

enum rkt_status rkt_json_read(struct rkt_text_source *source, size_t window_bytes,
                              const struct rkt_json_handler *handler,
                              struct rkt_json_stats *stats_out, struct rkt_error *err)
{
    struct rkt_json_stats stats = {.first_damage = UINT64_MAX};
    struct reader reader = {.reading = {.handler = handler, .stats = &stats, .err = err}};
    struct rkt_json_reading *reading = &reader.reading;
    enum rkt_status status;

    if (window_bytes == 0)
        window_bytes = RKT_JSON_WINDOW_BYTES;
    if (window_bytes < RKT_JSON_WINDOW_BYTES_MIN)
        return rkt_fail(err, RKT_ERR_INVALID, "a window of %zu bytes is too small", window_bytes);
    status = rkt_json_window_init(&reading->window, source, window_bytes, err);
    reading->parser = rkt_json_parser_create(handler->meaning_of);
    if (!handler->parses_all)
        reading->forms = rkt_json_forms_create(handler->meaning_of, handler->kind_meanings);
    if (status == RKT_OK && (!reading->parser || (!reading->forms && !handler->parses_all)))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to parse JSON");
    if (status == RKT_OK)
        status = read_document(&reader);
    stats.json_bytes = reading->window.json_bytes;
    *stats_out = stats;
    rkt_json_parser_destroy(reading->parser);
    rkt_json_forms_destroy(reading->forms);
    rkt_json_window_release(&reading->window);
    free(reading->scratch);
    return status;
}
