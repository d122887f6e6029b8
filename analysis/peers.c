/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/peers.h"

#include <stdlib.h>

#include "analysis/match_unit.h"
#include "analysis/steady.h"

/* FNV-1a */
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_FACTOR UINT64_C(0x100000001b3)

/* A rank that is off by so many times the farthest that peers are does not just vary as they do. */
#define ORDINARY_FACTOR 2

struct stretch {
    size_t first_item;
    size_t end_item;
    int64_t own_ns;
};

/* A rank in a step. */
struct place {
    uint64_t signature; /* of its collectives, in order */
    uint32_t rank;
    size_t first; /* stretches */
    size_t count;
    int64_t own_ns;
};

/* A peer's stretch. */
struct value {
    int64_t own_ns;
    uint32_t member; /* index among the peers */
};

struct rkt_peers {
    const struct rkt_result *result;
    const struct rkt_replay_graph_of_steps *graph;
    const int64_t *own_ns;     /* by item */
    struct stretch *stretches; /* rank after rank */
    size_t stretch_count;
    struct place *places; /* step after step, peers together */
    uint32_t *place_of;   /* [step * ranks + rank]: which of the step's places */
    struct value *values; /* room for a rank each, as the following */
    uint32_t *heads;      /* by group: its first value, and by value its next */
    uint32_t *nexts;
    bool is_middle; /* of two in the middle their mean counts, and not the lower */
};

void rkt_peers_destroy(struct rkt_peers *peers)
{
    if (!peers)
        return;
    free(peers->stretches);
    free(peers->places);
    free(peers->place_of);
    free(peers->values);
    free(peers->heads);
    free(peers->nexts);
    free(peers);
}

/* ---- stretches ---- */

/* The collective that the item posts; NULL where it posts none that others post, too. */
static const struct rkt_collective *posted(const struct rkt_peers *peers, size_t item)
{
    const struct rkt_replay_graph_of_steps *graph = peers->graph;
    uint32_t collective;

    if (graph->items[item].kind != RKT_REPLAY_POST)
        return NULL;
    collective = graph->collective_of[graph->parts[graph->items[item].part].event];
    return collective == RKT_NO_COLLECTIVE ? NULL : &peers->result->collectives[collective];
}

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * HASH_FACTOR;
    *hash ^= *hash >> 32;
}

/* Of sends and receives: which, and how far away in the communicator. Who sends on what others
 * receive is no peer of theirs; in an AllToAll all do the same. */
static void mix_role(const struct rkt_peers *peers, uint32_t rank, uint32_t work,
                     const struct rkt_collective *collective, uint64_t *hash)
{
    const struct rkt_rank_trace *trace = peers->result->ranks[peers->graph->ranks[rank]].trace;
    const struct rkt_work *kernel = trace->has_gpu ? rkt_rank_trace_work(trace, work) : NULL;

    if (!kernel || kernel->op == RKT_INDEX_NONE || collective->func == RKT_NCCL_FUNC_ALLTOALL)
        return;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const struct rkt_event_nccl *op = &trace->ops[kernel->op + i].nccl;
        const struct rkt_comm *comm = rkt_match_find_comm(trace, op->comm_id);

        if (op->func == RKT_NCCL_FUNC_SEND || op->func == RKT_NCCL_FUNC_RECV) {
            mix(hash, op->func);
            mix(hash, (uint64_t)(op->peer - (comm ? comm->rank : 0)));
        }
    }
}

