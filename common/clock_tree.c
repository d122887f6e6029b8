/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock_path.h"

#define KEEP_BYTES_MAX ((size_t)4 << 30)
#define SCRATCH_BYTES_MAX ((size_t)1 << 30)
#define PEERS_MAX 8u

/* What a node measured against one peer. */
struct edge {
    uint32_t peer_source;
    struct rkt_clock_bursts bursts;
    struct rkt_clock_curve curve;
};

struct node {
    struct rkt_clock_node given;
    size_t burst_count;
    bool has_edges;
    bool is_liar;
    struct edge *edges; /* most bursts first */
    size_t edge_count;
    struct rkt_clock_curve claim; /* to true time */
    struct rkt_align_info align;
    bool has_align;
};

struct rkt_clock_tree {
    struct rkt_clock_params params;
    struct node *nodes;
    size_t node_count;
    struct node **by_source;
    struct node **leaders; /* by clock_group */
    struct node *reference;
    struct rkt_arena keep;
    struct rkt_arena scratch; /* empty between calls */
};

/* Those of one burst stand together, but for claims in between. */
static size_t count_bursts(const struct rkt_clock_node *node)
{
    const struct rkt_event *last = NULL;
    size_t count = 0;

    for (size_t i = 0; i < node->exchange_count; i++) {
        const struct rkt_event *event = &node->exchanges[i];

        if (event->kind != RKT_EVENT_CLOCK_EXCHANGE)
            continue;
        count += !last || event->clock_exchange.burst != last->clock_exchange.burst;
        last = event;
    }
    return count;
}

static int compare_sources(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

    return (x->given.source > y->given.source) - (x->given.source < y->given.source);
}

/* Of the nodes with a clock, the one that measured most; the first of them. */
static void choose_leader(struct rkt_clock_tree *tree, uint32_t clock_group)
{
    struct node *leader = NULL;

    for (size_t i = 0; i < tree->node_count; i++) {
        struct node *node = &tree->nodes[i];

        if (node->given.clock_group == clock_group && !node->is_liar &&
            (!leader || node->burst_count > leader->burst_count))
            leader = node;
    }
    tree->leaders[clock_group] = leader;
}

static void fill_nodes(struct rkt_clock_tree *tree, const struct rkt_clock_node *nodes)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        struct node *node = &tree->nodes[i];
        struct node **leader = &tree->leaders[nodes[i].clock_group];

        node->given = nodes[i];
        node->burst_count = count_bursts(&nodes[i]);
        if (!*leader || node->burst_count > (*leader)->burst_count)
            *leader = node;
        tree->by_source[i] = node;
    }
    if (tree->node_count > 1)
        qsort(tree->by_source, tree->node_count, sizeof(struct node *), compare_sources);
}

enum rkt_status rkt_clock_tree_create(const struct rkt_clock_node *nodes, size_t node_count,
                                      size_t reference, const struct rkt_clock_params *params,
                                      struct rkt_clock_tree **tree_out, struct rkt_error *err)
{
    struct rkt_clock_tree *tree = calloc(1, sizeof(*tree));

    if (tree) {
        rkt_arena_init(&tree->keep, KEEP_BYTES_MAX);
        rkt_arena_init(&tree->scratch, SCRATCH_BYTES_MAX);
        tree->nodes = calloc(node_count + 1, sizeof(*tree->nodes));
        tree->by_source = calloc(node_count + 1, sizeof(struct node *));
        tree->leaders = calloc(node_count + 1, sizeof(struct node *));
    }
    if (!tree || !tree->nodes || !tree->by_source || !tree->leaders) {
        rkt_clock_tree_destroy(tree);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu nodes", node_count);
    }
    tree->params = *params;
    tree->node_count = node_count;
    tree->reference = &tree->nodes[reference];
    fill_nodes(tree, nodes);
    *tree_out = tree;
    return RKT_OK;
}

void rkt_clock_tree_destroy(struct rkt_clock_tree *tree)
{
    if (!tree)
        return;
    rkt_arena_release(&tree->keep);
    rkt_arena_release(&tree->scratch);
    free(tree->leaders);
    free(tree->by_source);
    free(tree->nodes);
    free(tree);
}

/* ---- edges ---- */

static size_t find_peers(const struct rkt_clock_node *node, uint32_t peers[PEERS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < node->exchange_count; i++) {
        uint32_t peer = node->exchanges[i].clock_exchange.peer_source;
        size_t at = 0;

        if (node->exchanges[i].kind != RKT_EVENT_CLOCK_EXCHANGE)
            continue;
        while (at < count && peers[at] != peer)
            at++;
        if (at == count && count < PEERS_MAX)
            peers[count++] = peer;
    }
    return count;
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->bursts.count != y->bursts.count)
        return x->bursts.count < y->bursts.count ? 1 : -1;
    return (x->peer_source > y->peer_source) - (x->peer_source < y->peer_source);
}

/* Of a solved curve what later calls need, out of the scratch. */
static enum rkt_status keep_curve(struct rkt_clock_tree *tree, struct rkt_clock_curve *curve,
                                  struct rkt_error *err)
{
    struct rkt_clock_segment *segments =
        RKT_ARENA_ARRAY(&tree->keep, struct rkt_clock_segment, curve->segment_count + 1);

