/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/timeline_info.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "common/clock_redo.h"
#include "common/frame.h"
#include "common/source_bound.h"

/* First start and last end in each clock. */
struct spans {
    uint64_t first_ns[RKT_CLOCK_COUNT];
    uint64_t last_ns[RKT_CLOCK_COUNT];
};

struct walk {
    struct rkt_source_totals *totals;
    struct spans spans;
};

/* What describes others has no place in time, or one before all work. */
static bool is_of_the_span(const struct rkt_event *event)
{
    switch (event->kind) {
    case RKT_EVENT_NAME:
    case RKT_EVENT_COMM:
    case RKT_EVENT_SHAPE:
    case RKT_EVENT_DEVICE:
    case RKT_EVENT_LOSS:
        return false;
    default:
        return event->start_ns > 0 && event->end_ns >= event->start_ns &&
               event->end_ns <= INT64_MAX && event->clock_id < RKT_CLOCK_COUNT;
    }
}

static void take_clock_state(struct rkt_source_totals *totals,
                             const struct rkt_event_clock_state *state)
{
    totals->clock_state = *state;
    if (state->status & STA_UNSYNC)
        totals->unsteered_count++;
    else if (state->max_error_ns > totals->claimed_error_ns)
        totals->claimed_error_ns = state->max_error_ns;
}

static void count_event(struct walk *walk, const struct rkt_event *event)
{
    struct rkt_source_totals *totals = walk->totals;

    totals->events[event->kind < RKT_EVENT_KIND_COUNT ? event->kind : RKT_EVENT_NONE]++;
    totals->event_count++;
    totals->window_count += event->kind == RKT_EVENT_WINDOW && event->type == RKT_WINDOW_OPENED;
    if (event->kind == RKT_EVENT_CLOCK_STATE)
        take_clock_state(totals, &event->clock_state);
    if (event->kind == RKT_EVENT_LOSS) {
        totals->loss_count += rkt_loss_is_of_records(event->type) ? event->loss.count : 0;
        if (event->type < RKT_LOSS_REASONS_MAX)
            totals->losses[event->type] += event->loss.count;
    }
    if (!is_of_the_span(event))
        return;
    if (event->start_ns < walk->spans.first_ns[event->clock_id])
        walk->spans.first_ns[event->clock_id] = event->start_ns;
    if (event->end_ns > walk->spans.last_ns[event->clock_id])
        walk->spans.last_ns[event->clock_id] = event->end_ns;
}

static enum rkt_status take_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        count_event(ctx, &events[i]);
    return RKT_OK;
}

static enum rkt_status count_source(struct rkt_store_reader *reader, size_t position,
                                    struct rkt_source_totals *totals, struct rkt_error *err)
{
    uint32_t source = rkt_store_reader_source(reader, position)->info.source;
    struct walk walk = {.totals = totals};
    enum rkt_status status;

    memset(walk.spans.first_ns, 0xff, sizeof(walk.spans.first_ns));
    status = rkt_store_reader_walk(reader, source, NULL, take_events, &walk, err);
    for (size_t i = 0; i < RKT_CLOCK_COUNT; i++) {
        int64_t span_ns = walk.spans.last_ns[i] > walk.spans.first_ns[i]
                              ? (int64_t)(walk.spans.last_ns[i] - walk.spans.first_ns[i])
                              : 0;

        totals->span_ns = span_ns > totals->span_ns ? span_ns : totals->span_ns;
    }
    return status;
}

struct frames {
    struct rkt_store_reader *reader;
    struct rkt_timeline_info *info;
    size_t position; /* of the source whose frame came last: they come source by source */
};

static enum rkt_status count_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                   struct rkt_error *err)
{
    struct frames *frames = ctx;
    struct rkt_source_totals *totals;
    struct rkt_frame_head head;

    if (rkt_frame_head_decode(frame, frame_bytes, &head, err) != RKT_OK)
        return RKT_OK; /* never: the reader has looked at it */
    while (frames->position < frames->info->source_count &&
           rkt_store_reader_source(frames->reader, frames->position)->info.source != head.source)
        frames->position++;
    if (frames->position == frames->info->source_count) {
        frames->position = 0; /* of a source without a SOURCE frame: counted in no row */
        return RKT_OK;
    }
    totals = &frames->info->sources[frames->position];
    totals->frame_count++;
    totals->packed_bytes += frame_bytes;
    totals->raw_bytes += RKT_FRAME_HEAD_BYTES + head.raw_bytes;
    return RKT_OK;
}

static enum rkt_status find_bounds(struct rkt_store_reader *reader, struct rkt_timeline_info *info,
                                   struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < info->source_count && status == RKT_OK; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        struct rkt_source_bound bound = {.bound_ns = -1};

        status = rkt_source_bound_find(reader, &source->info, &source->align, &bound, err);
        info->sources[i].clock_bound_ns = bound.bound_ns;
    }
    return status;
}

static void add_up(struct rkt_timeline_info *info)
{
    for (size_t i = 0; i < info->source_count; i++) {
        const struct rkt_source_totals *one = &info->sources[i];

        for (size_t k = 0; k < RKT_EVENT_KIND_COUNT; k++)
            info->all.events[k] += one->events[k];
        for (size_t k = 0; k < RKT_LOSS_REASONS_MAX; k++)
            info->all.losses[k] += one->losses[k];
        info->all.event_count += one->event_count;
        info->all.loss_count += one->loss_count;
        info->all.frame_count += one->frame_count;
        info->all.window_count += one->window_count;
        info->all.packed_bytes += one->packed_bytes;
        info->all.raw_bytes += one->raw_bytes;
        if (one->span_ns > info->all.span_ns)
            info->all.span_ns = one->span_ns;
    }
}

enum rkt_status rkt_timeline_info_collect(struct rkt_store_reader *reader,
                                          struct rkt_timeline_info *info_out, struct rkt_error *err)
{
    struct rkt_timeline_info info = {.source_count = rkt_store_reader_source_count(reader)};
    struct frames frames = {.reader = reader, .info = &info};
    enum rkt_status status = RKT_OK;

    info.sources = calloc(info.source_count + 1, sizeof(*info.sources));
    if (!info.sources)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu sources", info.source_count);
    for (size_t i = 0; i < info.source_count && status == RKT_OK; i++) {
        info.sources[i].is_align_stored = rkt_store_reader_source(reader, i)->has_align;
        status = count_source(reader, i, &info.sources[i], err);
    }
    if (status == RKT_OK)
        status = rkt_store_reader_each_frame(reader, count_frame, &frames, err);
    if (status == RKT_OK)
        status = rkt_clock_redo_missing(reader, err);
    if (status == RKT_OK)
        status = find_bounds(reader, &info, err);
    if (status != RKT_OK) {
        rkt_timeline_info_release(&info);
        return status;
    }
    add_up(&info);
    *info_out = info;
    return RKT_OK;
}

void rkt_timeline_info_release(struct rkt_timeline_info *info)
{
    free(info->sources);
    *info = (struct rkt_timeline_info){0};
}