/* Divides a rank's items into steps and stretches. */
static void divide_lane(struct rkt_peers *peers, uint32_t rank)
{
    const struct rkt_replay_graph_of_steps *graph = peers->graph;
    struct place place = {HASH_START, rank, peers->stretch_count, 0, 0};
    struct stretch stretch = {.first_item = graph->first_item[rank]};
    size_t step = 0;

    for (size_t i = graph->first_item[rank]; i < graph->first_item[rank + 1]; i++) {
        const struct rkt_collective *collective = posted(peers, i);
        bool is_end = graph->items[i].kind == RKT_REPLAY_STEP_END;

        stretch.own_ns += peers->own_ns[i];
        if (!collective && !is_end)
            continue;
        stretch.end_item = i + 1;
        peers->stretches[peers->stretch_count++] = stretch;
        place.own_ns += stretch.own_ns;
        place.count++;
        stretch = (struct stretch){.first_item = i + 1};
        if (collective) {
            mix(&place.signature, collective->func);
            mix(&place.signature,
                collective->func == RKT_NCCL_FUNC_ALLTOALL ? 0 : collective->bytes);
            mix(&place.signature, collective->participant_count);
            mix_role(peers, rank, graph->sources[i]->work, collective, &place.signature);
        }
        if (is_end) {
            peers->places[step++ * graph->graph.rank_count + rank] = place;
            place = (struct place){HASH_START, rank, peers->stretch_count, 0, 0};
        }
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    if (x->signature != y->signature)
        return x->signature < y->signature ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort_places(struct rkt_peers *peers, size_t step)
{
    size_t rank_count = peers->graph->graph.rank_count;
    struct place *places = &peers->places[step * rank_count];

    qsort(places, rank_count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < rank_count; i++)
        peers->place_of[step * rank_count + places[i].rank] = i;
}

enum rkt_status rkt_peers_create(const struct rkt_result *result,
                                 const struct rkt_replay_graph_of_steps *graph,
                                 const int64_t *own_ns, struct rkt_peers **peers_out,
                                 struct rkt_error *err)
{
    struct rkt_peers *peers = calloc(1, sizeof(*peers));
    size_t rank_count = graph->graph.rank_count;
    size_t step_count = graph->graph.step_count;

    if (!peers)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu ranks", rank_count);
    peers->result = result;
    peers->graph = graph;
    peers->own_ns = own_ns;
    peers->stretches = calloc(graph->first_item[rank_count] + 1, sizeof(*peers->stretches));
    peers->places = calloc(rank_count * step_count + 1, sizeof(*peers->places));
    peers->values = calloc(rank_count + 1, sizeof(*peers->values));
    peers->heads = calloc(rank_count + 1, sizeof(*peers->heads));
    peers->nexts = calloc(rank_count + 1, sizeof(*peers->nexts));
    peers->place_of = calloc(rank_count * step_count + 1, sizeof(*peers->place_of));
    if (!peers->stretches || !peers->places || !peers->place_of || !peers->values ||
        !peers->heads || !peers->nexts) {
        rkt_peers_destroy(peers);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to compare %zu ranks", rank_count);
    }
    for (uint32_t r = 0; r < rank_count; r++)
        divide_lane(peers, r);
    for (size_t s = 0; s < step_count; s++)
        sort_places(peers, s);
    *peers_out = peers;
    return RKT_OK;
}

/* ---- other lengths ---- */

/* Items keep their shares of the stretch; one that was empty gets all at its end. */
static void set_length(const struct rkt_peers *peers, const struct stretch *stretch,
                       int64_t length_ns, int64_t *own_out)
{
    const int64_t *own_ns = peers->own_ns;
    int64_t seen_ns = 0;
    int64_t given_ns = 0;

    for (size_t i = stretch->first_item; i < stretch->end_item; i++) {
        int64_t to_ns = i + 1 == stretch->end_item ? length_ns : 0;

        seen_ns += own_ns[i];
        if (stretch->own_ns > 0)
            to_ns = (int64_t)((__int128)length_ns * seen_ns / stretch->own_ns);
        own_out[i] = to_ns - given_ns;
        given_ns = to_ns;
    }
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a;
    const struct value *y = b;

    if (x->own_ns != y->own_ns)
        return x->own_ns < y->own_ns ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

/* Chains the values of each group, the smallest first. */
static void chain_groups(struct rkt_peers *peers, const struct place *places, size_t count,
                         const uint32_t *group_of)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t group = group_of[places[peers->values[i].member].rank];

        if (group != RKT_NO_GROUP)
            peers->heads[group] = UINT32_MAX;
    }
    for (size_t i = count; i-- > 0;) {
        uint32_t group = group_of[places[peers->values[i].member].rank];

        if (group == RKT_NO_GROUP)
            continue;
        peers->nexts[i] = peers->heads[group];
        peers->heads[group] = (uint32_t)i;
    }
}

/* Of the sorted values that are not of `group` the one at `at`. */
static int64_t value_outside(const struct rkt_peers *peers, uint32_t group, size_t at)
{
    for (uint32_t i = peers->heads[group]; i != UINT32_MAX && i <= at; i = peers->nexts[i])
        at++;
    return peers->values[at].own_ns;
}

/* The median of those; false where there are none. */
static bool median_outside(const struct rkt_peers *peers, size_t count, uint32_t group,
                           int64_t *median_out)
{
    size_t inside = 0;
    int64_t upper_ns;

    for (uint32_t i = peers->heads[group]; i != UINT32_MAX; i = peers->nexts[i])
        inside++;
    if (inside == count)
        return false;
    *median_out = value_outside(peers, group, (count - inside - 1) / 2);
    if (peers->is_middle) {
        upper_ns = value_outside(peers, group, (count - inside) / 2);
        *median_out += (upper_ns - *median_out) / 2;
    }
    return true;
}

/* ---- by stretch, among peers ---- */

static void compare_stretches(struct rkt_peers *peers, const struct place *places, size_t count,
                              size_t index, const uint32_t *group_of, int64_t *own_out)
{
    for (uint32_t i = 0; i < count; i++)
        peers->values[i] = (struct value){peers->stretches[places[i].first + index].own_ns, i};
    qsort(peers->values, count, sizeof(*peers->values), compare_values);
    chain_groups(peers, places, count, group_of);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = group_of[places[i].rank];
        int64_t length_ns;

        if (group != RKT_NO_GROUP && median_outside(peers, count, group, &length_ns))
            set_length(peers, &peers->stretches[places[i].first + index], length_ns, own_out);
    }
}

