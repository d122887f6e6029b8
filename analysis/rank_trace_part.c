/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of --steps 5:6, say, of a long run:
 *
 *     marks      0   1   2   3   4   5   6   7   8         read wholly, as all that is rare
 *     calls          |-----------------------|
 *     GPU work               |---------------|             with the batches at both ends of each kind
 *     exact                  |      whole windows  |
 *
 * A window ends with the last work that was launched in its step, and the next one begins there. So
 * what was launched before the first step that is exact may not outlast it: rank_select.c looks
 * whether that holds, and else all is read. The batches at both ends say how long the run is.
 */
#include <stdlib.h>

#include "analysis/rank_trace_parts.h"
#include "analysis/run_start.h"
#include "analysis/selection.h"
#include "analysis/step_marks.h"

/* Steps on each side of the selected ones: the one before, for its work, and one more whose work
 * may run on into that; and those by which the host may be ahead, which a driver bounds by
 * launches. */
#define STEPS_ASIDE 2u
#define LAUNCHES_AHEAD 2048u
/* So far may stamps of two clocks be off each other. */
#define SLACK_NS 1000000

/* ---- for matching ---- */

/* Of ranges only one name is asked for, and names come before what has them. */
static bool is_of_matches(const void *ctx, uint8_t kind)
{
    switch ((enum rkt_event_kind)kind) {
    case RKT_EVENT_KERNEL:
    case RKT_EVENT_MEMCPY:
    case RKT_EVENT_MEMSET:
    case RKT_EVENT_GRAPH:
    case RKT_EVENT_API:
    case RKT_EVENT_NCCL:
    case RKT_EVENT_BUCKET:
    case RKT_EVENT_COMM:
    case RKT_EVENT_CLOCK_PAIR:
        return true;
    case RKT_EVENT_RANGE:
        return rkt_rank_trace_names_all_to_all(ctx);
    default:
        return false;
    }
}

/* ---- for some steps, or some time ---- */

/* Kinds of which there are many, and which are looked at where they are. */
static bool is_bulk(const void *ctx, uint8_t kind)
{
    (void)ctx;
    switch ((enum rkt_event_kind)kind) {
    case RKT_EVENT_KERNEL:
    case RKT_EVENT_MEMCPY:
    case RKT_EVENT_MEMSET:
    case RKT_EVENT_GRAPH:
    case RKT_EVENT_API:
    case RKT_EVENT_SYNC:
    case RKT_EVENT_NCCL:
    case RKT_EVENT_MEMORY:
    case RKT_EVENT_COUNTER:
        return true;
    default:
        return false;
    }
}

static bool is_rare(const void *ctx, uint8_t kind)
{
    return !is_bulk(ctx, kind);
}

/* The batches of a kind that begin first and last, and that end last. */
struct ends {
    const struct rkt_batch_span *begins_first;
    const struct rkt_batch_span *begins_last;
    const struct rkt_batch_span *ends_last;
};

struct plan {
    const struct rkt_rank_trace *trace;
    struct ends ends[RKT_EVENT_KIND_COUNT];
    int64_t from_ns; /* rank time */
    int64_t calls_from_ns;
    int64_t to_ns;
    int64_t last_mark_ns; /* whether anything is launched after it says whether it begins a step */
};

/* A stamp that is none is somewhere in it. */
static bool is_timeless(const struct rkt_batch_span *span)
{
    return span->first_ns == 0 || span->last_ns == UINT64_MAX;
}

static void find_ends(struct plan *plan, const struct rkt_batch_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rkt_batch_span *span = &spans[i];
        struct ends *ends;

        if (!is_bulk(NULL, span->kind) || is_timeless(span))
            continue;
        ends = &plan->ends[span->kind];
        if (!ends->begins_first || span->first_ns < ends->begins_first->first_ns)
            ends->begins_first = span;
        if (!ends->begins_last || span->first_ns > ends->begins_last->first_ns)
            ends->begins_last = span;
        if (!ends->ends_last || span->last_ns > ends->ends_last->last_ns)
            ends->ends_last = span;
    }
}

