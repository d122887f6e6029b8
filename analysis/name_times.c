/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/name_times.h"

#include <stdlib.h>

#include "analysis/sync_lines.h"
#include "analysis/time_find.h"
#include "common/array.h"

#define RANGE_TYPES                                                             \
    (1u << RKT_RANGE_USER | 1u << RKT_RANGE_NVTX | 1u << RKT_RANGE_ANNOTATION | \
     1u << RKT_RANGE_INPUT)

#define SHAPE_CODES (1u << 21)

/* Times of one kind. */
struct list {
    struct rkt_name_time *items; /* in order of first records */
    size_t count;
    size_t cap;
    uint32_t *last; /* by slot, a name or a launch shape: place of its last item + 1; 0 none */
};

struct builder {
    const struct rkt_rank_result *rank;
    const struct rkt_rank_trace *trace;
    struct list lists[RKT_NAMES_KIND_COUNT];
    uint32_t *shape_codes; /* by shape_id, from 1 */
    uint32_t name_count;
    bool is_out_of_memory;
};

/* On failure as on success, release is the caller's. */
static bool lists_init(struct builder *builder)
{
    size_t slot_count = (size_t)builder->name_count + builder->trace->shape_count + 1;

    for (size_t kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++) {
        struct list *list = &builder->lists[kind];

        list->last = calloc(slot_count, sizeof(*list->last));
        if (!list->last)
            return false;
    }
    return true;
}

static void lists_release(struct builder *builder)
{
    for (size_t kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++) {
        free(builder->lists[kind].items);
        free(builder->lists[kind].last);
    }
}

/* To the slot's last item, where that is of the same steps: most records come step by step. */
static void add_to_slot(struct builder *builder, enum rkt_name_kind kind, size_t slot,
                        struct rkt_name_time time)
{
    struct list *list = &builder->lists[kind];
    uint32_t *last = &list->last[slot];
    struct rkt_name_time *item = *last > 0 ? &list->items[*last - 1] : NULL;

    if (item && item->first_step == time.first_step && item->last_step == time.last_step &&
        item->name_id == time.name_id && item->variant == time.variant) {
        item->sum_ns += time.sum_ns;
        item->count++;
        return;
    }
    if (list->count >= UINT32_MAX || !rkt_array_reserve((void **)&list->items, &list->cap,
                                                        list->count + 1, sizeof(*list->items))) {
        builder->is_out_of_memory = true;
        return;
    }
    time.count = 1;
    list->items[list->count++] = time;
    *last = (uint32_t)list->count;
}

static void add(struct builder *builder, enum rkt_name_kind kind, struct rkt_name_time time)
{
    add_to_slot(builder, kind, time.name_id < builder->name_count ? time.name_id : 0, time);
}

/* The last step that began at or before a time; times must not go back. */
struct place {
    uint32_t next_step; /* the first that begins later */
};

/* False before all steps. */
static bool find_step(const struct rkt_rank_result *rank, struct place *place, int64_t time_ns,
                      uint32_t *step_out)
{
    while (place->next_step < rank->step_count &&
           rank->steps[place->next_step].host_start_ns <= time_ns)
        place->next_step++;
    *step_out = place->next_step - 1;
    return place->next_step > 0;
}

/* The step in which the host was at `time_ns`, or the two between which; false before and after
 * all. */
static bool find_steps(const struct rkt_rank_result *rank, struct place *place, int64_t time_ns,
                       struct rkt_name_time *time)
{
    if (!find_step(rank, place, time_ns, &time->first_step))
        return false;
    time->last_step = time->first_step + (time_ns >= rank->steps[time->first_step].host_end_ns);
    return time->last_step < rank->step_count;
}

