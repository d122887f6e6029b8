/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/json_events.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_damage.h"
#include "analysis/import/json_scan.h"

#define EVENT_START_BYTES ((size_t)64) /* '{' to the colon of the first key, with some blanks */
#define PIECE_BYTES ((size_t)4 << 10)  /* parsed at first where an event has no known form */
#define DOUBTFUL_BYTES_MAX ((size_t)64 << 10) /* how far an event that looks broken is tried */

static enum rkt_status next_char(struct rkt_json_reading *reading, char *c_out)
{
    return rkt_json_window_next(&reading->window, c_out, reading->err);
}

static enum rkt_status out_of_memory(struct rkt_json_reading *reading)
{
    return rkt_fail(reading->err, RKT_ERR_NOMEM, "no memory to parse JSON");
}

/* ---- damage ---- */

void rkt_json_skip_damage(struct rkt_json_reading *reading, size_t end)
{
    struct rkt_json_window *window = &reading->window;

    rkt_json_note_damage(reading->stats, window->text + window->at, end - window->at,
                         rkt_json_window_position(window));
    window->at = end;
}

/* What is here is no event: up to the next one, or to the end of the list, or of the text. */
static enum rkt_status skip_to_event(struct rkt_json_reading *reading)
{
    struct rkt_json_window *window = &reading->window;
    size_t from = window->at + 1;

    for (;;) {
        size_t next = rkt_json_find_event(window->text, window->len, from);
        enum rkt_status status;

        if (next == window->len && window->has_all)
            next = rkt_json_find_list_end(window->text, window->len, from);
        if (next < window->len || window->has_all) {
            reading->stats->is_cut |= next == window->len;
            rkt_json_skip_damage(reading, next);
            return RKT_OK;
        }
        if (window->len - window->at > 2 * EVENT_START_BYTES)
            rkt_json_skip_damage(reading, window->len - EVENT_START_BYTES);
        from = 1; /* what the place is at has been looked at */
        status = rkt_json_window_refill(window, reading->err);
        if (status != RKT_OK)
            return status;
    }
}

/* ---- events ---- */

/* Where it stands in the JSON; a repaired one is a copy of the one at the place. */
static uint64_t position_of(const struct rkt_json_window *window,
                            const struct rkt_json_object *event)
{
    if (event->text < window->text || event->text >= window->text + window->len)
        return rkt_json_window_position(window);
    return window->text_start + (uint64_t)(event->text - window->text);
}

static bool give_sure_event(struct rkt_json_reading *reading, const struct rkt_json_object *event)
{
    reading->stats->event_count++;
    reading->status = reading->handler->event(reading->handler->ctx, event, reading->err);
    return reading->status == RKT_OK;
}

static bool give_event(void *ctx, const struct rkt_json_object *event)
{
    struct rkt_json_reading *reading = ctx;

    if (!rkt_json_check_event(reading->stats, reading->parser, event,
                              position_of(&reading->window, event), &reading->lost_bytes))
        return false;
    return give_sure_event(reading, event);
}

static bool give_and_learn(void *ctx, const struct rkt_json_object *event)
{
    struct rkt_json_reading *reading = ctx;

    if (!give_event(reading, event))
        return false;
    if (reading->forms)
        rkt_json_forms_learn(reading->forms, event);
    return true;
}

/* The parser was stopped: for how much of the event is it given up? 0: not at all. Asked once. */
static size_t take_lost_bytes(struct rkt_json_reading *reading)
{
    size_t lost_bytes = reading->lost_bytes;

    reading->lost_bytes = 0;
    return lost_bytes;
}

static bool ask_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    const struct rkt_json_reading *reading = ctx;

    return !reading->handler->wants_args ||
           reading->handler->wants_args(reading->handler->ctx, fields, count);
}

static struct rkt_json_object_visitor visitor_of(struct rkt_json_reading *reading)
{
    struct rkt_json_object_visitor visitor = {reading, ask_args, give_event};