/* False: no clock maps it. */
static bool to_rank(const struct plan *plan, const struct rkt_batch_span *span, uint64_t local_ns,
                    int64_t *rank_ns_out)
{
    return rkt_clock_map_to_rank(plan->trace->clock, (enum rkt_clock_id)span->clock_id,
                                 (struct rkt_local_time){local_ns}, rank_ns_out, NULL);
}

static bool is_needed(const void *ctx, const struct rkt_batch_span *span)
{
    const struct plan *plan = ctx;
    const struct ends *ends = &plan->ends[span->kind];
    bool is_of_device =
        span->kind != RKT_EVENT_API && span->kind != RKT_EVENT_NCCL && span->kind != RKT_EVENT_SYNC;
    int64_t first_ns;
    int64_t last_ns;

    if (is_timeless(span) || !to_rank(plan, span, span->first_ns, &first_ns) ||
        !to_rank(plan, span, span->last_ns, &last_ns))
        return true;
    if (span == ends->begins_first || span == ends->begins_last || span == ends->ends_last ||
        (span->kind == RKT_EVENT_API && last_ns >= plan->last_mark_ns))
        return true;
    return last_ns >= (is_of_device ? plan->from_ns : plan->calls_from_ns) &&
           first_ns <= plan->to_ns;
}

/* The earliest stamp, as far as it is known: times are counted from it. */
static int64_t find_first(const struct plan *plan)
{
    int64_t first_ns =
        plan->trace->range_count > 0 ? plan->trace->ranges->start_ns : RKT_TIME_UNKNOWN;

    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        const struct rkt_batch_span *span = plan->ends[kind].begins_first;
        int64_t start_ns;

        if (span && to_rank(plan, span, span->first_ns, &start_ns) &&
            (first_ns == RKT_TIME_UNKNOWN || start_ns < first_ns))
            first_ns = start_ns;
    }
    return first_ns;
}

/* May the step be selected? Its window is later than its mark, by how much is not known. */
static bool may_be_selected(const struct rkt_selection *selection,
                            const struct rkt_rank_trace *trace, const struct rkt_step_mark *mark)
{
    int64_t start_ns = selection->job_start_ns;

    return rkt_selection_has_step(selection, mark->number) &&
           (!selection->has_time ||
            (mark->end_ns >= rkt_time_since_start(trace, start_ns, selection->since_ns) &&
             mark->start_ns <= rkt_time_since_start(trace, start_ns, selection->until_ns)));
}

static size_t steps_aside(const struct rkt_rank_trace *trace, size_t step_count)
{
    uint64_t kernel_count = trace->source.event_counts[RKT_EVENT_KERNEL];

    if (kernel_count < step_count) /* hardly any: who knows */
        return STEPS_ASIDE + LAUNCHES_AHEAD;
    return STEPS_ASIDE + (size_t)(LAUNCHES_AHEAD * (uint64_t)step_count / kernel_count);
}

/* False: everything is needed. */
static bool set_times(struct plan *plan, const struct rkt_selection *selection,
                      const struct rkt_step_marks *marks, struct rkt_read_part *read)
{
    size_t aside = steps_aside(plan->trace, marks->count);
    size_t first = marks->count;
    size_t last = 0;

    for (size_t i = 0; i < marks->count; i++) {
        if (!may_be_selected(selection, plan->trace, &marks->items[i]))
            continue;
        first = first < i ? first : i;
        last = i;
    }
    if (first == marks->count)
        return false;
    *read = (struct rkt_read_part){.is_part = true, .end_ns = INT64_MAX};
    plan->from_ns = plan->calls_from_ns = INT64_MIN;
    if (first > aside) {
        read->first_step = first - aside;
        plan->from_ns = marks->items[read->first_step].start_ns - SLACK_NS;
    }
    if (first > 2 * aside)
        plan->calls_from_ns = marks->items[first - 2 * aside].start_ns - SLACK_NS;
    if (marks->count - last > aside)
        read->end_ns = marks->items[last + aside].end_ns;
    plan->to_ns = read->end_ns == INT64_MAX ? INT64_MAX : read->end_ns + SLACK_NS;
    plan->last_mark_ns = marks->items[marks->count - 1].start_ns;
    return read->first_step > 0 || read->end_ns != INT64_MAX;
}

