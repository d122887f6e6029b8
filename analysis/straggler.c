/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/cause.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/step_table.h"

/* A step's straggler stands out by 1 % of the step and by three times its own noise. */
#define SHARE_OF_STEP 0.01
#define NOISE_SIGMAS (3 * 1.4826)
#define NOISE_STEPS_MIN 5u

#define CAUSE_COUNT (RKT_CAUSE_OTHER + 1)

/* excess[step * rank_count + rank]: own work above the median of the other ranks. */
struct excess_table {
    const struct rkt_step_table *steps;
    size_t *rows; /* the steady ones of `steps` */
    size_t row_count;
    size_t rank_count;
    int64_t *excess;
    int64_t *room; /* for a median over rows or ranks */
};

static int64_t own_work_ns(const struct rkt_window *window)
{
    int64_t by_cause_ns[CAUSE_COUNT];
    int64_t sum_ns = 0;

    rkt_own_work_by_cause(window, by_cause_ns);
    for (int i = 0; i < CAUSE_COUNT; i++)
        sum_ns += by_cause_ns[i];
    return sum_ns;
}

static void fill_own_work(struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        for (size_t i = 0; i < result->ranks[r].step_count; i++) {
            struct rkt_step_result *step = &result->ranks[r].steps[i];

            step->own_work_ns = own_work_ns(&step->window);
            step->own_parts = step->window.parts;
            step->own_parts.window_ns = step->own_work_ns;
            step->own_parts.comm_wait_ns = 0;
            step->own_parts.comm_transfer_ns = 0;
            step->own_parts.comm_unsplit_ns = 0;
        }
    }
}

/* Value of `rank` above the lower median of the others. */
static int64_t above_others(const int64_t *values, size_t rank_count, size_t rank, int64_t *room)
{
    size_t others = 0;

    for (size_t r = 0; r < rank_count; r++) {
        if (r != rank)
            room[others++] = values[r];
    }
    return values[rank] - rkt_median_i64(room, others);
}

static const struct rkt_step_result *step_of(const struct excess_table *table, size_t row,
                                             size_t rank)
{
    return table->steps->rows[table->rows[row]].by_rank[rank].step;
}

static void fill_excess(struct excess_table *table, int64_t *values)
{
    for (size_t i = 0; i < table->row_count; i++) {
        for (size_t r = 0; r < table->rank_count; r++)
            values[r] = step_of(table, i, r)->own_work_ns;
        for (size_t r = 0; r < table->rank_count; r++)
            table->excess[i * table->rank_count + r] =
                above_others(values, table->rank_count, r, table->room);
    }
}

static int64_t median_excess(const struct excess_table *table, size_t rank)
{
    for (size_t i = 0; i < table->row_count; i++)
        table->room[i] = table->excess[i * table->rank_count + rank];
    return rkt_median_i64(table->room, table->row_count);
}

/* 3 x 1.4826 x MAD over the steps of the rank's excess; 0 where there are too few. */
static int64_t noise_of(const struct excess_table *table, size_t rank)
{
    int64_t median_ns = median_excess(table, rank);

    if (table->row_count < NOISE_STEPS_MIN)
        return 0;
    return (int64_t)(NOISE_SIGMAS * (double)rkt_mad_i64(table->room, table->row_count, median_ns));
}

static size_t largest_in_row(const struct excess_table *table, size_t row)
{
    const int64_t *excess = &table->excess[row * table->rank_count];
    size_t largest = 0;

    for (size_t r = 1; r < table->rank_count; r++)
        largest = excess[r] > excess[largest] ? r : largest;
    return largest;
}

/* Steps in which `rank` stands out; `noise_ns` is its own. */
static uint32_t count_named(const struct excess_table *table, size_t rank, int64_t noise_ns)
{
    uint32_t named = 0;

    for (size_t i = 0; i < table->row_count; i++) {
        int64_t excess_ns = table->excess[i * table->rank_count + rank];
        double share_ns = SHARE_OF_STEP * (double)table->steps->rows[table->rows[i]].longest_ns;

        named += largest_in_row(table, i) == rank && (double)excess_ns > share_ns &&
                 excess_ns > noise_ns;
    }
    return named;
}

