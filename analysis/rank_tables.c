/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rank_tables.h"

#include <stdlib.h>

#include "analysis/segment.h"
#include "analysis/stages.h"

typedef enum rkt_status (*make_table_fn)(const struct rkt_rank_result *rank,
                                         struct rkt_arena *arena, struct rkt_table *table_out);

enum rkt_status rkt_rank_tables_make(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                     const struct rkt_tables **tables_out, struct rkt_error *err)
{
    static const make_table_fn MAKERS[RKT_TABLE_COUNT] = {
        [RKT_TABLE_KERNELS] = rkt_make_kernel_table,
        [RKT_TABLE_OPERATORS] = rkt_make_operator_table,
        [RKT_TABLE_COPIES] = rkt_make_copy_table,
        [RKT_TABLE_CALLS] = rkt_make_call_table,
        [RKT_TABLE_STREAMS] = rkt_make_stream_table,
        [RKT_TABLE_IDLE] = rkt_make_idle_table,
    };
    struct rkt_tables *tables = RKT_ARENA_ARRAY(arena, struct rkt_tables, 1);
    enum rkt_status status = tables ? RKT_OK : RKT_ERR_NOMEM;

    for (size_t id = 0; id < RKT_TABLE_COUNT && status == RKT_OK; id++)
        status = MAKERS[id](rank, arena, &tables->of[id]);
    if (status != RKT_OK)
        return rkt_fail(err, status, "no memory for the tables of rank %u", rank->rank);
    *tables_out = tables;
    return RKT_OK;
}

static enum rkt_status join(struct rkt_result *result, struct rkt_tables_of_rank *ranks,
                            struct rkt_arena *arena, struct rkt_error *err)
{
    struct rkt_tables *joined = RKT_ARENA_ARRAY(arena, struct rkt_tables, 1);
    size_t mixed_in_all = 0;
    enum rkt_status status;

    if (!joined)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for tables");
    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];
        size_t mixed;

        ranks[r].segments = rkt_steady_segments(rank, &mixed);
        if (rank->is_set_apart)
            continue;
        ranks[r].tables = rank->tables;
        mixed_in_all += mixed;
    }
    status = rkt_tables_merge(ranks, result->rank_count, arena, joined, err);
    if (status != RKT_OK)
        return status;
    result->tables = joined;
    if (mixed_in_all == 0)
        return RKT_OK;
    return rkt_add_note(
        result, arena, 0, err,
        "the tables of kernels, operators, copies and calls also hold %zu steps that "
        "no other number is of: only the first %d can be left out of them",
        mixed_in_all, RKT_SEGMENT_STEPS);
}

enum rkt_status rkt_join_tables(struct rkt_result *result, struct rkt_arena *arena,
                                struct rkt_error *err)
{
    struct rkt_tables_of_rank *ranks = calloc(result->rank_count + 1, sizeof(*ranks));
    enum rkt_status status;

    if (!ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the tables of %zu ranks",
                        result->rank_count);
    status = join(result, ranks, arena, err);
    free(ranks);
    return status;
}
