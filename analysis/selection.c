/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

#define NUMBER_BYTES 24u
/* 73 years: added to a time of any clock it stays below 2^63 ns. */
#define TIME_MAX_NS ((uint64_t)1 << 61)

/* The number in text[0..len). */
static bool read_number(const char *text, size_t len, uint64_t *value_out)
{
    char digits[NUMBER_BYTES];

    if (len == 0 || len >= sizeof(digits))
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    return rkt_parse_u64(digits, value_out);
}

/* ---- --ranks ---- */

static int compare_spans(const void *a, const void *b)
{
    const struct rkt_rank_span *x = a;
    const struct rkt_rank_span *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Sorted, with what overlaps or touches joined. */
static void join_spans(struct rkt_selection *selection)
{
    struct rkt_rank_span *spans = selection->ranks;
    size_t kept = 0;

    qsort(spans, selection->rank_span_count, sizeof(*spans), compare_spans);
    for (size_t i = 1; i < selection->rank_span_count; i++) {
        if (spans[i].first <= (uint64_t)spans[kept].last + 1)
            spans[kept].last = spans[i].last > spans[kept].last ? spans[i].last : spans[kept].last;
        else
            spans[++kept] = spans[i];
    }
    selection->rank_span_count = kept + 1;
}

/* "7" or "0-3" of `len` bytes. */
static bool read_span(const char *text, size_t len, struct rkt_rank_span *span_out)
{
    const char *dash = memchr(text, '-', len);
    size_t first_len = dash ? (size_t)(dash - text) : len;
    uint64_t first;
    uint64_t last;

    if (!read_number(text, first_len, &first))
        return false;
    last = first;
    if (dash && !read_number(dash + 1, len - first_len - 1, &last))
        return false;
    if (last < first || last > UINT32_MAX)
        return false;
    *span_out = (struct rkt_rank_span){(uint32_t)first, (uint32_t)last};
    return true;
}

static enum rkt_status read_ranks(const char *text, struct rkt_selection *selection,
                                  struct rkt_error *err)
{
    const char *at = text;

    for (;;) {
        size_t len = strcspn(at, ",");
        struct rkt_rank_span span;

        if (!read_span(at, len, &span))
            return rkt_fail(err, RKT_ERR_INVALID,
                            "option '--ranks': '%.*s' is no rank and no FIRST-LAST, as in 0-3,7",
                            (int)len, at);
        if (selection->rank_span_count == RKT_RANK_SPANS_MAX)
            return rkt_fail(err, RKT_ERR_INVALID, "option '--ranks': more than %u parts",
                            RKT_RANK_SPANS_MAX);
        selection->ranks[selection->rank_span_count++] = span;
        if (at[len] == '\0')
            break;
        at += len + 1;
    }
    join_spans(selection);
    return RKT_OK;
}

/* ---- --steps ---- */

static enum rkt_status read_steps(const char *text, struct rkt_selection *selection,
                                  struct rkt_error *err)
{
    size_t from_len = strcspn(text, ":");
    const char *to_text = text[from_len] == ':' ? text + from_len + 1 : "";
    uint64_t from = 0;
    uint64_t to = UINT64_MAX;

    if (text[from_len] != ':' || (from_len == 0 && *to_text == '\0') ||
        (from_len > 0 && !read_number(text, from_len, &from)) ||
        (*to_text != '\0' && !read_number(to_text, strlen(to_text), &to)))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--steps': '%s' is not FROM:TO, as 10:20 for the steps 10 to 19",
                        text);
    if (to <= from)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--steps': '%s' holds no step: TO is the first that is left out, "
                        "and must be above FROM",
                        text);
    selection->has_steps = true;
    selection->first_step = from;
    selection->end_step = to;
    return RKT_OK;
}

/* ---- --since, --until ---- */

static enum rkt_status read_time(const char *option, const char *text, int64_t *time_ns_out,
                                 struct rkt_error *err)
{
    uint64_t time_ns;

    if (!rkt_parse_duration_ns(text, &time_ns))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '%s': '%s' is no duration with its unit, such as 1.5s or 250ms",
                        option, text);
    *time_ns_out = (int64_t)(time_ns < TIME_MAX_NS ? time_ns : TIME_MAX_NS);
    return RKT_OK;
}