/* Grids and blocks that are equal have equal codes, short enough to be packed into three bytes. */
static uint32_t code_of(const struct rkt_event_shape *shape)
{
    const uint64_t parts[] = {shape->grid_x,  shape->grid_y,  shape->grid_z,
                              shape->block_x, shape->block_y, shape->block_z};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        hash = (hash ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return 1 + (uint32_t)(hash % (SHAPE_CODES - 1)); /* 0: not known */
}

/* Ids are dense from 1: a larger one is of no shape that is known. */
static bool make_shape_codes(struct builder *builder)
{
    const struct rkt_rank_trace *trace = builder->trace;

    builder->shape_codes = calloc(trace->shape_count + 1, sizeof(*builder->shape_codes));
    for (size_t i = 0; builder->shape_codes && i < trace->shape_count; i++) {
        if (trace->shapes[i].shape_id <= trace->shape_count)
            builder->shape_codes[trace->shapes[i].shape_id] = code_of(&trace->shapes[i]);
    }
    return builder->shape_codes != NULL;
}

/* One name may be launched with several shapes in turn: each has a slot. */
static void add_kernel(struct builder *builder, const struct rkt_work *work,
                       struct rkt_name_time time)
{
    uint32_t shape_id = work->shape_id <= builder->trace->shape_count ? work->shape_id : 0;

    time.variant = builder->shape_codes[shape_id];
    if (time.variant != 0)
        add_to_slot(builder, RKT_NAMES_KERNELS, (size_t)builder->name_count + shape_id, time);
    else
        add(builder, RKT_NAMES_KERNELS, time);
}

static void add_works(struct builder *builder)
{
    for (size_t i = 0; i < builder->trace->work_count; i++) {
        const struct rkt_work *work = &builder->trace->works[i];
        struct rkt_name_time time = {.name_id = work->name_id,
                                     .first_step = work->step,
                                     .last_step = work->step,
                                     .sum_ns = work->end_ns - work->start_ns};

        if (work->step == RKT_INDEX_NONE)
            continue;
        if (work->work_class == RKT_WORK_COMPUTE)
            add_kernel(builder, work, time);
        else if (work->work_class == RKT_WORK_COPY)
            add(builder, RKT_NAMES_COPIES, time);
    }
}

static void add_calls(struct builder *builder)
{
    static const enum rkt_name_kind KINDS[] = {[RKT_CALL_OTHER] = RKT_NAMES_KIND_COUNT,
                                               [RKT_CALL_LAUNCH] = RKT_NAMES_LAUNCHES,
                                               [RKT_CALL_BLOCKING] = RKT_NAMES_BLOCKING,
                                               [RKT_CALL_ALLOC] = RKT_NAMES_ALLOCS};
    struct place place = {0};

    for (size_t i = 0; i < builder->trace->call_count; i++) {
        const struct rkt_call *call = &builder->trace->calls[i];
        enum rkt_name_kind kind = KINDS[call->call_class];
        struct rkt_name_time time = {.name_id = call->name_id,
                                     .sum_ns = call->end_ns - call->start_ns};

        if (kind != RKT_NAMES_KIND_COUNT &&
            find_steps(builder->rank, &place, call->start_ns, &time))
            add(builder, kind, time);
    }
}

static void add_line(struct builder *builder, struct place *place, const struct rkt_range *range)
{
    struct rkt_name_time time = {.name_id = range->domain_id, .variant = range->name_id};

    if (!find_steps(builder->rank, place, range->start_ns, &time))
        return;
    time.sum_ns = rkt_sync_wait_ns(builder->trace, range);
    add(builder, RKT_NAMES_LINES, time);
}

/* A range around a whole step, such as its own mark, explains nothing of the step. */
static bool is_around_a_step(const struct rkt_rank_result *rank, const struct rkt_range *range)
{
    size_t i = rkt_time_find(&rank->steps->host_start_ns, rank->step_count, sizeof(*rank->steps),
                             range->start_ns);

    return i < rank->step_count && rank->steps[i].host_end_ns <= range->end_ns;
}

static void add_range(struct builder *builder, struct place *place, const struct rkt_range *range)
{
    const struct rkt_rank_result *rank = builder->rank;
    struct rkt_name_time time = {.name_id = range->name_id,
                                 .sum_ns = range->end_ns - range->start_ns};

    if (!find_step(rank, place, range->start_ns, &time.first_step))
        return;
    time.last_step = time.first_step;
    while (time.last_step < rank->step_count &&
           rank->steps[time.last_step].host_end_ns < range->end_ns)
        time.last_step++;
    if (time.last_step < rank->step_count && !is_around_a_step(rank, range))
        add(builder, RKT_NAMES_RANGES, time);
}

static void add_ranges(struct builder *builder)
{
    struct place place = {0};

    for (size_t i = 0; i < builder->trace->range_count; i++) {
        const struct rkt_range *range = &builder->trace->ranges[i];

        if (range->type == RKT_RANGE_SYNC_CALL)
            add_line(builder, &place, range);
        else if (range->type < 32 && (RANGE_TYPES >> range->type & 1) != 0 && range->name_id != 0)
            add_range(builder, &place, range);
    }
}

static bool has_variants(enum rkt_name_kind kind)
{
    return kind == RKT_NAMES_LINES || kind == RKT_NAMES_KERNELS;
}

static void pack(struct rkt_packed *packed, enum rkt_name_kind kind,
                 const struct rkt_name_time *before, const struct rkt_name_time *item)
{
    rkt_packed_i64(packed, (int64_t)item->name_id - before->name_id);
    rkt_packed_i64(packed, (int64_t)item->first_step - before->first_step);
    rkt_packed_u64(packed, item->last_step - item->first_step);
    rkt_packed_i64(packed, item->sum_ns);
    if (!has_variants(kind))
        return;
    rkt_packed_u64(packed, item->variant);
    rkt_packed_u64(packed, item->count);
}

static void pack_lists(const struct builder *builder, struct rkt_name_times *times)
{
    for (int kind = 0; kind < RKT_NAMES_KIND_COUNT; kind++) {
        const struct list *list = &builder->lists[kind];
        struct rkt_name_time before = {0};

        for (size_t i = 0; i < list->count; i++) {
            pack(&times->packed, (enum rkt_name_kind)kind, &before, &list->items[i]);
            before = list->items[i];
        }
        times->ends[kind] = times->packed.len_bytes;
    }
}

enum rkt_status rkt_name_times_create(const struct rkt_rank_result *rank,
                                      struct rkt_name_times **times_out, struct rkt_error *err)
{
    struct builder builder = {
        .rank = rank, .trace = rank->trace, .name_count = rkt_strtab_count(rank->trace->names)};
    struct rkt_name_times *times = calloc(1, sizeof(*times));
    bool is_ready;

    is_ready = make_shape_codes(&builder) && times && lists_init(&builder);
    if (is_ready) {
        add_works(&builder);
        add_calls(&builder);
        add_ranges(&builder);
        pack_lists(&builder, times);
    }
    if (!is_ready || builder.is_out_of_memory || times->packed.has_failed) {
        rkt_name_times_destroy(times);
        times = NULL;
    } else {
        rkt_packed_trim(&times->packed);
    }
    lists_release(&builder);
    free(builder.shape_codes);
    if (!times)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the names of rank %u", rank->rank);
    *times_out = times;
    return RKT_OK;
}

void rkt_name_times_destroy(struct rkt_name_times *times)
{
    if (!times)
        return;
    rkt_packed_release(&times->packed);
    free(times);
}

void rkt_name_walk_init(struct rkt_name_walk *walk, const struct rkt_name_times *times,
                        enum rkt_name_kind kind, uint32_t first_step, uint32_t last_step)
{
    size_t start = kind > 0 ? times->ends[kind - 1] : 0;

    *walk = (struct rkt_name_walk){.kind = kind, .first_step = first_step, .last_step = last_step};
    if (times->packed.bytes)
        rkt_unpacking_init(&walk->from, (struct rkt_bytes){times->packed.bytes + start,
                                                           times->ends[kind] - start});
}

static void unpack(struct rkt_name_walk *walk)
{
    struct rkt_unpacking *from = &walk->from;
    struct rkt_name_time *item = &walk->before; /* in place: what it says is what changed */

    item->name_id = (uint32_t)(item->name_id + rkt_unpack_i64(from));
    item->first_step = (uint32_t)(item->first_step + rkt_unpack_i64(from));
    item->last_step = (uint32_t)(item->first_step + rkt_unpack_u64(from));
    item->sum_ns = rkt_unpack_i64(from);
    if (!has_variants(walk->kind))
        return;
    item->variant = (uint32_t)rkt_unpack_u64(from);
    item->count = rkt_unpack_u64(from);
}

bool rkt_name_walk_next(struct rkt_name_walk *walk, struct rkt_name_time *time_out)
{
    while (walk->from.at < walk->from.end) {
        unpack(walk);
        if (walk->from.has_failed)
            return false;
        if (walk->before.first_step < walk->first_step || walk->before.last_step > walk->last_step)
            continue;
        *time_out = walk->before;
        return true;
    }
    return false;
}
