/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of PyTorch by name; where none are recorded, ranges that the program marks.
 *
 *     aten::linear    |0                        100|
 *       aten::addmm        |20          80|              self host: linear 40, addmm 60
 *         launch              |40 45|                    of a kernel of 500: self device of addmm,
 *                                                        device of both
 *
 * Work belongs to the innermost operator that is open on its launch's thread when the launch
 * begins.
 */
#include <stdlib.h>

#include "analysis/rank_tables.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"
#include "analysis/step_shapes.h"
#include "analysis/time_sort.h"
#include "common/array.h"

#define THREADS_MAX 4096u /* those beyond are in no row */
#define DEPTH_MAX 4096u

/* An operator, or a launch. time_sort.h: the times are first. */
struct entry {
    int64_t start_ns;
    int64_t end_ns;
    int64_t device_ns; /* of a launch: what it started; of an operator: of all inside */
    uint32_t name_id;
    uint8_t segment;
    bool is_launch;
};

/* What one host thread did. */
struct lane {
    uint32_t thread_id;
    struct entry *entries;
    size_t count;
};

struct open_op {
    const struct entry *entry;
    int64_t nested_ns; /* host time of the operators inside */
    int64_t device_ns; /* of all launches inside */
    int64_t self_device_ns;
    int64_t launch_count;
};

struct op_table {
    const struct rkt_rank_result *rank;
    struct rkt_row_list list;
    struct lane *lanes;
    size_t lane_count;
    size_t lanes_max;
    struct entry *entries;
    uint32_t types; /* bits of enum rkt_range_type */
    struct open_op *open;
    size_t depth;
    size_t depth_max;
};

static bool is_op(const struct op_table *table, const struct rkt_range *range)
{
    return range->type < 32 && (table->types >> range->type & 1) != 0 && range->name_id != 0;
}

/* Operators where there are any; else what the program names. 0: neither. */
static uint32_t choose_types(const struct rkt_rank_trace *trace)
{
    uint32_t seen = 0;

    for (size_t i = 0; i < trace->range_count; i++)
        seen |= trace->ranges[i].type < 32 ? 1u << trace->ranges[i].type : 0;
    if (seen & 1u << RKT_RANGE_CPU_OP)
        return 1u << RKT_RANGE_CPU_OP;
    return seen & (1u << RKT_RANGE_NVTX | 1u << RKT_RANGE_USER);
}

/* NULL past the limit, and for a thread that has no lane. */
static struct lane *lane_of(struct op_table *table, uint32_t thread_id, bool makes_one)
{
    size_t i = 0;

    while (i < table->lane_count && table->lanes[i].thread_id != thread_id)
        i++;
    if (i == table->lane_count && (!makes_one || i == table->lanes_max))
        return NULL;
    if (i == table->lane_count)
        table->lanes[table->lane_count++] = (struct lane){.thread_id = thread_id};
    return &table->lanes[i];
}

/* Counts what each lane has; then gives it its place. */
static enum rkt_status make_lanes(struct op_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    struct lane *lane = NULL;
    size_t total = 0;

    for (size_t i = 0; i < trace->range_count; i++) {
        if (!is_op(table, &trace->ranges[i]))
            continue;
        if (!lane || lane->thread_id != trace->ranges[i].thread_id)
            lane = lane_of(table, trace->ranges[i].thread_id, true);
        if (lane)
            lane->count++;
    }
    for (size_t i = 0; i < trace->work_count; i++) {
        if (trace->works[i].launch_start_ns == RKT_TIME_UNKNOWN)
            continue;
        if (!lane || lane->thread_id != trace->works[i].launch_thread_id)
            lane = lane_of(table, trace->works[i].launch_thread_id, false);
        if (lane)
            lane->count++;
    }
    for (size_t i = 0; i < table->lane_count; i++)
        total += table->lanes[i].count;
    table->entries = calloc(total + 1, sizeof(*table->entries));
    if (!table->entries)
        return RKT_ERR_NOMEM;
    total = 0;
    for (size_t i = 0; i < table->lane_count; i++) {
        table->lanes[i].entries = &table->entries[total];
        total += table->lanes[i].count;
        table->lanes[i].count = 0;
    }
    return RKT_OK;
}

