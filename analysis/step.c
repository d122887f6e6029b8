/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   host    |--- mark 1 ---|--- mark 2 ---|            launches
 *   device     ....[== work of 1 ==][= work of 2 =]    runs behind
 *   windows |  out | G1            | G2           |out |   E = latest end of what was launched
 */
#include <stdlib.h>

#include "analysis/stages.h"
#include "analysis/step_marks.h"
#include "analysis/time_find.h"

struct host_span {
    int64_t start_ns;
    int64_t end_ns;
};

static void extend(struct host_span *span, int64_t start_ns, int64_t end_ns)
{
    span->start_ns = start_ns < span->start_ns ? start_ns : span->start_ns;
    span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
}

/* Everything that the host recorded; empty (reversed) when that is nothing. */
static struct host_span span_of_host(const struct rkt_rank_trace *trace)
{
    struct host_span span = {INT64_MAX, INT64_MIN};

    for (size_t i = 0; i < trace->range_count; i++)
        extend(&span, trace->ranges[i].start_ns, trace->ranges[i].end_ns);
    for (size_t i = 0; i < trace->bucket_count; i++)
        extend(&span, trace->buckets[i].start_ns, trace->buckets[i].end_ns);
    for (size_t i = 0; i < trace->call_count; i++)
        extend(&span, trace->calls[i].start_ns, trace->calls[i].end_ns);
    return span;
}

static struct host_span span_of_works(const struct rkt_rank_trace *trace)
{
    struct host_span span = {INT64_MAX, INT64_MIN};

    for (size_t i = 0; i < trace->work_count; i++)
        extend(&span, trace->works[i].start_ns, trace->works[i].end_ns);
    return span;
}

/* The last step whose host interval begins at or before time_ns; RKT_INDEX_NONE before all. *next,
 * the step behind it, is where the next search begins: times mostly come in order. */
static uint32_t step_at_host(const struct rkt_rank_result *result, int64_t time_ns, size_t *next)
{
    *next = rkt_time_find_past_near(&result->steps->host_start_ns, result->step_count,
                                    sizeof(*result->steps), time_ns, *next);
    return *next > 0 ? (uint32_t)(*next - 1) : RKT_INDEX_NONE;
}

static bool is_after_last(const struct rkt_rank_result *result, int64_t time_ns)
{
    return time_ns >= result->steps[result->step_count - 1].host_end_ns;
}

/*
 * Work launched between two marks belongs to the earlier: only what comes before the first or
 * after the last is outside.
 */
static uint32_t step_of_launch(const struct rkt_rank_result *result, int64_t launch_ns,
                               size_t *next)
{
    return is_after_last(result, launch_ns) ? RKT_INDEX_NONE
                                            : step_at_host(result, launch_ns, next);
}

static uint32_t step_at_device(const struct rkt_rank_result *result, int64_t time_ns)
{
    size_t i = rkt_time_find_past(&result->steps->window.end_ns, result->step_count,
                                  sizeof(*result->steps), time_ns);

    if (i == result->step_count || time_ns < result->steps[i].window.start_ns)
        return RKT_INDEX_NONE;
    return (uint32_t)i;
}

/* Launches are recorded for at least half of the kernels; else starts have to stand for them. */
static bool has_launches(const struct rkt_rank_trace *trace)
{
    size_t kernel_count = 0;
    size_t launched_count = 0;

    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].work_class == RKT_WORK_COPY)
            continue;
        kernel_count++;
        launched_count += trace->works[i].launch_start_ns != RKT_TIME_UNKNOWN;
        if (launched_count > trace->work_count / 2)
            return true;
    }
    return launched_count > 0 && launched_count >= kernel_count - launched_count;
}

/* First pass: steps by launch, and the latest end of compute and comm launched in each. Returns
 * whether all works have a launch record. */
static bool assign_launched(struct rkt_rank_trace *trace, struct rkt_rank_result *result,
                            int64_t *before_end_ns)
{
    bool use_starts = !has_launches(trace);
    bool are_all_launched = true;
    size_t next = 0;

    for (size_t i = 0; i < trace->work_count; i++) {
        struct rkt_work *work = &trace->works[i];
        bool is_launched = work->launch_start_ns != RKT_TIME_UNKNOWN;
        int64_t at_ns = is_launched ? work->launch_start_ns : work->start_ns;
        int64_t *end_ns = before_end_ns;

        work->step = RKT_INDEX_NONE;
        are_all_launched &= is_launched;
        if (!is_launched && !use_starts)
            continue;
        work->step = step_of_launch(result, at_ns, &next);
        if (work->step != RKT_INDEX_NONE)
            end_ns = &result->steps[work->step].window.end_ns;
        else if (is_after_last(result, at_ns))
            continue;
        if (work->work_class != RKT_WORK_COPY && work->end_ns > *end_ns)
            *end_ns = work->end_ns;
    }
    return are_all_launched;
}

/* Second pass: windows that tile. The first begins with its mark or, where the device was then
 * still busy with what came before, after that. */
static void set_windows(struct rkt_rank_result *result, int64_t before_end_ns)
{
    int64_t end_ns = result->run.start_ns;

    if (result->steps[0].host_start_ns > end_ns)
        end_ns = result->steps[0].host_start_ns;
    if (before_end_ns > end_ns)
        end_ns = before_end_ns;
    if (end_ns > result->run.end_ns)
        end_ns = result->run.end_ns;
    for (size_t i = 0; i < result->step_count; i++) {
        struct rkt_window *window = &result->steps[i].window;

        window->start_ns = end_ns;
        if (window->end_ns < end_ns) /* nothing launched in it outlasts the step before */
            window->end_ns = end_ns;
        end_ns = window->end_ns;
    }
}

