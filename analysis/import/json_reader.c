/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_damage.h"
#include "analysis/import/json_scan.h"
#include "analysis/import/json_window.h"

#define EVENT_START_BYTES ((size_t)64) /* '{' to the colon of the first key, with some blanks */
#define MEMBER_KEY_BYTES_MAX 64u
#define DOUBTFUL_BYTES_MAX ((size_t)64 << 10) /* how far an event that looks broken is tried */

static const char EVENTS_KEY[] = "\"traceEvents\"";

struct reader {
    struct rkt_json_window window;
    const struct rkt_json_handler *handler;
    struct rkt_json_stats *stats;
    struct rkt_error *err;
    struct rkt_json_parser *parser;
    bool has_doubt;      /* the event that the parser stopped at may hold others */
    bool is_lost;        /* the outer object is broken: read_more goes on */
    uint64_t slow_until; /* up to here event by event, as the window did not parse */
    char *scratch;       /* for repaired events */
    size_t scratch_cap;
    enum rkt_status status; /* of the handler */
};

static enum rkt_status next_char(struct reader *reader, char *c_out)
{
    return rkt_json_window_next(&reader->window, c_out, reader->err);
}

static enum rkt_status out_of_memory(struct reader *reader)
{
    return rkt_fail(reader->err, RKT_ERR_NOMEM, "no memory to parse JSON");
}

/* ---- damage ---- */

/* Gives up what lies between the place in the window and `end`. */
static void skip_damage(struct reader *reader, size_t end)
{
    struct rkt_json_window *window = &reader->window;

    rkt_json_note_damage(reader->stats, window->text + window->at, end - window->at,
                         rkt_json_window_position(window));
    window->at = end;
}

/* What is here is no event: up to the next one, or to the end of the list, or of the text. */
static enum rkt_status skip_to_event(struct reader *reader)
{
    struct rkt_json_window *window = &reader->window;
    size_t from = window->at + 1;

    for (;;) {
        size_t next = rkt_json_find_event(window->text, window->len, from);
        enum rkt_status status;

        if (next == window->len && window->has_all)
            next = rkt_json_find_list_end(window->text, window->len, from);
        if (next < window->len || window->has_all) {
            reader->stats->is_cut |= next == window->len;
            skip_damage(reader, next);
            return RKT_OK;
        }
        if (window->len - window->at > 2 * EVENT_START_BYTES)
            skip_damage(reader, window->len - EVENT_START_BYTES);
        from = 1; /* what the place is at has been looked at */
        status = rkt_json_window_refill(window, reader->err);
        if (status != RKT_OK)
            return status;
    }
}

/* ---- events ---- */

static bool give_event(void *ctx, const struct rkt_json_object *event)
{
    struct reader *reader = ctx;

    if (rkt_json_hides_events(reader->parser, event)) {
        reader->has_doubt = true;
        return false;
    }
    rkt_json_note_merged(reader->stats, event, rkt_json_window_position(&reader->window));
    reader->stats->event_count++;
    reader->status = reader->handler->event(reader->handler->ctx, event, reader->err);
    return reader->status == RKT_OK;
}

/* Was it doubt that stopped the parser? Asked once. */
static bool take_doubt(struct reader *reader)
{
    bool had_doubt = reader->has_doubt;

    reader->has_doubt = false;
    return had_doubt;
}

static bool ask_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    const struct reader *reader = ctx;

    return !reader->handler->wants_args ||
           reader->handler->wants_args(reader->handler->ctx, fields, count);
}

static struct rkt_json_object_visitor visitor_of(struct reader *reader)
{
    struct rkt_json_object_visitor visitor = {reader, ask_args, give_event};

    return visitor;
}

/* text[at, cut) as an array, in place: the bytes around it are ours for the moment. */
static enum rkt_json_outcome parse_window(struct reader *reader, size_t cut,
                                          struct rkt_json_progress *progress_out)
{
    struct rkt_json_object_visitor visitor = visitor_of(reader);
    char *begin = reader->window.text + reader->window.at - 1;
    char *end = reader->window.text + cut;
    char before = *begin;
    char after = *end;
    enum rkt_json_outcome outcome;

    *begin = '[';
    *end = ']';
    outcome = rkt_json_parse_array(reader->parser, begin, (size_t)(end - begin) + 1, &visitor,
                                   progress_out);
    *begin = before;
    *end = after;
    return outcome;
}

