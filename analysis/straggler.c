/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "analysis/cause.h"
#include "analysis/cause_compute.h"
#include "analysis/cause_gpu.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/step_table.h"

/*
 * A rank stands out in a step by 1 % of it. Over the steps the median of its excess, or of one part
 * of it, must be three times as large as the median of noise would be: 1.4826 MAD is the standard
 * deviation of normal noise, and 1.2533 / sqrt(n) of it that of the median of n steps.
 */
#define SHARE_OF_STEP 0.01
#define NOISE_SIGMAS (3 * 1.4826 * 1.2533)

#define CAUSE_COUNT (RKT_CAUSE_OTHER + 1)

/*
 * excess[step * rank_count + rank]: own work above the median of the other ranks. Ranks are those
 * that are compared, one after the other.
 */
struct excess_table {
    const struct rkt_step_table *steps;
    size_t *rows; /* the steady ones of `steps` */
    size_t row_count;
    uint32_t *ranks; /* positions in the result */
    size_t rank_count;
    int64_t *excess;
    int64_t *room; /* for a median over rows or ranks */
};

/* Of a rank whose lane is not known: what its window holds beside exposed communication. */
static void take_own_work_of_window(struct rkt_step_result *step)
{
    rkt_own_work_by_cause(&step->window, step->own_by_cause_ns);
    step->own_work_ns = 0;
    for (int i = 0; i < CAUSE_COUNT; i++)
        step->own_work_ns += step->own_by_cause_ns[i];
}

static void set_own_work(const struct rkt_rank_trace *trace, struct rkt_step_result *step)
{
    if (step->is_unrecorded)
        step->own_work_ns = RKT_NA;
    else if (!trace->lane)
        take_own_work_of_window(step);
}