    for (size_t s = 0; segments && s < curve->segment_count; s++) {
        size_t count = curve->segments[s].count;
        struct rkt_clock_vertex *vertices =
            RKT_ARENA_ARRAY(&tree->keep, struct rkt_clock_vertex, count);

        if (!vertices)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory to keep a clock's curve");
        memcpy(vertices, curve->segments[s].vertices, count * sizeof(*vertices));
        segments[s] = curve->segments[s];
        segments[s].vertices = vertices;
    }
    if (!segments)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to keep a clock's curve");
    curve->segments = segments;
    return RKT_OK;
}

/* None: a curve without a segment. */
static enum rkt_status make_claim(struct rkt_clock_tree *tree, struct node *node,
                                  struct rkt_error *err)
{
    struct rkt_clock_bursts claims;
    enum rkt_status status = rkt_clock_claims_make(
        node->given.exchanges, node->given.exchange_count, &tree->scratch, &claims, err);

    if (status == RKT_OK && claims.count > 0)
        status = rkt_clock_curve_solve(&claims, &tree->params, &tree->scratch, &node->claim, err);
    if (status == RKT_OK && claims.count > 0)
        status = keep_curve(tree, &node->claim, err);
    rkt_arena_reset(&tree->scratch);
    return status;
}

static enum rkt_status make_edge(struct rkt_clock_tree *tree, const struct rkt_clock_node *node,
                                 uint32_t peer_source, struct edge *edge, struct rkt_error *err)
{
    struct rkt_clock_bursts bursts;
    struct rkt_clock_burst *items;
    enum rkt_status status = rkt_clock_bursts_make(node->exchanges, node->exchange_count,
                                                   peer_source, &tree->scratch, &bursts, err);

    edge->peer_source = peer_source;
    if (status == RKT_OK)
        status = rkt_clock_curve_solve(&bursts, &tree->params, &tree->scratch, &edge->curve, err);
    if (status == RKT_OK)
        status = keep_curve(tree, &edge->curve, err);
    if (status == RKT_OK) {
        items = RKT_ARENA_ARRAY(&tree->keep, struct rkt_clock_burst, bursts.count + 1);
        if (!items)
            status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to keep bursts");
        else if (bursts.count > 0)
            memcpy(items, bursts.items, bursts.count * sizeof(*items));
        bursts.items = items;
        edge->bursts = bursts;
    }
    rkt_arena_reset(&tree->scratch);
    return status;
}

static enum rkt_status make_edges(struct rkt_clock_tree *tree, struct node *node,
                                  struct rkt_error *err)
{
    uint32_t peers[PEERS_MAX];
    size_t count = find_peers(&node->given, peers);
    enum rkt_status status = RKT_OK;

    if (node->has_edges)
        return RKT_OK;
    node->has_edges = true;
    node->edges = RKT_ARENA_ARRAY(&tree->keep, struct edge, count + 1);
    if (!node->edges)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu peers", count);
    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        status = make_edge(tree, &node->given, peers[i], &node->edges[i], err);
        node->edge_count = i + 1;
    }
    if (status == RKT_OK)
        status = make_claim(tree, node, err);
    if (node->edge_count > 1)
        qsort(node->edges, node->edge_count, sizeof(*node->edges), compare_edges);
    return status;
}

static const struct edge *edge_to(const struct node *node, uint32_t peer_source)
{
    for (size_t i = 0; i < node->edge_count; i++) {
        if (node->edges[i].peer_source == peer_source)
            return &node->edges[i];
    }
    return NULL;
}

/* ---- the way to the reference ---- */

static bool shares_reference(const struct rkt_clock_tree *tree, const struct node *node)
{
    return node->given.clock_group == tree->reference->given.clock_group && !node->is_liar;
}

/* NULL: a peer that is no node of the tree. */
static struct node *node_of_source(struct rkt_clock_tree *tree, uint32_t source)
{
    struct node key = {.given = {.source = source}}, *wanted = &key;
    struct node **found =
        bsearch(&wanted, tree->by_source, tree->node_count, sizeof(struct node *), compare_sources);

    return found ? *found : NULL;
}

/* Who measures this node's clock. */
static struct node *leader_of(struct rkt_clock_tree *tree, struct node *node)
{
    struct node *leader = tree->leaders[node->given.clock_group];

    return node->is_liar || !leader ? node : leader;
}

/*
 * Fills path and hops from `node` on. Where the way is lost or leads in a circle there are no hops,
 * but for what was measured directly.
 */
static enum rkt_status find_path(struct rkt_clock_tree *tree, struct node *node,
                                 struct rkt_clock_path *path, struct rkt_align_info *align,
                                 struct rkt_error *err)
{
    uint32_t reference = tree->reference->given.source;
    struct node *at = node;

