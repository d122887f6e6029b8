/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/replay_graph.h"

#include <stdlib.h>

#include "analysis/match_unit.h"
#include "analysis/stages.h"

/* So soon after the end of another collective one begins that waited for it. */
#define AFTER_NS 20000

/* A part while its event is not known. */
struct post {
    uint64_t stream;     /* key of its stream on its rank */
    uint32_t rank;       /* of the graph */
    uint32_t work;       /* index in the whole trace; host view: in buckets */
    uint32_t item;       /* that posts it */
    uint32_t collective; /* RKT_NO_COLLECTIVE */
    uint32_t part;
    int64_t start_ns; /* rank time */
    int64_t end_ns;
    const struct rkt_participant *self; /* in the collective; NULL without one */
};

struct maker {
    const struct rkt_result *result;
    const struct rkt_step_table *steps;
    struct rkt_replay_graph_of_steps *out;
    uint32_t *events;   /* by collective: how many posts, then its event, then its next part */
    struct post *posts; /* rank after rank, by stream and work */
    size_t post_count;
    size_t *first_post; /* by rank, and the end of the last */
};

static const struct rkt_rank_result *rank_of(const struct maker *maker, uint32_t rank)
{
    return &maker->result->ranks[maker->out->ranks[rank]];
}

/* ---- which rows ---- */

static bool has_all(const struct rkt_step_table *steps, size_t row)
{
    return steps->rows[row].present_count == steps->compared_count;
}

static bool follows(const struct rkt_step_table *steps, size_t row)
{
    for (size_t r = 0; r < steps->rank_count; r++) {
        const struct rkt_step_result *step = steps->rows[row].by_rank[r].step;

        if (step && step != steps->rows[row - 1].by_rank[r].step + 1)
            return false;
    }
    return true;
}

struct rkt_row_span rkt_next_row_span(const struct rkt_step_table *steps, size_t from)
{
    struct rkt_row_span span = {from, 0};

    while (span.first < steps->row_count && !has_all(steps, span.first))
        span.first++;
    for (size_t row = span.first; row < steps->row_count; row++, span.count++) {
        if (!has_all(steps, row) || (row > span.first && !follows(steps, row)))
            break;
    }
    return span;
}

/* ---- items and posts ---- */

/* The lane of a rank in these rows: items [*first_out, *end_out). */
static void find_lane(const struct maker *maker, uint32_t rank, size_t *first_out, size_t *end_out)
{
    const struct rkt_rank_result *of = rank_of(maker, rank);
    const struct rkt_row_span *rows = &maker->out->rows;
    size_t step =
        (size_t)(maker->steps->rows[rows->first].by_rank[maker->out->ranks[rank]].step - of->steps);
    size_t last = step + rows->count;
    size_t at = 0;

    for (size_t seen = 0; at < of->trace->lane_count && seen < step; at++)
        seen += of->trace->lane[at].kind == RKT_REPLAY_STEP_END;
    *first_out = at;
    for (size_t seen = step; at < of->trace->lane_count && seen < last; at++)
        seen += of->trace->lane[at].kind == RKT_REPLAY_STEP_END;
    *end_out = at;
}

static uint64_t stream_of(const struct rkt_work *work)
{
    return (uint64_t)work->device_id << 32 | work->stream_id;
}

/* Participants are by rank. */
static const struct rkt_participant *find_self(const struct rkt_collective *collective,
                                               uint32_t position, uint32_t work, bool has_gpu)
{
    size_t low = 0;
    size_t high = collective->participant_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (collective->participants[middle].rank < position)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < collective->participant_count && collective->participants[low].rank == position;
         low++) {
        const struct rkt_participant *part = &collective->participants[low];

        if ((has_gpu ? part->work : part->bucket) == work)
            return part;
    }
    return NULL;
}

static struct post make_post(const struct maker *maker, uint32_t rank, uint32_t work)
{
    const struct rkt_rank_trace *trace = rank_of(maker, rank)->trace;
    struct post post = {.rank = rank, .work = work};

