/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gain_stats.h"
#include "analysis/stages.h"
#include "analysis/steady.h"
#include "analysis/whatif_runs.h"

/* A group is named for so many times the best gain of one rank. */
#define GROUP_FACTOR 1.5
/* Of groups that gain about as much the smallest is named. */
#define ABOUT_AS_MUCH 0.95

struct judge {
    struct rkt_result *result;
    const struct rkt_step_table *steps;
    const struct rkt_rank_groups *groups;
    const struct rkt_whatif_runs *runs;
    size_t *rows; /* steady and replayed */
    size_t row_count;
    int64_t *room;                /* a number for each row */
    struct rkt_gain_stats *stats; /* by candidate; step_count 0: it was not tried */
};

static int64_t gain_of(const struct judge *judge, size_t i, size_t candidate)
{
    return judge->runs->gain_ns[judge->rows[i] * judge->runs->candidate_count + candidate];
}

static int64_t step_ns_of(const struct judge *judge, size_t i)
{
    return judge->steps->rows[judge->rows[i]].longest_ns;
}

/* ---- is it believed? ---- */

static const char *why_not(const struct judge *judge, double miss)
{
    const struct rkt_whatif_runs *runs = judge->runs;

    if (judge->row_count == 0 && !runs->is_impossible)
        return "no steady step is there of all ranks";
    if (runs->is_impossible)
        return "the ranks' collectives do not fit each other";
    if (judge->steps->compared_count > 1 && runs->event_count == 0)
        return "no collective between the ranks was recorded";
    if (judge->result->whatif.is_weak)
        return "most collectives were matched weakly";
    if (miss > RKT_REPLAY_MISS_MAX)
        return "the replay of the measured run misses its steps by over 2%";
    return "";
}

static double miss_of(const struct judge *judge)
{
    int64_t missed_ns = 0;
    int64_t sum_ns = 0;

    for (size_t i = 0; i < judge->row_count; i++) {
        int64_t step_ns = step_ns_of(judge, i);

        missed_ns += llabs(judge->runs->replay_ns[judge->rows[i]] - step_ns);
        sum_ns += step_ns;
    }
    return rkt_share(missed_ns, sum_ns);
}

/* ---- sums and steps ---- */

static void fill_sums(const struct judge *judge, struct rkt_whatif *whatif)
{
    whatif->steps_ns = whatif->inst_ns = whatif->ideal_ns = 0;
    for (size_t i = 0; i < judge->row_count; i++) {
        whatif->steps_ns += step_ns_of(judge, i);
        whatif->inst_ns += judge->runs->inst_ns[judge->rows[i]];
        whatif->ideal_ns += judge->runs->ideal_ns[judge->rows[i]];
    }
    whatif->slowdown = rkt_share(whatif->steps_ns, whatif->ideal_ns);
    whatif->waste = 1 - 1 / whatif->slowdown;
}

/* What is told: with the candidate's own variation left, where that was found over all steps. */
static int64_t mean_gain_ns(const struct judge *judge, size_t candidate)
{
    const struct rkt_whatif_runs *runs = judge->runs;

    if (runs->varied_count[candidate] == 0 || runs->varied_count[candidate] != judge->row_count)
        return judge->stats[candidate].mean_ns;
    return runs->varied_sum_ns[candidate] / (int64_t)judge->row_count;
}

static void fill_stats(struct judge *judge)
{
    for (size_t c = 0; c < judge->runs->candidate_count; c++) {
        size_t known = 0;

        for (size_t i = 0; i < judge->row_count; i++) {
            int64_t gain_ns = gain_of(judge, i, c);

            if (gain_ns != RKT_NA)
                judge->room[known++] = gain_ns;
        }
        judge->stats[c] = rkt_gain_stats_of(judge->room, known);
        if (c < judge->result->rank_count && known > 0)
            judge->result->ranks[c].gain_ns = mean_gain_ns(judge, c);
    }
}

/* The rank with the largest gain in a step; RKT_INDEX_NONE where none was tried. */
static uint32_t largest_gain(const struct judge *judge, size_t i)
{
    uint32_t largest = RKT_INDEX_NONE;

    for (uint32_t r = 0; r < judge->result->rank_count; r++) {
        if (gain_of(judge, i, r) != RKT_NA &&
            (largest == RKT_INDEX_NONE || gain_of(judge, i, r) > gain_of(judge, i, largest)))
            largest = r;
    }
    return largest;
}

