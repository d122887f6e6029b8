/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "analysis/whatif_runs.h"
#include "common/array.h"

/* A rank in what may be a group. */
struct member {
    uint64_t key; /* host: index of the first rank on it; communicator: its id */
    uint32_t rank;
    const char *name;
};

struct members {
    struct member *items;
    size_t count;
    size_t cap;
};

static enum rkt_status add_member(struct members *members, struct member member)
{
    if (!rkt_array_reserve((void **)&members->items, &members->cap, members->count + 1,
                           sizeof(*members->items)))
        return RKT_ERR_NOMEM;
    members->items[members->count++] = member;
    return RKT_OK;
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static enum rkt_status add_host(const struct rkt_result *result, uint32_t rank,
                                struct members *members)
{
    const char *host = result->ranks[rank].trace->source.info.host;
    uint32_t first = 0;

    if (host[0] == '\0')
        return RKT_OK;
    while (strcmp(host, result->ranks[first].trace->source.info.host) != 0)
        first++;
    return add_member(members, (struct member){first, rank, host});
}

static enum rkt_status add_comms(const struct rkt_result *result, uint32_t rank,
                                 struct members *members)
{
    const struct rkt_rank_trace *trace = result->ranks[rank].trace;
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < trace->comm_count && status == RKT_OK; i++)
        status = add_member(
            members, (struct member){trace->comms[i].comm_id, rank,
                                     rkt_strtab_get(trace->names, trace->comms[i].name_id, NULL)});
    return status;
}

/* ---- from members to groups ---- */

static bool is_there(const struct rkt_rank_groups *groups, const uint32_t *ranks, size_t count)
{
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->items[i].rank_count == count &&
            memcmp(groups->items[i].ranks, ranks, count * sizeof(*ranks)) == 0)
            return true;
    }
    return false;
}

/* The first grouping of which none of these ranks is: is_taken[grouping * rank_count + rank]. */
static size_t take_grouping(struct rkt_rank_groups *groups, uint8_t *is_taken, size_t rank_count,
                            const uint32_t *ranks, size_t count)
{
    size_t grouping = 0;
    bool is_free = false;

    for (; !is_free; grouping += !is_free) {
        is_free = true;
        for (size_t i = 0; i < count; i++)
            is_free &= is_taken[grouping * rank_count + ranks[i]] == 0;
    }
    for (size_t i = 0; i < count; i++)
        is_taken[grouping * rank_count + ranks[i]] = 1;
    if (grouping >= groups->grouping_count)
        groups->grouping_count = grouping + 1;
    return grouping;
}

static enum rkt_status add_group(struct rkt_rank_groups *groups, enum rkt_group_kind kind,
                                 const struct member *members, size_t count)
{
    uint32_t *ranks = calloc(count, sizeof(*ranks));

    if (!ranks)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        ranks[i] = members[i].rank;
    if (is_there(groups, ranks, count)) {
        free(ranks);
        return RKT_OK;
    }
    if (!rkt_array_reserve((void **)&groups->items, &groups->cap, groups->count + 1,
                           sizeof(*groups->items))) {
        free(ranks);
        return RKT_ERR_NOMEM;
    }
    groups->items[groups->count++] = (struct rkt_rank_group){
        .kind = kind, .name = members->name, .ranks = ranks, .rank_count = count};
    return RKT_OK;
}

/* One group for each key that two ranks or more have, but not over half of them. */
static enum rkt_status add_groups(struct rkt_rank_groups *groups, enum rkt_group_kind kind,
                                  struct members *members, size_t compared_count)
{
    enum rkt_status status = RKT_OK;

    if (members->count > 0)
        qsort(members->items, members->count, sizeof(*members->items), compare_members);
    for (size_t i = 0, next; i < members->count && status == RKT_OK; i = next) {
        size_t count = 1;

        for (next = i + 1;
             next < members->count && members->items[next].key == members->items[i].key; next++) {
            if (members->items[next].rank != members->items[next - 1].rank)
                members->items[i + count++] = members->items[next];
        }
        if (count > 1 && count <= compared_count / 2)
            status = add_group(groups, kind, &members->items[i], count);
    }
    return status;
}

static enum rkt_status set_groupings(struct rkt_rank_groups *groups, size_t rank_count)
{
    uint8_t *is_taken = calloc(groups->count + 1, rank_count + 1);

    if (!is_taken)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < groups->count; i++) {
        struct rkt_rank_group *group = &groups->items[i];

        group->grouping =
            take_grouping(groups, is_taken, rank_count, group->ranks, group->rank_count);
    }
    free(is_taken);
    return RKT_OK;
}

enum rkt_status rkt_rank_groups_find(const struct rkt_result *result,
                                     struct rkt_rank_groups *groups, struct rkt_error *err)
{
    struct members hosts = {0};
    struct members comms = {0};
    enum rkt_status status = RKT_OK;
    size_t compared_count = 0;

    *groups = (struct rkt_rank_groups){0};
    for (uint32_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        if (result->ranks[r].is_set_apart)
            continue;
        compared_count++;
        status = add_host(result, r, &hosts);
        if (status == RKT_OK)
            status = add_comms(result, r, &comms);
    }
    if (status == RKT_OK)
        status = add_groups(groups, RKT_GROUP_HOST, &hosts, compared_count);
    if (status == RKT_OK)
        status = add_groups(groups, RKT_GROUP_COMM, &comms, compared_count);
    if (status == RKT_OK)
        status = set_groupings(groups, result->rank_count);
    free(hosts.items);
    free(comms.items);
    if (status != RKT_OK) {
        rkt_rank_groups_release(groups);
        return rkt_fail(err, status, "no memory for groups of %zu ranks", result->rank_count);
    }
    return RKT_OK;
}

void rkt_rank_groups_release(struct rkt_rank_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->items[i].ranks);
    free(groups->items);
    *groups = (struct rkt_rank_groups){0};
}