static void fill_own_work(struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        for (size_t i = 0; i < result->ranks[r].step_count; i++)
            set_own_work(result->ranks[r].trace, &result->ranks[r].steps[i]);
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
    return table->steps->rows[table->rows[row]].by_rank[table->ranks[rank]].step;
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* One sort per step: without the rank itself, the middle of the others is the sorted value there,
 * or the next one where the rank stood before it. */
static void fill_excess(struct excess_table *table)
{
    size_t middle = (table->rank_count - 2) / 2;
    int64_t *sorted = table->room;

    for (size_t i = 0; i < table->row_count; i++) {
        int64_t *excess = &table->excess[i * table->rank_count];

        for (size_t r = 0; r < table->rank_count; r++)
            sorted[r] = step_of(table, i, r)->own_work_ns;
        qsort(sorted, table->rank_count, sizeof(*sorted), compare_i64);
        for (size_t r = 0; r < table->rank_count; r++) {
            int64_t own_ns = step_of(table, i, r)->own_work_ns;

            excess[r] = own_ns - sorted[own_ns <= sorted[middle] ? middle + 1 : middle];
        }
    }
}

/* Median over the steps of one rank's excess, as a whole or of one part. */
struct typical {
    int64_t median_ns;
    bool is_more_than_noise;
};

/* Reorders `values`, one per step. */
static struct typical typical_of(int64_t *values, size_t count)
{
    struct typical typical = {.median_ns = rkt_median_i64(values, count)};
    int64_t mad_ns = rkt_mad_i64(values, count, typical.median_ns);

    typical.is_more_than_noise =
        (double)typical.median_ns > NOISE_SIGMAS * (double)mad_ns / sqrt((double)count);
    return typical;
}

static struct typical typical_excess(const struct excess_table *table, size_t rank)
{
    for (size_t i = 0; i < table->row_count; i++)
        table->room[i] = table->excess[i * table->rank_count + rank];
    return typical_of(table->room, table->row_count);
}

static double least_that_counts_ns(const struct excess_table *table)
{
    for (size_t i = 0; i < table->row_count; i++)
        table->room[i] = table->steps->rows[table->rows[i]].longest_ns;
    return SHARE_OF_STEP * (double)rkt_median_i64(table->room, table->row_count);
}

static size_t largest_in_row(const struct excess_table *table, size_t row)
{
    const int64_t *excess = &table->excess[row * table->rank_count];
    size_t largest = 0;

    for (size_t r = 1; r < table->rank_count; r++)
        largest = excess[r] > excess[largest] ? r : largest;
    return largest;
}

/* For each rank the steps in which it has the largest excess, by over 1 % of the step. */
static void count_named(const struct excess_table *table, int64_t *named)
{
    for (size_t i = 0; i < table->row_count; i++) {
        size_t rank = largest_in_row(table, i);
        double share_ns = SHARE_OF_STEP * (double)table->steps->rows[table->rows[i]].longest_ns;

        named[rank] += (double)table->excess[i * table->rank_count + rank] > share_ns;
    }
}

/*
 * The rank that stands out most often, *rank_out in the table; true when its excess as a whole is
 * more than noise.
 */
static bool find_candidate(const struct excess_table *table, int64_t *named,
                           struct rkt_straggler *straggler, size_t *rank_out)
{
    struct typical typical;
    size_t rank = 0;

    count_named(table, named);
    for (size_t r = 1; r < table->rank_count; r++)
        rank = named[r] > named[rank] ? r : rank;
    typical = typical_excess(table, rank);
    *rank_out = rank;
    straggler->rank = table->ranks[rank];
    straggler->step_count = (uint32_t)named[rank];
    straggler->steps_in_all = (uint32_t)table->row_count;
    straggler->excess_ns = typical.median_ns;
    return typical.is_more_than_noise;
}

static struct typical typical_part(const struct excess_table *table, size_t rank, int cause,
                                   int64_t *values)
{
    int64_t *excess = table->excess; /* no longer needed: one number per step */

    for (size_t i = 0; i < table->row_count; i++) {
        for (size_t r = 0; r < table->rank_count; r++)
            values[r] = step_of(table, i, r)->own_by_cause_ns[cause];
        excess[i] = above_others(values, table->rank_count, rank, table->room);
    }
    return typical_of(excess, table->row_count);
}

/*
 * The part in which it exceeds the others most, one that is more than noise before one that may
 * be. True for the former: noise in computing must not hide a constant delay in another part.
 */
static bool find_cause(const struct excess_table *table, size_t rank, int64_t *values,
                       struct rkt_straggler *straggler)
{
    double least_ns = least_that_counts_ns(table);
    bool is_certain = false;

    for (int cause = RKT_CAUSE_COMPUTE; cause < CAUSE_COUNT; cause++) {
        struct typical part = typical_part(table, rank, cause, values);
        bool counts = part.is_more_than_noise && (double)part.median_ns > least_ns;

        if (part.median_ns <= 0 || (is_certain && !counts))
            continue;
        if (counts == is_certain && part.median_ns <= straggler->cause_ns)
            continue;
        straggler->cause = (enum rkt_cause)cause;
        straggler->cause_ns = part.median_ns;
        is_certain = counts;
    }
    return is_certain;
}

/* Where steps could not be replayed: who has more own work than the others. */
static void name_by_excess(const struct excess_table *table, int64_t *values,
                           struct rkt_straggler *straggler)
{
    size_t rank = 0;
    bool is_certain = find_candidate(table, values, straggler, &rank);
    bool is_usual = (size_t)straggler->step_count * 2 > table->row_count;

    is_certain |= find_cause(table, rank, values, straggler);
    straggler->is_found = is_usual && is_certain;
    straggler->loss_share = straggler->is_found ? (double)NAN : 0;
}

/* Of who holds the others up by the replay: how much more own work it has, and of which kind. */
static void explain(const struct excess_table *table, int64_t *values,
                    struct rkt_straggler *straggler)
{
    size_t rank = 0;

    while (table->ranks[rank] != straggler->rank)
        rank++;
    straggler->excess_ns = typical_excess(table, rank).median_ns;
    (void)find_cause(table, rank, values, straggler);
}

static void name_straggler(const struct rkt_result *result, const struct excess_table *table,
                           int64_t *values, struct rkt_straggler *straggler)
{
    const struct rkt_whatif *whatif = &result->whatif;
    bool is_replayed = whatif->why_not[0] == '\0';

    if (table->row_count < RKT_STRAGGLER_STEPS_MIN || result->collective_count == 0)
        return;
    if (!is_replayed && !whatif->is_weak) {
        name_by_excess(table, values, straggler);
        return;
    }
    straggler->loss_share = is_replayed ? 0 : (double)NAN;
    if (!straggler->is_found)
        return;
    straggler->loss_share =
        rkt_share(straggler->gain_ns * (int64_t)whatif->step_count, whatif->steps_ns);
    explain(table, values, straggler);
}

/* `table` has its memory; `values` is one for each rank. */
static enum rkt_status compare(struct rkt_result *result, struct excess_table *table,
                               int64_t *values, struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_step_table *steps = table->steps;
    enum rkt_status status;

    for (size_t i = 0; i < steps->row_count; i++) {
        if (rkt_step_row_is_steady(steps, i))
            table->rows[table->row_count++] = i;
    }
    for (uint32_t r = 0; r < result->rank_count; r++) {
        if (!result->ranks[r].is_set_apart)
            table->ranks[table->rank_count++] = r;
    }
    fill_excess(table);
    name_straggler(result, table, values, &result->straggler);
    if (!result->straggler.is_found)
        return RKT_OK;
    status = rkt_name_cause(result, steps, &result->straggler, arena, err);
    if (status == RKT_OK)
        status = rkt_find_compute_cause(result, steps, &result->straggler, err);
    return status == RKT_OK ? rkt_find_gpu_cause(result, steps, &result->straggler, err) : status;
}

static enum rkt_status look_at(struct rkt_result *result, const struct rkt_step_table *steps,
                               struct rkt_arena *arena, struct rkt_error *err)
{
    size_t room = steps->row_count + result->rank_count + 1;
    int64_t *values = calloc(result->rank_count + 1, sizeof(*values));
    struct excess_table table = {
        .steps = steps,
        .rows = calloc(steps->row_count + 1, sizeof(*table.rows)),
        .ranks = calloc(result->rank_count + 1, sizeof(*table.ranks)),
        .excess = calloc(steps->row_count * result->rank_count + 1, sizeof(*table.excess)),
        .room = calloc(room, sizeof(*table.room)),
    };
    enum rkt_status status;

    if (values && table.rows && table.ranks && table.excess && table.room)
        status = compare(result, &table, values, arena, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu steps of %zu ranks",
                          steps->row_count, result->rank_count);
    free(values);
    free(table.rows);
    free(table.ranks);
    free(table.excess);
    free(table.room);
    return status;
}

enum rkt_status rkt_find_straggler(struct rkt_result *result, struct rkt_arena *arena,
                                   struct rkt_error *err)
{
    struct rkt_step_table steps;
    enum rkt_status status;

    result->straggler = (struct rkt_straggler){
        .gain_ns = RKT_NA, .loss_share = (double)NAN, .excess_ns = RKT_NA, .cause_detail = ""};
    status = rkt_step_table_init(&steps, result, err);
    if (status != RKT_OK)
        return status;
    rkt_step_table_mark_warmup(&steps);
    fill_own_work(result);
    status = rkt_find_whatif(result, &steps, arena, err);
    if (status == RKT_OK && steps.compared_count > 1)
        status = look_at(result, &steps, arena, err);
    rkt_step_table_release(&steps);
    return status;
}