static void fill_steps(const struct judge *judge, bool is_believed, struct rkt_whatif *whatif)
{
    whatif->step_count = judge->row_count;
    for (size_t i = 0; i < judge->row_count; i++) {
        struct rkt_step_whatif *step = &whatif->steps[i];

        *step = (struct rkt_step_whatif){.number = judge->steps->rows[judge->rows[i]].number,
                                         .step_ns = step_ns_of(judge, i),
                                         .replay_ns = judge->runs->replay_ns[judge->rows[i]],
                                         .rank = RKT_INDEX_NONE,
                                         .gain_ns = RKT_NA};
        if (is_believed)
            step->rank = largest_gain(judge, i);
        if (step->rank == RKT_INDEX_NONE)
            continue;
        step->gain_ns = gain_of(judge, i, step->rank);
        step->is_named =
            rkt_gain_stands_out(&judge->stats[step->rank], step->gain_ns, step->step_ns);
    }
}

/* ---- ranks and groups that hold up the others ---- */

static bool is_above_share(int64_t gain_ns, int64_t step_ns)
{
    return (double)gain_ns > RKT_GAIN_SHARE_MIN * (double)step_ns;
}

/* Whether what is told is: chance alone makes ranks and groups gain that are put at the others'
 * median, but not those that vary as they do. */
static bool is_worth_telling(const struct judge *judge, size_t candidate)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < judge->row_count; i++)
        sum_ns += step_ns_of(judge, i);
    return judge->row_count > 0 &&
           is_above_share(mean_gain_ns(judge, candidate), sum_ns / (int64_t)judge->row_count);
}

/* Whether the candidate's ranks, or their hosts, have more work than their peers beyond chance. */
static bool has_excess(const struct judge *judge, const int64_t *excess_ns, size_t candidate)
{
    size_t alike =
        candidate < judge->result->rank_count ? judge->steps->compared_count : judge->groups->count;

    for (size_t i = 0; i < judge->row_count; i++)
        judge->room[i] = excess_ns[judge->rows[i] * judge->runs->candidate_count + candidate];
    return rkt_is_beyond_chance(judge->room, judge->row_count, alike);
}

/* In over half of the steps the gain is worth a look, and the work that it is for is beyond
 * chance. */
static bool is_usual(const struct judge *judge, size_t candidate, size_t usual_count)
{
    return judge->row_count >= RKT_STRAGGLER_STEPS_MIN && usual_count * 2 > judge->row_count &&
           (has_excess(judge, judge->runs->own_excess_ns, candidate) ||
            has_excess(judge, judge->runs->host_excess_ns, candidate));
}

/* The gain's median is more than noise; or, whatever it varies by, so often the largest of all
 * ranks' is no chance. */
static bool is_more_than_noise(const struct judge *judge, uint32_t rank, size_t largest_count)
{
    return judge->stats[rank].is_more_than_noise ||
           rkt_is_persistent(largest_count, judge->row_count, judge->steps->compared_count);
}

static void name_rank(const struct judge *judge, struct rkt_straggler *straggler)
{
    const struct rkt_whatif *whatif = &judge->result->whatif;
    size_t best_usual = 0;

    if (judge->row_count >= RKT_STRAGGLER_STEPS_MIN)
        straggler->steps_in_all = (uint32_t)judge->row_count;
    for (uint32_t r = 0; r < judge->result->rank_count; r++) {
        size_t usual = 0, named = 0;
        bool is_persistent;

        for (size_t i = 0; i < judge->row_count; i++) {
            const struct rkt_step_whatif *step = &whatif->steps[i];

            usual += step->rank == r && is_above_share(step->gain_ns, step->step_ns);
            named += step->rank == r && step->is_named;
        }
        is_persistent = rkt_is_persistent(named, judge->row_count, judge->steps->compared_count);
        if (usual <= best_usual ||
            !(is_persistent ||
              (is_usual(judge, r, usual) && is_more_than_noise(judge, r, usual))) ||
            !is_worth_telling(judge, r))
            continue;
        best_usual = usual;
        straggler->is_found = true;
        straggler->is_persistent = is_persistent;
        straggler->rank = r;
        straggler->step_count = (uint32_t)usual;
        straggler->gain_ns = mean_gain_ns(judge, r);
    }
}

static size_t usual_of_group(const struct judge *judge, size_t candidate)
{
    size_t usual = 0;

    for (size_t i = 0; i < judge->row_count; i++)
        usual += is_above_share(gain_of(judge, i, candidate), step_ns_of(judge, i));
    return usual;
}

/* In over half of the steps, too: a few in which two of its ranks stall by chance make no group of
 * them. */
