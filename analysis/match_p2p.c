/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match_p2p.h"

#include <stdlib.h>

#include "analysis/match_align.h"
#include "common/array.h"

/* One side of one transfer. */
struct endpoint {
    uint64_t comm_id;
    int32_t src; /* ranks in the communicator */
    int32_t dst;
    bool is_recv;
    size_t order;               /* in the file, so that sorting keeps it */
    size_t parent;              /* index in units */
    struct rkt_match_unit unit; /* what match_align compares */
};

struct endpoints {
    struct endpoint *items;
    size_t count;
    size_t cap;
};

static enum rkt_status add_endpoints(const struct rkt_rank_trace *trace,
                                     const struct rkt_match_unit *unit, size_t parent,
                                     struct endpoints *all)
{
    const struct rkt_work *work = &trace->works[unit->work];
    const struct rkt_comm *comm = rkt_match_find_comm(trace, unit->comm_id);

    for (uint32_t i = 0; i < work->op_count; i++) {
        const struct rkt_event_nccl *op = &trace->ops[work->op + i].nccl;
        bool is_recv = op->func == RKT_NCCL_FUNC_RECV;
        struct endpoint *to;

        if ((!is_recv && op->func != RKT_NCCL_FUNC_SEND) || op->peer < 0 || comm == NULL)
            continue;
        if (!rkt_array_reserve((void **)&all->items, &all->cap, all->count + 1,
                               sizeof(*all->items)))
            return RKT_ERR_NOMEM;
        to = &all->items[all->count];
        *to = (struct endpoint){.comm_id = unit->comm_id,
                                .src = is_recv ? op->peer : comm->rank,
                                .dst = is_recv ? comm->rank : op->peer,
                                .is_recv = is_recv,
                                .order = all->count,
                                .parent = parent,
                                .unit = *unit};
        to->unit.func = RKT_NCCL_FUNC_SEND; /* so that both sides fit */
        to->unit.count = op->count;
        to->unit.datatype = op->datatype;
        all->count++;
    }
    return RKT_OK;
}

static int compare_endpoints(const void *a, const void *b)
{
    const struct endpoint *x = a;
    const struct endpoint *y = b;

    if (x->comm_id != y->comm_id)
        return x->comm_id < y->comm_id ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->is_recv != y->is_recv)
        return x->is_recv ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

static bool is_same_direction(const struct endpoint *a, const struct endpoint *b)
{
    return a->comm_id == b->comm_id && a->src == b->src && a->dst == b->dst;
}

/* Union-find over units, the root in `number`. */
static size_t root_of(struct rkt_match_unit *units, size_t at)
{
    while ((size_t)units[at].number != at) {
        units[at].number = units[units[at].number].number;
        at = (size_t)units[at].number;
    }
    return at;
}

static void join_units(struct rkt_match_unit *units, size_t a, size_t b)
{
    if (units[a].number == RKT_NUMBER_NONE)
        units[a].number = (int64_t)a;
    if (units[b].number == RKT_NUMBER_NONE)
        units[b].number = (int64_t)b;
    a = root_of(units, a);
    b = root_of(units, b);
    if (a < b)
        units[b].number = (int64_t)a;
    else
        units[a].number = (int64_t)b;
}

/* The sends and the receives of one direction: items[0 .. sends) and [sends .. count). */
static enum rkt_status pair_direction(const struct rkt_result *result, struct endpoint *items,
                                      size_t send_count, size_t count, struct rkt_match_unit *units,
                                      struct rkt_error *err)
{
    struct rkt_match_unit *copies = calloc(count, sizeof(*copies));
    struct rkt_unit_list sends = {copies, send_count};
    struct rkt_unit_list recvs = {copies + send_count, count - send_count};
    enum rkt_status status;
    bool clocks_known;

    if (copies == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to match sends and receives");
    for (size_t i = 0; i < count; i++)
        copies[i] = items[i].unit;
    clocks_known = result->ranks[copies[0].rank].align_state != RKT_ALIGN_UNALIGNED &&
                   result->ranks[recvs.items[0].rank].align_state != RKT_ALIGN_UNALIGNED;
    status = rkt_match_align(sends, recvs, clocks_known, err);
    for (size_t i = 0; status == RKT_OK && i < recvs.count; i++) {
        int64_t number = recvs.items[i].number;

        if (number >= 0 && number < (int64_t)send_count)
            join_units(units, items[number].parent, items[send_count + i].parent);
    }
    free(copies);
    return status;
}

static enum rkt_status pair_all(const struct rkt_result *result, struct endpoints *all,
                                struct rkt_match_unit *units, struct rkt_error *err)
{
    size_t first = 0;

    while (first < all->count) {
        size_t last = first;
        size_t send_count = 0;

        while (last < all->count && is_same_direction(&all->items[first], &all->items[last])) {
            send_count += !all->items[last].is_recv;
            last++;
        }
        if (send_count > 0 && send_count < last - first) {
            enum rkt_status status =
                pair_direction(result, &all->items[first], send_count, last - first, units, err);

            if (status != RKT_OK)
                return status;
        }
        first = last;
    }
    return RKT_OK;
}

enum rkt_status rkt_match_p2p(const struct rkt_result *result, struct rkt_match_unit *units,
                              size_t unit_count, struct rkt_error *err)
{
    struct endpoints all = {0};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < unit_count && status == RKT_OK; i++) {
        if (units[i].kind == RKT_MATCH_KIND_P2P)
            status = add_endpoints(result->ranks[units[i].rank].trace, &units[i], i, &all);
    }
    if (status != RKT_OK)
        rkt_fail(err, status, "no memory for %zu sends and receives", all.count);
    else if (all.count > 0)
        qsort(all.items, all.count, sizeof(*all.items), compare_endpoints);
    if (status == RKT_OK)
        status = pair_all(result, &all, units, err);
    for (size_t i = 0; status == RKT_OK && i < unit_count; i++) {
        if (units[i].kind == RKT_MATCH_KIND_P2P && units[i].number != RKT_NUMBER_NONE)
            units[i].number = (int64_t)root_of(units, i);
    }
    free(all.items);
    return status;
}