    if (trace->has_gpu) {
        const struct rkt_work *kernel = rkt_rank_trace_work(trace, work);

        post.stream = stream_of(kernel);
        post.start_ns = kernel->start_ns;
        post.end_ns = kernel->end_ns;
        post.collective = kernel->collective;
    } else {
        post.start_ns = trace->buckets[work].start_ns;
        post.end_ns = trace->buckets[work].end_ns;
        post.collective = trace->buckets[work].collective;
    }
    if (post.collective < maker->result->collective_count)
        post.self = find_self(&maker->result->collectives[post.collective], maker->out->ranks[rank],
                              work, trace->has_gpu);
    if (!post.self)
        post.collective = RKT_NO_COLLECTIVE;
    return post;
}

static void copy_lane(struct maker *maker, uint32_t rank, size_t *count)
{
    const struct rkt_rank_trace *trace = rank_of(maker, rank)->trace;
    struct rkt_replay_graph_of_steps *out = maker->out;
    bool is_host_known = false; /* without, idle time stays the lane's */
    size_t first, end;

    find_lane(maker, rank, &first, &end);
    out->first_item[rank] = *count;
    maker->first_post[rank] = maker->post_count;
    for (size_t i = first; i < end; i++, ++*count) {
        const struct rkt_lane_item *item = &trace->lane[i];

        out->items[*count] = (struct rkt_replay_item){item->work, item->kind};
        out->sources[*count] = item;
        out->own_ns[*count] = rkt_lane_own_ns(item) - (is_host_known ? item->host_idle_ns : 0);
        is_host_known |= item->host.lead_ns != RKT_REPLAY_UNKNOWN;
        out->hosts[*count] = item->host;
        if (item->host.own_ns != RKT_REPLAY_UNKNOWN)
            out->host_own_ns[*count] = item->host.own_ns;
        if (item->kind != RKT_REPLAY_POST)
            continue;
        maker->posts[maker->post_count] = make_post(maker, rank, item->work);
        maker->posts[maker->post_count++].item = (uint32_t)*count;
    }
}

static int compare_posts(const void *a, const void *b)
{
    const struct post *x = a;
    const struct post *y = b;

    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static void copy_lanes(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    size_t count = 0;

    for (uint32_t r = 0; r < out->graph.rank_count; r++) {
        copy_lane(maker, r, &count);
        qsort(&maker->posts[maker->first_post[r]], maker->post_count - maker->first_post[r],
              sizeof(*maker->posts), compare_posts);
    }
    out->first_item[out->graph.rank_count] = count;
    maker->first_post[out->graph.rank_count] = maker->post_count;
}

/* ---- events and their parts ---- */

static void number_events(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    uint32_t part = 0;

    for (size_t i = 0; i < maker->post_count; i++) {
        if (maker->posts[i].collective != RKT_NO_COLLECTIVE)
            maker->events[maker->posts[i].collective]++;
    }
    for (uint32_t c = 0; c < maker->result->collective_count; c++) {
        uint32_t count = maker->events[c];

        if (count == 0)
            continue;
        out->weak_count += maker->result->collectives[c].confidence == RKT_MATCH_WEAK;
        out->collective_of[out->graph.event_count] = c;
        out->first_part[out->graph.event_count++] = part;
        maker->events[c] = part;
        part += count;
    }
    for (size_t i = 0; i < maker->post_count; i++) {
        struct post *post = &maker->posts[i];

        if (post->collective != RKT_NO_COLLECTIVE) {
            post->part = maker->events[post->collective]++;
            continue;
        }
        out->collective_of[out->graph.event_count] = RKT_NO_COLLECTIVE;
        out->first_part[out->graph.event_count++] = part;
        post->part = part++;
    }
    out->first_part[out->graph.event_count] = part;
}

/* A send that was over before any other began was buffered: it waited for nobody. */
static bool is_buffered(const struct rkt_collective *collective, const struct rkt_participant *self)
{
    if (collective->func != RKT_NCCL_FUNC_SENDRECV && collective->func != RKT_NCCL_FUNC_SEND)
        return false;
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *other = &collective->participants[i];

        if (other != self && self->job_end_ns > other->job_start_ns)
            return false;
    }
    return self->wait_ns != RKT_NA;
}

/* metrics.md, "Collectives": whom it waits for, and whom it holds up. */
static void set_direction(const struct maker *maker, const struct post *post,
                          struct rkt_replay_part *part)
{
    const struct rkt_collective *collective;

