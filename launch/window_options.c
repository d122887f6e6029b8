/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/window_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/region.h"
#include "common/units.h"

#define NUMBER_BYTES 24u
#define WORD_BYTES 24u

/* The number in text[0..len). */
static bool read_number(const char *text, size_t len, uint64_t max, uint64_t *value_out)
{
    char digits[NUMBER_BYTES];

    if (len == 0 || len >= sizeof(digits))
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    return rkt_parse_u64(digits, value_out) && *value_out <= max;
}

/* ---- --steps ---- */

static enum rkt_status read_steps(const char *text, struct rkt_schedule *schedule_out,
                                  struct rkt_error *err)
{
    size_t from_len = strcspn(text, ":");
    const char *to_text = text + from_len + 1;
    uint64_t from = 0, to = UINT64_MAX, count;

    if (text[from_len] != ':' || (from_len == 0 && !*to_text) ||
        (from_len > 0 && !read_number(text, from_len, RKT_WINDOW_STEP_MAX, &from)) ||
        (*to_text && !read_number(to_text, strlen(to_text), RKT_WINDOW_STEP_MAX, &to)))
        return rkt_fail_value(err, "steps", text,
                              "'%s' is not FROM:TO, as 10:20 for the steps 10 to 19", text);
    if (to <= from)
        return rkt_fail_value(err, "steps", text,
                              "'%s' holds no step: TO is the first that is not "
                              "recorded, and must be above FROM",
                              text);
    count = to - from;
    *schedule_out = (struct rkt_schedule){
        .skip = from - (from > 0),
        .warmup = from > 0,
        .active = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX,
        .cycles = 1,
        .by_step_number = 1,
    };
    return RKT_OK;
}

/* ---- --schedule ---- */

enum schedule_word {
    WORD_WAIT,
    WORD_WARMUP,
    WORD_ACTIVE,
    WORD_REPEAT,
    WORD_SKIP_FIRST,
    WORD_COUNT
};

static const char *const WORDS[WORD_COUNT] = {"wait", "warmup", "active", "repeat", "skip_first"};

static enum rkt_status refuse_word(const char *text, const char *word, struct rkt_error *err)
{
    const char *near = rkt_nearest_name(word, WORDS, WORD_COUNT);

    if (near)
        return rkt_fail_value(err, "schedule", text, "unknown word '%s': did you mean '%s'?", word,
                              near);
    return rkt_fail_value(err, "schedule", text,
                          "unknown word '%s': there are wait, warmup, active, repeat "
                          "and skip_first",
                          word);
}

/* One "word=number" of `len` bytes. */
static enum rkt_status read_word(const char *text, size_t len, uint64_t values[WORD_COUNT],
                                 bool is_given[WORD_COUNT], struct rkt_error *err)
{
    size_t word_len = strcspn(text, "=,");
    char word[WORD_BYTES];
    size_t i = 0;

    (void)snprintf(word, sizeof(word), "%.*s", (int)word_len, text);
    while (i < WORD_COUNT && strcmp(WORDS[i], word) != 0)
        i++;
    if (i == WORD_COUNT)
        return refuse_word(text, word, err);
    if (word_len >= len ||
        !read_number(text + word_len + 1, len - word_len - 1,
                     i == WORD_SKIP_FIRST ? RKT_WINDOW_STEP_MAX : UINT32_MAX, &values[i]))
        return rkt_fail_value(err, "schedule", text, "'%.*s' is not %s=N with a whole number N",
                              (int)len, text, word);
    if (is_given[i])
        return rkt_fail_value(err, "schedule", text, "'%s' is given twice", word);
    is_given[i] = true;
    return RKT_OK;
}

static enum rkt_status read_schedule(const char *text, struct rkt_schedule *schedule_out,
                                     struct rkt_error *err)
{
    uint64_t values[WORD_COUNT] = {0};
    bool is_given[WORD_COUNT] = {false};

    for (const char *at = text; *at;) {
        size_t len = strcspn(at, ",");
        enum rkt_status status = read_word(at, len, values, is_given, err);

        if (status != RKT_OK)
            return status;
        at += len + (at[len] == ',');
    }
    if (values[WORD_ACTIVE] == 0)
        return rkt_fail_value(err, "schedule", text,
                              "'%s' records no step: say active=N, N above 0", text);
    *schedule_out = (struct rkt_schedule){
        .skip = values[WORD_SKIP_FIRST],
        .wait = (uint32_t)values[WORD_WAIT],
        .warmup = (uint32_t)values[WORD_WARMUP],
        .active = (uint32_t)values[WORD_ACTIVE],
        .cycles = (uint32_t)values[WORD_REPEAT],
    };
    return RKT_OK;
}