/* Whether some rank of a group has no peer outside of it. */
static bool is_alone(const struct place *places, size_t count, const uint32_t *group_of)
{
    for (size_t i = 1; i < count; i++) {
        if (group_of[places[i].rank] != group_of[places[0].rank] ||
            group_of[places[i].rank] == RKT_NO_GROUP)
            return false;
    }
    return true;
}

/* ---- by the whole step, among all ---- */

static void scale_step(struct rkt_peers *peers, const struct place *place, int64_t length_ns,
                       int64_t *own_out)
{
    int64_t seen_ns = 0;
    int64_t given_ns = 0;

    for (size_t i = 0; i < place->count; i++) {
        const struct stretch *stretch = &peers->stretches[place->first + i];
        int64_t to_ns;

        seen_ns += stretch->own_ns;
        to_ns = place->own_ns > 0 ? (int64_t)((__int128)length_ns * seen_ns / place->own_ns) : 0;
        set_length(peers, stretch, to_ns - given_ns, own_out);
        given_ns = to_ns;
    }
}

/* Of `all` ranks in the step those from `first` on are alone. */
static void compare_steps(struct rkt_peers *peers, const struct place *all, size_t first,
                          size_t count, const uint32_t *group_of, int64_t *own_out)
{
    size_t rank_count = peers->graph->graph.rank_count;

    for (uint32_t i = 0; i < rank_count; i++)
        peers->values[i] = (struct value){all[i].own_ns, i};
    qsort(peers->values, rank_count, sizeof(*peers->values), compare_values);
    chain_groups(peers, all, rank_count, group_of);
    for (size_t i = first; i < first + count; i++) {
        uint32_t group = group_of[all[i].rank];
        int64_t length_ns;

        if (group != RKT_NO_GROUP && median_outside(peers, rank_count, group, &length_ns))
            scale_step(peers, &all[i], length_ns, own_out);
    }
}

/* ---- all steps ---- */

static size_t peer_count(const struct place *places, size_t count)
{
    size_t peers = 1;

    while (peers < count && places[peers].count == places[0].count &&
           places[peers].signature == places[0].signature)
        peers++;
    return peers;
}

static void copy_own(const struct rkt_peers *peers, int64_t *own_out)
{
    const struct rkt_replay_graph_of_steps *graph = peers->graph;

    for (size_t i = 0; i < graph->first_item[graph->graph.rank_count]; i++)
        own_out[i] = peers->own_ns[i];
}

