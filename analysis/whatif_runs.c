/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/whatif_runs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/gain_stats.h"
#include "analysis/peers.h"
#include "analysis/replay_graph.h"
#include "analysis/steady.h"

/* So many ranks are always tried. Of more those that could be named in some step, and of these as
 * many as items and parts are worked through in seconds, who could gain most first. */
#define TRIED_MIN 64u
#define WORK_MAX UINT64_C(1000000000)

/* A rank, and what it could gain at most in a step: where it has more own work than its peers. */
struct bound {
    double most; /* share of the step */
    uint32_t rank;
};

/* One span of rows being replayed. */
struct span {
    const struct rkt_result *result;
    const struct rkt_step_table *steps;
    const struct rkt_rank_groups *groups;
    struct rkt_whatif_runs *runs;
    struct rkt_replay_graph_of_steps *graph;
    struct rkt_replay *replay;
    struct rkt_peers *peers;
    struct rkt_peers *host_peers;
    int64_t *other_ns;      /* by item */
    int64_t *other_host_ns; /* likewise, of the hosts */
    int64_t *middle_ns;     /* as these, but that it is the middle of the others */
    int64_t *middle_host_ns;
    int64_t *varied_ns; /* and that they vary */
    int64_t *varied_host_ns;
    int64_t *ends_ns;  /* of a run */
    int64_t *steps_ns; /* by row of the span: T of a run */
    uint32_t *group_of;
    bool *is_other;
    struct bound *bounds; /* by rank of the graph */
    size_t tried_max;
};

static int64_t longest_ns(const int64_t *ends_ns, const int64_t *begins_ns, size_t count)
{
    int64_t longest = INT64_MIN;

    for (size_t r = 0; r < count; r++) {
        if (ends_ns[r] - begins_ns[r] > longest)
            longest = ends_ns[r] - begins_ns[r];
    }
    return longest;
}

/* Replays, and takes from each step the longest of its ranks' windows. */
static void run(struct span *span, const struct rkt_replay_inputs *inputs)
{
    size_t rank_count = span->graph->graph.rank_count;

    rkt_replay_run(span->replay, inputs, span->ends_ns);
    for (size_t s = 0; s < span->graph->rows.count; s++)
        span->steps_ns[s] = longest_ns(
            &span->ends_ns[s * rank_count],
            s > 0 ? &span->ends_ns[(s - 1) * rank_count] : span->graph->start_ns, rank_count);
}

static void keep(const struct span *span, int64_t *by_row)
{
    for (size_t s = 0; s < span->graph->rows.count; s++)
        by_row[span->graph->rows.first + s] = span->steps_ns[s];
}

/* ---- the critical path of the measured run ---- */

static int64_t latest_ns(const int64_t *ends_ns, size_t count)
{
    int64_t latest = ends_ns[0];

    for (size_t r = 1; r < count; r++)
        latest = ends_ns[r] > latest ? ends_ns[r] : latest;
    return latest;
}

static enum rkt_status find_path(struct span *span)
{
    const struct rkt_replay_graph_of_steps *graph = span->graph;
    size_t rank_count = graph->graph.rank_count;
    enum rkt_status status = RKT_OK;

    for (size_t s = 0; s < graph->rows.count && status == RKT_OK; s++) {
        size_t row = graph->rows.first + s;
        struct rkt_replay_path path = {
            .inputs = &graph->measured,
            .ends = span->ends_ns,
            .step = s,
            .from_ns = latest_ns(s > 0 ? &span->ends_ns[(s - 1) * rank_count] : graph->start_ns,
                                 rank_count),
        };

        if (!rkt_step_row_is_steady(span->steps, row))
            continue;
        status = rkt_critical_path_add(&span->runs->path, graph, span->replay, &path,
                                       row == span->runs->shown_row);
    }
    return status;
}

/* ---- without transfers, and ideal ---- */

struct transfer {
    const struct rkt_collective *like;
    int64_t transfer_ns;
    size_t event;
};

