/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_marks.h"

#include <string.h>

#include "analysis/time_sort.h"
#include "common/array.h"
#include "common/step_name.h"

#define DEFAULT_STEP_RANGE "ProfilerStep#"
/* Traces in whole microseconds cut start and duration apart: ends are off by up to one. */
#define ROUNDING_NS 1000

enum rkt_status rkt_step_marks_add(struct rkt_step_marks *marks, struct rkt_step_mark mark)
{
    if (!rkt_array_reserve((void **)&marks->items, &marks->cap, marks->count + 1,
                           sizeof(*marks->items)))
        return RKT_ERR_NOMEM;
    marks->items[marks->count++] = mark;
    return RKT_OK;
}

/* `prefix` NULL: marks of the job. */
static enum rkt_status collect(const struct rkt_rank_trace *trace, const char *prefix,
                               struct rkt_step_marks *marks)
{
    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        struct rkt_step_mark mark = {range->start_ns, range->end_ns, range->value, false};

        if ((range->type == RKT_RANGE_STEP) != (prefix == NULL) ||
            range->type == RKT_RANGE_GPU_ANNOTATION)
            continue;
        if (prefix) {
            const char *name = rkt_strtab_get(trace->names, range->name_id, NULL);
            const char *rest;

            if (strncmp(name, prefix, strlen(prefix)) != 0)
                continue;
            rest = name + strlen(prefix);
            mark.number = rkt_step_name_number(rest, strlen(rest), marks->count);
        }
        if (rkt_step_marks_add(marks, mark) != RKT_OK)
            return RKT_ERR_NOMEM;
    }
    return rkt_time_sort(marks->items, marks->count, sizeof(*marks->items), RKT_BY_START_LONGEST);
}

/* Marks that are all instants begin a step each, which the next one ends. */
static void spread_instants(const struct rkt_rank_trace *trace, struct rkt_step_marks *marks)
{
    int64_t last_ns = INT64_MIN;

    for (size_t i = 0; i < marks->count; i++) {
        if (marks->items[i].end_ns > marks->items[i].start_ns)
            return;
    }
    for (size_t i = 0; i < trace->range_count; i++)
        last_ns = trace->ranges[i].end_ns > last_ns ? trace->ranges[i].end_ns : last_ns;
    for (size_t i = 0; i < trace->call_count; i++)
        last_ns = trace->calls[i].end_ns > last_ns ? trace->calls[i].end_ns : last_ns;
    for (size_t i = 0; i < marks->count; i++)
        marks->items[i].end_ns = i + 1 < marks->count ? marks->items[i + 1].start_ns : last_ns;
}

/* The outermost stay; one that runs into the next is cut at its start. */
static void make_disjoint(struct rkt_step_marks *marks)
{
    size_t kept = 0;

    for (size_t i = 0; i < marks->count; i++) {
        struct rkt_step_mark *last = kept > 0 ? &marks->items[kept - 1] : NULL;
        struct rkt_step_mark mark = marks->items[i];

        if (mark.end_ns <= mark.start_ns)
            continue;
        if (last && mark.start_ns < last->end_ns) {
            bool is_rounding = last->end_ns - mark.start_ns <= ROUNDING_NS;

            if (!is_rounding && mark.end_ns <= last->end_ns + ROUNDING_NS)
                continue; /* nested */
            last->is_cut = !is_rounding;
            last->end_ns = mark.start_ns;
        }
        marks->items[kept++] = mark;
    }
    marks->count = kept;
}

/* When the host last began something that belongs to an iteration; INT64_MIN: never. */
static int64_t last_activity_ns(const struct rkt_rank_trace *trace)
{
    int64_t last_ns = INT64_MIN;

    for (size_t i = trace->range_count; i-- > 0 && last_ns == INT64_MIN;) {
        uint8_t type = trace->ranges[i].type;

        if (type == RKT_RANGE_FORWARD || type == RKT_RANGE_BACKWARD || type == RKT_RANGE_OPTIMIZER)
            last_ns = trace->ranges[i].start_ns;
    }
    for (size_t i = trace->call_count; i-- > 0;) {
        const struct rkt_call *call = &trace->calls[i];

        if (call->call_class == RKT_CALL_LAUNCH)
            return call->start_ns > last_ns ? call->start_ns : last_ns;
    }
    return last_ns;
}

/*
 * A program marks where a step begins; the mark after the last iteration begins none. Without
 * this its teardown would count as a step.
 */
static void drop_empty_tail(const struct rkt_rank_trace *trace, struct rkt_step_marks *marks)
{
    int64_t last_ns = last_activity_ns(trace);
    int64_t start_ns;

    if (marks->count < 2 || last_ns == INT64_MIN)
        return;
    start_ns = marks->items[marks->count - 1].start_ns;
    /* Outside a capture window a step that launches looks the same. */
    if (start_ns > last_ns &&
        (!trace->has_windows ||
         rkt_open_span_find(trace->open_spans, trace->open_count, start_ns, start_ns)))
        marks->count--;
}

bool rkt_step_marks_has_range(const struct rkt_rank_trace *trace, const char *prefix)
{
    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (range->type != RKT_RANGE_STEP && range->type != RKT_RANGE_GPU_ANNOTATION &&
            strncmp(rkt_strtab_get(trace->names, range->name_id, NULL), prefix, strlen(prefix)) ==
                0)
            return true;
    }
    return false;
}

enum rkt_status rkt_step_marks_find(const struct rkt_rank_trace *trace, const char *step_range,
                                    struct rkt_step_marks *marks, enum rkt_step_source *source_out)
{
    const char *const prefixes[] = {NULL, step_range, DEFAULT_STEP_RANGE};
    static const enum rkt_step_source sources[] = {RKT_STEPS_MARKS, RKT_STEPS_ANNOTATION,
                                                   RKT_STEPS_ANNOTATION};

    for (size_t i = 0; i < 3; i++) {
        if (i == 1 && (!step_range || *step_range == '\0'))
            continue;
        if (collect(trace, prefixes[i], marks) != RKT_OK)
            return RKT_ERR_NOMEM;
        spread_instants(trace, marks);
        make_disjoint(marks);
        if (sources[i] == RKT_STEPS_MARKS)
            drop_empty_tail(trace, marks);
        *source_out = sources[i];
        if (marks->count > 0)
            return RKT_OK;
    }
    *source_out = RKT_STEPS_COLLECTIVES;
    if (rkt_step_marks_of_repeats(trace, marks) != RKT_OK)
        return RKT_ERR_NOMEM;
    if (marks->count == 0)
        *source_out = RKT_STEPS_WINDOW;
    return RKT_OK;
}