/* The place behind what was given out of a window that did not parse to its end. */
static void go_on_after(struct reader *reader, const struct rkt_json_progress *progress)
{
    struct rkt_json_window *window = &reader->window;
    size_t end;

    if (!progress->last)
        return;
    window->at = (size_t)(progress->last - window->text);
    if (progress->was_given &&
        rkt_json_scan_value(window->text, window->len, window->at, &end) == RKT_SCAN_FOUND)
        window->at = end;
}

static enum rkt_status read_window(struct reader *reader, size_t cut)
{
    struct rkt_json_progress progress;
    uint64_t cut_position = reader->window.text_start + cut;

    switch (parse_window(reader, cut, &progress)) {
    case RKT_JSON_DONE:
        reader->window.at = cut;
        break;
    case RKT_JSON_ENDED: /* the cut was behind the end of the list */
    case RKT_JSON_WRONG:
        go_on_after(reader, &progress);
        reader->slow_until = cut_position;
        break;
    case RKT_JSON_STOPPED:
        if (!take_doubt(reader))
            return reader->status;
        go_on_after(reader, &progress);
        reader->slow_until = cut_position;
        break;
    case RKT_JSON_NOMEM:
        return out_of_memory(reader);
    }
    return RKT_OK;
}

static enum rkt_json_outcome parse_repaired(struct reader *reader, const char *text, size_t len)
{
    struct rkt_json_object_visitor visitor = visitor_of(reader);
    size_t need = len * RKT_JSON_SANITISE_FACTOR + RKT_JSON_PADDING;
    enum rkt_json_outcome outcome;
    size_t clean;
    size_t clean_end;

    if (reader->scratch_cap < need) {
        char *scratch = realloc(reader->scratch, need);

        if (!scratch)
            return RKT_JSON_NOMEM;
        reader->scratch = scratch;
        reader->scratch_cap = need;
    }
    clean = rkt_json_sanitise(text, len, reader->scratch);
    memset(reader->scratch + clean, 0, RKT_JSON_PADDING);
    outcome = rkt_json_parse_object(reader->parser, reader->scratch, clean, &visitor, &clean_end);
    if (outcome == RKT_JSON_DONE || outcome == RKT_JSON_ENDED)
        reader->stats->repaired_count++;
    return outcome;
}

/* The one event in text[at, end). */
static enum rkt_status read_event(struct reader *reader, size_t end)
{
    struct rkt_json_object_visitor visitor = visitor_of(reader);
    const char *text = reader->window.text + reader->window.at;
    size_t len = end - reader->window.at;
    size_t used = len;
    enum rkt_json_outcome outcome =
        rkt_json_parse_object(reader->parser, text, len, &visitor, &used);

    if (outcome == RKT_JSON_WRONG) {
        outcome = parse_repaired(reader, text, len);
        if (outcome == RKT_JSON_ENDED) /* the repaired text is another: on to what can be next */
            used = rkt_json_find_event(text, len, 1);
    }
    switch (outcome) {
    case RKT_JSON_DONE:
    case RKT_JSON_ENDED: /* what follows it in the text may be whole */
        reader->window.at += used;
        return RKT_OK;
    case RKT_JSON_STOPPED:
        if (!take_doubt(reader))
            return reader->status;
        end = rkt_json_find_sure_event(reader->window.text, end, reader->window.at + 1);
        break;
    case RKT_JSON_NOMEM:
        return out_of_memory(reader);
    case RKT_JSON_WRONG:
        break;
    }
    skip_damage(reader, end);
    return RKT_OK;
}

/* Is the event that ends at `end` a whole object with something behind it? With nothing behind it,
 * an event that holds others has taken the end of the list for its own. */
static bool is_whole_event(const struct reader *reader, size_t end)
{
    const struct rkt_json_window *window = &reader->window;

    if (window->has_all && rkt_json_skip_padding(window->text, window->len, end) == window->len)
        return false;
    return rkt_json_is_object(reader->parser, window->text + window->at, end - window->at);
}

/*
 * Another event seems to begin inside the one here, at `next`: it is broken and given up, unless it
 * parses as it is.
 */
static enum rkt_status read_doubtful(struct reader *reader, size_t next)
{
    struct rkt_json_window *window = &reader->window;
    struct rkt_json_object_visitor visitor = visitor_of(reader);
    size_t limit;
    size_t used;
    size_t end;

