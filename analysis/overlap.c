/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/host_view.h"
#include "analysis/key_index.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/time_find.h"
#include "common/array.h"

/* Where a step's works are, among those of others: in [first, end) of the trace's. */
struct extent {
    uint32_t first;
    uint32_t end;
};

/* What an overlap is made of; all normalised. Taken for one step after the other. */
struct sets {
    struct rkt_interval_set buckets;
    struct rkt_interval_set compute;  /* near buckets */
    struct rkt_interval_set backward; /* B of metrics.md */
    struct rkt_interval_set hidden;   /* buckets and compute */
    struct rkt_interval_set result;   /* and within backward */
    struct rkt_interval_set copies;   /* HtoD, near backward */
    struct rkt_interval_set prefetch; /* and within backward */
    struct rkt_key_index *launches;   /* of compute */
    size_t launch_cap;
};

static void release_sets(struct sets *sets)
{
    rkt_interval_set_release(&sets->buckets);
    rkt_interval_set_release(&sets->compute);
    rkt_interval_set_release(&sets->backward);
    rkt_interval_set_release(&sets->hidden);
    rkt_interval_set_release(&sets->result);
    rkt_interval_set_release(&sets->copies);
    rkt_interval_set_release(&sets->prefetch);
    free(sets->launches);
}

static void reset_sets(struct sets *sets)
{
    rkt_interval_set_reset(&sets->buckets);
    rkt_interval_set_reset(&sets->compute);
    rkt_interval_set_reset(&sets->backward);
    rkt_interval_set_reset(&sets->copies);
}

/*
 * B: per maximal run of backward launches, which a forward launch ends (micro-batches), from the
 * first start to the last end of its compute kernels. Sorts the launches.
 */
static enum rkt_status add_backward_runs(const struct rkt_rank_trace *trace,
                                         struct rkt_key_index *launches, size_t count,
                                         struct rkt_interval_set *backward)
{
    enum rkt_status status = rkt_key_index_sort(launches, count);
    bool is_open = false;
    int64_t start_ns = 0;
    int64_t end_ns = 0;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        const struct rkt_work *work = &trace->works[launches[i].index];

        if (work->phase == RKT_PHASE_FORWARD && is_open) {
            status = rkt_interval_set_add(backward, start_ns, end_ns);
            is_open = false;
        }
        if (work->phase != RKT_PHASE_BACKWARD)
            continue;
        start_ns = !is_open || work->start_ns < start_ns ? work->start_ns : start_ns;
        end_ns = !is_open || work->end_ns > end_ns ? work->end_ns : end_ns;
        is_open = true;
    }
    if (is_open && status == RKT_OK)
        status = rkt_interval_set_add(backward, start_ns, end_ns);
    rkt_interval_set_normalise(backward);
    return status;
}

/* The members that meet [start, end), cut at it: O(log n) to find them. */
static enum rkt_status copy_within(const struct rkt_interval_set *from, int64_t start_ns,
                                   int64_t end_ns, struct rkt_interval_set *to)
{
    size_t at = from->count == 0 ? 0
                                 : rkt_time_find_past(&from->items->end_ns, from->count,
                                                      sizeof(*from->items), start_ns);
    enum rkt_status status = RKT_OK;

    for (; at < from->count && from->items[at].start_ns < end_ns && status == RKT_OK; at++) {
        const struct rkt_interval *item = &from->items[at];

        status = rkt_interval_set_add(to, item->start_ns > start_ns ? item->start_ns : start_ns,
                                      item->end_ns < end_ns ? item->end_ns : end_ns);
    }
    rkt_interval_set_normalise(to);
    return status;
}

/* What of `from` may meet a member of `with`. */
static enum rkt_status copy_near(const struct rkt_interval_set *from,
                                 const struct rkt_interval_set *with, struct rkt_interval_set *to)
{
    if (with->count == 0)
        return RKT_OK;
    return copy_within(from, with->items[0].start_ns, with->items[with->count - 1].end_ns, to);
}

