/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/host_view.h"
#include "analysis/load.h"
#include "analysis/stages.h"
#include "analysis/trace_keeper.h"

/* Steps, collectives and their participants: some 200 bytes for each kernel of a collective. */
#define ARENA_BYTES_MAX ((size_t)16 << 30)

struct rkt_analysis {
    struct rkt_arena arena;
    struct rkt_loaded_ranks loaded;
    struct rkt_result result;
};

/* The parts of a host view are other ones than those of ranks with GPU work. */
static void set_host_only_ranks_apart(struct rkt_result *result)
{
    bool has_gpu = false;

    for (size_t r = 0; r < result->rank_count; r++)
        has_gpu |= result->ranks[r].trace->has_gpu;
    for (size_t r = 0; r < result->rank_count; r++)
        result->ranks[r].is_set_apart = has_gpu && !result->ranks[r].trace->has_gpu;
}

static enum rkt_status measure_window(struct rkt_analysis *analysis, size_t position,
                                      struct rkt_window *window, struct rkt_error *err)
{
    if (analysis->result.ranks[position].trace->has_gpu)
        return rkt_partition_window(&analysis->result, position, window, err);
    return rkt_host_view_window(&analysis->result, position, window, err);
}

/* Add to *sum what of [start_ns, end_ns) capture was open. */
static enum rkt_status measure_open(struct rkt_analysis *analysis, size_t position,
                                    int64_t start_ns, int64_t end_ns, struct rkt_window *sum,
                                    struct rkt_error *err)
{
    static const struct rkt_open_span ALL = {INT64_MIN, INT64_MAX, INT64_MIN};
    const struct rkt_rank_trace *trace = analysis->result.ranks[position].trace;
    const struct rkt_open_span *spans = trace->has_windows ? trace->open_spans : &ALL;
    size_t count = trace->has_windows ? trace->open_count : 1;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        struct rkt_window piece = {
            .start_ns = spans[i].start_ns > start_ns ? spans[i].start_ns : start_ns,
            .end_ns = spans[i].end_ns < end_ns ? spans[i].end_ns : end_ns,
        };

        if (piece.end_ns < piece.start_ns)
            continue;
        status = measure_window(analysis, position, &piece, err);
        if (status == RKT_OK && trace->has_gpu)
            rkt_window_add(sum, &piece);
        else if (status == RKT_OK)
            rkt_host_view_add(sum, &piece);
    }
    return status;
}

static enum rkt_status measure_run(struct rkt_analysis *analysis, size_t position,
                                   struct rkt_error *err)
{
    struct rkt_rank_result *rank = &analysis->result.ranks[position];
    struct rkt_window sum = {.start_ns = rank->run.start_ns, .end_ns = rank->run.start_ns};
    enum rkt_status status;

    if (!rank->trace->has_windows)
        return measure_window(analysis, position, &rank->run, err);
    status = measure_window(analysis, position, &sum, err); /* empty: nothing was recorded */
    if (status == RKT_OK)
        status = measure_open(analysis, position, rank->run.start_ns, rank->run.end_ns, &sum, err);
    sum.end_ns = rank->run.end_ns;
    if (status == RKT_OK)
        rank->run = sum;
    return status;
}

/* The run before the first step and after the last, as one window. */
static enum rkt_status measure_outside(struct rkt_analysis *analysis, size_t position,
                                       struct rkt_error *err)
{
    struct rkt_rank_result *rank = &analysis->result.ranks[position];
    const struct rkt_step_result *last = &rank->steps[rank->step_count - 1];
    enum rkt_status status = measure_open(analysis, position, rank->run.start_ns,
                                          rank->steps[0].window.start_ns, &rank->outside, err);

    if (status != RKT_OK)
        return status;
    return measure_open(analysis, position, last->window.end_ns, rank->run.end_ns, &rank->outside,
                        err);
}

/* Its window is known, but not what was in all of it. */
static void leave_unmeasured(struct rkt_step_result *step)
{
    struct rkt_window *window = &step->window;

    window->comm_share = (double)NAN;
    window->exposed_share = (double)NAN;
    window->overlap = (double)NAN;
    window->gpu_util = (double)NAN;
    window->compute_share = (double)NAN;
    step->backward.ratio = (double)NAN;
}

