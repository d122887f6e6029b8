/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_TABLES_H
#define RKT_ANALYSIS_RANK_TABLES_H

/*
 * rank_tables - the key tables of one rank by segment (metrics.md, "Key tables").
 *
 * Place:   whole trace with steps, activity -> [rank_tables] -> once all ranks have been compared,
 *          rkt_join_tables. Needs nothing of another rank.
 * Threads: any, for different ranks, each with its own arena.
 * Memory:  some 140 bytes for each name in each segment that has it.
 * Cost:    a pass over the rank's works, calls, ranges and pieces for each table.
 */

#include "analysis/key_table.h"
#include "analysis/result.h"

/* `rank->trace` is whole and rank->activity is there (NULL: host view). *tables_out is the
 * arena's. */
enum rkt_status rkt_rank_tables_make(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                     const struct rkt_tables **tables_out, struct rkt_error *err);

/*
 * result->tables: over the steady steps of all ranks that are not set apart. Notes steps that are
 * in the tables, but in no other statistic.
 */
enum rkt_status rkt_join_tables(struct rkt_result *result, struct rkt_arena *arena,
                                struct rkt_error *err);

/* One table each; for rank_tables.c and tests. RKT_ERR_NOMEM only, without a text. */
enum rkt_status rkt_make_kernel_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                      struct rkt_table *table_out);
enum rkt_status rkt_make_operator_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                        struct rkt_table *table_out);
enum rkt_status rkt_make_copy_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out);
enum rkt_status rkt_make_call_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out);
enum rkt_status rkt_make_stream_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                      struct rkt_table *table_out);
enum rkt_status rkt_make_idle_table(const struct rkt_rank_result *rank, struct rkt_arena *arena,
                                    struct rkt_table *table_out);

#endif
