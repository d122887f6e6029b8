/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order depends on what waits for what and on no time, so it is found once: each lane goes on
 * until it has to join an event that is not there yet; an event is there when all its parts are
 * posted and what comes before them on their streams is.
 */
#include <stdlib.h>

#include "analysis/replay_parts.h"

struct sorter {
    const struct rkt_replay_graph *graph;
    struct rkt_replay_order *order;
    size_t *next_item;   /* by rank */
    size_t *missing;     /* by event: posts and parts before that are not there yet */
    bool *is_there;      /* by event */
    uint32_t *after;     /* by part: the first that it comes before ... */
    uint32_t *sibling;   /* ... and by that one the next */
    uint32_t *ranks;     /* that can go on; each is in it once at most */
    size_t rank_count;   /* in ranks */
    uint32_t *events;    /* that can run */
    size_t event_count;  /* in events */
    uint32_t *waits_for; /* by rank: event; RKT_REPLAY_NONE */
};

void rkt_replay_order_release(struct rkt_replay_order *order)
{
    free(order->ops);
    free(order->rank_of_item);
    free(order->step_of_item);
    free(order->step_end_item);
    free(order->post_of_part);
    *order = (struct rkt_replay_order){0};
}

static void release_sorter(struct sorter *sorter)
{
    free(sorter->next_item);
    free(sorter->missing);
    free(sorter->is_there);
    free(sorter->after);
    free(sorter->sibling);
    free(sorter->ranks);
    free(sorter->events);
    free(sorter->waits_for);
}

static bool allocate(struct sorter *sorter)
{
    const struct rkt_replay_graph *graph = sorter->graph;
    struct rkt_replay_order *order = sorter->order;
    size_t item_count = graph->first_item[graph->rank_count];
    size_t part_count = graph->first_part[graph->event_count];

    order->ops = calloc(item_count + graph->event_count + 1, sizeof(*order->ops));
    order->rank_of_item = calloc(item_count + 1, sizeof(*order->rank_of_item));
    order->step_of_item = calloc(item_count + 1, sizeof(*order->step_of_item));
    order->step_end_item =
        calloc(graph->step_count * graph->rank_count + 1, sizeof(*order->step_end_item));
    order->post_of_part = calloc(part_count + 1, sizeof(*order->post_of_part));
    sorter->next_item = calloc(graph->rank_count + 1, sizeof(*sorter->next_item));
    sorter->missing = calloc(graph->event_count + 1, sizeof(*sorter->missing));
    sorter->is_there = calloc(graph->event_count + 1, sizeof(*sorter->is_there));
    sorter->after = calloc(part_count + 1, sizeof(*sorter->after));
    sorter->sibling = calloc(part_count + 1, sizeof(*sorter->sibling));
    sorter->ranks = calloc(graph->rank_count + 1, sizeof(*sorter->ranks));
    sorter->events = calloc(graph->event_count + 1, sizeof(*sorter->events));
    sorter->waits_for = calloc(graph->rank_count + 1, sizeof(*sorter->waits_for));
    return order->ops && order->rank_of_item && order->step_of_item && order->step_end_item &&
           order->post_of_part && sorter->next_item && sorter->missing && sorter->is_there &&
           sorter->after && sorter->sibling && sorter->ranks && sorter->events && sorter->waits_for;
}

/* ---- what the graph says, checked ---- */

static bool has_part(const struct rkt_replay_item *item)
{
    return item->kind == RKT_REPLAY_POST || item->kind == RKT_REPLAY_JOIN;
}

/* The steps and posts of a rank's items; false where they contradict each other. */
static bool read_lane(struct sorter *sorter, uint32_t rank)
{
    const struct rkt_replay_graph *graph = sorter->graph;
    struct rkt_replay_order *order = sorter->order;
    uint32_t step = 0;

    for (size_t i = graph->first_item[rank]; i < graph->first_item[rank + 1]; i++) {
        const struct rkt_replay_item *item = &graph->items[i];

        order->rank_of_item[i] = rank;
        order->step_of_item[i] = step;
        if (step >= graph->step_count)
            return false;
        if (has_part(item) && (item->part >= graph->first_part[graph->event_count] ||
                               graph->parts[item->part].rank != rank))
            return false;
        if (item->kind == RKT_REPLAY_STEP_END)
            order->step_end_item[step++ * graph->rank_count + rank] = (uint32_t)i;
        if (item->kind != RKT_REPLAY_POST)
            continue;
        if (order->post_of_part[item->part] != RKT_REPLAY_NONE)
            return false;
        order->post_of_part[item->part] = (uint32_t)i;
    }
    return step == graph->step_count;
}

