/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_trace_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/row_list.h"
#include "common/array.h"

#define LOAD_UNITS 10000u /* of a counter: a whole core */
#define LOAD_VALUE_MAX (UINT64_C(65536) * LOAD_UNITS)
#define LOAD_NS_MAX (UINT64_C(1) << 46) /* 19 hours; a sidecar tells it each 10 s */

void rkt_raw_trace_release(struct rkt_raw_trace *raw)
{
    for (size_t kind = 0; kind < RKT_EVENT_KIND_COUNT; kind++) {
        for (size_t i = 0; i < raw->by_kind[kind].block_count; i++)
            free(raw->by_kind[kind].blocks[i]);
        free(raw->by_kind[kind].blocks);
    }
    *raw = (struct rkt_raw_trace){0};
}

static bool add_block(struct rkt_raw_events *list)
{
    struct rkt_event *block;

    if (!rkt_array_reserve((void **)&list->blocks, &list->block_cap, list->block_count + 1,
                           sizeof(struct rkt_event *)))
        return false;
    block = malloc(RKT_RAW_BLOCK_EVENTS * sizeof(*block));
    if (block)
        list->blocks[list->block_count++] = block;
    return block != NULL;
}

/* Of one kind, as a batch is. */
static enum rkt_status take_events(struct rkt_raw_events *list, const struct rkt_event *events,
                                   size_t count, struct rkt_error *err)
{
    while (count > 0) {
        size_t at = list->count % RKT_RAW_BLOCK_EVENTS;
        size_t taken = count < RKT_RAW_BLOCK_EVENTS - at ? count : RKT_RAW_BLOCK_EVENTS - at;

        if (at == 0 && !add_block(list))
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu events of a kind", list->count);
        memcpy(&list->blocks[list->block_count - 1][at], events, taken * sizeof(*events));
        list->count += taken;
        events += taken;
        count -= taken;
    }
    return RKT_OK;
}

/* What is recorded of a node. */
struct pairs {
    struct rkt_event *items;
    size_t count;
    size_t cap;
    int64_t load_ns; /* for how long the sidecar's CPU time is told */
    int64_t cpu_ns;
};

/* A share of a core, as a mean: what is no time, or more than the cores that there are, is none. */
static void add_load(struct pairs *pairs, const struct rkt_event *event)
{
    int64_t cpu_ns;

    if (event->type != RKT_COUNTER_NAMED || event->end_ns <= event->start_ns ||
        event->end_ns - event->start_ns > LOAD_NS_MAX || event->counter.value > LOAD_VALUE_MAX)
        return;
    cpu_ns = (int64_t)((event->end_ns - event->start_ns) / LOAD_UNITS * event->counter.value);
    rkt_row_add(&pairs->load_ns, (int64_t)(event->end_ns - event->start_ns));
    rkt_row_add(&pairs->cpu_ns, cpu_ns);
}

static enum rkt_status take_pairs(void *ctx, const struct rkt_event *events, size_t count,
                                  struct rkt_error *err)
{
    struct pairs *pairs = ctx;

    if (count == 0 || events->kind != RKT_EVENT_CLOCK_PAIR)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&pairs->items, &pairs->cap, pairs->count + count,
                           sizeof(*pairs->items)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clock records", pairs->count);
    memcpy(pairs->items + pairs->count, events, count * sizeof(*events));
    pairs->count += count;
    return RKT_OK;
}

static enum rkt_status take_node(void *ctx, const struct rkt_event *events, size_t count,
                                 struct rkt_error *err)
{
    for (size_t i = 0; i < count && events->kind == RKT_EVENT_COUNTER; i++)
        add_load(ctx, &events[i]);
    return take_pairs(ctx, events, count, err);
}

static int compare_event_starts(const void *a, const void *b)
{
    const struct rkt_event *x = a;
    const struct rkt_event *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The clock records of the node: its sidecar's, and those which the rank's source may hold. */
static enum rkt_status find_pairs(struct rkt_store_reader *reader,
                                  const struct rkt_rank_trace *trace,
                                  const struct rkt_raw_events *own, struct pairs *pairs,
                                  const struct rkt_align_info **align_out, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(reader);
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);

        if (source->info.role != RKT_ROLE_SIDECAR || source->info.node != trace->source.info.node)
            continue;
        status = rkt_store_reader_walk(reader, source->info.source, NULL, take_node, pairs, err);
        if (source->has_align)
            *align_out = &source->align;
    }
    for (size_t i = 0; i < own->count && status == RKT_OK; i++)
        status = take_pairs(pairs, rkt_raw_event(own, i), 1, err);
    if (pairs->count > 1)
        qsort(pairs->items, pairs->count, sizeof(*pairs->items), compare_event_starts);
    return status;
}

/*
 * The clock of the GPU records, to which nothing of theirs is then ever mapped. A rank that has
 * none computes in the clock of its marks, whatever its capture announced.
 */