static void compare_step(struct rkt_peers *peers, const struct place *all, const uint32_t *group_of,
                         int64_t *own_out)
{
    size_t rank_count = peers->graph->graph.rank_count;

    for (size_t i = 0, next; i < rank_count; i = next) {
        size_t count = peer_count(&all[i], rank_count - i);

        next = i + count;
        if (is_alone(&all[i], count, group_of)) {
            compare_steps(peers, all, i, count, group_of, own_out);
            continue;
        }
        for (size_t k = 0; k < all[i].count; k++)
            compare_stretches(peers, &all[i], count, k, group_of, own_out);
    }
}

static void compare_all(struct rkt_peers *peers, const uint32_t *group_of, int64_t *own_out)
{
    copy_own(peers, own_out);
    for (size_t s = 0; s < peers->graph->graph.step_count; s++)
        compare_step(peers, &peers->places[s * peers->graph->graph.rank_count], group_of, own_out);
}

void rkt_peers_others(struct rkt_peers *peers, const uint32_t *group_of, int64_t *own_out)
{
    peers->is_middle = false;
    compare_all(peers, group_of, own_out);
}

void rkt_peers_middle(struct rkt_peers *peers, const uint32_t *group_of, int64_t *own_out)
{
    peers->is_middle = true;
    compare_all(peers, group_of, own_out);
}

static void take_mean(const struct rkt_peers *peers, const struct place *places, size_t count,
                      size_t index, int64_t *own_out)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < count; i++)
        sum_ns += peers->stretches[places[i].first + index].own_ns;
    for (size_t i = 0; i < count; i++)
        set_length(peers, &peers->stretches[places[i].first + index], sum_ns / (int64_t)count,
                   own_out);
}

void rkt_peers_mean(struct rkt_peers *peers, int64_t *own_out)
{
    size_t rank_count = peers->graph->graph.rank_count;

    copy_own(peers, own_out);
    for (size_t s = 0; s < peers->graph->graph.step_count; s++) {
        const struct place *all = &peers->places[s * rank_count];

        for (size_t i = 0, next; i < rank_count; i = next) {
            size_t count = peer_count(&all[i], rank_count - i);

            next = i + count;
            for (size_t k = 0; k < all[i].count; k++)
                take_mean(peers, &all[i], count, k, own_out);
        }
    }
}

/* ---- as the rank varies ---- */

/* The n-th stretch of ranks in the steps that consist of the same collectives as one of them; or,
 * of ranks without peers, their whole steps. */
struct series {
    struct rkt_peers *peers;
    const struct place *like; /* NULL: whole steps */
    const int64_t *other_ns;  /* by item */
    size_t index;
    int64_t *own_ns; /* room for a step each: of the stretch, in order of size */
    int64_t *off_ns; /* against other_ns */
    int64_t own_median_ns;
    int64_t off_median_ns;
};

/* One of them, and how far it is off. */
struct sample {
    int64_t own_ns;
    int64_t off_ns;
};

static const struct place *place_at(const struct rkt_peers *peers, size_t step, uint32_t rank)
{
    size_t first = step * peers->graph->graph.rank_count;

    return &peers->places[first + peers->place_of[first + rank]];
}

static bool is_like(const struct place *a, const struct place *b)
{
    return a->count == b->count && a->signature == b->signature;
}

static void add_stretch(const struct series *series, const struct stretch *stretch,
                        struct sample *sample)
{
    sample->own_ns += stretch->own_ns;
    sample->off_ns += stretch->own_ns;
    for (size_t i = stretch->first_item; i < stretch->end_item; i++)
        sample->off_ns -= series->other_ns[i];
}

/* Of the rank in a step; false where that is another kind of step. */
static bool take_sample(const struct series *series, size_t step, uint32_t rank,
                        struct sample *sample_out)
{
    const struct place *place = place_at(series->peers, step, rank);
    const struct stretch *stretches = &series->peers->stretches[place->first];

    *sample_out = (struct sample){0};
    if (series->like && !is_like(place, series->like))
        return false;
    for (size_t i = 0; i < place->count; i++) {
        if (!series->like || i == series->index)
            add_stretch(series, &stretches[i], sample_out);
    }
    return true;
}