static enum rkt_status add_launch(struct sets *sets, size_t count, const struct rkt_work *work,
                                  size_t index)
{
    if (!rkt_array_reserve((void **)&sets->launches, &sets->launch_cap, count + 1,
                           sizeof(*sets->launches)))
        return RKT_ERR_NOMEM;
    sets->launches[count] =
        (struct rkt_key_index){rkt_key_of_time(work->launch_start_ns), (uint32_t)index};
    return RKT_OK;
}

/* Work of a step starts after its mark, and in its window or before. */
static enum rkt_status collect_works(const struct rkt_rank_result *rank, uint32_t step_index,
                                     struct extent extent, struct sets *sets,
                                     uint32_t *bucket_count)
{
    const struct rkt_step_result *step = &rank->steps[step_index];
    const struct rkt_rank_trace *trace = rank->trace;
    int64_t from_ns =
        step->window.start_ns < step->host_start_ns ? step->window.start_ns : step->host_start_ns;
    size_t launch_count = 0;
    enum rkt_status status = RKT_OK;

    for (size_t i = extent.first; i < extent.end && status == RKT_OK; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->step != step_index || work->start_ns < from_ns - trace->clock_error_ns ||
            work->start_ns >= step->window.end_ns)
            continue;
        if (work->work_class == RKT_WORK_COMPUTE) {
            status = add_launch(sets, launch_count++, work, i);
        } else if (work->work_class == RKT_WORK_COMM && work->is_bucket) {
            (*bucket_count)++;
            status = rkt_interval_set_add(&sets->buckets, work->start_ns, work->end_ns);
        }
    }
    rkt_interval_set_normalise(&sets->buckets);
    return status == RKT_OK
               ? add_backward_runs(trace, sets->launches, launch_count, &sets->backward)
               : status;
}

static enum rkt_status collect_gpu(const struct rkt_rank_result *rank, uint32_t step_index,
                                   struct extent extent, struct sets *sets, uint32_t *bucket_count)
{
    const struct rkt_activity *activity = rank->activity;
    enum rkt_status status = collect_works(rank, step_index, extent, sets, bucket_count);

    if (status == RKT_OK)
        status = copy_near(&activity->compute, &sets->buckets, &sets->compute);
    if (status == RKT_OK)
        status =
            copy_near(&activity->copy_by_part[RKT_COPY_PART_HTOD], &sets->backward, &sets->copies);
    return status;
}

static size_t first_bucket(const struct rkt_rank_trace *trace, int64_t start_ns)
{
    if (trace->bucket_count == 0)
        return 0;
    return rkt_time_find(&trace->buckets->start_ns, trace->bucket_count, sizeof(*trace->buckets),
                         start_ns);
}

/* A bucket belongs to the step in which it was handed over. */
static enum rkt_status collect_host(const struct rkt_rank_result *rank,
                                    const struct rkt_step_result *step, struct sets *sets,
                                    uint32_t *bucket_count)
{
    const struct rkt_rank_trace *trace = rank->trace;
    int64_t start_ns = step->host_start_ns;
    int64_t end_ns = step->host_end_ns;
    enum rkt_status status = RKT_OK;

    for (size_t i = first_bucket(trace, start_ns); i < trace->bucket_count; i++) {
        const struct rkt_bucket *bucket = &trace->buckets[i];

        if (bucket->start_ns >= end_ns || status != RKT_OK)
            break;
        (*bucket_count)++;
        status = rkt_interval_set_add(&sets->buckets, bucket->start_ns, bucket->end_ns);
    }
    rkt_interval_set_normalise(&sets->buckets);
    if (status == RKT_OK)
        status = copy_within(&rank->host_view->compute, start_ns, end_ns, &sets->compute);
    if (status == RKT_OK)
        status = copy_within(&rank->host_view->backward, start_ns, end_ns, &sets->backward);
    return status;
}