    part->gives = part->takes = true;
    if (post->collective == RKT_NO_COLLECTIVE)
        return;
    collective = &maker->result->collectives[post->collective];
    rkt_collective_direction(maker->result, collective, post->self, &part->gives, &part->takes);
    if (is_buffered(collective, post->self))
        part->takes = false;
}

/* The one before on its stream; NULL. */
static const struct post *before_on_stream(const struct maker *maker, const struct post *post)
{
    bool is_first =
        post == maker->posts || post[-1].rank != post->rank || post[-1].stream != post->stream;

    return is_first ? NULL : post - 1;
}

/*
 * What it had to wait for on its rank: the one before it on its stream; or one of another stream,
 * at whose end it began although it was ready before (an AllReduce between hosts after the
 * ReduceScatter within each). `by_end`: the rank's posts by end.
 */
static const struct post *waited_for(const struct maker *maker, const struct post *post,
                                     const struct post *const *by_end, size_t count)
{
    const struct post *before = before_on_stream(maker, post);
    const struct post *last;
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_end[middle]->end_ns <= post->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !post->self || post->self->ready_ns == RKT_NA)
        return before;
    last = by_end[low - 1];
    if (last == post || last->end_ns <= post->self->ready_ns ||
        last->end_ns <= post->start_ns - AFTER_NS || (before && last->end_ns <= before->end_ns))
        return before;
    return last;
}

static int compare_ends(const void *a, const void *b)
{
    const struct post *x = *(const struct post *const *)a;
    const struct post *y = *(const struct post *const *)b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static void fill_parts_of(struct maker *maker, uint32_t rank, const struct post **by_end)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    const struct post *posts = &maker->posts[maker->first_post[rank]];
    size_t count = maker->first_post[rank + 1] - maker->first_post[rank];

    for (size_t i = 0; i < count; i++)
        by_end[i] = &posts[i];
    qsort(by_end, count, sizeof(struct post *), compare_ends);
    for (size_t i = 0; i < count; i++) {
        const struct post *before = waited_for(maker, &posts[i], by_end, count);
        struct rkt_replay_part *part = &out->parts[posts[i].part];

        part->rank = rank;
        part->before = before ? before->part : RKT_REPLAY_NONE;
        set_direction(maker, &posts[i], part);
        out->items[posts[i].item].part = posts[i].part;
    }
}

static enum rkt_status fill_parts(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    const struct post **by_end = calloc(maker->post_count + 1, sizeof(struct post *));

    if (!by_end)
        return RKT_ERR_NOMEM;
    for (uint32_t r = 0; r < out->graph.rank_count; r++)
        fill_parts_of(maker, r, by_end);
    for (uint32_t e = 0; e < out->graph.event_count; e++) {
        for (size_t p = out->first_part[e]; p < out->first_part[e + 1]; p++)
            out->parts[p].event = e;
    }
    free(by_end);
    return RKT_OK;
}

/* Which part a join waits for; without one it is own work and no more. */
static void link_join(const struct maker *maker, uint32_t rank, struct rkt_replay_item *item)
{
    const struct post *first = &maker->posts[maker->first_post[rank]];
    const struct post *end = &maker->posts[maker->first_post[rank + 1]];
    struct post key = {.work = item->part};
    const struct post *found = NULL;

    if (first < end && rank_of(maker, rank)->trace->has_gpu)
        key.stream = stream_of(rkt_rank_trace_work(rank_of(maker, rank)->trace, key.work));
    if (first < end)
        found = bsearch(&key, first, (size_t)(end - first), sizeof(*first), compare_posts);
    if (found)
        item->part = found->part;
    else
        item->kind = RKT_REPLAY_WORK;
}

static void link_joins(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;

    for (uint32_t r = 0; r < out->graph.rank_count; r++) {
        for (size_t i = out->first_item[r]; i < out->first_item[r + 1]; i++) {
            if (out->items[i].kind == RKT_REPLAY_JOIN)
                link_join(maker, r, &out->items[i]);
        }
    }
}

