/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name: those that compute, those of collectives. */
#include "analysis/rank_tables.h"
#include "analysis/step_shapes.h"

static const char *const KINDS[] = {[RKT_WORK_COMPUTE] = "compute", [RKT_WORK_COMM] = "comm"};

static void begin_row(const struct rkt_rank_trace *trace, const struct rkt_work *work,
                      struct rkt_row *row)
{
    row->kind = KINDS[work->work_class];
    row->name = rkt_strtab_get(trace->names, work->name_id, NULL);
    row->values[RKT_KERNEL_LEAST] = INT64_MAX;
}

static void add_kernel(const struct rkt_work *work, struct rkt_row *row)
{
    int64_t length_ns = work->end_ns - work->start_ns;
    int64_t *values = row->values;

    values[RKT_COLUMN_COUNT]++;
    rkt_row_add(&values[RKT_COLUMN_TOTAL], length_ns);
    if (length_ns < values[RKT_KERNEL_LEAST])
        values[RKT_KERNEL_LEAST] = length_ns;
    if (length_ns > values[RKT_KERNEL_MOST])
        values[RKT_KERNEL_MOST] = length_ns;
    values[RKT_KERNEL_SHORT_COUNT] += length_ns <= RKT_SHORT_KERNEL_NS;
    /* the kernels of a graph share its launch */
    if (work->launch_start_ns == RKT_TIME_UNKNOWN || work->from_graph)
        return;
    values[RKT_KERNEL_LAUNCH_COUNT]++;
    rkt_row_add(&values[RKT_KERNEL_LAUNCH], work->launch_end_ns - work->launch_start_ns);
}

static enum rkt_status fill_rows(const struct rkt_rank_result *rank, struct rkt_row_list *list)
{
    const struct rkt_rank_trace *trace = rank->trace;

    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *work = &trace->works[i];
        struct rkt_row *row;
        bool is_new;

        if (work->work_class == RKT_WORK_COPY)
            continue;
        row =
            rkt_row_list_get(list, rkt_kernel_key(work), rkt_segment_of_step(work->step), &is_new);
        if (!row)
            return RKT_ERR_NOMEM;
        if (is_new)
            begin_row(trace, work, row);
        add_kernel(work, row);
    }
    return RKT_OK;
}

enum rkt_status rkt_make_kernel_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                      struct rkt_table *table_out)
{
    struct rkt_row_list list;
    enum rkt_status status =
        rkt_row_list_init(&list, (size_t)rkt_strtab_count(rank->trace->names) * 2);

    if (status == RKT_OK)
        status = fill_rows(rank, &list);
    if (status == RKT_OK)
        status = rkt_count_shapes(rank, &list);
    if (status == RKT_OK)
        status = rkt_row_list_finish(&list, arena, table_out);
    rkt_row_list_release(&list);
    return status;
}
