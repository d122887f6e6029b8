/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/export/slices.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/trace_keeper.h"
#include "common/array.h"

struct builder {
    const struct rkt_rank_trace *trace;
    struct rkt_slices slices;
};

int64_t rkt_slices_job_ns(const struct rkt_rank_trace *trace, int64_t rank_ns)
{
    return trace->clock ? rkt_clock_map_to_job(trace->clock, rank_ns, NULL).ns : rank_ns;
}

/* The slice's times are rank time on the way in. */
static bool add(struct builder *builder, struct rkt_slice slice)
{
    struct rkt_slices *slices = &builder->slices;

    if (!rkt_array_reserve((void **)&slices->items, &slices->cap, slices->count + 1,
                           sizeof(*slices->items)))
        return false;
    slice.start_ns = rkt_slices_job_ns(builder->trace, slice.start_ns);
    slice.end_ns = rkt_slices_job_ns(builder->trace, slice.end_ns);
    if (slice.end_ns < slice.start_ns)
        slice.end_ns = slice.start_ns;
    slices->items[slices->count++] = slice;
    return true;
}

static bool add_on_thread(struct builder *builder, uint32_t thread_id, struct rkt_slice slice)
{
    slice.group =
        thread_id == builder->trace->main_thread_id ? RKT_TRACK_MAIN_THREAD : RKT_TRACK_THREAD;
    slice.id = thread_id;
    return add(builder, slice);
}

static bool add_works(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        struct rkt_slice slice = {.start_ns = work->start_ns,
                                  .end_ns = work->end_ns,
                                  .group = RKT_TRACK_STREAM,
                                  .device = work->device_id,
                                  .id = work->stream_id,
                                  .kind = RKT_SLICE_WORK,
                                  .index = (uint32_t)i};

        if (!add(builder, slice))
            return false;
    }
    return true;
}

static bool add_calls(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    for (size_t i = 0; i < trace->call_count; i++) {
        const struct rkt_call *call = &trace->calls[i];
        struct rkt_slice slice = {.start_ns = call->start_ns,
                                  .end_ns = call->end_ns,
                                  .kind = RKT_SLICE_CALL,
                                  .index = (uint32_t)i};

        if (!add_on_thread(builder, call->thread_id, slice))
            return false;
    }
    return true;
}

static bool add_ranges(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];
        struct rkt_slice slice = {.start_ns = range->start_ns,
                                  .end_ns = range->end_ns,
                                  .group = RKT_TRACK_GPU_ANNOTATIONS,
                                  .kind = RKT_SLICE_RANGE,
                                  .index = (uint32_t)i};
        bool is_added = range->type == RKT_RANGE_GPU_ANNOTATION
                            ? add(builder, slice)
                            : add_on_thread(builder, range->thread_id, slice);

        if (!is_added)
            return false;
    }
    return true;
}

static bool add_steps(struct builder *builder, const struct rkt_rank_result *rank)
{
    if (rank->step_source == RKT_STEPS_WINDOW)
        return true; /* one that was made up */
    for (size_t i = 0; i < rank->step_count; i++) {
        struct rkt_slice slice = {.start_ns = rank->steps[i].host_start_ns,
                                  .end_ns = rank->steps[i].host_end_ns,
                                  .group = RKT_TRACK_STEPS,
                                  .kind = RKT_SLICE_STEP,
                                  .index = (uint32_t)i};

        if (!add(builder, slice))
            return false;
    }
    return true;
}

/* Beside the steps: windows are given in them. */
static bool add_window_edges(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    for (size_t i = 0; i < 2 * trace->open_count; i++) {
        const struct rkt_open_span *span = &trace->open_spans[i / 2];
        int64_t at_ns = i % 2 == 0 ? span->start_ns : span->end_ns;
        struct rkt_slice slice = {.start_ns = at_ns,
                                  .end_ns = at_ns,
                                  .group = RKT_TRACK_STEPS,
                                  .kind = RKT_SLICE_WINDOW_EDGE,
                                  .index = (uint32_t)i};

        if (at_ns != INT64_MIN && at_ns != INT64_MAX && !add(builder, slice))
            return false;
    }
    return true;
}

static bool add_buckets(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    for (size_t i = 0; i < trace->bucket_count && trace->has_gpu; i++) {
        struct rkt_slice slice = {.start_ns = trace->buckets[i].start_ns,
                                  .end_ns = trace->buckets[i].end_ns,
                                  .group = RKT_TRACK_BUCKETS,
                                  .kind = RKT_SLICE_BUCKET,
                                  .index = (uint32_t)i};

        if (!add(builder, slice))
            return false;
    }
    return true;
}

const struct rkt_participant *rkt_participant_find(const struct rkt_collective *collective,
                                                   size_t position)
{
    size_t low = 0;
    size_t high = collective->participant_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (collective->participants[middle].rank < position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < collective->participant_count && collective->participants[low].rank == position)
        return &collective->participants[low];
    return NULL;
}

/* Collectives that no kernel of this rank shows. */
static bool add_collectives(struct builder *builder, const struct rkt_result *result,
                            size_t position)
{
    for (size_t i = 0; i < result->collective_count && !builder->trace->has_gpu; i++) {
        const struct rkt_participant *part =
            rkt_participant_find(&result->collectives[i], position);
        struct rkt_slice slice = {
            .group = RKT_TRACK_COLLECTIVES, .kind = RKT_SLICE_COLLECTIVE, .index = (uint32_t)i};

        if (!part || part->work != RKT_INDEX_NONE)
            continue;
        slice.start_ns = part->start_ns;
        slice.end_ns = part->end_ns;
        if (!add(builder, slice))
            return false;
    }
    return true;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_tracks(const struct rkt_slice *a, const struct rkt_slice *b)
{
    int order = compare_u64(a->group, b->group);

    if (order == 0)
        order = compare_u64(a->device, b->device);
    return order != 0 ? order : compare_u64(a->id, b->id);
}

static int compare_slices(const void *left, const void *right)
{
    const struct rkt_slice *a = left;
    const struct rkt_slice *b = right;
    int order = compare_tracks(a, b);

    if (order == 0)
        order = compare_i64(a->start_ns, b->start_ns);
    if (order == 0)
        order = compare_i64(b->end_ns, a->end_ns);
    if (order == 0)
        order = compare_u64(b->kind, a->kind); /* ranges hold the calls of equal times */
    return order != 0 ? order : compare_u64(a->index, b->index);
}

bool rkt_slice_same_track(const struct rkt_slice *a, const struct rkt_slice *b)
{
    return compare_tracks(a, b) == 0;
}

enum rkt_status rkt_slices_init(const struct rkt_result *result, size_t position,
                                struct rkt_slices *slices_out, struct rkt_error *err)
{
    const struct rkt_rank_result *rank = &result->ranks[position];
    struct builder builder = {0};
    enum rkt_status status = rkt_trace_open(result, position, &builder.trace, err);

    if (status != RKT_OK)
        return status;
    if (!add_steps(&builder, rank) || !add_window_edges(&builder) || !add_works(&builder) ||
        !add_calls(&builder) || !add_ranges(&builder) || !add_buckets(&builder) ||
        !add_collectives(&builder, result, position)) {
        rkt_slices_release(&builder.slices);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the timeline of rank %u", rank->rank);
    }
    if (builder.slices.count > 0)
        qsort(builder.slices.items, builder.slices.count, sizeof(*builder.slices.items),
              compare_slices);
    *slices_out = builder.slices;
    return RKT_OK;
}

void rkt_slices_release(struct rkt_slices *slices)
{
    free(slices->items);
    memset(slices, 0, sizeof(*slices));
}
