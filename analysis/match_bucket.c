/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match_bucket.h"

#include <stdlib.h>

#include "common/array.h"

struct handed {
    const struct rkt_bucket *bucket;
    uint32_t rank;
    uint32_t occurrence; /* a step number may come again: two models, a restarted count */
};

static int compare_keys(const struct handed *a, const struct handed *b)
{
    if (a->bucket->step != b->bucket->step)
        return a->bucket->step < b->bucket->step ? -1 : 1;
    if (a->bucket->index != b->bucket->index)
        return a->bucket->index < b->bucket->index ? -1 : 1;
    return (a->occurrence > b->occurrence) - (a->occurrence < b->occurrence);
}

static int compare_handed(const void *a, const void *b)
{
    const struct handed *x = a;
    const struct handed *y = b;
    int keys = compare_keys(x, y);

    if (keys != 0)
        return keys;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static struct handed *collect_buckets(const struct rkt_result *result, size_t *count_out)
{
    struct handed *all;
    size_t cap = 1;
    size_t count = 0;

    for (size_t r = 0; r < result->rank_count; r++)
        cap += result->ranks[r].trace->bucket_count;
    all = calloc(cap, sizeof(*all));
    for (size_t r = 0; all != NULL && r < result->rank_count; r++) {
        const struct rkt_rank_trace *trace = result->ranks[r].trace;

        for (size_t i = 0; i < trace->bucket_count; i++)
            trace->buckets[i].collective = RKT_INDEX_NONE;
        for (size_t i = 0; !trace->has_gpu && i < trace->bucket_count; i++)
            all[count++] = (struct handed){.bucket = &trace->buckets[i], .rank = (uint32_t)r};
    }
    *count_out = count;
    return all;
}

static void sort_buckets(struct handed *all, size_t count)
{
    qsort(all, count, sizeof(*all), compare_handed);
    for (size_t i = 1; i < count; i++) {
        struct handed before = all[i - 1];

        before.occurrence = 0;
        if (compare_keys(&before, &all[i]) == 0 && before.rank == all[i].rank)
            all[i].occurrence = all[i - 1].occurrence + 1;
    }
    qsort(all, count, sizeof(*all), compare_handed);
}

static uint32_t step_index_of(const struct rkt_rank_result *rank, const struct rkt_bucket *bucket)
{
    for (size_t i = 0; i < rank->step_count; i++) {
        const struct rkt_step_result *step = &rank->steps[i];

        if (bucket->start_ns >= step->host_start_ns && bucket->start_ns < step->host_end_ns)
            return (uint32_t)i;
    }
    return RKT_INDEX_NONE;
}

static void fill_participant(const struct rkt_rank_trace *trace, const struct handed *handed,
                             const struct rkt_bucket *before, struct rkt_participant *to)
{
    const struct rkt_bucket *bucket = handed->bucket;

    *to = (struct rkt_participant){.rank = handed->rank,
                                   .work = RKT_INDEX_NONE,
                                   .bucket = (uint32_t)(bucket - trace->buckets),
                                   .start_ns = bucket->start_ns,
                                   .end_ns = bucket->end_ns,
                                   .job_start_ns = bucket->job_start_ns,
                                   .job_end_ns = bucket->job_end_ns,
                                   .ready_ns = bucket->start_ns,
                                   .late_ns = RKT_NA,
                                   .likely_ns = RKT_LIKELY_UNKNOWN};
    if (before != NULL)
        to->late_ns = bucket->start_ns - before->end_ns;
}

static enum rkt_status add_collective(struct rkt_result *result, const struct handed *first,
                                      size_t count, struct rkt_arena *arena,
                                      struct rkt_collective_list *list)
{
    struct rkt_collective *to;
    struct rkt_participant *participants = RKT_ARENA_ARRAY(arena, struct rkt_participant, count);

    if (participants == NULL || !rkt_array_reserve((void **)&list->items, &list->cap,
                                                   list->count + 1, sizeof(*list->items)))
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct rkt_rank_trace *trace = result->ranks[first[i].rank].trace;
        const struct rkt_bucket *bucket = first[i].bucket;

        fill_participant(trace, &first[i], bucket > trace->buckets ? bucket - 1 : NULL,
                         &participants[i]);
    }
    to = &list->items[list->count++];
    *to = (struct rkt_collective){
        .seq = first->bucket->index,
        .bytes = first->bucket->bytes,
        .func_name = rkt_nccl_func_name(RKT_NCCL_FUNC_ALLREDUCE),
        .comm_name = "",
        .func = RKT_NCCL_FUNC_ALLREDUCE,
        .confidence = RKT_MATCH_ORDERED,
        .is_bucket = true,
        .bucket_index = first->bucket->index,
        .step = step_index_of(&result->ranks[first->rank], first->bucket),
        .participants = participants,
        .participant_count = count,
        .expected_count = result->expected_rank_count,
    };
    return RKT_OK;
}

enum rkt_status rkt_match_buckets(struct rkt_result *result, struct rkt_arena *arena,
                                  struct rkt_collective_list *list, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t count;
    struct handed *all = collect_buckets(result, &count);

    if (all == NULL)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to match gradient buckets");
    sort_buckets(all, count);
    for (size_t at = 0; at < count && status == RKT_OK;) {
        size_t next = at + 1;

        while (next < count && compare_keys(&all[at], &all[next]) == 0)
            next++;
        if (next - at > 1)
            status = add_collective(result, &all[at], next - at, arena, list);
        else
            result->unmatched_count++;
        at = next;
    }
    if (status != RKT_OK)
        rkt_fail(err, status, "no memory for the collectives of %zu gradient buckets", count);
    free(all);
    return status;
}