static bool read_lanes(struct sorter *sorter)
{
    const struct rkt_replay_graph *graph = sorter->graph;

    for (size_t p = 0; p < graph->first_part[graph->event_count]; p++)
        sorter->order->post_of_part[p] = RKT_REPLAY_NONE;
    for (uint32_t r = 0; r < graph->rank_count; r++) {
        if (!read_lane(sorter, r))
            return false;
    }
    return true;
}

static bool read_parts(struct sorter *sorter)
{
    const struct rkt_replay_graph *graph = sorter->graph;
    size_t part_count = graph->first_part[graph->event_count];

    for (size_t p = 0; p < part_count; p++)
        sorter->after[p] = RKT_REPLAY_NONE;
    for (uint32_t p = 0; p < part_count; p++) {
        const struct rkt_replay_part *part = &graph->parts[p];

        if (sorter->order->post_of_part[p] == RKT_REPLAY_NONE || part->event >= graph->event_count)
            return false;
        sorter->missing[part->event]++;
        if (part->before == RKT_REPLAY_NONE)
            continue;
        if (part->before >= part_count)
            return false;
        sorter->sibling[p] = sorter->after[part->before];
        sorter->after[part->before] = p;
        sorter->missing[part->event]++;
    }
    return true;
}

/* ---- working through it ---- */

static void add_op(struct sorter *sorter, uint32_t index, bool is_event)
{
    sorter->order->ops[sorter->order->count++] = (struct rkt_replay_op){index, is_event};
}

static void take_missing(struct sorter *sorter, uint32_t event)
{
    if (--sorter->missing[event] == 0)
        sorter->events[sorter->event_count++] = event;
}

static void run_event(struct sorter *sorter, uint32_t event)
{
    const struct rkt_replay_graph *graph = sorter->graph;

    sorter->is_there[event] = true;
    add_op(sorter, event, true);
    for (size_t p = graph->first_part[event]; p < graph->first_part[event + 1]; p++) {
        uint32_t rank = graph->parts[p].rank;

        for (uint32_t next = sorter->after[p]; next != RKT_REPLAY_NONE;
             next = sorter->sibling[next])
            take_missing(sorter, graph->parts[next].event);
        if (sorter->waits_for[rank] == event) {
            sorter->waits_for[rank] = RKT_REPLAY_NONE;
            sorter->ranks[sorter->rank_count++] = rank;
        }
    }
}

/* As far as it can. */
static void run_lane(struct sorter *sorter, uint32_t rank)
{
    const struct rkt_replay_graph *graph = sorter->graph;

    for (; sorter->next_item[rank] < graph->first_item[rank + 1]; sorter->next_item[rank]++) {
        const struct rkt_replay_item *item = &graph->items[sorter->next_item[rank]];

        if (item->kind == RKT_REPLAY_JOIN && !sorter->is_there[graph->parts[item->part].event]) {
            sorter->waits_for[rank] = graph->parts[item->part].event;
            return;
        }
        add_op(sorter, (uint32_t)sorter->next_item[rank], false);
        if (item->kind == RKT_REPLAY_POST)
            take_missing(sorter, graph->parts[item->part].event);
    }
}

static void sort(struct sorter *sorter)
{
    for (uint32_t r = 0; r < sorter->graph->rank_count; r++) {
        sorter->next_item[r] = sorter->graph->first_item[r];
        sorter->waits_for[r] = RKT_REPLAY_NONE;
        sorter->ranks[sorter->rank_count++] = r;
    }
    while (sorter->rank_count > 0 || sorter->event_count > 0) {
        if (sorter->event_count > 0)
            run_event(sorter, sorter->events[--sorter->event_count]);
        else
            run_lane(sorter, sorter->ranks[--sorter->rank_count]);
    }
}

enum rkt_status rkt_replay_order_init(struct rkt_replay_order *order,
                                      const struct rkt_replay_graph *graph, struct rkt_error *err)
{
    struct sorter sorter = {.graph = graph, .order = order};
    size_t item_count = graph->first_item[graph->rank_count];
    enum rkt_status status = RKT_OK;

    if (item_count >= RKT_REPLAY_NONE || graph->first_part[graph->event_count] >= RKT_REPLAY_NONE)
        return rkt_fail(err, RKT_ERR_RANGE, "%zu items to replay", item_count);
    if (!allocate(&sorter))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to replay %zu items", item_count);
    else if (!read_lanes(&sorter) || !read_parts(&sorter))
        status = rkt_fail(err, RKT_ERR_INVALID, "items and events do not fit each other");
    else
        sort(&sorter);
    if (status == RKT_OK && order->count != item_count + graph->event_count)
        status = rkt_fail(err, RKT_ERR_INVALID, "ranks wait for each other in a circle");
    release_sorter(&sorter);
    if (status != RKT_OK)
        rkt_replay_order_release(order);
    return status;
}
