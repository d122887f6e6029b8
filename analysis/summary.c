/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/clock_check.h"
#include "analysis/clock_gap.h"
#include "analysis/collective_clocks.h"
#include "analysis/set_apart.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/step_table.h"
#include "analysis/wait_check.h"
#include "common/units.h"

/* One ratio of a step; a row of the table of headline numbers. */
typedef double (*ratio_fn)(const struct rkt_window *window, const struct rkt_step_result *step);

static double comm_share(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)step;
    return window->comm_share;
}

static double exposed_share(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)step;
    return window->exposed_share;
}

static double overlap(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)step;
    return window->overlap;
}

static double backward_overlap(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)window;
    return step == NULL ? (double)NAN : step->backward.ratio;
}

static double prefetch(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)window;
    return step == NULL ? (double)NAN : step->backward.prefetch_ratio;
}

static double compute_share(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)step;
    return window->compute_share;
}

static double gpu_util(const struct rkt_window *window, const struct rkt_step_result *step)
{
    (void)step;
    return window->gpu_util;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Lower median; NAN for none. */
static double median_of(double *values, size_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(values, count, sizeof(*values), compare_doubles);
    return values[(count - 1) / 2];
}

/* Over the rank's steady steps; over its run where it has none. */
static double median_of_rank(const struct rkt_rank_result *rank, ratio_fn ratio, double *room)
{
    size_t steady = 0;
    size_t known = 0;

    for (size_t i = 0; i < rank->step_count; i++) {
        const struct rkt_step_result *step = &rank->steps[i];
        double value = ratio(&step->window, step);

        steady += rkt_step_counts(step);
        if (rkt_step_counts(step) && isfinite(value))
            room[known++] = value;
    }
    return steady == 0 ? ratio(&rank->run, NULL) : median_of(room, known);
}

/* `room` holds the steps of the longest rank, and then the ranks. */
static double median_of_ranks(const struct rkt_result *result, ratio_fn ratio, double *room,
                              size_t step_room)
{
    double *by_rank = room + step_room;
    size_t known = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        double value = median_of_rank(&result->ranks[r], ratio, room);

        if (isfinite(value) && !result->ranks[r].is_set_apart)
            by_rank[known++] = value;
    }
    return median_of(by_rank, known);
}

static enum rkt_status fill_ratios(struct rkt_result *result, struct rkt_error *err)
{
    struct rkt_summary *summary = &result->summary;
    size_t steps = 0;
    double *room;

    for (size_t r = 0; r < result->rank_count; r++)
        steps = result->ranks[r].step_count > steps ? result->ranks[r].step_count : steps;
    room = calloc(steps + result->rank_count + 1, sizeof(*room));
    if (room == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the medians of %zu steps", steps);
    summary->comm_share = median_of_ranks(result, comm_share, room, steps);
    summary->exposed_share = median_of_ranks(result, exposed_share, room, steps);
    summary->overlap = median_of_ranks(result, overlap, room, steps);
    summary->backward_overlap = median_of_ranks(result, backward_overlap, room, steps);
    summary->prefetch = median_of_ranks(result, prefetch, room, steps);
    summary->compute_share = median_of_ranks(result, compute_share, room, steps);
    summary->gpu_util = median_of_ranks(result, gpu_util, room, steps);
    free(room);
    return RKT_OK;
}

static void fill_sums(struct rkt_result *result)
{
    struct rkt_summary *summary = &result->summary;
    struct rkt_steady sum = {0};

    for (size_t r = 0; r < result->rank_count; r++) {
        struct rkt_steady steady = rkt_steady_of(&result->ranks[r]);

        if (!result->ranks[r].is_set_apart)
            rkt_steady_add(&sum, &steady);
    }
    summary->parts = sum.parts;
    summary->host = sum.host;
    summary->parts_rank_ns = sum.window_ns;
    summary->is_host_view = sum.is_host_view;
}

/* Median over the steady steps of the longest rank's window; names the warm-up in a note. */
static enum rkt_status fill_step(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    struct rkt_step_table steps;
    enum rkt_status status = rkt_step_table_init(&steps, result, err);
    int64_t *lengths;
    int64_t median_ns;
    size_t warmups;
    size_t count = 0;

    if (status != RKT_OK)
        return status;
    warmups = rkt_step_table_mark_warmup(&steps);
    lengths = calloc(steps.row_count + 1, sizeof(*lengths));
    if (lengths == NULL) {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu steps", steps.row_count);
        rkt_step_table_release(&steps);
        return status;
    }
    for (size_t i = 0; i < steps.row_count; i++) {
        if (!steps.rows[i].is_warmup)
            lengths[count++] = steps.rows[i].longest_ns;
    }
    median_ns = rkt_median_i64(lengths, count);
    result->summary.step_ns = median_ns > 0 ? median_ns : RKT_NA;
    if (warmups > 0)
        status = rkt_add_note(result, arena, 0, err,
                              "warm-up: %zu step%s at the start left out of the statistics, %.1f "
                              "ms at first, %.1f ms in the median",
                              warmups, warmups == 1 ? "" : "s",
                              (double)steps.rows[0].longest_ns / 1e6, (double)median_ns / 1e6);
    free(lengths);
    rkt_step_table_release(&steps);
    return status;
}

static enum rkt_status note_step_counts(struct rkt_result *result, struct rkt_arena *arena,
                                        struct rkt_error *err)
{
    size_t fewest = SIZE_MAX;
    size_t most = 0;
    size_t cut = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_rank_result *rank = &result->ranks[r];
        size_t count = 0;

