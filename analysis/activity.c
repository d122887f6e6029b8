/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/activity.h"

#include <stdlib.h>

#include "analysis/idle.h"
#include "analysis/layer.h"
#include "analysis/time_find.h"
#include "common/array.h"

/* Layers of the walk, in the order in which they count. */
enum layer {
    LAYER_COMPUTE,
    LAYER_COMM,
    LAYER_COPY, /* + enum rkt_copy_part */
    LAYER_COUNT = LAYER_COPY + RKT_COPY_PART_COUNT
};

struct builder {
    const struct rkt_rank_trace *trace;
    struct rkt_activity *activity;
    size_t piece_cap;
};

enum rkt_copy_part rkt_copy_part_of(const struct rkt_work *work)
{
    switch (work->copy_kind) {
    case RKT_COPY_HTOD:
    case RKT_COPY_HTOA:
        return RKT_COPY_PART_HTOD;
    case RKT_COPY_DTOH:
    case RKT_COPY_ATOH:
        return RKT_COPY_PART_DTOH;
    case RKT_COPY_DTOD:
    case RKT_COPY_DTOA:
    case RKT_COPY_ATOD:
    case RKT_COPY_ATOA:
        return RKT_COPY_PART_DTOD;
    case RKT_COPY_PTOP:
        return RKT_COPY_PART_PTOP;
    case RKT_COPY_HTOH:
        return RKT_COPY_PART_HTOH;
    case RKT_COPY_MEMSET:
        return RKT_COPY_PART_MEMSET;
    default: /* not an enum: what a record says */
        return RKT_COPY_PART_OTHER;
    }
}

static enum rkt_status add_work(struct builder *builder, size_t index)
{
    const struct rkt_work *work = &builder->trace->works[index];
    struct rkt_activity *activity = builder->activity;
    enum rkt_status status;

    if (work->work_class == RKT_WORK_COMPUTE)
        return rkt_interval_set_add(&activity->compute, work->start_ns, work->end_ns);
    if (work->work_class == RKT_WORK_COMM)
        return rkt_interval_set_add(&activity->comm, work->start_ns, work->end_ns);
    status = rkt_interval_set_add(&activity->copy, work->start_ns, work->end_ns);
    if (status == RKT_OK)
        status = rkt_interval_set_add(&activity->copy_by_part[rkt_copy_part_of(work)],
                                      work->start_ns, work->end_ns);
    return status;
}

/* *end_ns_out: the latest end. */
static enum rkt_status fill_sets(struct builder *builder, int64_t *end_ns_out)
{
    const struct rkt_rank_trace *trace = builder->trace;
    struct rkt_activity *activity = builder->activity;

    *end_ns_out = INT64_MIN;
    for (size_t i = 0; i < trace->work_count; i++) {
        if (add_work(builder, i) != RKT_OK)
            return RKT_ERR_NOMEM;
        *end_ns_out = trace->works[i].end_ns > *end_ns_out ? trace->works[i].end_ns : *end_ns_out;
    }
    rkt_interval_set_normalise(&activity->compute);
    rkt_interval_set_normalise(&activity->comm);
    rkt_interval_set_normalise(&activity->copy);
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        rkt_interval_set_normalise(&activity->copy_by_part[i]);
    return RKT_OK;
}

static enum rkt_status add_piece(struct builder *builder, int64_t start_ns, int64_t end_ns,
                                 uint8_t part)
{
    struct rkt_activity *activity = builder->activity;

    if (activity->piece_count > 0 && activity->pieces[activity->piece_count - 1].part == part) {
        activity->pieces[activity->piece_count - 1].end_ns = end_ns;
        return RKT_OK;
    }
    if (!rkt_array_reserve((void **)&activity->pieces, &builder->piece_cap,
                           activity->piece_count + 1, sizeof(*activity->pieces)))
        return RKT_ERR_NOMEM;
    activity->pieces[activity->piece_count++] = (struct rkt_piece){start_ns, end_ns, part};
    return RKT_OK;
}

static enum rkt_status add_idle_piece(void *ctx, int64_t start_ns, int64_t end_ns,
                                      enum rkt_idle_cause cause)
{
    return add_piece(ctx, start_ns, end_ns, (uint8_t)(RKT_PART_IDLE + cause));
}

/* Exclusive part for the active layers; RKT_PART_IDLE for none. */
static uint8_t part_of(uint32_t active)
{
    if (active & (1u << LAYER_COMPUTE))
        return active & (1u << LAYER_COMM) ? RKT_PART_OVERLAPPED : RKT_PART_COMPUTE;
    if (active & (1u << LAYER_COMM))
        return RKT_PART_COMM_UNSPLIT;
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++) {
        if (active & (1u << (LAYER_COPY + i)))
            return (uint8_t)(RKT_PART_COPY + i);
    }
    return RKT_PART_IDLE;
}

