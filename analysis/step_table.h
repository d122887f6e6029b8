/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_STEP_TABLE_H
#define RKT_ANALYSIS_STEP_TABLE_H

/*
 * step_table - the same step of all ranks, by its number.
 *
 * Captures may begin and end at different steps: a row is a number that at least one rank has.
 * Ranks that are set apart have no step in it, nor are there steps that were not recorded.
 * Threads: read only after create. Memory: its own; steps are the result's.
 */

#include "analysis/result.h"
#include "common/status.h"

struct rkt_step_of_rank {
    struct rkt_step_result *step; /* NULL where the rank has no such step */
};

struct rkt_step_row {
    uint64_t number;
    struct rkt_step_of_rank *by_rank; /* by position in ranks */
    size_t present_count;
    int64_t longest_ns; /* T: the longest window of the ranks */
    bool is_warmup;
    bool is_ragged; /* some ranks' records begin with it, others' before */
};

struct rkt_step_table {
    struct rkt_step_row *rows; /* by number */
    size_t row_count;
    struct rkt_step_of_rank *cells; /* behind the rows' by_rank */
    size_t rank_count;
    size_t compared_count; /* ranks that are not set apart */
};

/* Empty where steps were not found (RKT_STEPS_WINDOW). RKT_ERR_NOMEM only. */
enum rkt_status rkt_step_table_init(struct rkt_step_table *table, const struct rkt_result *result,
                                    struct rkt_error *err);
void rkt_step_table_release(struct rkt_step_table *table);

/* Not warm-up nor ragged, and every rank that is not set apart has it: only such steps are compared
 * between ranks. */
bool rkt_step_row_is_steady(const struct rkt_step_table *table, size_t row);

/*
 * Marks the warm-up: steps at the start whose T is far off the median, by over a quarter of it
 * and over five times the usual spread; at most half of the steps. Sets is_warmup of the rows
 * and of the steps. Returns how many rows.
 */
size_t rkt_step_table_mark_warmup(struct rkt_step_table *table);

#endif
