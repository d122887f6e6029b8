/* SPDX-License-Identifier: Apache-2.0 */
/* Idle time by cause: how many stretches of it, how long. Those of the partition, one to one. */
#include "analysis/activity.h"
#include "analysis/rank_tables.h"
#include "analysis/row_list.h"
#include "analysis/segment.h"

static const char IDLE_KIND[] = "idle";

/* A stretch counts where it begins; its time, where that lies. */
static enum rkt_status add_piece(const struct rkt_rank_result *rank, const struct rkt_piece *piece,
                                 struct rkt_row_list *list)
{
    enum rkt_idle_cause cause = (enum rkt_idle_cause)(piece->part - RKT_PART_IDLE);

    for (int64_t from_ns = piece->start_ns, to_ns; from_ns < piece->end_ns; from_ns = to_ns) {
        struct rkt_row *row;
        bool is_new;

        to_ns = piece->end_ns;
        row = rkt_row_list_get(list, cause, rkt_segment_of_device(rank, from_ns, &to_ns), &is_new);
        if (!row)
            return RKT_ERR_NOMEM;
        row->kind = IDLE_KIND;
        row->name = rkt_idle_cause_name(cause);
        row->values[RKT_COLUMN_COUNT] += from_ns == piece->start_ns;
        rkt_row_add(&row->values[RKT_COLUMN_TOTAL], to_ns - from_ns);
        if (to_ns - from_ns > row->values[RKT_IDLE_MOST])
            row->values[RKT_IDLE_MOST] = to_ns - from_ns;
    }
    return RKT_OK;
}

enum rkt_status rkt_make_idle_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out)
{
    const struct rkt_activity *activity = rank->activity;
    struct rkt_row_list list;
    enum rkt_status status = rkt_row_list_init(&list, RKT_IDLE_CAUSE_COUNT);

    for (size_t i = 0; activity && i < activity->piece_count && status == RKT_OK; i++) {
        if (activity->pieces[i].part >= RKT_PART_IDLE)
            status = add_piece(rank, &activity->pieces[i], &list);
    }
    if (status == RKT_OK)
        status = rkt_row_list_finish(&list, arena, table_out);
    rkt_row_list_release(&list);
    return status;
}
