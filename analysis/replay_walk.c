/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   lane 0   ==own==|P|==own==|        |J|==own==|E    the path of the step's end, backwards:
 *   event             |========transfer==|             own, transfer, then the lane that posted
 *   lane 1   ======own======|P|                        last
 */
#include "analysis/replay_parts.h"

struct walk {
    const struct rkt_replay *replay;
    const struct rkt_replay_path *path;
    rkt_replay_piece_fn fn;
    void *ctx;
};

/* Where the path is: at the end of an item on its lane, or at the end of a part's transfer. */
struct place {
    int64_t at_ns;
    uint32_t item; /* RKT_REPLAY_NONE: of a part, or at the begin of a lane */
    uint32_t part; /* RKT_REPLAY_NONE: of an item */
};

static void give(const struct walk *walk, struct rkt_replay_piece piece)
{
    if (piece.start_ns < walk->path->from_ns)
        piece.start_ns = walk->path->from_ns;
    if (piece.end_ns > piece.start_ns)
        walk->fn(walk->ctx, &piece);
}

static struct place at_item(const struct rkt_replay *replay, uint32_t item)
{
    return (struct place){replay->after_ns[item], item, RKT_REPLAY_NONE};
}

static struct place at_part(const struct rkt_replay *replay, uint32_t part)
{
    return (struct place){replay->end_ns[part], RKT_REPLAY_NONE, part};
}

static struct place before_item(const struct walk *walk, uint32_t at)
{
    const struct rkt_replay *replay = walk->replay;
    const struct rkt_replay_item *item = &replay->graph.items[at];
    uint32_t rank = replay->order.rank_of_item[at];
    bool is_first = at == replay->graph.first_item[rank];
    int64_t begin_ns =
        is_first ? rkt_replay_start_of(walk->path->inputs, rank) : replay->after_ns[at - 1];
    int64_t end_ns = replay->own_end_ns[at];

    if (item->kind == RKT_REPLAY_JOIN && replay->end_ns[item->part] > end_ns)
        return at_part(replay, item->part);
    give(walk, (struct rkt_replay_piece){begin_ns, end_ns, rank, at, RKT_REPLAY_NONE});
    if (is_first)
        return (struct place){begin_ns, RKT_REPLAY_NONE, RKT_REPLAY_NONE};
    return at_item(replay, at - 1);
}

/* The part that let this one's transfer begin: its own, or the last of those that give. */
static uint32_t last_to_come(const struct rkt_replay *replay, uint32_t at)
{
    const struct rkt_replay_graph *graph = &replay->graph;
    const struct rkt_replay_part *part = &graph->parts[at];
    size_t last = at;

    for (size_t p = graph->first_part[part->event]; p < graph->first_part[part->event + 1]; p++) {
        if (part->takes && graph->parts[p].gives &&
            rkt_replay_ready_of(replay, p) > rkt_replay_ready_of(replay, last))
            last = p;
    }
    return (uint32_t)last;
}

static struct place before_part(const struct walk *walk, uint32_t at)
{
    const struct rkt_replay *replay = walk->replay;
    const struct rkt_replay_part *part = &replay->graph.parts[at];
    uint32_t last = last_to_come(replay, at);
    uint32_t before = replay->graph.parts[last].before;

    give(walk, (struct rkt_replay_piece){rkt_replay_ready_of(replay, last), replay->end_ns[at],
                                         part->rank, RKT_REPLAY_NONE, part->event});
    if (before != RKT_REPLAY_NONE && replay->end_ns[before] > replay->post_ns[last])
        return at_part(replay, before);
    return at_item(replay, replay->order.post_of_part[last]);
}

/* What set end_ns of the rank's step: its lane, or an event that it posted in this step or
 * before. */
static struct place end_of_step(const struct rkt_replay *replay, uint32_t rank, size_t step,
                                int64_t end_ns)
{
    const struct rkt_replay_graph *graph = &replay->graph;
    size_t at = replay->order.step_end_item[step * graph->rank_count + rank];

    for (; replay->after_ns[at] != end_ns; at--) {
        const struct rkt_replay_item *item = &graph->items[at];

        if (item->kind == RKT_REPLAY_POST && replay->end_ns[item->part] == end_ns)
            return at_part(replay, item->part);
        if (at == graph->first_item[rank])
            return (struct place){end_ns, RKT_REPLAY_NONE, RKT_REPLAY_NONE};
    }
    return at_item(replay, (uint32_t)at);
}

void rkt_replay_walk(const struct rkt_replay *replay, const struct rkt_replay_path *path,
                     rkt_replay_piece_fn fn, void *ctx)
{
    const struct walk walk = {replay, path, fn, ctx};
    const int64_t *step_ends = &path->ends[path->step * replay->graph.rank_count];
    uint32_t last = 0;
    struct place place;

    for (uint32_t r = 1; r < replay->graph.rank_count; r++)
        last = step_ends[r] > step_ends[last] ? r : last;
    place = end_of_step(replay, last, path->step, step_ends[last]);
    while (place.at_ns > path->from_ns) {
        if (place.part != RKT_REPLAY_NONE)
            place = before_part(&walk, place.part);
        else if (place.item != RKT_REPLAY_NONE)
            place = before_item(&walk, place.item);
        else
            return;
    }
}