/* What of the part was its own time: from its start, or from the end of the one before it. */
static int64_t own_duration_ns(const struct post *post, const struct post *before)
{
    int64_t start_ns = post->start_ns;

    if (before && before->end_ns > start_ns)
        start_ns = before->end_ns;
    return post->end_ns > start_ns ? post->end_ns - start_ns : 0;
}

/* The shortest of those that waited; where nobody did, of all. */
static void set_transfers(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;

    for (size_t e = 0; e < out->graph.event_count; e++)
        out->transfer_ns[e] = INT64_MAX;
    for (int only_takers = 1; only_takers >= 0; only_takers--) {
        for (size_t i = 0; i < maker->post_count; i++) {
            const struct post *post = &maker->posts[i];
            const struct rkt_replay_part *part = &out->parts[post->part];
            int64_t *transfer_ns = &out->transfer_ns[part->event];
            int64_t own_ns = own_duration_ns(post, before_on_stream(maker, post));

            if (only_takers ? part->takes && own_ns < *transfer_ns : *transfer_ns == INT64_MAX)
                *transfer_ns = own_ns;
        }
    }
}

/* ---- where lanes begin ---- */

/* The first event of all ranks that ends for all at once; the event count for none. */
static size_t first_common_event(const struct maker *maker)
{
    const struct rkt_replay_graph_of_steps *out = maker->out;
    size_t event = 0;

    for (; event < out->graph.event_count; event++) {
        size_t first = out->first_part[event];
        size_t end = out->first_part[event + 1];
        bool is_mutual = end - first == out->graph.rank_count;

        for (size_t p = first; p < end && is_mutual; p++)
            is_mutual = out->parts[p].gives && out->parts[p].takes;
        if (is_mutual)
            break;
    }
    return event;
}

static bool is_measured(enum rkt_align_state state)
{
    return state == RKT_ALIGN_REFERENCE || state == RKT_ALIGN_MEASURED ||
           state == RKT_ALIGN_SAME_HOST;
}

/* Clocks from collectives count where they are better than to take the ends of `common` for one
 * moment. */
static bool are_aligned(const struct maker *maker, size_t common)
{
    const struct rkt_replay_graph_of_steps *out = maker->out;
    bool is_aligned = true, has_collectives = false;

    for (uint32_t r = 0; r < out->graph.rank_count; r++) {
        enum rkt_align_state state = rank_of(maker, r)->align_state;

        has_collectives |= state == RKT_ALIGN_COLLECTIVES;
        is_aligned &= state == RKT_ALIGN_COLLECTIVES || is_measured(state);
    }
    if (!is_aligned || !has_collectives)
        return is_aligned;
    return common < out->graph.event_count && out->collective_of[common] != RKT_NO_COLLECTIVE &&
           maker->result->collectives[out->collective_of[common]].is_clocked;
}

/* On the job's clock where it was measured; else so that the first collective of all ends for all
 * at once; else all begin at once. */
static void set_starts(struct maker *maker)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    const struct rkt_step_row *row = &maker->steps->rows[out->rows.first];
    size_t common = first_common_event(maker);
    bool is_aligned = are_aligned(maker, common);

    for (uint32_t r = 0; r < out->graph.rank_count && is_aligned; r++)
        out->start_ns[r] = row->by_rank[out->ranks[r]].step->job_start_ns;
    for (size_t i = 0; i < maker->post_count && !is_aligned; i++) {
        const struct post *post = &maker->posts[i];

        if (out->parts[post->part].event == common)
            out->start_ns[post->rank] =
                row->by_rank[out->ranks[post->rank]].step->window.start_ns - post->end_ns;
    }
}

/* ---- life ---- */

/* Upper bounds of what there will be. */
static void count_lanes(const struct maker *maker, size_t *items_out, size_t *posts_out)
{
    *items_out = *posts_out = 0;
    for (uint32_t r = 0; r < maker->out->graph.rank_count; r++) {
        const struct rkt_rank_trace *trace = rank_of(maker, r)->trace;
        size_t first, end;

        find_lane(maker, r, &first, &end);
        *items_out += end - first;
        for (size_t i = first; i < end; i++)
            *posts_out += trace->lane[i].kind == RKT_REPLAY_POST;
    }
}

