/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/sync_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stages.h"
#include "analysis/time_find.h"
#include "analysis/trace_keeper.h"

/* A call that told, before places are summed. */
struct told {
    uint32_t site_id;
    uint32_t call_id;
    int64_t wait_ns;
};

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
    const struct told *x = a;
    const struct told *y = b;

    if (x->site_id != y->site_id)
        return x->site_id < y->site_id ? -1 : 1;
    return (x->call_id > y->call_id) - (x->call_id < y->call_id);
}

static int compare_waits(const void *a, const void *b)
{
    const struct rkt_sync_line *x = a;
    const struct rkt_sync_line *y = b;

    return (x->wait_ns < y->wait_ns) - (x->wait_ns > y->wait_ns);
}

static size_t collect(const struct rkt_rank_trace *trace, int64_t start_ns, int64_t end_ns,
                      struct told *told)
{
    size_t count = 0;

    for (size_t i = 0; i < trace->range_count; i++) {
        const struct rkt_range *range = &trace->ranges[i];

        if (range->type != RKT_RANGE_SYNC_CALL || range->start_ns < start_ns ||
            range->start_ns >= end_ns)
            continue;
        told[count++] =
            (struct told){range->domain_id, range->name_id, rkt_sync_wait_ns(trace, range)};
    }
    return count;
}

/* Places that never waited are left out. */
static size_t sum_places(const struct rkt_rank_trace *trace, const struct told *told, size_t count,
                         struct rkt_sync_line *lines)
{
    size_t line_count = 0;

    for (size_t i = 0, next; i < count; i = next) {
        struct rkt_sync_line *line = &lines[line_count];

        *line = (struct rkt_sync_line){
            .site = rkt_strtab_get(trace->names, told[i].site_id, NULL),
            .call = rkt_strtab_get(trace->names, told[i].call_id, NULL),
        };
        for (next = i; next < count && compare_places(&told[i], &told[next]) == 0; next++) {
            line->wait_ns += told[next].wait_ns;
            line->count++;
        }
        line_count += line->wait_ns > 0;
    }
    return line_count;
}

enum rkt_status rkt_find_sync_lines(const struct rkt_rank_trace *trace, int64_t start_ns,
                                    int64_t end_ns, struct rkt_arena *arena,
                                    struct rkt_sync_line **lines_out, size_t *count_out)
{
    struct told *told = calloc(trace->range_count + 1, sizeof(*told));
    struct rkt_sync_line *lines;
    size_t count;

    *lines_out = NULL;
    *count_out = 0;
    if (!told)
        return RKT_ERR_NOMEM;
    count = collect(trace, start_ns, end_ns, told);
    qsort(told, count, sizeof(*told), compare_places);
    lines = count > 0 ? RKT_ARENA_ARRAY(arena, struct rkt_sync_line, count) : NULL;
    if (count > 0 && !lines) {
        free(told);
        return RKT_ERR_NOMEM;
    }
    count = sum_places(trace, told, count, lines);
    free(told);
    if (count == 0)
        return RKT_OK;
    qsort(lines, count, sizeof(*lines), compare_waits);
    for (size_t i = 0; i < count; i++) { /* the trace may be gone before its lines are */
        lines[i].site = rkt_arena_strndup(arena, lines[i].site, strlen(lines[i].site));
        lines[i].call = rkt_arena_strndup(arena, lines[i].call, strlen(lines[i].call));
        if (!lines[i].site || !lines[i].call)
            return RKT_ERR_NOMEM;
    }
    *lines_out = lines;
    *count_out = count;
    return RKT_OK;
}

/* Host time of the rank's steps that count, from the first to the last. */
static void find_stretch(const struct rkt_rank_result *rank, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct rkt_step_result *step = &rank->steps[i];

        if (!rkt_step_counts(step))
            continue;
        *start_ns = step->host_start_ns < *start_ns ? step->host_start_ns : *start_ns;
        *end_ns = step->host_end_ns > *end_ns ? step->host_end_ns : *end_ns;
    }
}

enum rkt_status rkt_name_waiting_lines(struct rkt_result *result, struct rkt_arena *arena,
                                       struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        struct rkt_rank_result *rank = &result->ranks[r];
        const struct rkt_rank_trace *trace;
        struct rkt_sync_line *lines = NULL;
        int64_t start_ns;
        int64_t end_ns;

        if (!rank->trace->has_sync_calls)
            continue;
        find_stretch(rank, &start_ns, &end_ns);
        status = rkt_trace_open(result, r, &trace, err);
        if (status == RKT_OK && rkt_find_sync_lines(trace, start_ns, end_ns, arena, &lines,
                                                    &rank->sync_line_count) != RKT_OK)
            status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for the lines of rank %u that wait",
                              rank->rank);
        rank->sync_lines = lines;
    }
    return status;
}