/* ---- by time ---- */

static enum rkt_status read_time(const char *option, const char *text, uint64_t *time_ns_out,
                                 struct rkt_error *err)
{
    if (!rkt_parse_duration_ns(text, time_ns_out) || *time_ns_out == 0)
        return rkt_fail_value(err, option, text,
                              "'%s' is not a time above 0 with a unit, as 90s or 10min", text);
    return RKT_OK;
}

static bool is_set(const char *text)
{
    return text && *text;
}

/* The option that says by steps when to record, and its value. */
static const char *rule_name(const struct rkt_window_options *when)
{
    return is_set(when->steps) ? "steps" : "schedule";
}

static const char *rule_text(const struct rkt_window_options *when)
{
    return is_set(when->steps) ? when->steps : when->schedule;
}

/* Two ways to say when to record may contradict each other. */
static enum rkt_status check_together(const struct rkt_window_options *when, struct rkt_error *err)
{
    bool is_by_time = is_set(when->delay) || is_set(when->duration);
    bool is_by_steps = is_set(when->steps) || is_set(when->schedule);
    const char *second = NULL;

    if (is_set(when->steps) && is_set(when->schedule))
        second = "schedule";
    else if (is_by_steps && is_by_time)
        second = is_set(when->delay) ? "delay" : "duration";
    else if (is_by_steps && when->starts_closed)
        second = "start-closed";
    if (second)
        return rkt_fail_value(err, rule_name(when), rule_text(when),
                              "'--%s' is set too, and only one of them can say when to record",
                              second);
    if (when->starts_closed && is_set(when->duration) && !is_set(when->delay))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "option '--duration' counts from the start, where '--start-closed' records "
                        "nothing: say '--delay' too, or leave one out");
    return RKT_OK;
}

static enum rkt_status check_marks(const struct rkt_window_options *when,
                                   const struct rkt_schedule *schedule,
                                   const struct rkt_capture_config *capture, struct rkt_error *err)
{
    bool has_step_ranges = capture->step_range[0] && capture->mask & RKT_CAPTURE_NVTX;

    if (schedule->active == 0 || capture->mask & RKT_CAPTURE_MARKS || has_step_ranges)
        return RKT_OK;
    return rkt_fail_value(err, rule_name(when), rule_text(when),
                          "it needs marks in '--capture': they say where steps begin");
}

enum rkt_status rkt_window_options_read(const struct rkt_window_options *when,
                                        const struct rkt_capture_config *capture,
                                        struct rkt_window_plan *plan_out, struct rkt_error *err)
{
    struct rkt_window_plan plan = {.is_closed = when->starts_closed || is_set(when->delay)};
    enum rkt_status status = check_together(when, err);

    if (status == RKT_OK && is_set(when->steps))
        status = read_steps(when->steps, &plan.schedule, err);
    if (status == RKT_OK && is_set(when->schedule))
        status = read_schedule(when->schedule, &plan.schedule, err);
    if (status == RKT_OK)
        status = check_marks(when, &plan.schedule, capture, err);
    if (status == RKT_OK && is_set(when->delay))
        status = read_time("delay", when->delay, &plan.delay_ns, err);
    if (status == RKT_OK && is_set(when->duration))
        status = read_time("duration", when->duration, &plan.duration_ns, err);
    if (status == RKT_OK)
        *plan_out = plan;
    return status;
}

/* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
static bool export_text(const char *name, const char *text)
{
    return (text ? setenv(name, text, 1) : unsetenv(name)) == 0;
}

bool rkt_window_options_export(const struct rkt_window_options *when)
{
    return export_text("RANKTRACE_STEPS", when->steps) &&
           export_text("RANKTRACE_SCHEDULE", when->schedule) &&
           export_text("RANKTRACE_DELAY", when->delay) &&
           export_text("RANKTRACE_DURATION", when->duration) &&
           export_text("RANKTRACE_START_CLOSED", when->starts_closed ? "1" : NULL);
}
/* NOLINTEND(concurrency-mt-unsafe) */
