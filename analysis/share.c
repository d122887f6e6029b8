/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/share.h"

#include <stdlib.h>

#include "analysis/rank_pack.h"

/* ---- deal ---- */

struct sized {
    uint64_t bytes;
    size_t index;
};

static int compare_sizes(const void *a, const void *b)
{
    const struct sized *x = a;
    const struct sized *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static size_t find_least(const uint64_t *loads, size_t count)
{
    size_t least = 0;

    for (size_t i = 1; i < count; i++)
        least = loads[i] < loads[least] ? i : least;
    return least;
}

enum rkt_status rkt_share_deal(const struct rkt_candidates *candidates, size_t size, size_t *owners,
                               struct rkt_error *err)
{
    struct sized *sizes = calloc(candidates->rank_count + 1, sizeof(*sizes));
    uint64_t *loads = calloc(size + 1, sizeof(*loads));
    enum rkt_status status = RKT_OK;

    if (!sizes || !loads) {
        status =
            rkt_fail(err, RKT_ERR_NOMEM, "no memory to deal out %zu ranks", candidates->rank_count);
        goto done;
    }
    for (size_t i = 0; i < candidates->rank_count; i++)
        sizes[i] = (struct sized){candidates->ranks[i].bytes, i};
    qsort(sizes, candidates->rank_count, sizeof(*sizes), compare_sizes);
    for (size_t i = 0; i < candidates->rank_count; i++) {
        size_t owner = find_least(loads, size);

        owners[sizes[i].index] = owner;
        loads[owner] += sizes[i].bytes + 1;
    }
done:
    free(sizes);
    free(loads);
    return status;
}

/* ---- give and take ---- */

/* Two processes that see these alike see the same store. */
static uint64_t sum_of_bytes(const struct rkt_candidates *candidates)
{
    uint64_t sum_bytes = 0;

    for (size_t i = 0; i < candidates->rank_count; i++)
        sum_bytes += candidates->ranks[i].bytes;
    return sum_bytes;
}

enum rkt_status rkt_share_give(struct rkt_team *team, const struct rkt_candidates *candidates,
                               size_t index, const struct rkt_loaded_rank *loaded,
                               const struct rkt_rank_result *rank, struct rkt_error *err)
{
    struct rkt_packed packed = {0};
    enum rkt_status status;

    rkt_packed_u64(&packed, candidates->rank_count);
    rkt_packed_u64(&packed, sum_of_bytes(candidates));
    rkt_packed_u64(&packed, index);
    rkt_rank_pack(loaded, rank, &packed);
    if (packed.has_failed)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to send rank %u", rank->rank);
    else
        status = rkt_team_give(team, (struct rkt_bytes){packed.bytes, packed.len_bytes}, err);
    rkt_packed_release(&packed);
    return status;
}

static enum rkt_status take_rank(const struct rkt_candidates *candidates, struct rkt_bytes message,
                                 size_t place, const struct rkt_shared_ranks *into,
                                 struct rkt_error *err)
{
    struct rkt_unpacking from;
    uint64_t rank_count;
    uint64_t sum_bytes;
    uint64_t index;

    rkt_unpacking_init(&from, message);
    rank_count = rkt_unpack_u64(&from);
    sum_bytes = rkt_unpack_u64(&from);
    index = rkt_unpack_u64(&from);
    if (rank_count != candidates->rank_count || sum_bytes != sum_of_bytes(candidates))
        return rkt_fail(err, RKT_ERR_FORMAT,
                        "process %zu reads another timeline than process 0: is it still being "
                        "written?",
                        place);
    if (index >= candidates->rank_count || into->owners[index] != place ||
        into->loaded[index].trace)
        return rkt_fail(err, RKT_ERR_INTERNAL, "process %zu sent a rank that is not its own",
                        place);
    return rkt_rank_unpack(&from, &into->loaded[index], into->arena, &into->ranks[index], err);
}

enum rkt_status rkt_share_take(struct rkt_team *team, const struct rkt_candidates *candidates,
                               bool waits, const struct rkt_shared_ranks *into,
                               struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    while (status == RKT_OK) {
        struct rkt_bytes message;
        size_t place;

        status = rkt_team_take(team, waits, &message, &place, err);
        if (status == RKT_OK)
            status = take_rank(candidates, message, place, into, err);
    }
    return status == RKT_AGAIN ? RKT_OK : status;
}