static enum rkt_status measure(struct sets *sets, uint32_t bucket_count,
                               struct rkt_backward_overlap *out)
{
    const struct rkt_interval_set *backward = &sets->backward;
    enum rkt_status status =
        rkt_interval_set_intersect(&sets->buckets, &sets->compute, &sets->hidden);

    if (status == RKT_OK)
        status = rkt_interval_set_intersect(&sets->hidden, backward, &sets->result);
    if (status != RKT_OK)
        return status;
    out->bucket_count = bucket_count;
    out->buckets_ns = rkt_interval_set_length(&sets->buckets);
    if (bucket_count == 0 || backward->count == 0)
        return RKT_OK;
    out->overlapped_ns = rkt_interval_set_length(&sets->result);
    out->tail_ns = rkt_interval_set_length_within(
        &sets->buckets, backward->items[backward->count - 1].end_ns, INT64_MAX);
    out->start_ns = backward->items[backward->count - 1].start_ns;
    out->ratio = rkt_share(out->overlapped_ns, out->buckets_ns);
    return RKT_OK;
}

/* The step's own input was copied before its forward. Of ranks with GPU work. */
static enum rkt_status measure_prefetch(struct sets *sets, const struct rkt_window *window,
                                        struct rkt_backward_overlap *out)
{
    enum rkt_status status =
        rkt_interval_set_intersect(&sets->copies, &sets->backward, &sets->prefetch);

    if (status != RKT_OK || sets->backward.count == 0)
        return status;
    out->prefetch_ns =
        rkt_interval_set_length_within(&sets->prefetch, window->start_ns, window->end_ns);
    out->prefetch_ratio = rkt_share(out->prefetch_ns, window->copy_by_kind_ns[RKT_COPY_PART_HTOD]);
    return RKT_OK;
}

static enum rkt_status find_overlap(const struct rkt_rank_result *rank, uint32_t step_index,
                                    const struct extent *extents, struct sets *sets)
{
    struct rkt_backward_overlap overlap = {.overlapped_ns = RKT_NA,
                                           .tail_ns = RKT_NA,
                                           .start_ns = RKT_NA,
                                           .ratio = (double)NAN,
                                           .prefetch_ns = RKT_NA,
                                           .prefetch_ratio = (double)NAN};
    struct rkt_step_result *step = &rank->steps[step_index];
    uint32_t bucket_count = 0;
    enum rkt_status status;

    reset_sets(sets);
    if (rank->trace->has_gpu)
        status = collect_gpu(rank, step_index, extents[step_index], sets, &bucket_count);
    else
        status = collect_host(rank, step, sets, &bucket_count);
    if (status == RKT_OK)
        status = measure(sets, bucket_count, &overlap);
    if (status == RKT_OK && rank->trace->has_gpu)
        status = measure_prefetch(sets, &step->window, &overlap);
    step->backward = overlap;
    return status;
}

/* NULL: memory is out. */
static struct extent *find_extents(const struct rkt_rank_result *rank)
{
    const struct rkt_rank_trace *trace = rank->trace;
    struct extent *extents = calloc(rank->step_count + 1, sizeof(*extents));

    for (size_t i = 0; extents && i < trace->work_count; i++) {
        uint32_t step = trace->works[i].step;

        if (step >= rank->step_count)
            continue;
        if (extents[step].end == 0)
            extents[step].first = (uint32_t)i;
        extents[step].end = (uint32_t)i + 1;
    }
    return extents;
}

enum rkt_status rkt_find_overlaps(const struct rkt_rank_result *rank, struct rkt_error *err)
{
    struct extent *extents = find_extents(rank);
    struct sets sets = {0};
    enum rkt_status status = extents ? RKT_OK : RKT_ERR_NOMEM;

    for (size_t i = 0; i < rank->step_count && status == RKT_OK; i++) {
        if (!rank->steps[i].is_unrecorded)
            status = find_overlap(rank, (uint32_t)i, extents, &sets);
    }
    release_sets(&sets);
    free(extents);
    return status == RKT_OK
               ? RKT_OK
               : rkt_fail(err, status, "no memory for the overlaps of %zu steps", rank->step_count);
}
