/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/clock_gap.h"
#include "analysis/steady.h"

struct member {
    const struct rkt_collective *collective;
};

struct rooms {
    int64_t *numbers; /* one for each rank of each collective, and more */
    size_t *by_rank;
};

/* Within a host, or between several; 0 where that is not told. */
static int scope_of(const struct rkt_collective *collective)
{
    return collective->host_count > 1 ? 2 : (int)collective->host_count;
}

static int compare_kinds(const struct rkt_collective *a, const struct rkt_collective *b)
{
    int names = strcmp(a->func_name, b->func_name);

    if (names != 0)
        return names;
    if (a->participant_count != b->participant_count)
        return a->participant_count < b->participant_count ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return scope_of(a) - scope_of(b);
}

static int compare_links(const struct rkt_collective *a, const struct rkt_collective *b)
{
    if (a->comm_id != b->comm_id)
        return a->comm_id < b->comm_id ? -1 : 1;
    if (a->host_count != b->host_count)
        return a->host_count < b->host_count ? -1 : 1;
    if (a->algo != b->algo)
        return (int)a->algo - b->algo;
    return (int)a->proto - b->proto;
}

static int compare_for(enum rkt_grouping grouping, const struct rkt_collective *a,
                       const struct rkt_collective *b)
{
    int kinds = compare_kinds(a, b);

    return kinds != 0 || grouping == RKT_GROUP_KINDS ? kinds : compare_links(a, b);
}

static int compare_members(const void *a, const void *b)
{
    const struct rkt_collective *x = ((const struct member *)a)->collective;
    const struct rkt_collective *y = ((const struct member *)b)->collective;
    int kinds = compare_for(RKT_GROUP_LINKS, x, y); /* in which those of a kind are neighbours */

    return kinds != 0 ? kinds : (x > y) - (x < y);
}

static int compare_groups(const void *a, const void *b)
{
    const struct rkt_collective_group *x = a;
    const struct rkt_collective_group *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return compare_for(RKT_GROUP_LINKS, x->first, y->first);
}

/* The last rank's start must say something of the rank: beyond the clocks, and not queued. */
static bool is_told(const struct rkt_collective *collective)
{
    if (!collective->last_is_distinguishable)
        return false;
    for (size_t i = 0; i < collective->participant_count; i++) {
        if (collective->participants[i].rank == collective->last_rank)
            return !collective->participants[i].is_queued;
    }
    return false;
}

static void count_last(const struct member *members, size_t count, size_t *by_rank,
                       size_t rank_count, struct rkt_collective_group *group)
{
    memset(by_rank, 0, rank_count * sizeof(*by_rank));
    for (size_t i = 0; i < count; i++) {
        group->blurred_count += rkt_clock_gap_blurs_last(members[i].collective);
        if (is_told(members[i].collective)) {
            by_rank[members[i].collective->last_rank]++;
            group->told_count++;
        }
    }
    for (size_t k = 0; k < RKT_GROUP_LAST_COUNT; k++) {
        size_t most = 0;

        for (size_t r = 1; r < rank_count; r++)
            most = by_rank[r] > by_rank[most] ? r : most;
        group->last[k].rank = (uint32_t)most;
        group->last[k].count = by_rank[most];
        by_rank[most] = 0;
    }
}

static double median_busbw(const struct member *members, size_t count, int64_t *room)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        double busbw = members[i].collective->busbw_bytes_per_s;

        if (isfinite(busbw))
            room[known++] = (int64_t)busbw;
    }
    return known == 0 ? (double)NAN : (double)rkt_median_i64(room, known);
}

/* `room` holds one number for each rank of each member. */
static void measure_group(const struct member *members, size_t count, int64_t *room,
                          struct rkt_collective_group *group)
{
    int64_t waited_ns = 0;
    int64_t waits = 0;

    for (size_t i = 0; i < count; i++)
        room[i] = members[i].collective->transfer_ns;
    group->first = members[0].collective;
    group->count = count;
    group->transfer_ns = rkt_median_i64(room, count);
    group->busbw_bytes_per_s = median_busbw(members, count, room);
    for (size_t i = 0; i < count; i++) {
        const struct rkt_collective *collective = members[i].collective;

        for (size_t k = 0; k < collective->participant_count; k++) {
            int64_t wait_ns = collective->participants[k].clock_free_wait_ns;

            group->total_ns += wait_ns + collective->transfer_ns;
            group->wait_max_ns = wait_ns > group->wait_max_ns ? wait_ns : group->wait_max_ns;
            waited_ns += wait_ns;
            waits++;
        }
    }
    group->wait_ns = waits > 0 ? waited_ns / waits : RKT_NA;
}

static size_t count_participants(const struct rkt_result *result)
{
    size_t count = 0;

    for (size_t i = 0; i < result->collective_count; i++)
        count += result->collectives[i].participant_count;
    return count;
}

/* Not in a step that is in no statistic since not all of it was recorded. */
static bool is_recorded(const struct rkt_result *result, const struct rkt_collective *collective)
{
    const struct rkt_rank_result *rank = &result->ranks[collective->participants[0].rank];

    return collective->step >= rank->step_count || !rank->steps[collective->step].is_unrecorded;
}

static size_t list_members(const struct rkt_result *result, struct member *members)
{
    size_t count = 0;

    for (size_t i = 0; i < result->collective_count; i++) {
        if (is_recorded(result, &result->collectives[i]))
            members[count++].collective = &result->collectives[i];
    }
    qsort(members, count, sizeof(*members), compare_members);
    return count;
}

/* `members` are `count`, in order. */
static size_t fill_groups(const struct rkt_result *result, enum rkt_grouping grouping,
                          const struct member *members, size_t count, struct rooms *rooms,
                          struct rkt_collective_group *groups)
{
    size_t group_count = 0;

    for (size_t at = 0; at < count;) {
        struct rkt_collective_group *group = &groups[group_count++];
        size_t next = at + 1;

        while (next < count &&
               compare_for(grouping, members[at].collective, members[next].collective) == 0)
            next++;
        memset(group, 0, sizeof(*group));
        measure_group(&members[at], next - at, rooms->numbers, group);
        count_last(&members[at], next - at, rooms->by_rank, result->rank_count, group);
        at = next;
    }
    return group_count;
}

enum rkt_status rkt_group_collectives(const struct rkt_result *result, enum rkt_grouping grouping,
                                      struct rkt_collective_group **groups_out, size_t *count_out,
                                      struct rkt_error *err)
{
    size_t count = result->collective_count;
    struct member *members = calloc(count + 1, sizeof(*members));
    struct rkt_collective_group *groups = calloc(count + 1, sizeof(*groups));
    struct rooms rooms = {
        .numbers = calloc(count_participants(result) + count + 1, sizeof(*rooms.numbers)),
        .by_rank = calloc(result->rank_count + 1, sizeof(*rooms.by_rank)),
    };
    enum rkt_status status = RKT_OK;

    if (members == NULL || groups == NULL || rooms.numbers == NULL || rooms.by_rank == NULL) {
        free(groups);
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to group %zu collectives", count);
    } else {
        count = list_members(result, members);
        *count_out = fill_groups(result, grouping, members, count, &rooms, groups);
        qsort(groups, *count_out, sizeof(*groups), compare_groups);
        *groups_out = groups;
    }
    free(members);
    free(rooms.numbers);
    free(rooms.by_rank);
    return status;
}