    while (window->len - window->at < DOUBTFUL_BYTES_MAX && !window->has_all) {
        enum rkt_status status;

        next -= window->at; /* to where refill moves it */
        status = rkt_json_window_refill(window, reader->err);
        if (status != RKT_OK)
            return status;
    }
    limit = window->len - window->at < DOUBTFUL_BYTES_MAX ? window->len
                                                          : window->at + DOUBTFUL_BYTES_MAX;
    if (rkt_json_scan_strictly(window->text, limit, window->at, &end) == RKT_SCAN_FOUND &&
        is_whole_event(reader, end)) {
        used = end - window->at;
        switch (rkt_json_parse_object(reader->parser, window->text + window->at, used, &visitor,
                                      &used)) {
        case RKT_JSON_DONE:
        case RKT_JSON_ENDED:
            window->at += used;
            return RKT_OK;
        case RKT_JSON_STOPPED:
            return reader->status;
        case RKT_JSON_NOMEM:
            return out_of_memory(reader);
        case RKT_JSON_WRONG:
            break;
        }
    }
    skip_damage(reader, next);
    return RKT_OK;
}

/* The element at the place, by itself: an object is an event, anything else is damage. */
static enum rkt_status read_element(struct reader *reader, char c)
{
    enum rkt_scan_result result;
    bool is_object = c == '{';
    size_t end;
    enum rkt_status status;

    if (c == '[')
        return skip_to_event(reader); /* its end may be that of the list */
    status = rkt_json_window_value(&reader->window, &result, &end, reader->err);
    if (status != RKT_OK)
        return status;
    if (result == RKT_SCAN_FOUND && is_object)
        return read_event(reader, end);
    if (result == RKT_SCAN_BROKEN && is_object)
        return read_doubtful(reader, end);
    if (result != RKT_SCAN_MORE && end > reader->window.at) {
        skip_damage(reader, end);
        return RKT_OK;
    }
    return skip_to_event(reader);
}

/* The next event, or a window full of them; *done_out behind the list's ']'. */
static enum rkt_status read_some_events(struct reader *reader, bool *done_out)
{
    struct rkt_json_window *window = &reader->window;
    enum rkt_status status;
    size_t cut = 0;
    char c;

    status = next_char(reader, &c);
    if (status != RKT_OK)
        return status;
    if (window->at == window->len) {
        /* writers that append leave an array open: that is its end as well */
        reader->stats->is_cut |= reader->stats->is_object;
        *done_out = true;
        return RKT_OK;
    }
    if (c == ',' || c == ']') {
        window->at++;
        *done_out = c == ']';
        return RKT_OK;
    }
    if (c == '{' && rkt_json_window_position(window) >= reader->slow_until)
        cut = rkt_json_find_cut(window->text, window->len, window->at);
    if (cut > window->at)
        return read_window(reader, cut);
    return read_element(reader, c);
}

static enum rkt_status read_events(struct reader *reader)
{
    struct rkt_json_window *window = &reader->window;
    enum rkt_status status = RKT_OK;
    bool done = false;

    while (status == RKT_OK && !done) {
        if (!window->has_all && window->len - window->at < window->cap / 2)
            status = rkt_json_window_refill(window, reader->err);
        if (status == RKT_OK)
            status = read_some_events(reader, &done);
    }
    return status;
}

/* ---- members of the outer object ---- */

static bool is_events_key(const struct reader *reader, size_t key_end)
{
    size_t bytes = sizeof(EVENTS_KEY) - 1;

    return key_end - reader->window.at == bytes &&
           memcmp(reader->window.text + reader->window.at, EVENTS_KEY, bytes) == 0;
}

/* Here is no member: go to where the events begin, else give the outer object up. */
static enum rkt_status find_events(struct reader *reader)
{
    struct rkt_json_window *window = &reader->window;

    while (!reader->stats->has_events) {
        size_t left = window->len - window->at;
        const char *from = window->text + window->at + 1;
        const char *key =
            left > 1 ? memmem(from, left - 1, EVENTS_KEY, sizeof(EVENTS_KEY) - 1) : NULL;
        enum rkt_status status;

        if (key) {
            skip_damage(reader, (size_t)(key - window->text));
            return RKT_OK;
        }
        if (window->has_all)
            break;
        if (left > sizeof(EVENTS_KEY))
            skip_damage(reader, window->len - sizeof(EVENTS_KEY));
        status = rkt_json_window_refill(window, reader->err);
        if (status != RKT_OK)
            return status;
    }
    reader->stats->is_cut = true;
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
    reader->window.at++;
    return next_char(reader, c_out);
}

static enum rkt_status give_member(struct reader *reader, struct rkt_json_field *member, size_t end)
{
    struct rkt_json_window *window = &reader->window;

    member->value = window->text + window->at;
    member->value_bytes = end - window->at;
    member->is_text = member->value[0] == '"';
    if (member->is_text) {
        member->value++;
        member->value_bytes -= 2;
    }
    window->at = end;
    return reader->handler->member(reader->handler->ctx, member, reader->err);
}