static bool is_mostly_more_than_a_rank(const struct judge *judge, size_t candidate)
{
    size_t count = 0;

    for (size_t i = 0; i < judge->row_count; i++) {
        uint32_t rank = largest_gain(judge, i);

        count += rank == RKT_INDEX_NONE || (double)gain_of(judge, i, candidate) >=
                                               GROUP_FACTOR * (double)gain_of(judge, i, rank);
    }
    return count * 2 > judge->row_count;
}

/* The smallest of the groups that gain about the most; the candidate's number, SIZE_MAX for
 * none. */
static size_t best_group(const struct judge *judge)
{
    size_t rank_count = judge->result->rank_count;
    int64_t most_ns = 0;
    size_t best = SIZE_MAX;

    for (size_t r = 0; r < rank_count; r++) {
        if ((double)judge->stats[r].mean_ns * GROUP_FACTOR > (double)most_ns)
            most_ns = (int64_t)((double)judge->stats[r].mean_ns * GROUP_FACTOR);
    }
    for (size_t g = 0; g < judge->groups->count; g++) {
        const struct rkt_gain_stats *stats = &judge->stats[rank_count + g];

        if (stats->step_count > 0 && stats->mean_ns >= most_ns && stats->is_more_than_noise &&
            is_usual(judge, rank_count + g, usual_of_group(judge, rank_count + g)) &&
            is_worth_telling(judge, rank_count + g) &&
            is_mostly_more_than_a_rank(judge, rank_count + g)) {
            most_ns = stats->mean_ns;
            best = rank_count + g;
        }
    }
    for (size_t g = 0; g < judge->groups->count && best != SIZE_MAX; g++) {
        if ((double)judge->stats[rank_count + g].mean_ns >= ABOUT_AS_MUCH * (double)most_ns &&
            is_worth_telling(judge, rank_count + g) &&
            judge->groups->items[g].rank_count < judge->groups->items[best - rank_count].rank_count)
            best = rank_count + g;
    }
    return best;
}

/* Of the group's members the one with most own work above the others stands for it. */
static uint32_t foremost(const struct judge *judge, const struct rkt_rank_group *group)
{
    uint32_t foremost = group->ranks[0];
    int64_t most_ns = INT64_MIN;

    for (size_t i = 0; i < group->rank_count; i++) {
        int64_t sum_ns = 0;

        for (size_t k = 0; k < judge->row_count; k++)
            sum_ns += judge->steps->rows[judge->rows[k]].by_rank[group->ranks[i]].step->own_work_ns;
        if (sum_ns > most_ns) {
            most_ns = sum_ns;
            foremost = group->ranks[i];
        }
    }
    return foremost;
}

static enum rkt_status name_group(const struct judge *judge, struct rkt_straggler *straggler,
                                  struct rkt_arena *arena, struct rkt_error *err)
{
    struct rkt_group_gain *out = &judge->result->whatif.group;
    const struct rkt_rank_group *group;
    size_t best = best_group(judge);
    uint32_t *ranks;
    char *name;

    if (best == SIZE_MAX)
        return RKT_OK;
    group = &judge->groups->items[best - judge->result->rank_count];
    ranks = RKT_ARENA_ARRAY(arena, uint32_t, group->rank_count);
    name = rkt_arena_strndup(arena, group->name, strlen(group->name));
    if (!ranks || !name)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a group of %zu ranks",
                        group->rank_count);
    memcpy(ranks, group->ranks, group->rank_count * sizeof(*ranks));
    *out = (struct rkt_group_gain){.is_found = true,
                                   .kind = group->kind,
                                   .name = name,
                                   .ranks = ranks,
                                   .rank_count = group->rank_count,
                                   .gain_ns = mean_gain_ns(judge, best),
                                   .step_count = (uint32_t)usual_of_group(judge, best)};
    straggler->is_found = true;
    straggler->is_persistent =
        rkt_is_persistent(out->step_count, judge->row_count, judge->groups->count + 1);
    straggler->rank = foremost(judge, group);
    straggler->step_count = out->step_count;
    straggler->gain_ns = out->gain_ns;
    return RKT_OK;
}