static void find_medians(struct series *series, uint32_t rank)
{
    size_t count = 0;

    for (size_t s = 0; s < series->peers->graph->graph.step_count; s++) {
        struct sample sample;

        if (!take_sample(series, s, rank, &sample))
            continue;
        series->own_ns[count] = sample.own_ns;
        series->off_ns[count++] = sample.off_ns;
    }
    series->own_median_ns = rkt_median_i64(series->own_ns, count);
    series->off_median_ns = rkt_median_i64(series->off_ns, count);
}

static int64_t distance_ns(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* How far a peer ever is off from what it usually is. */
static int64_t farthest_ns(struct series *series, const bool *is_other)
{
    const struct rkt_replay_graph *graph = &series->peers->graph->graph;
    int64_t farthest = 0;

    for (uint32_t r = 0; r < graph->rank_count; r++) {
        if (is_other[r])
            continue;
        find_medians(series, r);
        for (size_t s = 0; s < graph->step_count; s++) {
            struct sample sample;
            int64_t own_ns, off_ns;

            if (!take_sample(series, s, r, &sample))
                continue;
            own_ns = distance_ns(sample.own_ns, series->own_median_ns);
            off_ns = distance_ns(sample.off_ns, series->off_median_ns);
            off_ns = off_ns < own_ns ? off_ns : own_ns;
            farthest = off_ns > farthest ? off_ns : farthest;
        }
    }
    return farthest;
}

static void vary(struct series *series, uint32_t rank, const bool *is_other, int64_t *own_out)
{
    struct rkt_peers *peers = series->peers;
    int64_t farthest = farthest_ns(series, is_other);

    find_medians(series, rank);
    for (size_t s = 0; s < peers->graph->graph.step_count; s++) {
        const struct place *place = place_at(peers, s, rank);
        struct sample sample;
        int64_t length_ns;

        if (!take_sample(series, s, rank, &sample) ||
            distance_ns(sample.off_ns, series->off_median_ns) > ORDINARY_FACTOR * farthest)
            continue;
        length_ns = sample.own_ns - series->off_median_ns;
        length_ns = length_ns > 0 ? length_ns : 0;
        if (series->like)
            set_length(peers, &peers->stretches[place->first + series->index], length_ns, own_out);
        else
            scale_step(peers, place, length_ns, own_out);
    }
}

/* Whether some rank outside has the same collectives in the step. */
static bool has_like(const struct rkt_peers *peers, const struct place *place, size_t step,
                     const bool *is_other)
{
    bool has = false;

    for (uint32_t r = 0; r < peers->graph->graph.rank_count && !has; r++)
        has = !is_other[r] && is_like(place_at(peers, step, r), place);
    return has;
}

static void vary_rank(struct series *series, uint32_t rank, const bool *is_other, int64_t *own_out)
{
    size_t middle = series->peers->graph->graph.step_count / 2;
    const struct place *place = place_at(series->peers, middle, rank);

    if (!has_like(series->peers, place, middle, is_other)) {
        series->like = NULL;
        vary(series, rank, is_other, own_out);
        return;
    }
    series->like = place;
    for (series->index = 0; series->index < place->count; series->index++)
        vary(series, rank, is_other, own_out);
}

enum rkt_status rkt_peers_vary(struct rkt_peers *peers, const bool *is_other, int64_t *own_out)
{
    size_t step_count = peers->graph->graph.step_count;
    struct series series = {
        .peers = peers,
        .other_ns = own_out,
        .own_ns = calloc(step_count + 1, sizeof(*series.own_ns)),
        .off_ns = calloc(step_count + 1, sizeof(*series.off_ns)),
    };
    bool has_room = series.own_ns && series.off_ns;

    for (uint32_t r = 0; r < peers->graph->graph.rank_count && has_room; r++) {
        if (is_other[r])
            vary_rank(&series, r, is_other, own_out);
    }
    free(series.own_ns);
    free(series.off_ns);
    return has_room ? RKT_OK : RKT_ERR_NOMEM;
}
