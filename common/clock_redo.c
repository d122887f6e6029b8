/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_redo.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock_burst.h"
#include "common/clock_tree.h"
#include "common/node_id.h"

/* One sidecar; its exchanges are reduced to those that decide, its claims of true time are kept. */
struct node {
    const struct rkt_source_info *info; /* NULL: rank 0's, of which nothing was stored */
    uint32_t number;
    struct rkt_event *kept;
    size_t kept_count;
    size_t kept_cap;
};

struct rkt_clock_redo {
    struct node *nodes; /* by number; [0] is the reference */
    size_t node_count;
    struct rkt_clock_tree *tree;
};

/* The exchanges of a burst, until the next one begins. */
struct reduction {
    struct node *node;
    struct rkt_event burst[RKT_BURST_EXCHANGES_MAX];
    size_t count;
};

static enum rkt_status keep(struct node *node, const struct rkt_event *event, struct rkt_error *err)
{
    if (!rkt_array_reserve((void **)&node->kept, &node->kept_cap, node->kept_count + 1,
                           sizeof(*node->kept)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clock records", node->kept_count);
    node->kept[node->kept_count++] = *event;
    return RKT_OK;
}

static enum rkt_status end_burst(struct reduction *reduction, struct rkt_error *err)
{
    enum rkt_status status;
    size_t lower = 0, upper = 0;
    bool is_sound = rkt_clock_burst_keep(reduction->burst, reduction->count, &lower, &upper);

    reduction->count = 0;
    if (!is_sound)
        return RKT_OK;
    status = keep(reduction->node, &reduction->burst[lower], err);
    if (status == RKT_OK)
        status = keep(reduction->node, &reduction->burst[upper], err);
    return status;
}

static enum rkt_status take_exchange(struct reduction *reduction, const struct rkt_event *event,
                                     struct rkt_error *err)
{
    const struct rkt_event_clock_exchange *now = &event->clock_exchange;
    const struct rkt_event_clock_exchange *last = &reduction->burst[0].clock_exchange;
    enum rkt_status status = RKT_OK;

    if (reduction->count == RKT_BURST_EXCHANGES_MAX ||
        (reduction->count > 0 &&
         (now->burst != last->burst || now->peer_source != last->peer_source)))
        status = end_burst(reduction, err);
    if (status == RKT_OK)
        reduction->burst[reduction->count++] = *event;
    return status;
}

static enum rkt_status take_events(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    struct reduction *reduction = ctx;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        if (events[i].kind == RKT_EVENT_CLOCK_EXCHANGE)
            status = take_exchange(reduction, &events[i], err);
        else if (events[i].kind == RKT_EVENT_CLOCK_TRUE)
            status = keep(reduction->node, &events[i], err);
    }
    return status;
}

static enum rkt_status load_node(struct rkt_store_reader *reader, struct node *node,
                                 struct rkt_error *err)
{
    struct reduction *reduction;
    enum rkt_status status;