static enum rkt_status measure_rank(struct rkt_analysis *analysis, size_t position,
                                    struct rkt_error *err)
{
    struct rkt_rank_result *rank = &analysis->result.ranks[position];
    enum rkt_status status = measure_run(analysis, position, err);

    if (status == RKT_OK && rank->activity)
        status = measure_outside(analysis, position, err);
    for (size_t i = 0; i < rank->step_count && status == RKT_OK; i++) {
        if (rank->steps[i].is_unrecorded) {
            leave_unmeasured(&rank->steps[i]);
            continue;
        }
        status = measure_window(analysis, position, &rank->steps[i].window, err);
        if (status == RKT_OK)
            status = rkt_backward_overlap_of(&analysis->result, position, &rank->steps[i], err);
    }
    return status;
}

/*
 * What a rank did when, from its whole trace. Made for one rank at a time: it takes about as
 * much memory as the trace.
 */
static enum rkt_status measure_whole(struct rkt_analysis *analysis, size_t position,
                                     const struct rkt_rank_trace *whole, struct rkt_error *err)
{
    struct rkt_rank_result *rank = &analysis->result.ranks[position];
    struct rkt_rank_trace *kept = rank->trace;
    struct rkt_host_view *host_view = NULL;
    struct rkt_activity *activity = NULL;
    enum rkt_status status;

    rank->trace = (struct rkt_rank_trace *)whole;
    if (whole->has_gpu)
        status = rkt_activity_create(&analysis->result, position, &activity, err);
    else
        status = rkt_host_view_create(whole, &host_view, err);
    rank->activity = activity;
    rank->host_view = host_view;
    if (status == RKT_OK)
        status = measure_rank(analysis, position, err);
    rank->activity = NULL;
    rank->host_view = NULL;
    rank->trace = kept;
    rkt_activity_destroy(activity);
    rkt_host_view_destroy(host_view);
    return status;
}

static enum rkt_status measure_ranks(struct rkt_analysis *analysis, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < analysis->result.rank_count && status == RKT_OK; i++) {
        const struct rkt_rank_trace *whole;

        status = rkt_trace_open(&analysis->result, i, &whole, err);
        if (status == RKT_OK)
            status = measure_whole(analysis, i, whole, err);
    }
    return status;
}

static enum rkt_status run_stages(struct rkt_analysis *analysis, struct rkt_store_reader *reader,
                                  const struct rkt_analysis_options *options, struct rkt_error *err)
{
    struct rkt_result *result = &analysis->result;
    enum rkt_status status = rkt_trace_keeper_create(reader, options, &result->keeper, err);

    if (status == RKT_OK)
        status = rkt_load_ranks(reader, options, &analysis->loaded, result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_match_collectives(result, &analysis->arena, err);
    if (status != RKT_OK)
        return status;
    rkt_measure_collectives(result);
    set_host_only_ranks_apart(result);
    status = rkt_compare_windows(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = measure_ranks(analysis, err);
    if (status == RKT_OK)
        status = rkt_find_straggler(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_gpu_use(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_name_waiting_lines(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_last_arriver(result, err);
    if (status == RKT_OK)
        status = rkt_summarise(result, &analysis->arena, err);
    return status;
}

enum rkt_status rkt_analysis_create(struct rkt_store_reader *reader,
                                    const struct rkt_analysis_options *options,
                                    struct rkt_analysis **analysis_out, struct rkt_error *err)
{
    struct rkt_analysis *analysis = calloc(1, sizeof(*analysis));
    enum rkt_status status;

    if (!analysis)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an analysis");
    rkt_arena_init(&analysis->arena, ARENA_BYTES_MAX);
    status = run_stages(analysis, reader, options, err);
    if (status != RKT_OK) {
        rkt_analysis_destroy(analysis);
        return status;
    }
    *analysis_out = analysis;
    return RKT_OK;
}

void rkt_analysis_destroy(struct rkt_analysis *analysis)
{
    if (!analysis)
        return;
    rkt_loaded_ranks_release(&analysis->loaded);
    rkt_trace_keeper_destroy(analysis->result.keeper);
    rkt_arena_release(&analysis->arena);
    free(analysis);
}

const struct rkt_result *rkt_analysis_result(const struct rkt_analysis *analysis)
{
    return &analysis->result;
}
