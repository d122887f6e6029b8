/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/step_table.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/steady.h"

/* 1.4826 MAD is the standard deviation of normal noise. */
#define WARMUP_SIGMAS (5 * 1.4826)
#define RAGGED_LEFT_MIN 3u
#define WARMUP_STEPS_MIN 4u /* fewer steps have no median to be far from */

struct numbered {
    uint64_t number;
    uint32_t rank;
    struct rkt_step_result *step;
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered *x = a;
    const struct numbered *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

static struct numbered *list_steps(const struct rkt_result *result, size_t *count_out)
{
    struct numbered *all;
    size_t cap = 1;
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        cap += result->ranks[r].step_count;
    all = calloc(cap, sizeof(*all));
    for (size_t r = 0; all != NULL && r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        if (rank->step_source == RKT_STEPS_WINDOW || rank->is_set_apart)
            continue;
        for (size_t i = 0; i < rank->step_count; i++) {
            if (!rank->steps[i].is_unrecorded)
                all[count++] = (struct numbered){
                    .number = rank->steps[i].number, .rank = (uint32_t)r, .step = &rank->steps[i]};
        }
    }
    if (all != NULL)
        qsort(all, count, sizeof(*all), compare_numbered);
    *count_out = count;
    return all;
}

/* Of a number that a rank has twice the first counts. */
static void add_step(struct rkt_step_row *row, const struct numbered *numbered)
{
    const struct rkt_window *window = &numbered->step->window;
    int64_t window_ns = window->end_ns - window->start_ns;

    if (row->by_rank[numbered->rank].step != NULL)
        return;
    row->by_rank[numbered->rank].step = numbered->step;
    row->present_count++;
    row->longest_ns = window_ns > row->longest_ns ? window_ns : row->longest_ns;
}

static size_t count_numbers(const struct numbered *all, size_t count)
{
    size_t numbers = count > 0;

    for (size_t i = 1; i < count; i++)
        numbers += all[i].number != all[i - 1].number;
    return numbers;
}

static void fill_rows(struct rkt_step_table *table, const struct numbered *all, size_t count)
{
    struct rkt_step_row *row = NULL;

    for (size_t i = 0; i < count; i++) {
        if (row == NULL || row->number != all[i].number) {
            row = &table->rows[table->row_count];
            row->number = all[i].number;
            row->by_rank = &table->cells[table->row_count * table->rank_count];
            table->row_count++;
        }
        add_step(row, &all[i]);
    }
}

static bool is_complete(const struct rkt_step_table *table, size_t row)
{
    return table->rows[row].present_count == table->compared_count;
}

/*
 * Captures that begin at different steps: in the first step that all have, the ranks whose first it
 * is begin where their records do, whatever the others have done until then. It is left out where
 * three others are left, as many as a straggler takes.
 */
static void mark_ragged(struct rkt_step_table *table)
{
    size_t first = 0;
    size_t left = 0;

    while (first < table->row_count && !is_complete(table, first))
        first++;
    if (first == 0)
        return;
    for (size_t i = first + 1; i < table->row_count; i++)
        left += is_complete(table, i);
    if (left >= RAGGED_LEFT_MIN)
        table->rows[first].is_ragged = true;
}

enum rkt_status rkt_step_table_init(struct rkt_step_table *table, const struct rkt_result *result,
                                    struct rkt_error *err)
{
    size_t count = 0;
    struct numbered *all = list_steps(result, &count);
    size_t row_count = all == NULL ? 0 : count_numbers(all, count);

    memset(table, 0, sizeof(*table));
    table->rank_count = result->rank_count;
    for (size_t r = 0; r < result->rank_count; r++)
        table->compared_count += !result->ranks[r].is_set_apart;
    table->rows = calloc(row_count + 1, sizeof(*table->rows));
    table->cells = calloc(row_count + 1, (result->rank_count + 1) * sizeof(*table->cells));
    if (all == NULL || table->rows == NULL || table->cells == NULL) {
        free(all);
        rkt_step_table_release(table);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the steps of %zu ranks",
                        result->rank_count);
    }
    fill_rows(table, all, count);
    mark_ragged(table);
    free(all);
    return RKT_OK;
}

void rkt_step_table_release(struct rkt_step_table *table)
{
    free(table->rows);
    free(table->cells);
    memset(table, 0, sizeof(*table));
}

bool rkt_step_row_is_steady(const struct rkt_step_table *table, size_t row)
{
    return !table->rows[row].is_warmup && !table->rows[row].is_ragged && is_complete(table, row);
}

static void mark_row(struct rkt_step_row *row, size_t rank_count)
{
    row->is_warmup = true;
    for (size_t r = 0; r < rank_count; r++) {
        if (row->by_rank[r].step != NULL)
            row->by_rank[r].step->is_warmup = true;
    }
}

size_t rkt_step_table_mark_warmup(struct rkt_step_table *table)
{
    int64_t *lengths;
    int64_t median_ns, far_ns;
    double spread_ns;
    size_t warmups = 0;

    if (table->row_count < WARMUP_STEPS_MIN)
        return 0;
    lengths = calloc(table->row_count, sizeof(*lengths));
    if (lengths == NULL)
        return 0; /* a longer statistic, not a wrong one */
    for (size_t i = 0; i < table->row_count; i++)
        lengths[i] = table->rows[i].longest_ns;
    median_ns = rkt_median_i64(lengths, table->row_count);
    spread_ns = WARMUP_SIGMAS * (double)rkt_mad_i64(lengths, table->row_count, median_ns);
    far_ns = (int64_t)spread_ns > median_ns / 4 ? (int64_t)spread_ns : median_ns / 4;
    free(lengths);
    while (warmups < table->row_count / 2 &&
           llabs(table->rows[warmups].longest_ns - median_ns) > far_ns)
        mark_row(&table->rows[warmups++], table->rank_count);
    return warmups;
}
