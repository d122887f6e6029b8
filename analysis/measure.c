/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/measure.h"

#include <math.h>
#include <string.h>

#include "analysis/activity.h"
#include "analysis/exposed.h"
#include "analysis/host_view.h"
#include "analysis/place.h"
#include "analysis/rank_tables.h"
#include "analysis/stages.h"

/* ---- stretches ---- */

/* What of [start_ns, end_ns) capture was open. */
static enum rkt_status each_open(const struct rkt_rank_trace *trace, int64_t start_ns,
                                 int64_t end_ns, rkt_stretch_fn fn, void *ctx)
{
    static const struct rkt_open_span ALL = {INT64_MIN, INT64_MAX, INT64_MIN};
    const struct rkt_open_span *spans = trace->has_windows ? trace->open_spans : &ALL;
    size_t count = trace->has_windows ? trace->open_count : 1;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        int64_t from_ns = spans[i].start_ns > start_ns ? spans[i].start_ns : start_ns;
        int64_t to_ns = spans[i].end_ns < end_ns ? spans[i].end_ns : end_ns;

        if (from_ns <= to_ns)
            status = fn(ctx, from_ns, to_ns);
    }
    return status;
}

enum rkt_status rkt_each_run_stretch(const struct rkt_rank_result *rank, rkt_stretch_fn fn,
                                     void *ctx)
{
    return each_open(rank->trace, rank->run.start_ns, rank->run.end_ns, fn, ctx);
}

enum rkt_status rkt_each_outside_stretch(const struct rkt_rank_result *rank, rkt_stretch_fn fn,
                                         void *ctx)
{
    const struct rkt_step_result *last = &rank->steps[rank->step_count - 1];
    enum rkt_status status =
        each_open(rank->trace, rank->run.start_ns, rank->steps[0].window.start_ns, fn, ctx);

    if (status != RKT_OK)
        return status;
    return each_open(rank->trace, last->window.end_ns, rank->run.end_ns, fn, ctx);
}

/* ---- windows ---- */

static enum rkt_status measure_window(const struct rkt_rank_result *rank, struct rkt_window *window,
                                      struct rkt_error *err)
{
    if (rank->trace->has_gpu)
        return rkt_partition_window(rank, window, err);
    return rkt_host_view_window(rank, window, err);
}

struct sum {
    const struct rkt_rank_result *rank;
    struct rkt_window *window;
    struct rkt_error *err;
};

static enum rkt_status add_stretch(void *ctx, int64_t start_ns, int64_t end_ns)
{
    struct sum *sum = ctx;
    struct rkt_window piece = {.start_ns = start_ns, .end_ns = end_ns};
    enum rkt_status status = measure_window(sum->rank, &piece, sum->err);

    if (status == RKT_OK && sum->rank->trace->has_gpu)
        rkt_window_add(sum->window, &piece);
    else if (status == RKT_OK)
        rkt_host_view_add(sum->window, &piece);
    return status;
}

static enum rkt_status measure_run(struct rkt_rank_result *rank, struct rkt_error *err)
{
    struct rkt_window window = {.start_ns = rank->run.start_ns, .end_ns = rank->run.start_ns};
    struct sum sum = {rank, &window, err};
    enum rkt_status status;

    if (!rank->trace->has_windows)
        return measure_window(rank, &rank->run, err);
    status = measure_window(rank, &window, err); /* empty: nothing was recorded */
    if (status == RKT_OK)
        status = rkt_each_run_stretch(rank, add_stretch, &sum);
    window.end_ns = rank->run.end_ns;
    if (status == RKT_OK)
        rank->run = window;
    return status;
}

static enum rkt_status measure_outside(struct rkt_rank_result *rank, struct rkt_error *err)
{
    struct sum sum = {rank, &rank->outside, err};

    return rkt_each_outside_stretch(rank, add_stretch, &sum);
}

void rkt_leave_unmeasured(struct rkt_step_result *step)
{
    struct rkt_window *window = &step->window;

    *window = (struct rkt_window){.start_ns = window->start_ns,
                                  .end_ns = window->end_ns,
                                  .is_host_view = window->is_host_view,
                                  .comm_share = (double)NAN,
                                  .exposed_share = (double)NAN,
                                  .overlap = (double)NAN,
                                  .gpu_util = (double)NAN,
                                  .compute_share = (double)NAN};
    memset(step->asleep_ns, 0, sizeof(step->asleep_ns));
    step->backward = (struct rkt_backward_overlap){.start_ns = RKT_NA,
                                                   .ratio = (double)NAN,
                                                   .prefetch_ns = RKT_NA,
                                                   .prefetch_ratio = (double)NAN};
}

static enum rkt_status measure_steps(struct rkt_rank_result *rank, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < rank->step_count && status == RKT_OK; i++) {
        if (rank->steps[i].is_unrecorded) {
            rkt_leave_unmeasured(&rank->steps[i]);
            continue;
        }
        status = measure_window(rank, &rank->steps[i].window, err);
        if (rank->host_view != NULL)
            rkt_host_view_asleep(rank->host_view, &rank->steps[i].window, rank->steps[i].asleep_ns);
    }
    return status == RKT_OK ? rkt_find_overlaps(rank, err) : status;
}

static enum rkt_status measure_gpu(struct rkt_rank_result *rank, struct rkt_interval_set *exposed,
                                   struct rkt_arena *arena, struct rkt_error *err)
{
    enum rkt_status status = rkt_activity_create(rank->trace, &rank->activity, err);

    if (status == RKT_OK)
        status = measure_run(rank, err);
    if (status == RKT_OK)
        status = measure_outside(rank, err);
    if (status == RKT_OK)
        status = measure_steps(rank, err);
    if (status == RKT_OK && rkt_exposed_find(rank->activity, exposed) != RKT_OK)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for exposed communication");
    if (status == RKT_OK)
        status = rkt_rank_tables_make(rank, arena, &rank->tables, err);
    if (status == RKT_OK)
        status = rkt_find_places(rank, arena, &rank->places, err);
    return status;
}

void rkt_measure_end(struct rkt_rank_result *rank)
{
    rkt_activity_destroy(rank->activity);
    rank->activity = NULL;
}

static enum rkt_status measure_host(struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    struct rkt_host_view *view;
    enum rkt_status status = rkt_host_view_create(rank->trace, &view, err);

    if (status != RKT_OK)
        return status;
    rank->host_view = view;
    status = measure_run(rank, err);
    if (status == RKT_OK)
        status = measure_steps(rank, err);
    if (status == RKT_OK)
        status = rkt_rank_tables_make(rank, arena, &rank->tables, err);
    rank->host_view = NULL;
    rkt_host_view_destroy(view);
    return status;
}

enum rkt_status rkt_measure_rank(struct rkt_rank_result *rank, struct rkt_interval_set *exposed,
                                 struct rkt_arena *arena, struct rkt_error *err)
{
    return rank->trace->has_gpu ? measure_gpu(rank, exposed, arena, err)
                                : measure_host(rank, arena, err);
}