static enum rkt_clock_id choose_clock(const struct rkt_store_source *source,
                                      const struct rkt_raw_trace *raw)
{
    static const uint8_t GPU_KINDS[] = {RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_MEMSET,
                                        RKT_EVENT_GRAPH};
    uint8_t gpu_clock = source->info.gpu_clock;
    uint64_t gpu_count = 0;

    for (size_t i = 0; i < sizeof(GPU_KINDS); i++) /* of a part, or of the first batches */
        gpu_count += source->event_counts[GPU_KINDS[i]] + raw->by_kind[GPU_KINDS[i]].count;
    if (gpu_clock == RKT_CLOCK_TRACE)
        return RKT_CLOCK_TRACE;
    if (gpu_count == 0 || gpu_clock == RKT_CLOCK_UNKNOWN || gpu_clock >= RKT_CLOCK_COUNT)
        return RKT_CLOCK_MONOTONIC_RAW;
    return (enum rkt_clock_id)gpu_clock;
}

static enum rkt_status make_clock(struct rkt_store_reader *reader, struct rkt_rank_trace *trace,
                                  const struct rkt_raw_trace *raw, struct rkt_error *err)
{
    const struct rkt_align_info *node_align = NULL;
    struct pairs pairs = {.count = 0};
    enum rkt_status status =
        find_pairs(reader, trace, &raw->by_kind[RKT_EVENT_CLOCK_PAIR], &pairs, &node_align, err);

    trace->sidecar_ns = pairs.load_ns;
    trace->sidecar_cpu_ns = pairs.cpu_ns;
    trace->clock_id = (uint8_t)choose_clock(&trace->source, raw);
    if (status == RKT_OK)
        status = rkt_clock_map_create((enum rkt_clock_id)trace->clock_id, pairs.items, pairs.count,
                                      trace->source.has_align ? &trace->source.align : node_align,
                                      &trace->clock, err);
    free(pairs.items);
    return status;
}

struct taking {
    struct rkt_raw_filter filter; /* its batches: that are left */
    struct rkt_raw_trace *raw;
};

static bool has_kind(const struct rkt_raw_filter *filter, uint8_t kind)
{
    return !filter->has_kind || filter->has_kind(filter->ctx, kind);
}

static bool is_wanted(void *ctx, const struct rkt_batch_span *span)
{
    const struct rkt_raw_filter *filter = &((const struct taking *)ctx)->filter;

    return has_kind(filter, span->kind) &&
           (!filter->has_span || filter->has_span(filter->ctx, span));
}

static enum rkt_status take_batch(void *ctx, const struct rkt_event *events, size_t count,
                                  struct rkt_error *err)
{
    struct taking *taking = ctx;

    if (taking->filter.batch_count == 0)
        return RKT_END;
    taking->filter.batch_count--;
    if (count == 0 || events->kind >= RKT_EVENT_KIND_COUNT ||
        !has_kind(&taking->filter, events->kind))
        return RKT_OK;
    return take_events(&taking->raw->by_kind[events->kind], events, count, err);
}

/* What is wrong with the source itself: its node's clock records are read for others, too. */
static enum rkt_status walk(struct rkt_store_reader *reader, uint32_t source, struct taking *taking,
                            struct rkt_rank_trace *trace, struct rkt_error *err)
{
    const struct rkt_store_health *health = rkt_store_reader_health(reader);
    const struct rkt_store_part part = {taking->filter.has_kind ? is_wanted : NULL, take_batch,
                                        taking};
    struct rkt_store_health before = *health;
    enum rkt_status status = rkt_store_reader_walk_part(reader, source, trace->names, &part, err);

    trace->damage.damaged_frames += health->damaged_frames - before.damaged_frames;
    trace->damage.skipped_bytes += health->skipped_bytes - before.skipped_bytes;
    trace->damage.unknown_frames += health->unknown_frames - before.unknown_frames;
    trace->damage.unknown_keys += health->unknown_keys - before.unknown_keys;
    return status == RKT_END ? RKT_OK : status;
}

enum rkt_status rkt_raw_trace_load(struct rkt_store_reader *reader, size_t position,
                                   const struct rkt_raw_filter *filter, struct rkt_raw_trace *raw,
                                   struct rkt_rank_trace *trace, struct rkt_error *err)
{
    static const struct rkt_raw_filter ALL = {.batch_count = SIZE_MAX};
    struct taking taking = {filter ? *filter : ALL, raw};
    const struct rkt_store_source *source;
    enum rkt_status status;

    if (position >= rkt_store_reader_source_count(reader))
        return rkt_fail(err, RKT_ERR_INVALID, "source %zu of %zu", position,
                        rkt_store_reader_source_count(reader));
    source = rkt_store_reader_source(reader, position);
    trace->names = rkt_strtab_create();
    if (!trace->names)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for names");
    status = walk(reader, source->info.source, &taking, trace, err);
    if (status != RKT_OK)
        return status;
    trace->source = *source;
    return make_clock(reader, trace, raw, err);
}

enum rkt_status rkt_raw_trace_add(struct rkt_store_reader *reader,
                                  const struct rkt_raw_filter *filter, struct rkt_raw_trace *raw,
                                  struct rkt_rank_trace *trace, struct rkt_error *err)
{
    struct taking taking = {*filter, raw};

    return walk(reader, trace->source.info.source, &taking, trace, err);
}
