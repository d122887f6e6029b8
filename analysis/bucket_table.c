/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/bucket_table.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/clock_gap.h"
#include "analysis/interval.h"
#include "analysis/stages.h"
#include "analysis/steady.h"

/* Buckets of all steady steps, by index. */
struct table {
    const struct rkt_result *result;
    const struct rkt_collective **items;
    size_t count;
    int64_t *room; /* a number for each participant of all */
};

/* One number of a rank's part in a bucket; RKT_NA. */
typedef int64_t (*part_fn)(const struct rkt_result *result, const struct rkt_collective *bucket,
                           const struct rkt_participant *part);

/* The step of the rank in which it was launched; NULL. */
static const struct rkt_step_result *step_of(const struct rkt_result *result,
                                             const struct rkt_participant *part)
{
    const struct rkt_rank_result *rank = &result->ranks[part->rank];
    const struct rkt_work *work;

    if (part->work == RKT_INDEX_NONE)
        return NULL;
    work = rkt_rank_trace_work(rank->trace, part->work);
    return work->step < rank->step_count ? &rank->steps[work->step] : NULL;
}

static int64_t launch_offset(const struct rkt_result *result, const struct rkt_collective *bucket,
                             const struct rkt_participant *part)
{
    const struct rkt_step_result *step = step_of(result, part);
    int64_t launch_ns;

    (void)bucket;
    if (!step || step->backward_launch_ns == RKT_NA)
        return RKT_NA;
    launch_ns = rkt_rank_trace_work(result->ranks[part->rank].trace, part->work)->launch_start_ns;
    return launch_ns == RKT_TIME_UNKNOWN ? RKT_NA : launch_ns - step->backward_launch_ns;
}

static int64_t since_backward(const struct rkt_result *result, const struct rkt_participant *part,
                              int64_t time_ns)
{
    const struct rkt_step_result *step = step_of(result, part);

    return !step || step->backward.start_ns == RKT_NA || time_ns == RKT_NA
               ? RKT_NA
               : time_ns - step->backward.start_ns;
}

static int64_t ready(const struct rkt_result *result, const struct rkt_collective *bucket,
                     const struct rkt_participant *part)
{
    (void)bucket;
    return since_backward(result, part, part->ready_ns);
}

static int64_t start(const struct rkt_result *result, const struct rkt_collective *bucket,
                     const struct rkt_participant *part)
{
    (void)bucket;
    return since_backward(result, part, part->start_ns);
}

static int64_t wait(const struct rkt_result *result, const struct rkt_collective *bucket,
                    const struct rkt_participant *part)
{
    (void)result;
    return rkt_clock_gap_wait_ns(bucket, part);
}

static int64_t transfer(const struct rkt_result *result, const struct rkt_collective *bucket,
                        const struct rkt_participant *part)
{
    (void)result;
    (void)part;
    return bucket->transfer_ns;
}

static int64_t exposed(const struct rkt_result *result, const struct rkt_collective *bucket,
                       const struct rkt_participant *part)
{
    const struct rkt_interval_set *set = result->ranks[part->rank].exposed;

    (void)bucket;
    if (part->work == RKT_INDEX_NONE || !set)
        return RKT_NA;
    return rkt_interval_set_length_within(set, part->start_ns, part->end_ns);
}

/* Over buckets items[first .. end) and their ranks. */
static int64_t median(const struct table *table, size_t first, size_t end, part_fn number)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < table->items[i]->participant_count; k++) {
            int64_t value =
                number(table->result, table->items[i], &table->items[i]->participants[k]);

            if (value != RKT_NA)
                table->room[count++] = value;
        }
    }
    return rkt_median_i64(table->room, count);
}

static double queued_share(const struct table *table, size_t first, size_t end)
{
    int64_t queued = 0, all = 0;

    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < table->items[i]->participant_count; k++, all++)
            queued += table->items[i]->participants[k].is_queued;
    }
    return rkt_share(queued, all);
}

/* In whole bytes per second, which is exact enough to sort by. */
static double median_busbw(const struct table *table, size_t first, size_t end)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++) {
        if (isfinite(table->items[i]->busbw_bytes_per_s))
            table->room[count++] = (int64_t)table->items[i]->busbw_bytes_per_s;
    }
    return count > 0 ? (double)rkt_median_i64(table->room, count) : (double)NAN;
}

static struct rkt_bucket_row make_row(const struct table *table, size_t first, size_t end)
{
    const struct rkt_collective *bucket = table->items[first];

    return (struct rkt_bucket_row){
        .index = bucket->bucket_index,
        .bytes = bucket->bytes,
        .func_name = bucket->func_name,
        .collective_count = end - first,
        .launch_offset_ns = median(table, first, end, launch_offset),
        .ready_ns = median(table, first, end, ready),
        .start_ns = median(table, first, end, start),
        .queued_share = queued_share(table, first, end),
        .wait_ns = median(table, first, end, wait),
        .transfer_ns = median(table, first, end, transfer),
        .exposed_ns = median(table, first, end, exposed),
        .busbw_bytes_per_s = median_busbw(table, first, end),
    };
}

static bool is_steady(const struct rkt_result *result, const struct rkt_collective *collective)
{
    const struct rkt_rank_result *rank = &result->ranks[collective->participants[0].rank];

    return collective->bucket_index != RKT_INDEX_NONE && collective->step < rank->step_count &&
           rkt_step_counts(&rank->steps[collective->step]);
}

static int compare_buckets(const void *a, const void *b)
{
    const struct rkt_collective *x = *(const struct rkt_collective *const *)a;
    const struct rkt_collective *y = *(const struct rkt_collective *const *)b;

    if (x->bucket_index != y->bucket_index)
        return x->bucket_index < y->bucket_index ? -1 : 1;
    return (x > y) - (x < y); /* in order of time */
}

static enum rkt_status fill(struct table *table, struct rkt_result *result, struct rkt_arena *arena)
{
    size_t part_count = 0;
    size_t row_count = 0;

    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (!is_steady(result, collective))
            continue;
        table->items[table->count++] = collective;
        part_count += collective->participant_count;
    }
    qsort(table->items, table->count, sizeof(struct rkt_collective *), compare_buckets);
    for (size_t i = 0; i < table->count; i++)
        row_count += i == 0 || table->items[i]->bucket_index != table->items[i - 1]->bucket_index;
    table->room = calloc(part_count + 1, sizeof(*table->room));
    result->buckets = RKT_ARENA_ARRAY(arena, struct rkt_bucket_row, row_count + 1);
    if (!table->room || !result->buckets)
        return RKT_ERR_NOMEM;
    for (size_t i = 0, next; i < table->count; i = next) {
        for (next = i + 1; next < table->count &&
                           table->items[next]->bucket_index == table->items[i]->bucket_index;)
            next++;
        result->buckets[result->bucket_count++] = make_row(table, i, next);
    }
    return RKT_OK;
}

enum rkt_status rkt_find_buckets(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    struct table table = {.result = result};
    enum rkt_status status = RKT_ERR_NOMEM;

    result->bucket_count = 0;
    table.items = calloc(result->collective_count + 1, sizeof(struct rkt_collective *));
    if (table.items)
        status = fill(&table, result, arena);
    free(table.items);
    free(table.room);
    return status == RKT_OK ? RKT_OK : rkt_fail(err, status, "no memory for a table of buckets");
}
