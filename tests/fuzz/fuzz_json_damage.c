/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tolerant path of the JSON reader against a slow reference: a trace is made whole, some of its
 * events are damaged, and the reference drops those. Every event that was left whole must come out,
 * in order and once; and each damaged one between whole ones that does not come out must be
 * counted.
 *
 * The input is a recipe. Per event: one byte chooses its text, one how it is damaged, and the
 * damage takes what it needs.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/json_reader.h"

#define EVENTS_MAX 64u
#define EVENT_BYTES 512u
#define INSERT_MAX 24u
#define WINDOW_BYTES (64u << 10) /* all of a trace */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct recipe {
    const uint8_t *at;
    const uint8_t *end;
};

struct trace {
    char text[EVENTS_MAX * EVENT_BYTES + 1024];
    size_t len;
    bool is_whole[EVENTS_MAX];
    size_t starts[EVENTS_MAX];
    size_t lens[EVENTS_MAX];
    size_t event_count;
    bool is_begun[EVENTS_MAX]; /* it still begins as events do */
};

/* What came out: numbers of events, in order. */
struct seen {
    const struct trace *trace;
    size_t next; /* events below it are done with */
    size_t whole_count;
    size_t other_count; /* pieces of damaged events that parse */
};

static void fail(const struct trace *trace, const char *what)
{
    (void)fprintf(stderr, "%s:\n", what);
    (void)fwrite(trace->text, 1, trace->len, stderr); /* it may hold NULs */
    (void)fprintf(stderr, "\n");
    abort();
}

static uint8_t take(struct recipe *recipe)
{
    return recipe->at < recipe->end ? *recipe->at++ : 0;
}

/* Texts that hold everything that a reader could take for an end or a beginning. */
static size_t put_event(char *out, size_t number, uint8_t choice)
{
    static const char *const TEXTS[] = {"plain",    "},{",     "}, {\\\"ph\\\":\\\"X\\\"",
                                        "\\\\",     "\\\"",    "]}",
                                        "[{",       "\\u00e9", "",
                                        "\\\\\\\"", "a:b,c",   "\xc3\xa9"};
    static const char *const BLANKS[] = {"", " ", "\n  ", "\t"};
    const char *text = TEXTS[choice % (sizeof(TEXTS) / sizeof(TEXTS[0]))];
    const char *blank = BLANKS[choice / 16 % 4];
    char args[EVENT_BYTES];

    (void)snprintf(args, sizeof(args),
                   "\"args\":%s{\"t\":\"%s\",\"l\":[{\"a\":1},{\"b\":[%zu,-1.5e3,null,true]}]}",
                   blank, text, number);
    switch (choice / 64) {
    case 0: /* as Kineto */
        return (size_t)sprintf(out, "{%s\"ph\":%s\"X\",%s\"name\":\"e%zu\",\"cat\":\"%s\",%s%s}",
                               blank, blank, blank, number, text, args, blank);
    case 1:
        return (size_t)sprintf(out, "{%s\"name\":\"e%zu\",%s\"ph\":%s\"X\",\"cat\":\"%s\",%s}",
                               blank, number, blank, blank, text, args);
    case 2: /* keys sorted */
        return (size_t)sprintf(out, "{%s%s,%s\"cat\":\"%s\",\"name\":\"e%zu\",\"ph\":%s\"X\"}",
                               blank, args, blank, text, number, blank);
    default: /* nothing but the end of a slice */
        return (size_t)sprintf(out, "{%s\"ph\":%s\"E\",\"ts\":%zu%s}", blank, blank, number, blank);
    }
}

/* Bytes of the event from `from` to `to` become others. */
static size_t splice(char *event, size_t len, size_t from, size_t to, struct recipe *recipe)
{
    char inserted[INSERT_MAX];
    size_t count = take(recipe) % INSERT_MAX;

    for (size_t i = 0; i < count; i++)
        inserted[i] = (char)take(recipe);
    memmove(event + from + count, event + to, len - to);
    memcpy(event + from, inserted, count);
    return len - (to - from) + count;
}

/* False: this event stays whole. */
static bool damage(char *event, size_t *len, struct recipe *recipe)
{
    uint8_t choice = take(recipe);
    size_t from = take(recipe) % *len;
    size_t to;

    switch (choice % 8) {
    case 5:
        event[from] = (char)take(recipe);
        return true;
    case 6:
        *len = splice(event, *len, from, from, recipe);
        return true;
    case 7:
        to = from + 1 + take(recipe) % (*len - from);
        *len = splice(event, *len, from, to, recipe);
        return true;
    default:
        return false;
    }
}

/* Does the event begin as it did, up to the colon behind its first key? */
static bool is_begun(const char *event, size_t len, const char *before)
{
    size_t bytes = (size_t)(strchr(before, ':') + 1 - before);

    return len >= bytes && memcmp(event, before, bytes) == 0;
}