static enum rkt_status read_times(const struct rkt_selection_texts *texts,
                                  struct rkt_selection *selection, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    selection->has_time = texts->since || texts->until;
    if (texts->since)
        status = read_time("--since", texts->since, &selection->since_ns, err);
    if (status == RKT_OK && texts->until)
        status = read_time("--until", texts->until, &selection->until_ns, err);
    if (status != RKT_OK || selection->until_ns > selection->since_ns)
        return status;
    return rkt_fail(err, RKT_ERR_INVALID,
                    "option '--until': '%s' is not later than --since ('%s'): nothing lies between",
                    texts->until, texts->since ? texts->since : "0");
}

enum rkt_status rkt_selection_parse(const struct rkt_selection_texts *texts,
                                    struct rkt_selection *selection_out, struct rkt_error *err)
{
    struct rkt_selection selection = {
        .end_step = UINT64_MAX, .until_ns = INT64_MAX, .job_start_ns = INT64_MIN};
    enum rkt_status status = RKT_OK;

    if (texts->ranks)
        status = read_ranks(texts->ranks, &selection, err);
    if (status == RKT_OK && texts->steps)
        status = read_steps(texts->steps, &selection, err);
    if (status == RKT_OK)
        status = read_times(texts, &selection, err);
    if (status == RKT_OK)
        *selection_out = selection;
    return status;
}

/* ---- what it holds ---- */

bool rkt_selection_is_part(const struct rkt_selection *selection)
{
    return selection->rank_span_count > 0 || selection->has_steps || selection->has_time;
}

bool rkt_selection_has_rank(const struct rkt_selection *selection, uint32_t rank)
{
    for (size_t i = 0; i < selection->rank_span_count; i++) {
        if (rank >= selection->ranks[i].first && rank <= selection->ranks[i].last)
            return true;
    }
    return selection->rank_span_count == 0;
}

bool rkt_selection_has_step(const struct rkt_selection *selection, uint64_t number)
{
    return number >= selection->first_step &&
           (number < selection->end_step || selection->end_step == UINT64_MAX);
}

/* ---- in words ---- */

static void add(char *text, const char *words)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, RKT_SELECTION_TEXT_BYTES - used, "%s", words);
}

static void add_ranks(const struct rkt_selection *selection, char *text)
{
    for (size_t i = 0; i < selection->rank_span_count; i++) {
        const struct rkt_rank_span *span = &selection->ranks[i];
        const char *before = i > 0 ? "," : "ranks ";
        char words[64];

        if (span->first == span->last)
            (void)snprintf(words, sizeof(words), "%s%" PRIu32, before, span->first);
        else
            (void)snprintf(words, sizeof(words), "%s%" PRIu32 "-%" PRIu32, before, span->first,
                           span->last);
        add(text, words);
    }
}

static void add_steps(const struct rkt_selection *selection, char *text)
{
    char words[96];

    if (selection->end_step == UINT64_MAX)
        (void)snprintf(words, sizeof(words), "steps from %" PRIu64 " on", selection->first_step);
    else if (selection->end_step - selection->first_step == 1)
        (void)snprintf(words, sizeof(words), "step %" PRIu64, selection->first_step);
    else
        (void)snprintf(words, sizeof(words), "steps %" PRIu64 " to %" PRIu64, selection->first_step,
                       selection->end_step - 1);
    add(text, words);
}

static void add_times(const struct rkt_selection *selection, char *text)
{
    char since[32];
    char until[32] = "the end";
    char words[128];

    rkt_format_duration(selection->since_ns, since, sizeof(since));
    if (selection->until_ns != INT64_MAX)
        rkt_format_duration(selection->until_ns, until, sizeof(until));
    (void)snprintf(words, sizeof(words), "from %s after the run's start to %s", since, until);
    add(text, words);
}

const char *rkt_selection_describe(const struct rkt_selection *selection,
                                   char text[RKT_SELECTION_TEXT_BYTES])
{
    text[0] = '\0';
    add_ranks(selection, text);
    if (selection->has_steps) {
        add(text, text[0] != '\0' ? "; " : "");
        add_steps(selection, text);
    }
    if (selection->has_time) {
        add(text, text[0] != '\0' ? "; " : "");
        add_times(selection, text);
    }
    return text;
}