static int compare_likes(const struct transfer *x, const struct transfer *y)
{
    if (x->like->func != y->like->func)
        return x->like->func < y->like->func ? -1 : 1;
    if (x->like->bytes != y->like->bytes)
        return x->like->bytes < y->like->bytes ? -1 : 1;
    return (x->like->participant_count > y->like->participant_count) -
           (x->like->participant_count < y->like->participant_count);
}

static int compare_transfers(const void *a, const void *b)
{
    const struct transfer *x = a;
    const struct transfer *y = b;
    int likes = compare_likes(x, y);

    if (likes != 0)
        return likes;
    return (x->transfer_ns > y->transfer_ns) - (x->transfer_ns < y->transfer_ns);
}

/* Of collectives of one func, size and number of ranks the lower median; free() the array. */
static int64_t *usual_transfers(const struct span *span)
{
    const struct rkt_replay_graph_of_steps *graph = span->graph;
    size_t event_count = graph->graph.event_count;
    struct transfer *all = calloc(event_count + 1, sizeof(*all));
    int64_t *usual_ns = calloc(event_count + 1, sizeof(*usual_ns));
    size_t count = 0;

    for (size_t e = 0; all && usual_ns && e < event_count; e++) {
        usual_ns[e] = graph->transfer_ns[e];
        if (graph->collective_of[e] != RKT_NO_COLLECTIVE)
            all[count++] = (struct transfer){&span->result->collectives[graph->collective_of[e]],
                                             usual_ns[e], e};
    }
    if (all && usual_ns)
        qsort(all, count, sizeof(*all), compare_transfers);
    for (size_t i = 0, next; usual_ns && i < count; i = next) {
        for (next = i + 1; next < count && compare_likes(&all[i], &all[next]) == 0;)
            next++;
        for (size_t k = i; k < next; k++)
            usual_ns[all[k].event] = all[i + (next - i - 1) / 2].transfer_ns;
    }
    free(all);
    return usual_ns;
}

static void set_others(const struct span *span, struct rkt_replay_inputs *inputs)
{
    inputs->other_ns = span->other_ns;
    inputs->other_host_ns = span->other_host_ns;
    inputs->is_other = span->is_other;
}

static enum rkt_status run_others(struct span *span)
{
    struct rkt_replay_inputs inputs = span->graph->measured;
    int64_t *usual_ns = usual_transfers(span);

    if (!usual_ns)
        return RKT_ERR_NOMEM;
    inputs.transfer_ns = NULL;
    run(span, &inputs);
    keep(span, span->runs->inst_ns);
    rkt_peers_mean(span->peers, span->other_ns);
    rkt_peers_mean(span->host_peers, span->other_host_ns);
    set_others(span, &inputs);
    inputs.others_wait = true;
    inputs.transfer_ns = usual_ns;
    for (size_t r = 0; r < span->graph->graph.rank_count; r++)
        span->is_other[r] = true;
    run(span, &inputs);
    keep(span, span->runs->ideal_ns);
    for (size_t r = 0; r < span->graph->graph.rank_count; r++)
        span->is_other[r] = false;
    free(usual_ns);
    return RKT_OK;
}

/* ---- gains ---- */

/* Whether it gains enough in over half of the steady steps to be named. */
static bool may_be_named(const struct span *span, size_t candidate)
{
    const struct rkt_whatif_runs *runs = span->runs;
    size_t steady = 0, usual = 0;

    for (size_t s = 0; s < span->graph->rows.count; s++) {
        size_t row = span->graph->rows.first + s;

        if (!rkt_step_row_is_steady(span->steps, row))
            continue;
        steady++;
        usual += (double)runs->gain_ns[row * runs->candidate_count + candidate] >
                 RKT_GAIN_SHARE_MIN * (double)runs->replay_ns[row];
    }
    return usual * 2 > steady;
}

