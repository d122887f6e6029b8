/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_run.h"

#include <stdlib.h>

#define S_NS UINT64_C(1000000000)

/* A ring moves 2 (n - 1) / n of the bytes. */
static int64_t transfer_ns(const struct rkt_scenario *scenario)
{
    uint64_t n = scenario->rank_count;
    unsigned __int128 bytes = (unsigned __int128)scenario->bucket_bytes * 2 * (n - 1) / n;

    return (int64_t)(scenario->collective_ns + (uint64_t)(bytes * S_NS / scenario->bytes_per_s));
}

static void destroy_ranks(struct rkt_sim_rank **ranks, uint32_t count)
{
    for (uint32_t i = 0; ranks && i < count; i++)
        rkt_sim_rank_destroy(ranks[i]);
    free(ranks);
}

static enum rkt_status create_ranks(const struct rkt_scenario *scenario,
                                    struct rkt_sim_rank ***ranks_out, struct rkt_error *err)
{
    struct rkt_sim_rank **ranks = calloc(scenario->rank_count, sizeof(struct rkt_sim_rank *));
    enum rkt_status status = RKT_OK;

    if (!ranks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u ranks", scenario->rank_count);
    for (uint32_t i = 0; i < scenario->rank_count && status == RKT_OK; i++)
        status = rkt_sim_rank_create(scenario, i, NULL, NULL, &ranks[i], err);
    if (status != RKT_OK)
        destroy_ranks(ranks, scenario->rank_count);
    else
        *ranks_out = ranks;
    return status;
}

/* `ready_ns` is [rank][collective]. The comm stream is as free as the last collective's end. */
static void meet(struct rkt_sim_run *run, uint32_t step, struct rkt_sim_rank *const *ranks,
                 const int64_t *ready_ns)
{
    const struct rkt_scenario *scenario = run->scenario;
    size_t at = (size_t)step * scenario->bucket_count;

    for (uint32_t i = 0; i < scenario->bucket_count; i++, at++) {
        int64_t latest_ns = 0;

        for (uint32_t r = 0; r < scenario->rank_count; r++) {
            int64_t free_ns = i > 0 ? run->ends_ns[at - 1] : rkt_sim_rank_comm_free_ns(ranks[r]);
            int64_t start_ns = ready_ns[(size_t)r * scenario->bucket_count + i];

            if (free_ns > start_ns)
                start_ns = free_ns;
            if (start_ns > latest_ns)
                latest_ns = start_ns;
            if (run->starts_ns)
                run->starts_ns[at * scenario->rank_count + r] = start_ns;
        }
        run->ends_ns[at] = latest_ns + run->transfer_ns;
    }
}

static enum rkt_status run_step(struct rkt_sim_run *run, uint32_t step,
                                struct rkt_sim_rank *const *ranks, int64_t *ready_ns,
                                struct rkt_error *err)
{
    const struct rkt_scenario *scenario = run->scenario;
    enum rkt_status status = RKT_OK;

    for (uint32_t r = 0; r < scenario->rank_count && status == RKT_OK; r++)
        status = rkt_sim_rank_begin_step(ranks[r], step,
                                         ready_ns + (size_t)r * scenario->bucket_count, err);
    if (status == RKT_OK)
        meet(run, step, ranks, ready_ns);
    for (uint32_t r = 0; r < scenario->rank_count && status == RKT_OK; r++)
        status = rkt_sim_rank_end_step(ranks[r], rkt_sim_run_ends(run, step),
                                       &run->steps[(size_t)step * scenario->rank_count + r], err);
    return status;
}

static bool allocate(struct rkt_sim_run *run, bool keeps_starts)
{
    const struct rkt_scenario *scenario = run->scenario;
    size_t collective_count = (size_t)scenario->step_count * scenario->bucket_count;

    run->ends_ns = calloc(collective_count + 1, sizeof(*run->ends_ns));
    run->steps = calloc((size_t)scenario->step_count * scenario->rank_count, sizeof(*run->steps));
    if (keeps_starts)
        run->starts_ns =
            calloc(collective_count * scenario->rank_count + 1, sizeof(*run->starts_ns));
    return run->ends_ns && run->steps && (!keeps_starts || run->starts_ns);
}

enum rkt_status rkt_sim_run_init(struct rkt_sim_run *run, const struct rkt_scenario *scenario,
                                 bool keeps_starts, struct rkt_error *err)
{
    struct rkt_sim_rank **ranks = NULL;
    enum rkt_status status;
    int64_t *ready_ns;

    *run = (struct rkt_sim_run){.scenario = scenario, .transfer_ns = transfer_ns(scenario)};
    ready_ns = calloc((size_t)scenario->rank_count * scenario->bucket_count + 1, sizeof(*ready_ns));
    if (!ready_ns || !allocate(run, keeps_starts))
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for %u steps of %u ranks",
                          scenario->step_count, scenario->rank_count);
    else
        status = create_ranks(scenario, &ranks, err);
    for (uint32_t step = 0; ranks && step < scenario->step_count && status == RKT_OK; step++)
        status = run_step(run, step, ranks, ready_ns, err);
    destroy_ranks(ranks, scenario->rank_count);
    free(ready_ns);
    if (status != RKT_OK)
        rkt_sim_run_release(run);
    return status;
}

void rkt_sim_run_release(struct rkt_sim_run *run)
{
    free(run->ends_ns);
    free(run->starts_ns);
    free(run->steps);
    *run = (struct rkt_sim_run){0};
}

int64_t rkt_sim_run_length_ns(const struct rkt_sim_run *run)
{
    const struct rkt_scenario *scenario = run->scenario;
    int64_t end_ns = 0;

    for (uint32_t r = 0; r < scenario->rank_count; r++) {
        int64_t rank_end_ns = rkt_sim_run_step(run, scenario->step_count - 1, r)->window_end_ns;

        if (rank_end_ns > end_ns)
            end_ns = rank_end_ns;
    }
    return end_ns - rkt_sim_run_step(run, 0, 0)->window_start_ns;
}