/* The work that ends the gap before time_ns: of several that start there, one with a launch. */
static const struct rkt_work *next_work(const struct rkt_rank_trace *trace, size_t *at,
                                        int64_t time_ns)
{
    const struct rkt_work *found = NULL;

    while (*at < trace->work_count && trace->works[*at].start_ns < time_ns)
        (*at)++;
    for (size_t i = *at; i < trace->work_count && trace->works[i].start_ns == time_ns; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->end_ns > work->start_ns &&
            (!found || (found->launch_start_ns == RKT_TIME_UNKNOWN &&
                        work->launch_start_ns != RKT_TIME_UNKNOWN)))
            found = work;
    }
    return found;
}

static enum rkt_status sweep(struct builder *builder, struct rkt_idle *idle, int64_t start_ns,
                             int64_t end_ns)
{
    struct rkt_activity *activity = builder->activity;
    struct rkt_layer layers[LAYER_COUNT] = {
        [LAYER_COMPUTE] = {&activity->compute, 0},
        [LAYER_COMM] = {&activity->comm, 0},
    };
    enum rkt_status status = RKT_OK;
    size_t at = 0;

    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        layers[LAYER_COPY + i].set = &activity->copy_by_part[i];
    for (int64_t time_ns = start_ns, next_ns; time_ns < end_ns && status == RKT_OK;
         time_ns = next_ns) {
        const struct rkt_work *next = NULL;
        uint8_t part;

        next_ns = end_ns;
        part = part_of(rkt_layers_active(layers, LAYER_COUNT, time_ns, &next_ns));
        if (part == RKT_PART_IDLE)
            next = next_work(builder->trace, &at, next_ns);
        if (next)
            status = rkt_idle_split(idle, time_ns, next_ns, next, add_idle_piece, builder);
        else if (part == RKT_PART_IDLE) /* before an empty record at the very end */
            status = add_idle_piece(builder, time_ns, next_ns, RKT_IDLE_UNKNOWN);
        else
            status = add_piece(builder, time_ns, next_ns, part);
    }
    return status;
}

static enum rkt_status build(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;
    int64_t end_ns;

    if (fill_sets(builder, &end_ns) != RKT_OK)
        return RKT_ERR_NOMEM;
    if (trace->work_count == 0)
        return RKT_OK;
    return sweep(builder, builder->activity->idle, trace->works[0].start_ns, end_ns);
}

enum rkt_status rkt_activity_create(const struct rkt_rank_trace *trace,
                                    struct rkt_activity **activity_out, struct rkt_error *err)
{
    struct builder builder = {.trace = trace, .activity = calloc(1, sizeof(*builder.activity))};
    enum rkt_status status = RKT_ERR_NOMEM;

    if (builder.activity)
        status = rkt_idle_create(trace, &builder.activity->idle, NULL);
    if (status == RKT_OK)
        status = build(&builder);
    if (status != RKT_OK) {
        rkt_activity_destroy(builder.activity);
        return rkt_fail(err, status, "no memory for the activity of %zu pieces of GPU work",
                        trace->work_count);
    }
    *activity_out = builder.activity;
    return RKT_OK;
}

void rkt_activity_destroy(struct rkt_activity *activity)
{
    if (!activity)
        return;
    rkt_interval_set_release(&activity->compute);
    rkt_interval_set_release(&activity->comm);
    rkt_interval_set_release(&activity->copy);
    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        rkt_interval_set_release(&activity->copy_by_part[i]);
    rkt_idle_destroy(activity->idle);
    free(activity->pieces);
    free(activity);
}

static int64_t *part_field(struct rkt_partition *parts, uint8_t part)
{
    switch (part) {
    case RKT_PART_OVERLAPPED:
        return &parts->overlapped_ns;
    case RKT_PART_COMPUTE:
        return &parts->compute_ns;
    case RKT_PART_COMM_TRANSFER:
        return &parts->comm_transfer_ns;
    case RKT_PART_COMM_WAIT:
        return &parts->comm_wait_ns;
    case RKT_PART_COMM_UNSPLIT:
        return &parts->comm_unsplit_ns;
    default: /* copies and idle time are ranges of the enum */
        break;
    }
    if (part < RKT_PART_IDLE)
        return &parts->copy_ns[part - RKT_PART_COPY];
    return &parts->idle_ns[part - RKT_PART_IDLE];
}

void rkt_activity_parts_within(const struct rkt_activity *activity, int64_t start_ns,
                               int64_t end_ns, struct rkt_partition *parts_out)
{
    size_t first = 0;

    *parts_out = (struct rkt_partition){0};
    if (activity->piece_count > 0)
        first = rkt_time_find_past(&activity->pieces->end_ns, activity->piece_count,
                                   sizeof(*activity->pieces), start_ns);
    for (size_t i = first; i < activity->piece_count; i++) {
        const struct rkt_piece *piece = &activity->pieces[i];
        int64_t from_ns = piece->start_ns > start_ns ? piece->start_ns : start_ns;
        int64_t to_ns = piece->end_ns < end_ns ? piece->end_ns : end_ns;

        if (piece->start_ns >= end_ns)
            break;
        *part_field(parts_out, piece->part) += to_ns - from_ns;
        parts_out->window_ns += to_ns - from_ns;
    }
}