/* Operators in order of time; then the launches, in that of the device. */
static enum rkt_status fill_lanes(struct op_table *table)
{
    const struct rkt_rank_trace *trace = table->rank->trace;
    enum rkt_status status = RKT_OK;
    struct lane *lane = NULL;
    size_t at = 0;

    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (!is_op(table, range))
            continue;
        if (!lane || lane->thread_id != range->thread_id)
            lane = lane_of(table, range->thread_id, false);
        if (lane)
            lane->entries[lane->count++] = (struct entry){
                .start_ns = range->start_ns,
                .end_ns = range->end_ns,
                .name_id = range->name_id,
                .segment = (uint8_t)rkt_segment_of_host(table->rank, range->start_ns, &at)};
    }
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];

        if (work->launch_start_ns == RKT_TIME_UNKNOWN)
            continue;
        if (!lane || lane->thread_id != work->launch_thread_id)
            lane = lane_of(table, work->launch_thread_id, false);
        if (lane) /* an operator that begins at the same moment is around it */
            lane->entries[lane->count++] =
                (struct entry){.start_ns = work->launch_start_ns,
                               .end_ns = work->launch_start_ns,
                               .device_ns = work->end_ns - work->start_ns,
                               .is_launch = true};
    }
    for (size_t i = 0; i < table->lane_count && status == RKT_OK; i++)
        status = rkt_time_sort(table->lanes[i].entries, table->lanes[i].count,
                               sizeof(*table->entries), RKT_BY_START_LONGEST);
    return status;
}

static enum rkt_status close_op(struct op_table *table)
{
    const struct open_op *op = &table->open[--table->depth];
    struct open_op *outer = table->depth > 0 ? &table->open[table->depth - 1] : NULL;
    int64_t host_ns = op->entry->end_ns - op->entry->start_ns;
    bool is_new;
    struct rkt_row *row =
        rkt_row_list_get(&table->list, op->entry->name_id, op->entry->segment, &is_new);

    if (!row)
        return RKT_ERR_NOMEM;
    if (is_new) {
        row->kind = table->types == 1u << RKT_RANGE_CPU_OP ? "operator" : "range";
        row->name = rkt_strtab_get(table->rank->trace->names, op->entry->name_id, NULL);
    }
    row->values[RKT_COLUMN_COUNT]++;
    rkt_row_add(&row->values[RKT_COLUMN_TOTAL], host_ns);
    rkt_row_add(&row->values[RKT_OPERATOR_SELF_HOST], host_ns - op->nested_ns);
    rkt_row_add(&row->values[RKT_OPERATOR_DEVICE], op->device_ns);
    rkt_row_add(&row->values[RKT_OPERATOR_SELF_DEVICE], op->self_device_ns);
    row->values[RKT_OPERATOR_LAUNCH_COUNT] += op->launch_count;
    if (outer) { /* one that outlasts the one around it counts there as far as that goes */
        int64_t end_ns =
            op->entry->end_ns < outer->entry->end_ns ? op->entry->end_ns : outer->entry->end_ns;

        outer->nested_ns += end_ns - op->entry->start_ns;
        rkt_row_add(&outer->device_ns, op->device_ns);
    }
    return RKT_OK;
}

static enum rkt_status walk_lane(struct op_table *table, const struct lane *lane)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < lane->count && status == RKT_OK; i++) {
        const struct entry *entry = &lane->entries[i];

        while (table->depth > 0 && status == RKT_OK &&
               table->open[table->depth - 1].entry->end_ns <= entry->start_ns)
            status = close_op(table);
        if (status == RKT_OK && !entry->is_launch && table->depth < table->depth_max) {
            table->open[table->depth++] = (struct open_op){.entry = entry};
        } else if (status == RKT_OK && entry->is_launch && table->depth > 0) {
            struct open_op *op = &table->open[table->depth - 1];

            rkt_row_add(&op->device_ns, entry->device_ns);
            rkt_row_add(&op->self_device_ns, entry->device_ns);
            op->launch_count++;
        }
    }
    while (table->depth > 0 && status == RKT_OK)
        status = close_op(table);
    return status;
}

static enum rkt_status make(struct op_table *table)
{
    enum rkt_status status;

    if (!table->lanes || !table->open)
        return RKT_ERR_NOMEM;
    status = make_lanes(table);
    if (status == RKT_OK)
        status = fill_lanes(table);
    for (size_t i = 0; i < table->lane_count && status == RKT_OK; i++)
        status = walk_lane(table, &table->lanes[i]);
    return status;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum rkt_status rkt_make_operator_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                        struct rkt_table *table_out)
{
    const struct rkt_rank_trace *trace = rank->trace;
    size_t lanes_max = least(trace->range_count, THREADS_MAX);
    size_t depth_max = least(trace->range_count, DEPTH_MAX);
    struct lane *lanes = calloc(lanes_max + 1, sizeof(*lanes));
    struct open_op *open = rkt_array_room(depth_max + 1, sizeof(*open));
    struct op_table table = {.rank = rank,
                             .types = choose_types(trace),
                             .lanes = lanes,
                             .lanes_max = lanes_max,
                             .open = open,
                             .depth_max = depth_max};
    enum rkt_status status =
        rkt_row_list_init(&table.list, table.types ? (size_t)rkt_strtab_count(trace->names) : 0);

    if (status == RKT_OK && table.types)
        status = make(&table);
    if (status == RKT_OK)
        status = rkt_count_input_shapes(rank, &table.list);
    if (status == RKT_OK)
        status = rkt_row_list_finish(&table.list, arena, table_out);
    rkt_row_list_release(&table.list);
    free(lanes);
    free(open);
    free(table.entries);
    return status;
}