/* As run_gain, but that the candidate's ranks vary as they do. */
static enum rkt_status run_varied(struct span *span, size_t candidate)
{
    const struct rkt_replay_graph_of_steps *graph = span->graph;
    size_t item_count = graph->first_item[graph->graph.rank_count];
    struct rkt_replay_inputs inputs = graph->measured;
    struct rkt_whatif_runs *runs = span->runs;

    memcpy(span->varied_ns, span->middle_ns, item_count * sizeof(*span->varied_ns));
    memcpy(span->varied_host_ns, span->middle_host_ns, item_count * sizeof(*span->varied_host_ns));
    if (rkt_peers_vary(span->peers, span->is_other, span->varied_ns) != RKT_OK ||
        rkt_peers_vary(span->host_peers, span->is_other, span->varied_host_ns) != RKT_OK)
        return RKT_ERR_NOMEM;
    inputs.other_ns = span->varied_ns;
    inputs.other_host_ns = span->varied_host_ns;
    inputs.is_other = span->is_other;
    run(span, &inputs);
    for (size_t s = 0; s < graph->rows.count; s++) {
        if (!rkt_step_row_is_steady(span->steps, graph->rows.first + s))
            continue;
        runs->varied_sum_ns[candidate] +=
            runs->replay_ns[graph->rows.first + s] - span->steps_ns[s];
        runs->varied_count[candidate]++;
    }
    return RKT_OK;
}

/* What the candidate's ranks have above what they would have as others. */
static void find_excess(const struct span *span, size_t candidate)
{
    const struct rkt_replay_graph_of_steps *graph = span->graph;
    struct rkt_whatif_runs *runs = span->runs;

    for (size_t s = 0; s < graph->rows.count; s++) {
        size_t at = (graph->rows.first + s) * runs->candidate_count + candidate;

        runs->own_excess_ns[at] = runs->host_excess_ns[at] = 0;
    }
    for (size_t r = 0; r < graph->graph.rank_count; r++) {
        size_t at = graph->rows.first * runs->candidate_count + candidate;

        for (size_t i = graph->first_item[r]; i < graph->first_item[r + 1] && span->is_other[r];
             i++) {
            runs->own_excess_ns[at] += graph->own_ns[i] - span->middle_ns[i];
            runs->host_excess_ns[at] += graph->host_own_ns[i] - span->middle_host_ns[i];
            if (graph->items[i].kind == RKT_REPLAY_STEP_END)
                at += runs->candidate_count;
        }
    }
}

/* is_other is set for the ranks of the candidate. */
static enum rkt_status run_gain(struct span *span, size_t candidate)
{
    struct rkt_replay_inputs inputs = span->graph->measured;
    struct rkt_whatif_runs *runs = span->runs;

    set_others(span, &inputs);
    run(span, &inputs);
    find_excess(span, candidate);
    for (size_t s = 0; s < span->graph->rows.count; s++) {
        size_t row = span->graph->rows.first + s;

        runs->gain_ns[row * runs->candidate_count + candidate] =
            runs->replay_ns[row] - span->steps_ns[s];
    }
    return may_be_named(span, candidate) ? run_varied(span, candidate) : RKT_OK;
}

