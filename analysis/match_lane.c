/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match_lane.h"

#include <stdlib.h>

#include "analysis/match_p2p.h"

/* What the recorded operations say of one stream of one rank. */
struct stream_comm {
    uint64_t comm_id;
    uint32_t stream_id;
    uint32_t comm_size;
    bool is_mixed;
};

#define STREAMS_MAX 256u

static struct stream_comm *find_stream(struct stream_comm *streams, size_t count,
                                       uint32_t stream_id)
{
    for (size_t i = 0; i < count; i++) {
        if (streams[i].stream_id == stream_id)
            return &streams[i];
    }
    return NULL;
}

static void learn_stream(struct stream_comm *streams, size_t *count,
                         const struct rkt_match_unit *unit)
{
    struct stream_comm *stream = find_stream(streams, *count, unit->stream_id);

    if (stream != NULL)
        stream->is_mixed |= stream->comm_id != unit->comm_id;
    else if (*count < STREAMS_MAX)
        streams[(*count)++] = (struct stream_comm){
            .comm_id = unit->comm_id, .stream_id = unit->stream_id, .comm_size = unit->comm_size};
}

/*
 * A kernel whose operation was not recorded (launched before the capture began) belongs to the
 * communicator of its stream, where all recorded ones of that stream agree. `units` are one
 * rank's.
 */
static void infer_communicators(struct rkt_match_unit *units, size_t count)
{
    struct stream_comm streams[STREAMS_MAX];
    size_t stream_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (units[i].comm_id != 0)
            learn_stream(streams, &stream_count, &units[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct stream_comm *stream =
            units[i].comm_id != 0 ? NULL : find_stream(streams, stream_count, units[i].stream_id);

        if (stream == NULL || stream->is_mixed)
            continue;
        units[i].comm_id = stream->comm_id;
        units[i].comm_size = stream->comm_size;
        units[i].kind = RKT_MATCH_KIND_ORDER;
    }
}

/* The streams of a rank's units of unknown communicators, in order of first use. */
static size_t list_streams(const struct rkt_match_unit *units, size_t count,
                           struct stream_comm *streams)
{
    size_t stream_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (units[i].kind == RKT_MATCH_KIND_NAME)
            learn_stream(streams, &stream_count, &units[i]);
    }
    return stream_count;
}

/* Where every rank uses the same streams for unknown communicators each stream is a lane of
 * its own, else all of a rank's are one: `comm_id` says which. */
static void name_lanes(struct rkt_unit_list *units, const size_t *first_of_rank, size_t rank_count)
{
    struct stream_comm first[STREAMS_MAX];
    struct stream_comm other[STREAMS_MAX];
    size_t first_count = 0;
    bool are_alike = true;

    for (size_t r = 0; r < rank_count; r++) {
        const struct rkt_match_unit *items = &units->items[first_of_rank[r]];
        size_t count = first_of_rank[r + 1] - first_of_rank[r];
        size_t other_count = list_streams(items, count, other);

        if (first_count == 0)
            first_count = list_streams(items, count, first);
        else if (other_count != 0 && other_count != first_count)
            are_alike = false;
        for (size_t i = 0; i < other_count && are_alike; i++)
            are_alike = find_stream(first, first_count, other[i].stream_id) != NULL;
    }
    for (size_t i = 0; i < units->count; i++) {
        if (units->items[i].kind == RKT_MATCH_KIND_NAME)
            units->items[i].comm_id = are_alike ? units->items[i].stream_id : 0;
    }
}

static enum rkt_status name_communicators(struct rkt_unit_list *units, size_t rank_count,
                                          struct rkt_error *err)
{
    size_t *first_of_rank = calloc(rank_count + 1, sizeof(*first_of_rank));
    size_t at = 0;