    return visitor;
}

/* text[at, cut) as an array, in place: the bytes around it are ours for the moment. */
static enum rkt_json_outcome parse_window(struct rkt_json_reading *reading, size_t cut,
                                          struct rkt_json_progress *progress_out)
{
    struct rkt_json_object_visitor visitor = {reading, ask_args, give_and_learn};
    char *begin = reading->window.text + reading->window.at - 1;
    char *end = reading->window.text + cut;
    char before = *begin;
    char after = *end;
    enum rkt_json_outcome outcome;

    *begin = '[';
    *end = ']';
    outcome = rkt_json_parse_array(reading->parser, begin, (size_t)(end - begin) + 1, &visitor,
                                   progress_out);
    *begin = before;
    *end = after;
    return outcome;
}

/* The place behind what was given out of a window that did not parse to its end. */
static void go_on_after(struct rkt_json_reading *reading, const struct rkt_json_progress *progress)
{
    struct rkt_json_window *window = &reading->window;
    size_t end;

    if (!progress->last)
        return;
    window->at = (size_t)(progress->last - window->text);
    if (progress->was_given &&
        rkt_json_scan_value(window->text, window->len, window->at, &end) == RKT_SCAN_FOUND)
        window->at = end;
}

static bool is_blank(char c)
{
    static const bool ARE[256] = {[' '] = true, ['\n'] = true, ['\t'] = true, ['\r'] = true};

    return ARE[(unsigned char)c];
}

/* From one event to the next, if nothing but a comma and blanks is between them. Behind the text
 * stands a NUL. */
static void pass_comma(struct rkt_json_window *window)
{
    const char *at = window->text + window->at;

    while (is_blank(*at))
        at++;
    if (*at != ',')
        return;
    do
        at++;
    while (is_blank(*at));
    if (*at == '{')
        window->at = (size_t)(at - window->text);
}

/* As many events as have known forms, up to the cut. */
static enum rkt_status read_known(struct rkt_json_reading *reading, size_t cut)
{
    struct rkt_json_object_visitor visitor = visitor_of(reading);
    struct rkt_json_window *window = &reading->window;
    size_t begin = window->at;
    struct rkt_json_object event;

    while (window->at < cut &&
           rkt_json_forms_read(reading->forms, window->text + window->at, &visitor, &event)) {
        window->at = (size_t)(event.text_end - window->text);
        if (!give_sure_event(reading, &event))
            return reading->status;
        if (window->at < cut)
            pass_comma(window);
    }
    if (window->at - begin > reading->piece_bytes)
        reading->piece_bytes = PIECE_BYTES;
    return RKT_OK;
}

/* Where the piece ends that begins with an event of no known form: each is twice as long as the
 * last one, unless forms were of use in between. */
static size_t end_of_piece(struct rkt_json_reading *reading, size_t cut)
{
    const struct rkt_json_window *window = &reading->window;
    size_t end = window->at;

    if (reading->forms && reading->piece_bytes < cut - window->at) {
        end = rkt_json_find_cut(window->text, window->at + reading->piece_bytes, window->at);
        reading->piece_bytes *= 2;
    }
    return end > window->at ? end : cut;
}

static enum rkt_status read_piece(struct rkt_json_reading *reading, size_t cut)
{
    size_t end = end_of_piece(reading, cut);
    struct rkt_json_progress progress;
    uint64_t cut_position = reading->window.text_start + cut;

    switch (parse_window(reading, end, &progress)) {
    case RKT_JSON_DONE:
        reading->window.at = end;
        if (end < cut)
            pass_comma(&reading->window);
        return RKT_OK;
    case RKT_JSON_ENDED: /* the cut was behind the end of the list */
    case RKT_JSON_WRONG:
        break;
    case RKT_JSON_STOPPED:
        if (take_lost_bytes(reading) == 0)
            return reading->status;
        break;
    case RKT_JSON_NOMEM:
        return out_of_memory(reading);
    }
    go_on_after(reading, &progress);
    if (end == cut || progress.was_given)
        reading->slow_until = cut_position;
    else
        reading->piece_bytes = SIZE_MAX; /* its end was maybe none of an event: all up to the cut */
    return RKT_OK;
}