static void make_trace(struct recipe *recipe, struct trace *trace)
{
    uint8_t form = take(recipe);

    memset(trace, 0, sizeof(*trace));
    trace->len = (size_t)sprintf(trace->text, form % 2 ? "[" : "{\"x\":[1],\"traceEvents\":[");
    while (recipe->at < recipe->end && trace->event_count < EVENTS_MAX) {
        char event[EVENT_BYTES * 2];
        char before[EVENT_BYTES * 2];
        size_t len = put_event(event, trace->event_count, take(recipe));

        if (trace->event_count > 0)
            trace->text[trace->len++] = ',';
        memcpy(before, event, len + 1);
        trace->is_whole[trace->event_count] = !damage(event, &len, recipe);
        trace->is_begun[trace->event_count] = is_begun(event, len, before);
        trace->starts[trace->event_count] = trace->len;
        trace->lens[trace->event_count] = len;
        memcpy(trace->text + trace->len, event, len);
        trace->len += len;
        trace->event_count++;
    }
    trace->len += (size_t)sprintf(trace->text + trace->len,
                                  form % 2 ? "]" : "],\"devices\":[{\"id\":0}],\"base\":42}");
}

/* Damage may write a whole event's text elsewhere: nobody could tell which of them came out. */
static bool is_ambiguous(const struct trace *trace)
{
    for (size_t i = 0; i < trace->event_count; i++) {
        const char *text = trace->text + trace->starts[i];
        const char *end = trace->text + trace->len;
        size_t before = trace->starts[i] + trace->lens[i] - 1;

        if (trace->is_whole[i] &&
            (memmem(trace->text, before, text, trace->lens[i]) != NULL ||
             memmem(text + 1, (size_t)(end - text) - 1, text, trace->lens[i]) != NULL))
            return true;
    }
    return false;
}

/* Which whole event this is; event_count: a piece of a damaged one. */
static size_t number_of(const struct seen *seen, const struct rkt_json_object *event)
{
    const struct trace *trace = seen->trace;
    size_t i;

    for (i = 0; i < trace->event_count; i++) {
        /* behind the text that the reader holds stand NULs */
        if (trace->is_whole[i] &&
            strncmp(event->text, trace->text + trace->starts[i], trace->lens[i]) == 0)
            break;
    }
    return i;
}

static enum rkt_status take_event(void *ctx, const struct rkt_json_object *event,
                                  struct rkt_error *err)
{
    struct seen *seen = ctx;
    size_t number = number_of(seen, event);

    (void)err;
    if (number == seen->trace->event_count) {
        seen->other_count++;
        return RKT_OK;
    }
    if (number < seen->next)
        fail(seen->trace, "an event came again, or out of order");
    for (size_t i = seen->next; i < number; i++) {
        if (seen->trace->is_whole[i])
            fail(seen->trace, "a whole event was left out");
    }
    seen->next = number + 1;
    seen->whole_count++;
    return RKT_OK;
}

static enum rkt_status take_member(void *ctx, const struct rkt_json_field *member,
                                   struct rkt_error *err)
{
    (void)ctx;
    (void)member;
    (void)err;
    return RKT_OK;
}

/* Events that must come out or be counted; of damaged ones in a row two may run together. */
static size_t count_known(const struct trace *trace)
{
    size_t known = 0;

    for (size_t i = 0; i < trace->event_count; i++) {
        bool is_alone = (i == 0 || trace->is_whole[i - 1]) &&
                        (i + 1 == trace->event_count || trace->is_whole[i + 1]);

        known += trace->is_whole[i] || (trace->is_begun[i] && is_alone);
    }
    return known;
}

static bool refuse_args(void *ctx, const struct rkt_json_field *fields, size_t count)
{
    (void)ctx;
    (void)fields;
    (void)count;
    return false;
}

static void check(const struct trace *trace, size_t window_bytes, bool wants_args)
{
    struct seen seen = {.trace = trace};
    struct rkt_json_handler handler = {
        .ctx = &seen,
        .wants_args = wants_args ? NULL : refuse_args,
        .event = take_event,
        .member = take_member,
    };
    struct rkt_text_source *source = rkt_text_source_from_memory(trace->text, trace->len);
    struct rkt_json_stats stats;
    size_t whole = 0;

    if (!source || rkt_json_read(source, window_bytes, &handler, &stats, NULL) != RKT_OK)
        fail(trace, "not read");
    for (size_t i = 0; i < trace->event_count; i++)
        whole += trace->is_whole[i];
    if (seen.whole_count != whole)
        fail(trace, "whole events at the end are missing");
    if (seen.whole_count + seen.other_count + stats.damaged_count + stats.is_cut <
        count_known(trace))
        fail(trace, "an event is lost without a count");
    rkt_text_source_close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trace trace;
    struct recipe recipe = {data, data + size};

    make_trace(&recipe, &trace);
    if (memcmp(trace.text, "[*M\x18", 4) == 0)
        return 0; /* begins as a skippable frame of zstd does: rightly taken for one */
    if (is_ambiguous(&trace))
        return 0;
    check(&trace, WINDOW_BYTES, true);
    check(&trace, WINDOW_BYTES, false);
    check(&trace, RKT_JSON_WINDOW_BYTES_MIN, true);
    return 0;
}