    *path = (struct rkt_clock_path){0};
    while (at && !shares_reference(tree, at)) {
        struct node *leader = leader_of(tree, at);
        enum rkt_status status = make_edges(tree, leader, err);
        const struct edge *direct;

        if (status != RKT_OK)
            return status;
        if (leader->edge_count == 0 || path->hop_count == RKT_ALIGN_HOPS_MAX)
            break;
        direct = edge_to(leader, reference);
        if (path->hop_count == 0 && direct && direct != &leader->edges[0])
            path->direct = &direct->curve;
        align->hops[path->hop_count] = leader->edges[0].peer_source;
        path->hops[path->hop_count++] = &leader->edges[0].curve;
        at = node_of_source(tree, leader->edges[0].peer_source);
    }
    align->hop_count = (uint8_t)path->hop_count;
    if (at && shares_reference(tree, at))
        return RKT_OK;
    path->hop_count = 0;
    align->hops[0] = reference;
    align->hop_count = path->direct ? 1 : 0;
    return RKT_OK;
}

/* ---- the claim to share a clock ---- */

static bool allows(const struct rkt_clock_burst *burst, int64_t lower_ns, int64_t upper_ns)
{
    return burst->lower_ns <= upper_ns && burst->upper_ns >= lower_ns;
}

/* Whether what this node measured allows the offset of the clock that it claims. */
static enum rkt_status test_claim(struct rkt_clock_tree *tree, struct node *node,
                                  struct rkt_error *err)
{
    bool is_of_reference = shares_reference(tree, node);
    uint32_t reference = tree->reference->given.source;
    struct node *leader = leader_of(tree, node);
    const struct edge *own, *told;
    enum rkt_status status = make_edges(tree, node, err);

    if (status == RKT_OK && !is_of_reference)
        status = make_edges(tree, leader, err);
    if (status != RKT_OK || node == tree->reference || (node == leader && !is_of_reference))
        return status;
    own = edge_to(node, reference);
    told = edge_to(leader, reference);
    for (size_t k = 0; own && k < own->bursts.count && !node->is_liar; k++) {
        const struct rkt_clock_burst *burst = &own->bursts.items[k];
        struct rkt_clock_point point = {0};

        if (is_of_reference ||
            (told && rkt_clock_curve_at(&told->curve, (int64_t)burst->local_ns, &point)))
            node->is_liar = !allows(burst, point.lower_ns, point.upper_ns);
    }
    if (node->is_liar && leader == node)
        choose_leader(tree, node->given.clock_group);
    return RKT_OK;
}

/* ---- alignments ---- */

/* NULL: nothing is claimed. */
static const struct rkt_clock_curve *claim_of(const struct node *node)
{
    bool is_any = node->claim.segment_count > 0 || (node->claim.flags & RKT_CLOCK_CONTRADICTORY);

    return is_any ? &node->claim : NULL;
}

static enum rkt_status add_claims(struct rkt_clock_tree *tree, struct node *node,
                                  struct rkt_clock_path *path, struct rkt_error *err)
{
    enum rkt_status status = make_edges(tree, tree->reference, err);

    if (status == RKT_OK && claim_of(node) && claim_of(tree->reference)) {
        path->claim = claim_of(node);
        path->reference_claim = claim_of(tree->reference);
    }
    return status;
}

static enum rkt_status make_align(struct rkt_clock_tree *tree, struct node *node,
                                  struct rkt_error *err)
{
    struct rkt_align_info align = {0}, made = {0};
    struct rkt_clock_path path;
    struct rkt_align_knot *knots;
    enum rkt_status status = find_path(tree, node, &path, &align, err);

    if (status == RKT_OK)
        status = add_claims(tree, node, &path, err);
    if (status == RKT_OK)
        status = rkt_clock_path_align(&path, &tree->scratch, &made, err);
    if (status != RKT_OK)
        return status;
    knots = RKT_ARENA_ARRAY(&tree->keep, struct rkt_align_knot, made.knot_count + 1);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", made.knot_count);
    if (made.knot_count > 0)
        memcpy(knots, made.knots, made.knot_count * sizeof(*knots));
    rkt_arena_reset(&tree->scratch);
    node->align = made;
    node->align.knots = knots;
    node->align.hop_count = align.hop_count;
    memcpy(node->align.hops, align.hops, align.hop_count * sizeof(*align.hops));
    return RKT_OK;
}

enum rkt_status rkt_clock_tree_align(struct rkt_clock_tree *tree, size_t index,
                                     const struct rkt_align_info **align_out, struct rkt_error *err)
{
    struct node *node = &tree->nodes[index];
    enum rkt_status status = test_claim(tree, node, err);
    struct node *leader;

    if (status != RKT_OK)
        return status;
    leader = leader_of(tree, node);
    if (shares_reference(tree, node)) {
        node->align.state = node == tree->reference ? RKT_ALIGN_REFERENCE : RKT_ALIGN_SAME_HOST;
        *align_out = &node->align;
        return RKT_OK;
    }
    if (!leader->has_align)
        status = make_align(tree, leader, err);
    leader->has_align = status == RKT_OK;
    *align_out = &leader->align;
    return status;
}

bool rkt_clock_tree_is_liar(const struct rkt_clock_tree *tree, size_t node)
{
    return tree->nodes[node].is_liar;
}
