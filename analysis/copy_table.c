/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies by kind, kinds of memory and size. What a copy exposes of the windows is what no copy
 * of its kind that began before it does, so that rows add up to the partition's parts:
 *
 *     HtoD a     |0        60|
 *     HtoD b          |40      100|
 *     compute    |0 20|
 *     exposed    a: 20 to 60        b: 60 to 100
 */
#include <stdio.h>

#include "analysis/activity.h"
#include "analysis/rank_tables.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"
#include "analysis/time_find.h"

#define KINDS_OF_MEMORY 8u /* enum rkt_memory_kind */
#define SIZES 65u          /* 0, then one per power of two */
#define STREAMS_MAX 128u   /* with kernels; copies on more are on one of their own */

struct stream {
    uint32_t device_id;
    uint32_t stream_id;
};

struct copy_table {
    const struct rkt_rank_result *rank;
    struct rkt_arena *arena; /* for names */
    struct rkt_row_list list;
    struct stream streams[STREAMS_MAX]; /* that run kernels */
    size_t stream_count;
};

static const char *memory_name(uint8_t kind)
{
    static const char *const NAMES[KINDS_OF_MEMORY] = {
        [RKT_MEMORY_UNKNOWN] = "unknown",
        [RKT_MEMORY_PAGEABLE] = "pageable",
        [RKT_MEMORY_PINNED] = "pinned",
        [RKT_MEMORY_DEVICE] = "device",
        [RKT_MEMORY_ARRAY] = "array",
        [RKT_MEMORY_MANAGED] = "managed",
        [RKT_MEMORY_DEVICE_STATIC] = "device static",
        [RKT_MEMORY_MANAGED_STATIC] = "managed static",
    };

    return NAMES[kind < KINDS_OF_MEMORY ? kind : RKT_MEMORY_UNKNOWN];
}

static unsigned size_class(uint64_t bytes)
{
    return bytes == 0 ? 0 : 64u - (unsigned)__builtin_clzll(bytes);
}

static size_t key_of(const struct rkt_work *work)
{
    size_t src = work->src_kind < KINDS_OF_MEMORY ? work->src_kind : RKT_MEMORY_UNKNOWN;
    size_t dst = work->dst_kind < KINDS_OF_MEMORY ? work->dst_kind : RKT_MEMORY_UNKNOWN;
    size_t part = rkt_copy_part_of(work);

    return ((part * KINDS_OF_MEMORY + src) * KINDS_OF_MEMORY + dst) * SIZES +
           size_class(work->bytes);
}

static enum rkt_status begin_row(const struct rkt_work *work, struct rkt_arena *arena,
                                 struct rkt_row *row)
{
    unsigned size = size_class(work->bytes);
    char name[64];

    (void)snprintf(name, sizeof(name), "%s to %s", memory_name(work->src_kind),
                   memory_name(work->dst_kind));
    row->kind = rkt_copy_part_name(rkt_copy_part_of(work));
    row->name =
        work->copy_kind == RKT_COPY_MEMSET ? "" : rkt_arena_strndup(arena, name, sizeof(name));
    row->bin = size == 0 ? 0 : size == 64 ? INT64_MAX : INT64_C(1) << (size - 1);
    return row->name ? RKT_OK : RKT_ERR_NOMEM;
}

static struct rkt_row *row_of(struct copy_table *table, const struct rkt_work *work,
                              unsigned segment)
{
    bool is_new;
    struct rkt_row *row = rkt_row_list_get(&table->list, key_of(work), segment, &is_new);

    return row && is_new && begin_row(work, table->arena, row) != RKT_OK ? NULL : row;
}

/* A copy's fresh part [start_ns, end_ns): what of it that part of the rank's activity fills goes to
 * the rows of its segments. */