static void name_straggler(const struct excess_table *table, struct rkt_straggler *straggler)
{
    straggler->steps_in_all = (uint32_t)table->row_count;
    for (size_t r = 0; r < table->rank_count; r++) {
        uint32_t named = count_named(table, r, noise_of(table, r));

        if (named <= straggler->step_count)
            continue;
        straggler->rank = (uint32_t)r;
        straggler->step_count = named;
    }
    straggler->is_found = (size_t)straggler->step_count * 2 > table->row_count;
    straggler->excess_ns = median_excess(table, straggler->rank);
}

static int64_t work_by_cause(const struct excess_table *table, size_t row, size_t rank, int cause)
{
    int64_t by_cause_ns[CAUSE_COUNT];

    rkt_own_work_by_cause(&step_of(table, row, rank)->window, by_cause_ns);
    return by_cause_ns[cause];
}

/* The part in which it exceeds the median rank most, by the median over the steps. */
static void find_cause(const struct excess_table *table, int64_t *values,
                       struct rkt_straggler *straggler)
{
    int64_t *excess = table->excess; /* no longer needed: one number per step */

    for (int cause = RKT_CAUSE_COMPUTE; cause < CAUSE_COUNT; cause++) {
        int64_t median_ns;

        for (size_t i = 0; i < table->row_count; i++) {
            for (size_t r = 0; r < table->rank_count; r++)
                values[r] = work_by_cause(table, i, r, cause);
            excess[i] = above_others(values, table->rank_count, straggler->rank, table->room);
        }
        median_ns = rkt_median_i64(excess, table->row_count);
        if (median_ns <= straggler->cause_ns)
            continue;
        straggler->cause = (enum rkt_cause)cause;
        straggler->cause_ns = median_ns;
    }
}

static enum rkt_status describe(struct rkt_result *result, struct excess_table *table,
                                int64_t *values, struct rkt_arena *arena, struct rkt_error *err)
{
    struct rkt_straggler *straggler = &result->straggler;

    find_cause(table, values, straggler);
    return rkt_name_cause(result, table->steps, straggler, arena, err);
}

static enum rkt_status look_at(struct rkt_result *result, const struct rkt_step_table *steps,
                               struct rkt_arena *arena, struct rkt_error *err)
{
    struct excess_table table = {.steps = steps, .rank_count = result->rank_count};
    size_t room = steps->row_count + result->rank_count + 1;
    int64_t *values = calloc(result->rank_count + 1, sizeof(*values));
    enum rkt_status status = RKT_OK;

    table.rows = calloc(steps->row_count + 1, sizeof(*table.rows));
    table.excess = calloc(steps->row_count * result->rank_count + 1, sizeof(*table.excess));
    table.room = calloc(room, sizeof(*table.room));
    if (values == NULL || table.rows == NULL || table.excess == NULL || table.room == NULL) {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu steps of %zu ranks",
                          steps->row_count, result->rank_count);
    } else {
        for (size_t i = 0; i < steps->row_count; i++) {
            if (rkt_step_row_is_steady(steps, i))
                table.rows[table.row_count++] = i;
        }
        fill_excess(&table, values);
        if (table.row_count >= RKT_STRAGGLER_STEPS_MIN && result->collective_count > 0)
            name_straggler(&table, &result->straggler);
        if (result->straggler.is_found)
            status = describe(result, &table, values, arena, err);
    }
    free(values);
    free(table.rows);
    free(table.excess);
    free(table.room);
    return status;
}

enum rkt_status rkt_find_straggler(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    struct rkt_step_table steps;
    enum rkt_status status;

    result->straggler = (struct rkt_straggler){.excess_ns = RKT_NA, .cause_detail = ""};
    status = rkt_step_table_init(&steps, result, err);
    if (status != RKT_OK)
        return status;
    rkt_step_table_mark_warmup(&steps);
    fill_own_work(result);
    if (result->rank_count > 1)
        status = look_at(result, &steps, arena, err);
    rkt_step_table_release(&steps);
    return status;
}