static int compare_bounds(const void *a, const void *b)
{
    const struct bound *x = a;
    const struct bound *y = b;

    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int64_t positive(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

static double find_bound(const struct span *span, uint32_t rank)
{
    const struct rkt_replay_graph_of_steps *graph = span->graph;
    const int64_t *replay_ns = &span->runs->replay_ns[graph->rows.first];
    int64_t sum_ns = 0;
    double most = 0;

    for (size_t i = graph->first_item[rank]; i < graph->first_item[rank + 1]; i++) {
        sum_ns += positive(graph->own_ns[i] - span->other_ns[i]) +
                  positive(graph->host_own_ns[i] - span->other_host_ns[i]);
        if (graph->items[i].kind != RKT_REPLAY_STEP_END)
            continue;
        if ((double)sum_ns > most * (double)*replay_ns)
            most = (double)sum_ns / (double)*replay_ns;
        sum_ns = 0;
        replay_ns++;
    }
    return most;
}

static void find_bounds(struct span *span)
{
    for (uint32_t r = 0; r < span->graph->graph.rank_count; r++)
        span->bounds[r] = (struct bound){find_bound(span, r), r};
    qsort(span->bounds, span->graph->graph.rank_count, sizeof(*span->bounds), compare_bounds);
}

/* group_of is set. */
static void find_others(struct span *span)
{
    rkt_peers_others(span->peers, span->group_of, span->other_ns);
    rkt_peers_others(span->host_peers, span->group_of, span->other_host_ns);
    rkt_peers_middle(span->peers, span->group_of, span->middle_ns);
    rkt_peers_middle(span->host_peers, span->group_of, span->middle_host_ns);
}

static enum rkt_status run_ranks(struct span *span)
{
    size_t rank_count = span->graph->graph.rank_count;
    enum rkt_status status = RKT_OK;

    for (uint32_t r = 0; r < rank_count; r++)
        span->group_of[r] = r;
    find_others(span);
    find_bounds(span);
    for (size_t i = 0; i < rank_count && i < span->tried_max && status == RKT_OK; i++) {
        uint32_t rank = span->bounds[i].rank;

        if (i >= TRIED_MIN && span->bounds[i].most < RKT_GAIN_SHARE_MIN)
            break;
        span->is_other[rank] = true;
        status = run_gain(span, span->graph->ranks[rank]);
        span->is_other[rank] = false;
    }
    return status;
}

/* The rank of the graph at this position of the result. */
static uint32_t graph_rank(const struct span *span, uint32_t position)
{
    uint32_t rank = 0;

    while (span->graph->ranks[rank] != position)
        rank++;
    return rank;
}

/* Of many ranks a group is left out none of whose members could be named. */
static bool is_tried(const struct span *span, const struct rkt_rank_group *group)
{
    bool is_tried = span->graph->graph.rank_count <= TRIED_MIN;

    for (size_t i = 0; i < group->rank_count && !is_tried; i++)
        is_tried = find_bound(span, graph_rank(span, group->ranks[i])) >= RKT_GAIN_SHARE_MIN;
    return is_tried;
}

static enum rkt_status run_group(struct span *span, const struct rkt_rank_group *group,
                                 size_t candidate)
{
    enum rkt_status status;

    for (size_t i = 0; i < group->rank_count; i++)
        span->is_other[graph_rank(span, group->ranks[i])] = true;
    status = run_gain(span, candidate);
    for (size_t i = 0; i < group->rank_count; i++)
        span->is_other[graph_rank(span, group->ranks[i])] = false;
    return status;
}

static enum rkt_status run_grouping(struct span *span, size_t grouping)
{
    const struct rkt_rank_groups *groups = span->groups;
    enum rkt_status status = RKT_OK;
    uint32_t number = 0;

    for (size_t r = 0; r < span->graph->graph.rank_count; r++)
        span->group_of[r] = RKT_NO_GROUP;
    for (size_t g = 0; g < groups->count; g++) {
        if (groups->items[g].grouping != grouping)
            continue;
        for (size_t i = 0; i < groups->items[g].rank_count; i++)
            span->group_of[graph_rank(span, groups->items[g].ranks[i])] = number;
        number++;
    }
    find_others(span);
    for (size_t g = 0; g < groups->count && status == RKT_OK; g++) {
        if (groups->items[g].grouping == grouping && is_tried(span, &groups->items[g]))
            status = run_group(span, &groups->items[g], span->result->rank_count + g);
    }
    return status;
}

/* ---- a span ---- */

static void release_span(struct span *span)
{
    rkt_peers_destroy(span->peers);
    rkt_peers_destroy(span->host_peers);
    rkt_replay_destroy(span->replay);
    rkt_replay_graph_destroy(span->graph);
    free(span->other_ns);
    free(span->other_host_ns);
    free(span->middle_ns);
    free(span->middle_host_ns);
    free(span->varied_ns);
    free(span->varied_host_ns);
    free(span->ends_ns);
    free(span->steps_ns);
    free(span->group_of);
    free(span->is_other);
    free(span->bounds);
}

static enum rkt_status make_span(struct span *span, struct rkt_error *err)
{
    const struct rkt_replay_graph *graph = &span->graph->graph;
    size_t item_count = graph->first_item[graph->rank_count];
    uint64_t work = item_count + graph->first_part[graph->event_count] + 1;
    enum rkt_status status;

    span->other_ns = calloc(item_count + 1, sizeof(*span->other_ns));
    span->other_host_ns = calloc(item_count + 1, sizeof(*span->other_host_ns));
    span->middle_ns = calloc(item_count + 1, sizeof(*span->middle_ns));
    span->middle_host_ns = calloc(item_count + 1, sizeof(*span->middle_host_ns));
    span->varied_ns = calloc(item_count + 1, sizeof(*span->varied_ns));
    span->varied_host_ns = calloc(item_count + 1, sizeof(*span->varied_host_ns));
    span->ends_ns = calloc(graph->step_count * graph->rank_count + 1, sizeof(*span->ends_ns));
    span->steps_ns = calloc(graph->step_count + 1, sizeof(*span->steps_ns));
    span->group_of = calloc(graph->rank_count + 1, sizeof(*span->group_of));
    span->is_other = calloc(graph->rank_count + 1, sizeof(*span->is_other));
    span->bounds = calloc(graph->rank_count + 1, sizeof(*span->bounds));
    span->tried_max = WORK_MAX / work > TRIED_MIN ? (size_t)(WORK_MAX / work) : TRIED_MIN;
    if (!span->other_ns || !span->other_host_ns || !span->middle_ns || !span->middle_host_ns ||
        !span->varied_ns || !span->varied_host_ns || !span->ends_ns || !span->steps_ns ||
        !span->group_of || !span->is_other || !span->bounds)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu steps", graph->step_count);
    status = rkt_peers_create(span->result, span->graph, span->graph->own_ns, &span->peers, err);
    if (status != RKT_OK)
        return status;
    return rkt_peers_create(span->result, span->graph, span->graph->host_own_ns, &span->host_peers,
                            err);
}

/* A span that cannot be replayed is no failure of ours. */
static enum rkt_status run_span(struct span *span, struct rkt_error *err)
{
    enum rkt_status status = rkt_replay_create(&span->graph->graph, &span->replay, err);

    if (status == RKT_ERR_INVALID) {
        span->runs->is_impossible = true;
        return RKT_OK;
    }
    if (status == RKT_OK)
        status = make_span(span, err);
    if (status != RKT_OK)
        return status;
    run(span, &span->graph->measured);
    keep(span, span->runs->replay_ns);
    if (find_path(span) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a critical path");
    if (run_others(span) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay collectives");
    if (span->graph->graph.rank_count < 2)
        return RKT_OK;
    status = run_ranks(span);
    for (size_t i = 0; i < span->groups->grouping_count && i < span->tried_max && status == RKT_OK;
         i++)
        status = run_grouping(span, i);
    return status == RKT_OK ? RKT_OK : rkt_fail(err, status, "no memory to compare ranks");
}

static void count_events(const struct rkt_replay_graph_of_steps *graph,
                         struct rkt_whatif_runs *runs)
{
    for (size_t e = 0; e < graph->graph.event_count; e++)
        runs->event_count += graph->collective_of[e] != RKT_NO_COLLECTIVE;
    runs->weak_count += graph->weak_count;
}

/* ---- all of it ---- */

/* The steady step whose length is the lower median; the row count for none. */
static enum rkt_status find_usual_row(const struct rkt_step_table *steps, size_t *row_out)
{
    int64_t *lengths_ns = calloc(steps->row_count + 1, sizeof(*lengths_ns));
    size_t count = 0;
    int64_t median_ns;

    if (!lengths_ns)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < steps->row_count; i++) {
        if (rkt_step_row_is_steady(steps, i))
            lengths_ns[count++] = steps->rows[i].longest_ns;
    }
    median_ns = rkt_median_i64(lengths_ns, count);
    free(lengths_ns);
    *row_out = 0;
    while (*row_out < steps->row_count && (!rkt_step_row_is_steady(steps, *row_out) ||
                                           steps->rows[*row_out].longest_ns != median_ns))
        ++*row_out;
    return RKT_OK;
}

void rkt_whatif_runs_release(struct rkt_whatif_runs *runs)
{
    free(runs->replay_ns);
    free(runs->inst_ns);
    free(runs->ideal_ns);
    free(runs->gain_ns);
    free(runs->own_excess_ns);
    free(runs->host_excess_ns);
    free(runs->varied_sum_ns);
    free(runs->varied_count);
    free(runs->path.rank_ns);
    free(runs->path.pieces);
    *runs = (struct rkt_whatif_runs){0};
}

/* What it could allocate is released by the caller. */
static enum rkt_status init_runs(struct rkt_whatif_runs *runs, size_t row_count,
                                 size_t candidate_count, struct rkt_error *err)
{
    *runs = (struct rkt_whatif_runs){.row_count = row_count, .candidate_count = candidate_count};
    runs->replay_ns = calloc(row_count + 1, sizeof(*runs->replay_ns));
    runs->inst_ns = calloc(row_count + 1, sizeof(*runs->inst_ns));
    runs->ideal_ns = calloc(row_count + 1, sizeof(*runs->ideal_ns));
    runs->gain_ns = calloc(row_count + 1, (candidate_count + 1) * sizeof(*runs->gain_ns));
    runs->own_excess_ns =
        calloc(row_count + 1, (candidate_count + 1) * sizeof(*runs->own_excess_ns));
    runs->host_excess_ns =
        calloc(row_count + 1, (candidate_count + 1) * sizeof(*runs->host_excess_ns));
    runs->varied_sum_ns = calloc(candidate_count + 1, sizeof(*runs->varied_sum_ns));
    runs->varied_count = calloc(candidate_count + 1, sizeof(*runs->varied_count));
    runs->path.rank_ns = calloc(candidate_count + 1, sizeof(*runs->path.rank_ns));
    if (!runs->path.rank_ns || !runs->own_excess_ns || !runs->host_excess_ns ||
        !runs->varied_sum_ns || !runs->varied_count || !runs->replay_ns || !runs->inst_ns ||
        !runs->ideal_ns || !runs->gain_ns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu steps", row_count);
    for (size_t i = 0; i < row_count; i++)
        runs->replay_ns[i] = runs->inst_ns[i] = runs->ideal_ns[i] = RKT_NA;
    for (size_t i = 0; i < row_count * candidate_count; i++)
        runs->gain_ns[i] = RKT_NA;
    return RKT_OK;
}

enum rkt_status rkt_whatif_runs_make(const struct rkt_result *result,
                                     const struct rkt_step_table *steps,
                                     const struct rkt_rank_groups *groups,
                                     struct rkt_whatif_runs *runs, struct rkt_error *err)
{
    enum rkt_status status =
        init_runs(runs, steps->row_count, result->rank_count + groups->count, err);
    struct rkt_row_span rows = {0, 0};

    if (status == RKT_OK && find_usual_row(steps, &runs->shown_row) != RKT_OK)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu steps", steps->row_count);
    while (status == RKT_OK && (rows = rkt_next_row_span(steps, rows.first + rows.count)).count) {
        struct span span = {.result = result, .steps = steps, .groups = groups, .runs = runs};

        status = rkt_replay_graph_create(result, steps, rows, &span.graph, err);
        if (status == RKT_OK) {
            count_events(span.graph, runs);
            status = run_span(&span, err);
        }
        release_span(&span);
    }
    if (status != RKT_OK)
        rkt_whatif_runs_release(runs);
    return status;
}
