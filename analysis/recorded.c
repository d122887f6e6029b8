/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     rank 0   |----| w |====|====|====|----|      - closed   w warm-up   = recorded
 *     rank 1   |----|----| w |====|====|----|      late: its order came when step 1 had begun
 *     counts                 |XXXX|XXXX|
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/stages.h"
#include "analysis/step_table.h"

#define LIST_BYTES_MAX 200u

static size_t recorded_count(const struct rkt_rank_result *rank)
{
    size_t count = 0;

    for (size_t i = 0; i < rank->step_count; i++)
        count += !rank->steps[i].is_unrecorded;
    return count;
}

/* Ranks that have steps to compare. */
static size_t comparable_count(const struct rkt_result *result)
{
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        count += !rank->is_set_apart && rank->step_source != RKT_STEPS_WINDOW &&
                 recorded_count(rank) > 0;
    }
    return count;
}

/* Leave out the steps that not all ranks recorded; returns how many numbers those are. */
static size_t intersect(struct rkt_step_table *steps, size_t rank_count)
{
    size_t count = 0;

    for (size_t i = 0; i < steps->row_count; i++) {
        struct rkt_step_row *row = &steps->rows[i];

        if (row->present_count == rank_count)
            continue;
        count++;
        for (size_t r = 0; r < steps->rank_count; r++) {
            if (row->by_rank[r].step != NULL)
                row->by_rank[r].step->is_unrecorded = true;
        }
    }
    return count;
}

/* "10 to 19, 30 to 39"; cut with "..." where it grows too long. */
static void list_numbers(const struct rkt_rank_result *rank, char text[LIST_BYTES_MAX])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0, next; i < rank->step_count; i = next) {
        const char *comma = used > 0 ? ", " : "";
        uint64_t first = rank->steps[i].number;
        size_t room = LIST_BYTES_MAX - used;
        int written;

        for (next = i + 1; next < rank->step_count && !rank->steps[i].is_unrecorded &&
                           !rank->steps[next].is_unrecorded &&
                           rank->steps[next].number == rank->steps[next - 1].number + 1;)
            next++;
        if (rank->steps[i].is_unrecorded)
            continue;
        if (room < 60) { /* more than any span needs */
            (void)snprintf(text + used, room, "%s...", comma);
            return;
        }
        if (next == i + 1)
            written = snprintf(text + used, room, "%s%" PRIu64, comma, first);
        else
            written = snprintf(text + used, room, "%s%" PRIu64 " to %" PRIu64, comma, first,
                               rank->steps[next - 1].number);
        used += (size_t)written;
    }
}

static const struct rkt_rank_result *first_with_steps(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];

        if (!rank->is_set_apart && rank->step_source != RKT_STEPS_WINDOW &&
            recorded_count(rank) > 0)
            return rank;
    }
    return NULL;
}

/* A step with which a window began although nothing before it was traced. */
static size_t unprepared_count(const struct rkt_rank_result *rank)
{
    size_t count = 0;

    for (size_t i = 0; i < rank->step_count; i++) {
        const struct rkt_step_result *step = &rank->steps[i];

        count += step->is_unrecorded &&
                 rkt_open_span_find(rank->trace->open_spans, rank->trace->open_count,
                                    step->host_start_ns, step->host_end_ns) != NULL;
    }
    return count;
}

static enum rkt_status note_windows(struct rkt_result *result, size_t cut_count, size_t unprepared,
                                    struct rkt_arena *arena, struct rkt_error *err)
{
    const struct rkt_rank_result *rank = first_with_steps(result);
    char list[LIST_BYTES_MAX];
    enum rkt_status status;

    if (rank == NULL)
        return rkt_add_note(result, arena, 1, err,
                            "capture windows: no step was recorded from its start to its end by "
                            "all ranks; numbers are of what was recorded in all");
    list_numbers(rank, list);
    status = rkt_add_note(result, arena, 0, err,
                          "steps %s recorded (capture window), the %zu others not: they are in no "
                          "statistic",
                          list, rank->step_count - recorded_count(rank));
    if (status == RKT_OK && unprepared > 0)
        status = rkt_add_note(result, arena, 0, err,
                              "%zu step%s left out with which a window began: what the GPU still "
                              "did then is not known; a warm-up step before (--schedule warmup=1) "
                              "keeps it",
                              unprepared, unprepared == 1 ? " is" : "s are");
    if (status == RKT_OK && cut_count > 0)
        status = rkt_add_note(result, arena, 1, err,
                              "the ranks' capture windows differ: %zu step%s that not all of them "
                              "recorded %s left out",
                              cut_count, cut_count == 1 ? "" : "s", cut_count == 1 ? "is" : "are");
    return status;
}

enum rkt_status rkt_compare_windows(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    struct rkt_step_table steps;
    enum rkt_status status;
    size_t unprepared = 0;
    size_t cut_count;

    if (!rkt_result_has_windows(result))
        return RKT_OK;
    status = rkt_step_table_init(&steps, result, err);
    if (status != RKT_OK)
        return status;
    for (size_t r = 0; r < result->rank_count; r++) {
        size_t count = unprepared_count(&result->ranks[r]);

        unprepared = count > unprepared ? count : unprepared;
    }
    cut_count = intersect(&steps, comparable_count(result));
    rkt_step_table_release(&steps);
    return note_windows(result, cut_count, unprepared, arena, err);
}