        for (size_t i = 0; i < rank->step_count; i++) {
            count += !rank->steps[i].is_unrecorded;
            cut += rank->steps[i].is_cut && !rank->steps[i].is_unrecorded;
        }
        if (rank->has_other_steps)
            continue; /* which is said, too */
        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    if (cut > 0) {
        enum rkt_status status = rkt_add_note(
            result, arena, 1, err, "%zu steps overlapped the next mark and were cut at it", cut);

        if (status != RKT_OK)
            return status;
    }
    if (result->rank_count < 2 || fewest == most)
        return RKT_OK;
    return rkt_add_note(result, arena, 1, err,
                        "ranks recorded between %zu and %zu steps; only steps that all have are "
                        "compared between ranks",
                        fewest, most);
}

/* The file whose claim is furthest off from what the collectives allow, and how many are. */
static enum rkt_status note_claims(struct rkt_result *result,
                                   const struct rkt_collective_clocks *clocks,
                                   struct rkt_arena *arena, struct rkt_error *err)
{
    int64_t worst_ns = 0, worst_bound_ns = 0;
    uint32_t worst_rank = 0;
    size_t off_count = 0;
    char text[2][32];

    for (size_t r = 0; r < result->rank_count; r++) {
        const struct rkt_store_source *source = &result->ranks[r].trace->source;
        const struct rkt_clock_tie *tie = rkt_collective_clocks_find(clocks, source->info.source);
        int64_t off_ns, bound_ns;

        if (!tie || result->ranks[r].align_state != RKT_ALIGN_WALL_CLOCK ||
            !rkt_collective_clocks_claim(source, tie, &off_ns, &bound_ns))
            continue;
        off_count++;
        if (llabs(off_ns) < llabs(worst_ns))
            continue;
        worst_ns = off_ns;
        worst_bound_ns = bound_ns;
        worst_rank = result->ranks[r].rank;
    }
    if (off_count == 0)
        return RKT_OK;
    return rkt_add_note(
        result, arena, 1, err,
        "collectives show that the stamps of %zu rank%s are off, most those of rank %u, "
        "by %s +- %s; 'ranktrace align' aligns such ranks",
        off_count, off_count == 1 ? "" : "s", worst_rank,
        rkt_format_duration(worst_ns, text[0], sizeof(text[0])),
        rkt_format_duration(worst_bound_ns, text[1], sizeof(text[1])));
}

/* Only of what a file claims can it be told by how much it is off. */
static enum rkt_status find_wrong_claims(struct rkt_result *result, struct rkt_arena *arena,
                                         struct rkt_error *err)
{
    struct rkt_collective_clocks *clocks;
    enum rkt_status status;
    size_t claimed = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        claimed += result->ranks[r].align_state == RKT_ALIGN_WALL_CLOCK;
    if (claimed == 0)
        return RKT_OK;
    status = rkt_collective_clocks_create(result, 0, &clocks, err);
    if (status != RKT_OK)
        return status;
    status = note_claims(result, clocks, arena, err);
    rkt_collective_clocks_destroy(clocks);
    return status;
}

/* Numbers that rest on more than the timeline's own alignments say so. */
static enum rkt_status note_narrowing(struct rkt_result *result, struct rkt_arena *arena,
                                      struct rkt_error *err)
{
    const struct rkt_narrowing *narrowing = &result->narrowing;
    char text[2][32];

    if (narrowing->is_contradicted)
        return rkt_add_note(result, arena, 1, err,
                            "collectives and the measurements of clocks contradict each other: "
                            "clocks that nobody measured for a while stay as wide as that left "
                            "them");
    if (narrowing->rank_count == 0)
        return RKT_OK;
    return rkt_add_note(
        result, arena, 0, err,
        "the clocks of %zu rank%s were not measured for a while: there they are known to +- %s, "
        "which collectives narrow to %s here; the timeline stays as it is ('ranktrace align -o' "
        "writes a narrowed one)",
        narrowing->rank_count, narrowing->rank_count == 1 ? "" : "s",
        rkt_format_duration(narrowing->before_ns, text[0], sizeof(text[0])),
        rkt_format_duration(narrowing->after_ns, text[1], sizeof(text[1])));
}

static enum rkt_status check_clocks(struct rkt_result *result, struct rkt_arena *arena,
                                    struct rkt_error *err)
{
    enum rkt_status status = rkt_check_clocks(result, &result->clock_check, err);

    if (status == RKT_OK)
        status = note_narrowing(result, arena, err);
    if (status == RKT_OK)
        status = rkt_note_clock_check(result, arena, err);
    if (status == RKT_OK && result->clock_check.proven.count > 0)
        status = find_wrong_claims(result, arena, err);
    return status;
}

enum rkt_status rkt_summarise(struct rkt_result *result, struct rkt_arena *arena,
                              struct rkt_error *err)
{
    enum rkt_status status;

    memset(&result->summary, 0, sizeof(result->summary));
    fill_sums(result);
    rkt_summarise_clocks(result);
    status = rkt_check_waits(result, err);
    if (status == RKT_OK)
        status = fill_step(result, arena, err);
    if (status == RKT_OK)
        status = fill_ratios(result, err);
    if (status == RKT_OK)
        status = rkt_note_set_apart(result, arena, err);
    if (status == RKT_OK)
        status = note_step_counts(result, arena, err);
    if (status == RKT_OK)
        status = check_clocks(result, arena, err);
    if (status == RKT_OK)
        status = rkt_note_wait_check(result, arena, err);
    return status;
}