/* Copies it out of the runs. */
static enum rkt_status keep_path(const struct judge *judge, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    const struct rkt_critical_path *from = &judge->runs->path;
    size_t rank_count = judge->result->rank_count;
    struct rkt_critical_path *path = RKT_ARENA_ARRAY(arena, struct rkt_critical_path, 1);
    int64_t *rank_ns = RKT_ARENA_ARRAY(arena, int64_t, rank_count + 1);
    struct rkt_path_piece *pieces =
        RKT_ARENA_ARRAY(arena, struct rkt_path_piece, from->piece_count + 1);

    if (!path || !rank_ns || !pieces)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a critical path");
    *path = *from;
    path->rank_ns = memcpy(rank_ns, from->rank_ns, rank_count * sizeof(*rank_ns));
    path->pieces = pieces;
    if (from->piece_count > 0)
        memcpy(pieces, from->pieces, from->piece_count * sizeof(*pieces));
    if (judge->runs->shown_row < judge->steps->row_count)
        path->step_number = judge->steps->rows[judge->runs->shown_row].number;
    judge->result->whatif.path = path;
    return RKT_OK;
}

/* ---- all of it ---- */

static enum rkt_status judge_runs(struct judge *judge, struct rkt_arena *arena,
                                  struct rkt_error *err)
{
    struct rkt_whatif *whatif = &judge->result->whatif;
    struct rkt_straggler *straggler = &judge->result->straggler;
    enum rkt_status status;
    bool is_believed;

    for (size_t i = 0; i < judge->steps->row_count; i++) {
        if (rkt_step_row_is_steady(judge->steps, i) && judge->runs->replay_ns[i] != RKT_NA)
            judge->rows[judge->row_count++] = i;
    }
    whatif->steps = RKT_ARENA_ARRAY(arena, struct rkt_step_whatif, judge->row_count + 1);
    if (!whatif->steps)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu steps", judge->row_count);
    whatif->miss = miss_of(judge);
    whatif->is_weak = judge->runs->weak_count * 2 > judge->runs->event_count;
    whatif->why_not = why_not(judge, whatif->miss);
    is_believed = whatif->why_not[0] == '\0';
    if (is_believed) {
        fill_sums(judge, whatif);
        fill_stats(judge);
    }
    fill_steps(judge, is_believed, whatif);
    if (!is_believed)
        return RKT_OK;
    status = keep_path(judge, arena, err);
    if (status != RKT_OK || judge->steps->compared_count < 2)
        return status;
    name_rank(judge, straggler);
    return name_group(judge, straggler, arena, err);
}

static enum rkt_status judge_all(struct rkt_result *result, const struct rkt_step_table *steps,
                                 const struct rkt_rank_groups *groups, struct rkt_arena *arena,
                                 struct rkt_error *err)
{
    struct rkt_whatif_runs runs = {0};
    struct judge judge = {.result = result, .steps = steps, .groups = groups, .runs = &runs};
    enum rkt_status status = rkt_whatif_runs_make(result, steps, groups, &runs, err);

    if (status != RKT_OK)
        return status;
    judge.rows = calloc(steps->row_count + 1, sizeof(*judge.rows));
    judge.room = calloc(steps->row_count + 1, sizeof(*judge.room));
    judge.stats = calloc(runs.candidate_count + 1, sizeof(*judge.stats));
    if (judge.rows && judge.room && judge.stats)
        status = judge_runs(&judge, arena, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu steps", steps->row_count);
    free(judge.rows);
    free(judge.room);
    free(judge.stats);
    rkt_whatif_runs_release(&runs);
    return status;
}

static bool have_lanes(const struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        if (!result->ranks[r].is_set_apart && !result->ranks[r].trace->lane)
            return false;
    }
    return true;
}

enum rkt_status rkt_find_whatif(struct rkt_result *result, const struct rkt_step_table *steps,
                                struct rkt_arena *arena, struct rkt_error *err)
{
    struct rkt_rank_groups groups;
    enum rkt_status status;

    result->whatif = (struct rkt_whatif){.why_not = "no steps were found",
                                         .miss = (double)NAN,
                                         .steps_ns = RKT_NA,
                                         .inst_ns = RKT_NA,
                                         .ideal_ns = RKT_NA,
                                         .slowdown = (double)NAN,
                                         .waste = (double)NAN};
    for (size_t r = 0; r < result->rank_count; r++)
        result->ranks[r].gain_ns = RKT_NA;
    if (steps->row_count == 0)
        return RKT_OK;
    if (!have_lanes(result)) {
        result->whatif.why_not = "the ranks' own work is not known";
        return RKT_OK;
    }
    status = rkt_rank_groups_find(result, &groups, err);
    if (status != RKT_OK)
        return status;
    status = judge_all(result, steps, &groups, arena, err);
    rkt_rank_groups_release(&groups);
    return status;
}
