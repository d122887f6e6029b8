/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/clock_check.h"

#include <stdlib.h>

static bool depends_on_all(const struct rkt_collective *collective)
{
    return collective->func == RKT_NCCL_FUNC_ALLREDUCE ||
           collective->func == RKT_NCCL_FUNC_ALLGATHER ||
           collective->func == RKT_NCCL_FUNC_REDUCESCATTER ||
           collective->func == RKT_NCCL_FUNC_ALLTOALL || collective->func == RKT_NCCL_FUNC_BARRIER;
}

static int64_t bound_of(const struct rkt_result *result, const struct rkt_participant *part)
{
    int64_t bound_ns = result->ranks[part->rank].bound_ns;

    return bound_ns > 0 ? bound_ns : 0; /* none is known: as the stamps claim */
}

static bool contradict(const struct rkt_result *result, const struct rkt_participant *ended,
                       const struct rkt_participant *began)
{
    return began->job_start_ns - ended->job_end_ns >
           bound_of(result, ended) + bound_of(result, began);
}

/* Counts the rank that contradicts more others than its counterpart does; or both. False: none. */
static bool find_broken(const struct rkt_result *result, const struct rkt_collective *collective,
                        size_t *counts)
{
    const struct rkt_participant *first = &collective->participants[0];
    const struct rkt_participant *last = first;
    size_t first_count = 0, last_count = 0;

    for (size_t i = 1; i < collective->participant_count; i++) {
        const struct rkt_participant *part = &collective->participants[i];

        first = part->job_end_ns < first->job_end_ns ? part : first;
        last = part->job_start_ns > last->job_start_ns ? part : last;
    }
    if (!contradict(result, first, last))
        return false;
    for (size_t i = 0; i < collective->participant_count; i++) {
        first_count += contradict(result, first, &collective->participants[i]);
        last_count += contradict(result, &collective->participants[i], last);
    }
    counts[first->rank] += first_count >= last_count;
    counts[last->rank] += last_count >= first_count;
    return true;
}

/* Alone with the most. */
static void name_rank(const size_t *counts, size_t rank_count, struct rkt_clock_check *check)
{
    size_t second = 0;

    check->rank = RKT_INDEX_NONE;
    for (size_t r = 0; r < rank_count; r++) {
        if (counts[r] > check->rank_count) {
            second = check->rank_count;
            check->rank_count = counts[r];
            check->rank = (uint32_t)r;
        } else if (counts[r] > second) {
            second = counts[r];
        }
    }
    if (second == check->rank_count) {
        check->rank = RKT_INDEX_NONE;
        check->rank_count = 0;
    }
}

enum rkt_status rkt_check_clocks(const struct rkt_result *result, struct rkt_clock_check *check_out,
                                 struct rkt_error *err)
{
    struct rkt_clock_check check = {0};
    size_t *counts = calloc(result->rank_count + 1, sizeof(*counts));

    if (!counts)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to check the clocks of %zu ranks",
                        result->rank_count);
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (collective->start_spread_ns == RKT_NA || !depends_on_all(collective))
            continue;
        check.checked_count++;
        check.broken_count += find_broken(result, collective, counts);
    }
    name_rank(counts, result->rank_count, &check);
    free(counts);
    *check_out = check;
    return RKT_OK;
}
