/* SPDX-License-Identifier: Apache-2.0 */
/*
 * API calls by name, and what those that wait cost the device: idle time that the partition gives
 * to sync is a call's while one lasts, else the tail of the last that was entered.
 *
 *     device   ======= 10|                             |20 ======
 *     host        |4 sync 12|      Python     |17 18|
 *     sync               |10   12|12     17|                  idle 2, tail 5
 */
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/rank_tables.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"
#include "analysis/time_find.h"

static const char *const KINDS[] = {
    [RKT_CALL_OTHER] = "other",
    [RKT_CALL_LAUNCH] = "launch",
    [RKT_CALL_BLOCKING] = "blocking",
    [RKT_CALL_ALLOC] = "alloc",
};
#define KIND_COUNT (sizeof(KINDS) / sizeof(KINDS[0]))

/* A call that waits, and the latest end of those up to it. */
struct waiting {
    int64_t start_ns;
    int64_t end_ns;
    int64_t latest_end_ns;
    uint32_t name_id;
};

struct call_table {
    const struct rkt_rank_result *rank;
    struct rkt_row_list list;
    struct waiting *waiting; /* by start */
    size_t waiting_count;
};

static struct rkt_row *row_of(struct call_table *table, uint32_t name_id, uint8_t call_class,
                              unsigned segment)
{
    size_t key = (size_t)name_id * KIND_COUNT + call_class;
    bool is_new;
    struct rkt_row *row = rkt_row_list_get(&table->list, key, segment, &is_new);

    if (row && is_new) {
        row->kind = KINDS[call_class];
        row->name = rkt_strtab_get(table->rank->trace->names, name_id, NULL);
    }
    return row;
}

static enum rkt_status fill_rows(struct call_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    int64_t latest_ns = INT64_MIN;
    size_t at = 0;

    for (size_t i = 0; i < trace->call_count; i++) {
        const struct rkt_call *call = &trace->calls[i];
        int64_t length_ns = call->end_ns - call->start_ns;
        struct rkt_row *row;

        if (call->call_class == RKT_CALL_BLOCKING) {
            latest_ns = call->end_ns > latest_ns ? call->end_ns : latest_ns;
            table->waiting[table->waiting_count++] =
                (struct waiting){call->start_ns, call->end_ns, latest_ns, call->name_id};
        }
        row = row_of(table, call->name_id, call->call_class,
                     rkt_segment_of_host(table->rank, call->start_ns, &at));
        if (!row)
            return RKT_ERR_NOMEM;
        row->values[RKT_COLUMN_COUNT]++;
        rkt_row_add(&row->values[RKT_COLUMN_TOTAL], length_ns);
        if (length_ns > row->values[RKT_CALL_MOST])
            row->values[RKT_CALL_MOST] = length_ns;
    }
    return RKT_OK;
}

/* Idle time [start_ns, end_ns) of one of those that wait, by segment. */
static enum rkt_status give(struct call_table *table, size_t waiting, int column, int64_t start_ns,
                            int64_t end_ns)
{
    while (start_ns < end_ns) {
        int64_t next_ns = end_ns;
        unsigned segment = rkt_segment_of_device(table->rank, start_ns, &next_ns);
        struct rkt_row *row =
            row_of(table, table->waiting[waiting].name_id, RKT_CALL_BLOCKING, segment);

        if (!row)
            return RKT_ERR_NOMEM;
        rkt_row_add(&row->values[column], next_ns - start_ns);
        start_ns = next_ns;
    }
    return RKT_OK;
}

/* Idle time for sync: what lies in a call, and after the one before. */
static enum rkt_status give_idle(struct call_table *table, int64_t start_ns, int64_t end_ns)
{
    size_t next = rkt_time_find_past(&table->waiting->latest_end_ns, table->waiting_count,
                                     sizeof(*table->waiting), start_ns);
    size_t last = next > 0 ? next - 1 : 0; /* the first is never too late: it made this idle */
    enum rkt_status status = RKT_OK;

    for (; next < table->waiting_count && status == RKT_OK; next++) {
        int64_t from_ns = table->waiting[next].start_ns;
        int64_t to_ns = table->waiting[next].end_ns;

        from_ns = from_ns > start_ns ? from_ns : start_ns;
        to_ns = to_ns < end_ns ? to_ns : end_ns;
        if (from_ns >= end_ns)
            break;
        if (to_ns > from_ns) {
            status = give(table, last, RKT_CALL_TAIL, start_ns, from_ns);
            if (status == RKT_OK)
                status = give(table, next, RKT_CALL_IDLE, from_ns, to_ns);
            start_ns = to_ns;
        }
        last = next;
    }
    return status == RKT_OK ? give(table, last, RKT_CALL_TAIL, start_ns, end_ns) : status;
}

static enum rkt_status fill_idle(struct call_table *table)
{
    const struct rkt_activity *activity = table->rank->activity;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; activity && i < activity->piece_count && status == RKT_OK; i++) {
        const struct rkt_piece *piece = &activity->pieces[i];

        if (piece->part == RKT_PART_IDLE + RKT_IDLE_SYNC && table->waiting_count > 0)
            status = give_idle(table, piece->start_ns, piece->end_ns);
    }
    return status;
}

enum rkt_status rkt_make_call_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out)
{
    const struct rkt_rank_trace *trace = rank->trace;
    struct call_table table = {.rank = rank};
    enum rkt_status status =
        rkt_row_list_init(&table.list, (size_t)rkt_strtab_count(trace->names) * KIND_COUNT);
    size_t waiting_count = 0;

    for (size_t i = 0; i < trace->call_count; i++)
        waiting_count += trace->calls[i].call_class == RKT_CALL_BLOCKING;
    table.waiting = calloc(waiting_count + 1, sizeof(*table.waiting));
    if (!table.waiting)
        status = RKT_ERR_NOMEM;
    if (status == RKT_OK)
        status = fill_rows(&table);
    if (status == RKT_OK)
        status = fill_idle(&table);
    if (status == RKT_OK)
        status = rkt_row_list_finish(&table.list, arena, table_out);
    rkt_row_list_release(&table.list);
    free(table.waiting);
    return status;
}