    if (first_of_rank == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", rank_count);
    for (size_t r = 0; r < rank_count; r++) {
        first_of_rank[r] = at;
        while (at < units->count && units->items[at].rank == r)
            at++;
        infer_communicators(&units->items[first_of_rank[r]], at - first_of_rank[r]);
    }
    first_of_rank[rank_count] = at;
    name_lanes(units, first_of_rank, rank_count);
    free(first_of_rank);
    return RKT_OK;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Units that may be matched with each other stand together: one lane. */
static int compare_lanes(const struct rkt_match_unit *a, const struct rkt_match_unit *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->comm_id != b->comm_id)
        return compare_u64(a->comm_id, b->comm_id);
    return compare_u64(a->comm_size, b->comm_size);
}

static int compare_in_lane(const void *a, const void *b)
{
    const struct rkt_match_unit *x = a;
    const struct rkt_match_unit *y = b;
    int lanes = compare_lanes(x, y);

    if (lanes != 0)
        return lanes;
    if (x->rank != y->rank)
        return compare_u64(x->rank, y->rank);
    return compare_u64(x->work, y->work);
}

int rkt_match_compare_keys(const struct rkt_match_unit *a, const struct rkt_match_unit *b)
{
    int lanes = compare_lanes(a, b);

    if (lanes != 0)
        return lanes;
    if (a->kind == RKT_MATCH_KIND_SEQ && a->func != b->func)
        return a->func < b->func ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return compare_u64(a->occurrence, b->occurrence);
}

static int compare_in_collective(const void *a, const void *b)
{
    const struct rkt_match_unit *x = a;
    const struct rkt_match_unit *y = b;
    int keys = rkt_match_compare_keys(x, y);

    if (keys != 0)
        return keys;
    if (x->rank != y->rank)
        return compare_u64(x->rank, y->rank);
    return compare_u64(x->work, y->work);
}

/* One past the last unit from `first` on that `is_same` joins with it. */
static size_t end_of_run(const struct rkt_unit_list *units, size_t first,
                         int (*compare)(const struct rkt_match_unit *,
                                        const struct rkt_match_unit *))
{
    size_t last = first + 1;

    while (last < units->count && compare(&units->items[first], &units->items[last]) == 0)
        last++;
    return last;
}

static int compare_rank_in_lane(const struct rkt_match_unit *a, const struct rkt_match_unit *b)
{
    int lanes = compare_lanes(a, b);

    return lanes != 0 ? lanes : compare_u64(a->rank, b->rank);
}

static bool is_aligned(const struct rkt_result *result, const struct rkt_match_unit *unit)
{
    return result->ranks[unit->rank].align_state != RKT_ALIGN_UNALIGNED;
}

/* Numbers the units of one lane by order: every rank against the one with most. */
static enum rkt_status order_lane(const struct rkt_result *result,
                                  const struct rkt_unit_list *units, size_t first, size_t last,
                                  struct rkt_error *err)
{
    struct rkt_unit_list ref = {0};
    enum rkt_status status = RKT_OK;

    for (size_t at = first; at < last;) {
        size_t next = end_of_run(units, at, compare_rank_in_lane);

        if (next - at > ref.count)
            ref = (struct rkt_unit_list){&units->items[at], next - at};
        at = next;
    }
    for (size_t at = first; at < last && status == RKT_OK;) {
        size_t next = end_of_run(units, at, compare_rank_in_lane);
        struct rkt_unit_list list = {&units->items[at], next - at};
        bool clocks_known = is_aligned(result, &ref.items[0]) && is_aligned(result, &list.items[0]);

        if (list.items != ref.items)
            status = rkt_match_align(ref, list, clocks_known, err);
        at = next;
    }
    return status;
}

static enum rkt_status number_units(const struct rkt_result *result, struct rkt_unit_list *units,
                                    struct rkt_error *err)
{
    enum rkt_status status;

    qsort(units->items, units->count, sizeof(*units->items), compare_in_lane);
    status = rkt_match_p2p(result, units->items, units->count, err);
    for (size_t at = 0; at < units->count && status == RKT_OK;) {
        size_t next = end_of_run(units, at, compare_lanes);
        uint8_t kind = units->items[at].kind;

        for (size_t i = at; i < next && kind == RKT_MATCH_KIND_SEQ; i++)
            units->items[i].number = (int64_t)(units->items[i].seq & INT64_MAX);
        if (kind == RKT_MATCH_KIND_ORDER || kind == RKT_MATCH_KIND_NAME)
            status = order_lane(result, units, at, next, err);
        at = next;
    }
    return status;
}

/* A key that a rank has twice (coalesced calls share a number): first with first, and so on. */
static void count_occurrences(struct rkt_unit_list *units)
{
    qsort(units->items, units->count, sizeof(*units->items), compare_in_collective);
    for (size_t i = 1; i < units->count; i++) {
        struct rkt_match_unit before = units->items[i - 1];

        before.occurrence = 0;
        if (rkt_match_compare_keys(&before, &units->items[i]) == 0 &&
            before.rank == units->items[i].rank)
            units->items[i].occurrence = units->items[i - 1].occurrence + 1;
    }
    qsort(units->items, units->count, sizeof(*units->items), compare_in_collective);
}

enum rkt_status rkt_match_number_units(const struct rkt_result *result, struct rkt_unit_list *units,
                                       struct rkt_error *err)
{
    enum rkt_status status = name_communicators(units, result->rank_count, err);

    if (status == RKT_OK)
        status = number_units(result, units, err);
    if (status == RKT_OK)
        count_occurrences(units);
    return status;
}