/* Events up to the cut, or to what is none. More text is fetched only then, as without forms: what
 * is damaged is mostly looked at in the same windows. */
static enum rkt_status read_window(struct rkt_json_reading *reading, size_t cut)
{
    struct rkt_json_window *window = &reading->window;
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK && window->at < cut && window->text[window->at] == '{' &&
           rkt_json_window_position(window) >= reading->slow_until) {
        size_t begin = window->at;

        if (reading->forms)
            status = read_known(reading, cut);
        if (window->at == begin)
            status = read_piece(reading, cut);
    }
    return status;
}

static enum rkt_json_outcome parse_repaired(struct rkt_json_reading *reading, const char *text,
                                            size_t len)
{
    struct rkt_json_object_visitor visitor = visitor_of(reading);
    size_t need = len * RKT_JSON_SANITISE_FACTOR + RKT_JSON_PADDING;
    enum rkt_json_outcome outcome;
    size_t clean;
    size_t clean_end;

    if (reading->scratch_cap < need) {
        char *scratch = realloc(reading->scratch, need);

        if (!scratch)
            return RKT_JSON_NOMEM;
        reading->scratch = scratch;
        reading->scratch_cap = need;
    }
    clean = rkt_json_sanitise(text, len, reading->scratch);
    memset(reading->scratch + clean, 0, RKT_JSON_PADDING);
    outcome = rkt_json_parse_object(reading->parser, reading->scratch, clean, &visitor, &clean_end);
    if (outcome == RKT_JSON_DONE || outcome == RKT_JSON_ENDED)
        reading->stats->repaired_count++;
    return outcome;
}

/* The one event in text[at, end). */
static enum rkt_status read_event(struct rkt_json_reading *reading, size_t end)
{
    struct rkt_json_object_visitor visitor = visitor_of(reading);
    const char *text = reading->window.text + reading->window.at;
    size_t len = end - reading->window.at;
    size_t used = len;
    size_t lost;
    enum rkt_json_outcome outcome =
        rkt_json_parse_object(reading->parser, text, len, &visitor, &used);
    bool is_repaired = outcome == RKT_JSON_WRONG;

    if (is_repaired) {
        outcome = parse_repaired(reading, text, len);
        if (outcome == RKT_JSON_ENDED) /* the repaired text is another: on to what can be next */
            used = rkt_json_find_event(text, len, 1);
    }
    switch (outcome) {
    case RKT_JSON_DONE:
    case RKT_JSON_ENDED: /* what follows it in the text may be whole */
        reading->window.at += used;
        return RKT_OK;
    case RKT_JSON_STOPPED:
        lost = take_lost_bytes(reading);
        if (lost == 0)
            return reading->status;
        end = reading->window.at + (is_repaired ? rkt_json_find_sure_event(text, len, 1) : lost);
        break;
    case RKT_JSON_NOMEM:
        return out_of_memory(reading);
    case RKT_JSON_WRONG:
        break;
    }
    rkt_json_skip_damage(reading, end);
    return RKT_OK;
}

/* Is the event that ends at `end` a whole object with something behind it? With nothing behind it,
 * an event that holds others has taken the end of the list for its own. */
static bool is_whole_event(const struct rkt_json_reading *reading, size_t end)
{
    const struct rkt_json_window *window = &reading->window;

    if (window->has_all && rkt_json_skip_padding(window->text, window->len, end) == window->len)
        return false;
    return rkt_json_is_object(reading->parser, window->text + window->at, end - window->at);
}

/*
 * Another event seems to begin inside the one here, at `next`: it is broken and given up, unless it
 * parses as it is.
 */