    if (!node->info)
        return RKT_OK;
    reduction = calloc(1, sizeof(*reduction));
    if (!reduction)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a burst");
    reduction->node = node;
    status = rkt_store_reader_walk(reader, node->info->source, NULL, take_events, reduction, err);
    if (status == RKT_OK)
        status = end_burst(reduction, err);
    free(reduction);
    return status;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* One per sidecar, and node 0, which may be without one: the reference. */
static enum rkt_status find_nodes(struct rkt_store_reader *reader, struct rkt_clock_redo *redo,
                                  struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(reader), kept = 0;

    redo->nodes = calloc(count + 1, sizeof(*redo->nodes));
    if (!redo->nodes)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu nodes", count);
    redo->node_count = 1; /* the reference: all zero */
    for (size_t i = 0; i < count; i++) {
        const struct rkt_source_info *info = &rkt_store_reader_source(reader, i)->info;

        if (info->role == RKT_ROLE_SIDECAR)
            redo->nodes[redo->node_count++] = (struct node){.info = info, .number = info->node};
    }
    qsort(redo->nodes, redo->node_count, sizeof(*redo->nodes), compare_nodes);
    for (size_t i = 0; i < redo->node_count; i++) {
        struct node *last = kept > 0 ? &redo->nodes[kept - 1] : NULL;

        if (!last || last->number != redo->nodes[i].number)
            redo->nodes[kept++] = redo->nodes[i];
        else if (!last->info)
            *last = redo->nodes[i];
    }
    redo->node_count = kept;
    return RKT_OK;
}

static bool shares_clock(const struct node *a, const struct node *b)
{
    struct rkt_node_id x = {0}, y = {0};

    if (a == b)
        return true;
    if (!a->info || !b->info)
        return false;
    memcpy(x.boot_id, a->info->boot_id, sizeof(x.boot_id));
    memcpy(y.boot_id, b->info->boot_id, sizeof(y.boot_id));
    x.time_namespace = a->info->time_namespace;
    y.time_namespace = b->info->time_namespace;
    return rkt_node_id_shares_clock(&x, &y);
}

static uint32_t clock_group_of(const struct rkt_clock_redo *redo, size_t index)
{
    size_t first = 0;

    while (!shares_clock(&redo->nodes[first], &redo->nodes[index]))
        first++;
    return (uint32_t)first;
}

static enum rkt_status create_tree(struct rkt_clock_redo *redo,
                                   const struct rkt_clock_params *params, struct rkt_error *err)
{
    struct rkt_clock_node *nodes = calloc(redo->node_count + 1, sizeof(*nodes));
    enum rkt_status status;

    if (!nodes)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu nodes", redo->node_count);
    for (size_t i = 0; i < redo->node_count; i++)
        nodes[i] =
            (struct rkt_clock_node){.source = redo->nodes[i].info ? redo->nodes[i].info->source : 0,
                                    .clock_group = clock_group_of(redo, i),
                                    .exchanges = redo->nodes[i].kept,
                                    .exchange_count = redo->nodes[i].kept_count};
    status = rkt_clock_tree_create(nodes, redo->node_count, 0, params, &redo->tree, err);
    free(nodes);
    return status;
}

enum rkt_status rkt_clock_redo_create(struct rkt_store_reader *reader,
                                      const struct rkt_clock_params *params,
                                      struct rkt_clock_redo **redo_out, struct rkt_error *err)
{
    struct rkt_clock_redo *redo = calloc(1, sizeof(*redo));
    enum rkt_status status;

    if (!redo)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of a store");
    status = find_nodes(reader, redo, err);
    for (size_t i = 0; i < redo->node_count && status == RKT_OK; i++)
        status = load_node(reader, &redo->nodes[i], err);
    if (status == RKT_OK)
        status = create_tree(redo, params, err);
    if (status != RKT_OK) {
        rkt_clock_redo_destroy(redo);
        return status;
    }
    *redo_out = redo;
    return RKT_OK;
}

void rkt_clock_redo_destroy(struct rkt_clock_redo *redo)
{
    if (!redo)
        return;
    rkt_clock_tree_destroy(redo->tree);
    for (size_t i = 0; redo->nodes && i < redo->node_count; i++)
        free(redo->nodes[i].kept);
    free(redo->nodes);
    free(redo);
}

enum rkt_status rkt_clock_redo_align(struct rkt_clock_redo *redo,
                                     const struct rkt_source_info *source,
                                     struct rkt_align_info *align_out, struct rkt_error *err)
{
    struct node key = {.number = source->node};
    const struct node *node;
    const struct rkt_align_info *align;
    enum rkt_status status;

    if (source->producer != RKT_PRODUCER_CAPTURE)
        return RKT_AGAIN;
    node = bsearch(&key, redo->nodes, redo->node_count, sizeof(*redo->nodes), compare_nodes);
    if (!node)
        return RKT_AGAIN;
    status = rkt_clock_tree_align(redo->tree, (size_t)(node - redo->nodes), &align, err);
    if (status != RKT_OK)
        return status;
    *align_out = *align;
    align_out->source = source->source;
    return RKT_OK;
}

static bool is_missing(const struct rkt_store_source *source)
{
    return source->info.producer == RKT_PRODUCER_CAPTURE && !source->has_align;
}

enum rkt_status rkt_clock_redo_missing(struct rkt_store_reader *reader, struct rkt_error *err)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    size_t count = rkt_store_reader_source_count(reader), missing = 0;
    struct rkt_clock_redo *redo = NULL;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count; i++)
        missing += is_missing(rkt_store_reader_source(reader, i));
    if (missing > 0)
        status = rkt_clock_redo_create(reader, &PARAMS, &redo, err);
    for (size_t i = 0; i < count && redo && status >= RKT_OK; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        struct rkt_align_info align;

        if (!is_missing(source))
            continue;
        status = rkt_clock_redo_align(redo, &source->info, &align, err);
        if (status == RKT_OK)
            status = rkt_store_reader_set_align(reader, i, &align, err);
    }
    rkt_clock_redo_destroy(redo);
    return status < RKT_OK ? status : RKT_OK;
}