/* A key that is not traceEvents, with its quotes up to key_end, and its value. */
static enum rkt_status read_member(struct reader *reader, size_t key_end)
{
    struct rkt_json_window *window = &reader->window;
    char key[MEMBER_KEY_BYTES_MAX]; /* a copy, as the text moves under it */
    struct rkt_json_field member = {.key = key};
    enum rkt_scan_result result = RKT_SCAN_MORE;
    enum rkt_status status;
    size_t end = 0;
    char c;

    member.key_bytes = key_end - window->at - 2;
    if (member.key_bytes > sizeof(key))
        member.key_bytes = sizeof(key);
    memcpy(key, window->text + window->at + 1, member.key_bytes);
    window->at = key_end;
    status = pass_colon(reader, &c);
    if (status == RKT_OK && c)
        status = rkt_json_window_value(window, &result, &end, reader->err);
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

    reader->window.at += sizeof(EVENTS_KEY) - 1;
    status = pass_colon(reader, &c);
    if (status != RKT_OK)
        return status;
    reader->stats->has_events = true;
    if (c != '[')
        return find_events(reader);
    reader->window.at++;
    return read_events(reader);
}

/* One step through the outer object; *done_out at its end. */
static enum rkt_status read_outer(struct reader *reader, bool *done_out)
{
    struct rkt_json_window *window = &reader->window;
    enum rkt_scan_result result;
    enum rkt_status status;
    size_t end;
    char c;

    status = next_char(reader, &c);
    if (status != RKT_OK)
        return status;
    if (window->at == window->len) {
        reader->stats->is_cut = true;
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
    status = rkt_json_window_value(window, &result, &end, reader->err);
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
    struct rkt_json_window *window = &reader->window;

    *found_out = false;
    for (;;) {
        enum rkt_status status;
        size_t next;

        window->at = rkt_json_skip_padding(window->text, window->len, window->at);
        reader->stats->has_rest |= !reader->is_lost && window->at < window->len;
        next = rkt_json_find_sure_event(window->text, window->len, window->at);
        *found_out = next < window->len;
        if (*found_out || window->has_all) {
            skip_damage(reader, next);
            return RKT_OK;
        }
        if (window->len - window->at > RKT_JSON_SURE_EVENT_BYTES)
            skip_damage(reader, window->len - RKT_JSON_SURE_EVENT_BYTES);
        status = rkt_json_window_refill(window, reader->err);
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
        reader->stats->is_cut = false;
        status = read_events(reader);
        if (status == RKT_OK && reader->stats->is_object)
            status = read_members(reader);
        if (status != RKT_OK)
            break;
    }
    return status;
}

static enum rkt_status read_document(struct reader *reader)
{
    enum rkt_status status = rkt_json_window_refill(&reader->window, reader->err);
    char c;

    if (status != RKT_OK)
        return status;
    if (reader->window.len >= 3 && memcmp(reader->window.text, "\xef\xbb\xbf", 3) == 0)
        reader->window.at = 3; /* a byte order mark */
    status = next_char(reader, &c);
    if (status != RKT_OK)
        return status;
    if (c == '[') {
        reader->stats->has_events = true;
        reader->window.at++;
        status = read_events(reader);
    } else if (c == '{') {
        reader->stats->is_object = true;
        reader->window.at++;
        status = read_members(reader);
    } else {
        return rkt_json_refuse(reader->window.text, reader->window.len, reader->err);
    }
    return status == RKT_OK ? read_more(reader) : status;
}

enum rkt_status rkt_json_read(struct rkt_text_source *source, size_t window_bytes,
                              const struct rkt_json_handler *handler,
                              struct rkt_json_stats *stats_out, struct rkt_error *err)
{
    struct rkt_json_stats stats = {.first_damage = UINT64_MAX};
    struct reader reader = {.handler = handler, .stats = &stats, .err = err};
    enum rkt_status status;

    if (window_bytes == 0)
        window_bytes = RKT_JSON_WINDOW_BYTES;
    if (window_bytes < RKT_JSON_WINDOW_BYTES_MIN)
        return rkt_fail(err, RKT_ERR_INVALID, "a window of %zu bytes is too small", window_bytes);
    status = rkt_json_window_init(&reader.window, source, window_bytes, err);
    reader.parser = rkt_json_parser_create();
    if (status == RKT_OK && !reader.parser)
        status = out_of_memory(&reader);
    if (status == RKT_OK)
        status = read_document(&reader);
    stats.json_bytes = reader.window.json_bytes;
    *stats_out = stats;
    rkt_json_parser_destroy(reader.parser);
    rkt_json_window_release(&reader.window);
    free(reader.scratch);
    return status;
}