/* Third pass: work without a launch record belongs to the window that it starts in. */
static void assign_others(struct rkt_rank_trace *trace, const struct rkt_rank_result *result)
{
    for (size_t i = 0; i < trace->work_count; i++) {
        struct rkt_work *work = &trace->works[i];

        if (work->launch_start_ns == RKT_TIME_UNKNOWN && work->step == RKT_INDEX_NONE)
            work->step = step_at_device(result, work->start_ns);
    }
}

static void set_gpu_windows(struct rkt_rank_trace *trace, struct rkt_rank_result *result)
{
    struct host_span run = span_of_works(trace);
    int64_t before_end_ns = INT64_MIN;
    bool are_all_launched;

    result->run.start_ns = run.start_ns;
    result->run.end_ns = run.end_ns;
    for (size_t i = 0; i < result->step_count; i++)
        result->steps[i].window.end_ns = INT64_MIN;
    are_all_launched = assign_launched(trace, result, &before_end_ns);
    set_windows(result, before_end_ns);
    if (!are_all_launched)
        assign_others(trace, result);
}

/* Host view: from mark to mark. */
static void set_host_windows(struct rkt_rank_result *result)
{
    size_t last = result->step_count - 1;

    for (size_t i = 0; i <= last; i++) {
        struct rkt_step_result *step = &result->steps[i];

        step->window.is_host_view = true;
        step->window.start_ns = step->host_start_ns;
        step->window.end_ns = i < last ? result->steps[i + 1].host_start_ns : step->host_end_ns;
    }
    result->run.start_ns = result->steps[0].window.start_ns;
    result->run.end_ns = result->steps[last].window.end_ns;
}

/* No steps were found: the run is one. */
static void set_one_step(struct rkt_rank_trace *trace, struct rkt_rank_result *result)
{
    struct host_span host = span_of_host(trace);
    struct host_span run = trace->has_gpu ? span_of_works(trace) : host;

    if (run.end_ns < run.start_ns) /* an empty rank */
        run = (struct host_span){0, 0};
    result->run.start_ns = run.start_ns;
    result->run.end_ns = run.end_ns;
    extend(&host, run.start_ns, run.end_ns);
    result->steps[0].host_start_ns = host.start_ns;
    result->steps[0].host_end_ns = host.end_ns;
    result->steps[0].window.start_ns = run.start_ns;
    result->steps[0].window.end_ns = run.end_ns;
    result->steps[0].window.is_host_view = !trace->has_gpu;
    for (size_t i = 0; i < trace->work_count; i++)
        trace->works[i].step = 0;
}

static void copy_marks(struct rkt_rank_result *result, const struct rkt_step_marks *marks)
{
    for (size_t i = 0; i < marks->count; i++) {
        result->steps[i].number = marks->items[i].number;
        result->steps[i].host_start_ns = marks->items[i].start_ns;
        result->steps[i].host_end_ns = marks->items[i].end_ns;
        result->steps[i].is_cut = marks->items[i].is_cut;
    }
}

/*
 * Of a step that is not wholly in a capture window some work is missing. So it is where nothing was
 * traced before: the device may have been busy with what the host had launched.
 */
static void mark_unrecorded(const struct rkt_rank_trace *trace, struct rkt_rank_result *result)
{
    for (size_t i = 0; i < result->step_count; i++) {
        struct rkt_step_result *step = &result->steps[i];
        const struct rkt_open_span *span = rkt_open_span_find(
            trace->open_spans, trace->open_count, step->host_start_ns, step->host_end_ns);

        step->is_unrecorded =
            span == NULL || (trace->has_gpu && span->traced_from_ns != INT64_MIN &&
                             span->traced_from_ns >= step->host_start_ns);
    }
}

enum rkt_status rkt_find_steps(struct rkt_rank_trace *trace,
                               const struct rkt_analysis_options *options, struct rkt_arena *arena,
                               struct rkt_rank_result *result, struct rkt_error *err)
{
    struct rkt_step_marks marks = {0};
    enum rkt_status status = rkt_step_marks_find(trace, options ? options->step_range : NULL,
                                                 &marks, &result->step_source);

    if (status == RKT_OK) {
        result->step_count = marks.count > 0 ? marks.count : 1;
        result->steps = RKT_ARENA_ARRAY(arena, struct rkt_step_result, result->step_count);
    }
    if (status != RKT_OK || !result->steps) {
        free(marks.items);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the steps of rank %u", result->rank);
    }
    if (options && options->step_range && *options->step_range != '\0')
        result->lacks_step_range = !rkt_step_marks_has_range(trace, options->step_range);
    copy_marks(result, &marks);
    free(marks.items);
    if (result->step_source == RKT_STEPS_WINDOW)
        set_one_step(trace, result);
    else if (trace->has_gpu)
        set_gpu_windows(trace, result);
    else
        set_host_windows(result);
    if (trace->has_windows && result->step_source != RKT_STEPS_WINDOW)
        mark_unrecorded(trace, result);
    for (size_t i = 0; i < result->step_count; i++)
        result->steps[i].job_start_ns =
            rkt_rank_trace_job_ns(trace, result->steps[i].window.start_ns);
    result->run.is_host_view = !trace->has_gpu;
    result->outside = (struct rkt_window){.start_ns = result->run.start_ns,
                                          .end_ns = result->run.end_ns,
                                          .is_host_view = !trace->has_gpu};
    return RKT_OK;
}