/* By the marks of the job, or torch's, and the thread that sets them. */
static enum rkt_status make_plan(struct plan *plan, const struct rkt_work_rules *rules,
                                 struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct rkt_step_marks marks = {0};
    enum rkt_step_source source;
    enum rkt_status status = rkt_step_marks_find(trace, NULL, &marks, &source);
    bool is_part = false;

    if (status != RKT_OK)
        status = rkt_fail(err, status, "no memory for the steps of a rank");
    else if ((source == RKT_STEPS_MARKS ||
              (source == RKT_STEPS_ANNOTATION && !rules->step_range)) &&
             rkt_rank_trace_thread_of_marks(trace) != 0) {
        trace->first_ns = find_first(plan);
        is_part = set_times(plan, rules->selection, &marks, &trace->read);
    }
    free(marks.items);
    if (!is_part)
        trace->read = (struct rkt_read_part){.is_part = false};
    return status;
}

/* What only the plan was for is made again of all. */
static void forget_ranges(struct rkt_rank_trace *trace)
{
    free(trace->ranges);
    trace->ranges = NULL;
    trace->range_count = 0;
    trace->left_out_count = trace->unmapped_count = 0;
    trace->clock_error_ns = 0;
}

/* The rare kinds are in raw. */
static enum rkt_status add_bulk(struct rkt_store_reader *reader, const struct rkt_work_rules *rules,
                                struct rkt_raw_trace *raw, struct rkt_rank_trace *trace,
                                struct rkt_error *err)
{
    struct plan plan = {.trace = trace};
    struct rkt_raw_filter filter = {.batch_count = SIZE_MAX, .has_kind = is_bulk, .ctx = &plan};
    const struct rkt_batch_span *spans;
    size_t count;
    enum rkt_status status =
        rkt_store_reader_spans(reader, trace->source.info.source, &spans, &count, err);

    if (status == RKT_OK)
        find_ends(&plan, spans, count);
    if (status == RKT_OK)
        status = rkt_rank_trace_find_middle(trace, raw, err);
    if (status == RKT_OK)
        status = rkt_rank_trace_build_ranges(trace, raw, err);
    if (status == RKT_OK)
        status = make_plan(&plan, rules, trace, err);
    forget_ranges(trace);
    if (status != RKT_OK)
        return status;
    if (trace->read.is_part)
        filter.has_span = is_needed;
    return rkt_raw_trace_add(reader, &filter, raw, trace, err);
}

static bool is_of_steps(const struct rkt_selection *selection)
{
    return selection && (selection->has_steps || selection->has_time);
}

enum rkt_status rkt_raw_trace_load_part(struct rkt_store_reader *reader, size_t position,
                                        const struct rkt_work_rules *rules,
                                        struct rkt_raw_trace *raw, struct rkt_rank_trace *trace,
                                        struct rkt_error *err)
{
    const struct rkt_raw_filter matches = {
        .batch_count = SIZE_MAX, .has_kind = is_of_matches, .ctx = trace};
    static const struct rkt_raw_filter RARE = {.batch_count = SIZE_MAX, .has_kind = is_rare};
    const struct rkt_batch_span *spans;
    enum rkt_status status;
    size_t count = 0;

    if (rules && rules->only_matches)
        return rkt_raw_trace_load(reader, position, &matches, raw, trace, err);
    if (!rules || !is_of_steps(rules->selection) ||
        position >= rkt_store_reader_source_count(reader))
        return rkt_raw_trace_load(reader, position, NULL, raw, trace, err);
    status = rkt_store_reader_spans(reader, rkt_store_reader_source(reader, position)->info.source,
                                    &spans, &count, err);
    if (status == RKT_OK)
        status = rkt_raw_trace_load(reader, position, count > 0 ? &RARE : NULL, raw, trace, err);
    return status == RKT_OK && count > 0 ? add_bulk(reader, rules, raw, trace, err) : status;
}