static enum rkt_status add_exposed(struct copy_table *table, const struct rkt_work *work,
                                   int64_t start_ns)
{
    const struct rkt_activity *activity = table->rank->activity;
    uint8_t part = (uint8_t)(RKT_PART_COPY + rkt_copy_part_of(work));
    size_t first = 0;

    if (!activity || activity->piece_count == 0)
        return RKT_OK;
    first = rkt_time_find_past(&activity->pieces->end_ns, activity->piece_count,
                               sizeof(*activity->pieces), start_ns);
    for (size_t i = first; i < activity->piece_count; i++) {
        const struct rkt_piece *piece = &activity->pieces[i];
        int64_t from_ns = piece->start_ns > start_ns ? piece->start_ns : start_ns;
        int64_t to_ns = piece->end_ns < work->end_ns ? piece->end_ns : work->end_ns;

        if (piece->start_ns >= work->end_ns)
            break;
        for (int64_t end_ns = to_ns; piece->part == part && from_ns < to_ns;
             from_ns = end_ns, end_ns = to_ns) {
            unsigned segment = rkt_segment_of_device(table->rank, from_ns, &end_ns);
            struct rkt_row *row = row_of(table, work, segment);

            if (!row)
                return RKT_ERR_NOMEM;
            rkt_row_add(&row->values[RKT_COPY_EXPOSED], end_ns - from_ns);
        }
    }
    return RKT_OK;
}

static bool runs_kernels(const struct copy_table *table, const struct rkt_work *work)
{
    for (size_t i = 0; i < table->stream_count; i++) {
        if (table->streams[i].stream_id == work->stream_id &&
            table->streams[i].device_id == work->device_id)
            return true;
    }
    return false;
}

static void find_streams(struct copy_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;

    for (size_t i = 0; i < trace->work_count && table->stream_count < STREAMS_MAX; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->work_class == RKT_WORK_COMPUTE && !runs_kernels(table, work))
            table->streams[table->stream_count++] =
                (struct stream){work->device_id, work->stream_id};
    }
}

static void add_copy(const struct copy_table *table, const struct rkt_work *work,
                     struct rkt_row *row)
{
    int64_t *values = row->values;

    values[RKT_COLUMN_COUNT]++;
    rkt_row_add(&values[RKT_COLUMN_TOTAL], work->end_ns - work->start_ns);
    rkt_row_add(&values[RKT_COPY_BYTES],
                work->bytes > INT64_MAX ? INT64_MAX : (int64_t)work->bytes);
    values[RKT_COPY_WAITS] +=
        work->launch_start_ns != RKT_TIME_UNKNOWN && work->launch_end_ns >= work->end_ns;
    values[RKT_COPY_SHARED] += runs_kernels(table, work);
}

static enum rkt_status fill_rows(struct copy_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    int64_t taken_ns[RKT_COPY_PART_COUNT];

    for (size_t i = 0; i < RKT_COPY_PART_COUNT; i++)
        taken_ns[i] = INT64_MIN;
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        int64_t *taken;
        struct rkt_row *row;

        if (work->work_class != RKT_WORK_COPY)
            continue;
        row = row_of(table, work, rkt_segment_of_step(work->step));
        if (!row)
            return RKT_ERR_NOMEM;
        add_copy(table, work, row);
        taken = &taken_ns[rkt_copy_part_of(work)];
        if (add_exposed(table, work, work->start_ns > *taken ? work->start_ns : *taken) != RKT_OK)
            return RKT_ERR_NOMEM;
        *taken = work->end_ns > *taken ? work->end_ns : *taken;
    }
    return RKT_OK;
}

enum rkt_status rkt_make_copy_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out)
{
    struct copy_table table = {.rank = rank, .arena = arena};
    enum rkt_status status = rkt_row_list_init(
        &table.list, (size_t)RKT_COPY_PART_COUNT * KINDS_OF_MEMORY * KINDS_OF_MEMORY * SIZES);

    if (status == RKT_OK) {
        find_streams(&table);
        status = fill_rows(&table);
    }
    if (status == RKT_OK)
        status = rkt_row_list_finish(&table.list, arena, table_out);
    rkt_row_list_release(&table.list);
    return status;
}
