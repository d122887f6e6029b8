/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sync_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/name_times.h"
#include "analysis/stages.h"
#include "analysis/time_find.h"
#include "common/array.h"

/* The calls are CUPTI's, on another clock: one may seem to begin before the range that made it. */
int64_t rkt_sync_wait_ns(const struct rkt_rank_trace *trace, const struct rkt_range *range)
{
    int64_t wait_ns = 0;
    int64_t covered_ns = range->start_ns; /* blocking calls may be inside each other */

    for (size_t i = rkt_time_find(&trace->calls->start_ns, trace->call_count, sizeof(*trace->calls),
                                  range->start_ns - trace->clock_error_ns);
         i < trace->call_count && trace->calls[i].start_ns < range->end_ns; i++) {
        const struct rkt_call *call = &trace->calls[i];
        int64_t from_ns = call->start_ns > covered_ns ? call->start_ns : covered_ns;
        int64_t to_ns = call->end_ns < range->end_ns ? call->end_ns : range->end_ns;

        if (call->thread_id != range->thread_id || call->call_class != RKT_CALL_BLOCKING ||
            to_ns <= from_ns)
            continue;
        wait_ns += to_ns - from_ns;
        covered_ns = to_ns;
    }
    return wait_ns;
}

static int compare_places(const void *a, const void *b)
{
    const struct rkt_name_time *x = a;
    const struct rkt_name_time *y = b;

    if (x->name_id != y->name_id)
        return x->name_id < y->name_id ? -1 : 1;
    return (x->variant > y->variant) - (x->variant < y->variant);
}

static int compare_waits(const void *a, const void *b)
{
    const struct rkt_sync_line *x = a;
    const struct rkt_sync_line *y = b;

    return (x->wait_ns < y->wait_ns) - (x->wait_ns > y->wait_ns);
}

/* The rank's steps that count, from the first to the last; false without any. */
static bool find_stretch(const struct rkt_rank_result *rank, uint32_t *first_step,
                         uint32_t *last_step)
{
    bool is_found = false;

    for (size_t i = 0; i < rank->step_count; i++) {
        if (!rkt_step_counts(&rank->steps[i]))
            continue;
        *first_step = is_found ? *first_step : (uint32_t)i;
        *last_step = (uint32_t)i;
        is_found = true;
    }
    return is_found;
}

/* What the calls in these steps waited, by place; NULL when memory is out. The caller's, free(). */
static struct rkt_name_time *collect(const struct rkt_rank_result *rank, size_t *count_out)
{
    struct rkt_name_time *told = NULL;
    struct rkt_name_walk walk;
    struct rkt_name_time time;
    uint32_t first_step;
    uint32_t last_step;
    size_t count = 0;
    size_t cap = 0;

    if (!rkt_array_reserve((void **)&told, &cap, 1, sizeof(*told)))
        return NULL;
    *count_out = 0;
    if (!find_stretch(rank, &first_step, &last_step))
        return told;
    rkt_name_walk_init(&walk, rank->names, RKT_NAMES_LINES, first_step, last_step);
    while (rkt_name_walk_next(&walk, &time)) {
        if (!rkt_array_reserve((void **)&told, &cap, count + 1, sizeof(*told))) {
            free(told);
            return NULL;
        }
        told[count++] = time;
    }
    qsort(told, count, sizeof(*told), compare_places);
    *count_out = count;
    return told;
}

static size_t count_places(const struct rkt_name_time *told, size_t count)
{
    size_t places = count > 0;

    for (size_t i = 1; i < count; i++)
        places += compare_places(&told[i - 1], &told[i]) != 0;
    return places;
}

/* Places that never waited are left out. */
static size_t sum_places(const struct rkt_rank_trace *trace, const struct rkt_name_time *told,
                         size_t count, struct rkt_sync_line *lines)
{
    size_t line_count = 0;

    for (size_t i = 0, next; i < count; i = next) {
        struct rkt_sync_line *line = &lines[line_count];

        *line = (struct rkt_sync_line){
            .site = rkt_strtab_get(trace->names, told[i].name_id, NULL),
            .call = rkt_strtab_get(trace->names, told[i].variant, NULL),
        };
        for (next = i; next < count && compare_places(&told[i], &told[next]) == 0; next++) {
            line->wait_ns += told[next].sum_ns;
            line->count += told[next].count;
        }
        line_count += line->wait_ns > 0;
    }
    return line_count;
}

static enum rkt_status name_lines(struct rkt_rank_result *rank, struct rkt_arena *arena)
{
    struct rkt_sync_line *lines;
    size_t count;
    struct rkt_name_time *told = collect(rank, &count);

    if (!told)
        return RKT_ERR_NOMEM;
    lines = RKT_ARENA_ARRAY(arena, struct rkt_sync_line, count_places(told, count) + 1);
    if (lines) {
        rank->sync_line_count = sum_places(rank->trace, told, count, lines);
        rank->sync_lines = lines;
        qsort(lines, rank->sync_line_count, sizeof(*lines), compare_waits);
    }
    free(told);
    return lines ? RKT_OK : RKT_ERR_NOMEM;
}

enum rkt_status rkt_name_waiting_lines(struct rkt_result *result, struct rkt_arena *arena,
                                       struct rkt_error *err)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_rank_result *rank = &result->ranks[r];

        if (rank->trace->has_sync_calls && name_lines(rank, arena) != RKT_OK)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the lines of rank %u that wait",
                            rank->rank);
    }
    return RKT_OK;
}
