/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/clock_gap.h"
#include "analysis/stages.h"
#include "analysis/steady.h"

/*
 * Lead of the last over the second last, whatever the clocks; RKT_NA where this collective says
 * nothing of who came last. In host view only the first bucket of a step is looked at: it shows
 * what came before.
 */
static int64_t lead_ns(const struct rkt_collective *collective)
{
    int64_t last_ns = INT64_MIN;
    int64_t second_ns = INT64_MIN;

    if (collective->last_rank == RKT_INDEX_NONE || collective->confidence == RKT_MATCH_WEAK)
        return RKT_NA;
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *participant = &collective->participants[i];

        if (participant->work == RKT_INDEX_NONE && collective->bucket_index != 0)
            return RKT_NA;
        if (participant->rank == collective->last_rank) {
            if (participant->is_queued)
                return RKT_NA;
            last_ns = participant->job_start_ns;
        } else if (participant->job_start_ns > second_ns) {
            second_ns = participant->job_start_ns;
        }
    }
    return second_ns == INT64_MIN ? RKT_NA : last_ns - second_ns; /* alone: of no others */
}

static bool is_left_out(const struct rkt_result *result, const struct rkt_collective *collective)
{
    const struct rkt_rank_result *rank = &result->ranks[collective->participants[0].rank];

    return collective->step < rank->step_count && !rkt_step_counts(&rank->steps[collective->step]);
}

static bool is_told(const struct rkt_collective *collective)
{
    return collective->last_is_distinguishable && lead_ns(collective) != RKT_NA;
}

/* How often each rank (by position) came last, and how many collectives tell who did. */
static void count_last(const struct rkt_result *result, uint32_t *counts,
                       struct rkt_last_arriver *last)
{
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (is_left_out(result, collective) || lead_ns(collective) == RKT_NA)
            continue;
        last->blurred_count +=
            collective->clock_gap_ns != 0 && rkt_clock_gap_blurs_last(collective);
        if (!collective->last_is_distinguishable)
            continue;
        counts[collective->last_rank]++;
        last->collective_count++;
        if (collective->clock_gap_ns > last->clock_gap_ns)
            last->clock_gap_ns = collective->clock_gap_ns;
    }
}

static int64_t median_lead(const struct rkt_result *result, uint32_t rank, int64_t *leads)
{
    size_t count = 0;

    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (is_told(collective) && collective->last_rank == rank &&
            !is_left_out(result, collective))
            leads[count++] = lead_ns(collective);
    }
    return rkt_median_i64(leads, count);
}

enum rkt_status rkt_find_last_arriver(struct rkt_result *result, struct rkt_error *err)
{
    struct rkt_last_arriver *last = &result->last_arriver;
    uint32_t *counts = calloc(result->rank_count + 1, sizeof(*counts));
    int64_t *leads = calloc(result->collective_count + 1, sizeof(*leads));
    enum rkt_status status = RKT_OK;

    *last = (struct rkt_last_arriver){.last_by_ns = RKT_NA, .clock_gap_ns = RKT_NA};
    if (counts == NULL || leads == NULL) {
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for the arrivals at %zu collectives",
                          result->collective_count);
    } else {
        count_last(result, counts, last);
        for (uint32_t r = 0; r < result->rank_count; r++)
            last->rank = counts[r] > counts[last->rank] ? r : last->rank;
        last->last_count = counts[last->rank];
        if (last->last_count > 0)
            last->last_by_ns = median_lead(result, last->rank, leads);
    }
    free(counts);
    free(leads);
    return status;
}