static enum rkt_status read_doubtful(struct rkt_json_reading *reading, size_t next)
{
    struct rkt_json_window *window = &reading->window;
    struct rkt_json_object_visitor visitor = visitor_of(reading);
    size_t limit;
    size_t used;
    size_t end;

    while (window->len - window->at < DOUBTFUL_BYTES_MAX && !window->has_all) {
        enum rkt_status status;

        next -= window->at; /* to where refill moves it */
        status = rkt_json_window_refill(window, reading->err);
        if (status != RKT_OK)
            return status;
    }
    limit = window->len - window->at < DOUBTFUL_BYTES_MAX ? window->len
                                                          : window->at + DOUBTFUL_BYTES_MAX;
    if (rkt_json_scan_strictly(window->text, limit, window->at, &end) == RKT_SCAN_FOUND &&
        is_whole_event(reading, end)) {
        used = end - window->at;
        switch (rkt_json_parse_object(reading->parser, window->text + window->at, used, &visitor,
                                      &used)) {
        case RKT_JSON_DONE:
        case RKT_JSON_ENDED:
            window->at += used;
            return RKT_OK;
        case RKT_JSON_STOPPED:
            used = take_lost_bytes(reading);
            if (used == 0)
                return reading->status;
            next = window->at + used;
            break;
        case RKT_JSON_NOMEM:
            return out_of_memory(reading);
        case RKT_JSON_WRONG:
            break;
        }
    }
    rkt_json_skip_damage(reading, next);
    return RKT_OK;
}

/* The element at the place, by itself: an object is an event, anything else is damage. */
static enum rkt_status read_element(struct rkt_json_reading *reading, char c)
{
    enum rkt_scan_result result;
    bool is_object = c == '{';
    size_t end;
    enum rkt_status status;

    if (c == '[')
        return skip_to_event(reading); /* its end may be that of the list */
    status = rkt_json_window_value(&reading->window, &result, &end, reading->err);
    if (status != RKT_OK)
        return status;
    if (result == RKT_SCAN_FOUND && is_object)
        return read_event(reading, end);
    if (result == RKT_SCAN_BROKEN && is_object)
        return read_doubtful(reading, end);
    if (result != RKT_SCAN_MORE && end > reading->window.at) {
        rkt_json_skip_damage(reading, end);
        return RKT_OK;
    }
    return skip_to_event(reading);
}

/* The next event, or a window full of them; *done_out behind the list's ']'. */
static enum rkt_status read_some_events(struct rkt_json_reading *reading, bool *done_out)
{
    struct rkt_json_window *window = &reading->window;
    enum rkt_status status;
    size_t cut = 0;
    char c;

    status = next_char(reading, &c);
    if (status != RKT_OK)
        return status;
    if (window->at == window->len) {
        /* writers that append leave an array open: that is its end as well */
        reading->stats->is_cut |= reading->stats->is_object;
        *done_out = true;
        return RKT_OK;
    }
    if (c == ',' || c == ']') {
        window->at++;
        *done_out = c == ']';
        return RKT_OK;
    }
    /* without commas there is no cut, and to look for it in each window once an event is slow */
    if (c == '{' && !reading->stats->is_lines &&
        rkt_json_window_position(window) >= reading->slow_until)
        cut = rkt_json_find_cut(window->text, window->len, window->at);
    if (cut > window->at)
        return read_window(reading, cut);
    return read_element(reading, c);
}

enum rkt_status rkt_json_read_events(struct rkt_json_reading *reading)
{
    struct rkt_json_window *window = &reading->window;
    enum rkt_status status = RKT_OK;
    bool done = false;

    while (status == RKT_OK && !done) {
        if (!window->has_all && window->len - window->at < window->cap / 2)
            status = rkt_json_window_refill(window, reading->err);
        if (status == RKT_OK)
            status = read_some_events(reading, &done);
    }
    return status;
}