static bool allocate(struct maker *maker, size_t item_count, size_t post_count)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    size_t rank_count = out->graph.rank_count;

    out->items = calloc(item_count + 1, sizeof(*out->items));
    out->sources = calloc(item_count + 1, sizeof(struct rkt_lane_item *));
    out->own_ns = calloc(item_count + 1, sizeof(*out->own_ns));
    out->hosts = calloc(item_count + 1, sizeof(*out->hosts));
    out->host_own_ns = calloc(item_count + 1, sizeof(*out->host_own_ns));
    out->first_item = calloc(rank_count + 1, sizeof(*out->first_item));
    out->start_ns = calloc(rank_count + 1, sizeof(*out->start_ns));
    out->parts = calloc(post_count + 1, sizeof(*out->parts));
    out->first_part = calloc(post_count + 1, sizeof(*out->first_part));
    out->collective_of = calloc(post_count + 1, sizeof(*out->collective_of));
    out->transfer_ns = calloc(post_count + 1, sizeof(*out->transfer_ns));
    maker->events = calloc(maker->result->collective_count + 1, sizeof(*maker->events));
    maker->posts = calloc(post_count + 1, sizeof(*maker->posts));
    maker->first_post = calloc(rank_count + 1, sizeof(*maker->first_post));
    return out->items && out->sources && out->own_ns && out->hosts && out->host_own_ns &&
           out->first_item && out->start_ns && out->parts && out->first_part &&
           out->collective_of && out->transfer_ns && maker->events && maker->posts &&
           maker->first_post;
}

static enum rkt_status make(struct maker *maker, struct rkt_error *err)
{
    struct rkt_replay_graph_of_steps *out = maker->out;
    size_t item_count, post_count;

    count_lanes(maker, &item_count, &post_count);
    if (item_count >= RKT_REPLAY_NONE)
        return rkt_fail(err, RKT_ERR_RANGE, "%zu items to replay", item_count);
    if (!allocate(maker, item_count, post_count))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu items", item_count);
    copy_lanes(maker);
    number_events(maker);
    if (fill_parts(maker) != RKT_OK)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu items", item_count);
    link_joins(maker);
    set_transfers(maker);
    set_starts(maker);
    out->graph.step_count = out->rows.count;
    out->graph.items = out->items;
    out->graph.first_item = out->first_item;
    out->graph.parts = out->parts;
    out->graph.first_part = out->first_part;
    out->measured = (struct rkt_replay_inputs){
        .own_ns = out->own_ns,
        .hosts = out->hosts,
        .transfer_ns = out->transfer_ns,
        .start_ns = out->start_ns,
    };
    return RKT_OK;
}

enum rkt_status rkt_replay_graph_create(const struct rkt_result *result,
                                        const struct rkt_step_table *steps,
                                        struct rkt_row_span rows,
                                        struct rkt_replay_graph_of_steps **graph_out,
                                        struct rkt_error *err)
{
    struct rkt_replay_graph_of_steps *graph = calloc(1, sizeof(*graph));
    struct maker maker = {.result = result, .steps = steps, .out = graph};
    enum rkt_status status;

    if (graph)
        graph->ranks = calloc(result->rank_count + 1, sizeof(*graph->ranks));
    if (!graph || !graph->ranks) {
        rkt_replay_graph_destroy(graph);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu ranks", result->rank_count);
    }
    graph->rows = rows;
    for (uint32_t r = 0; r < result->rank_count; r++) {
        if (!result->ranks[r].is_set_apart)
            graph->ranks[graph->graph.rank_count++] = r;
    }
    status = make(&maker, err);
    free(maker.events);
    free(maker.posts);
    free(maker.first_post);
    if (status != RKT_OK) {
        rkt_replay_graph_destroy(graph);
        return status;
    }
    *graph_out = graph;
    return RKT_OK;
}

void rkt_replay_graph_destroy(struct rkt_replay_graph_of_steps *graph)
{
    if (!graph)
        return;
    free(graph->ranks);
    free(graph->items);
    free(graph->sources);
    free(graph->first_item);
    free(graph->parts);
    free(graph->first_part);
    free(graph->collective_of);
    free(graph->own_ns);
    free(graph->hosts);
    free(graph->host_own_ns);
    free(graph->transfer_ns);
    free(graph->start_ns);
    free(graph);
}
