/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/clock_gap.h"

#include "common/align_at.h"
#include "common/checked.h"

/* Bounds may be of a broken file. */
static int64_t together_ns(int64_t a_ns, int64_t b_ns)
{
    int64_t sum_ns = INT64_MAX;

    (void)rkt_add_i64(a_ns, b_ns, &sum_ns);
    return sum_ns;
}

/* ---- ranks that read one clock ---- */

static bool is_exact(const struct rkt_rank_result *rank)
{
    return rank->align_state == RKT_ALIGN_REFERENCE || rank->align_state == RKT_ALIGN_SAME_HOST;
}

/* Only what a run knows of its hosts tells it; each imported file has a clock of its own. */
static bool shares_clock(const struct rkt_rank_result *a, const struct rkt_rank_result *b)
{
    const struct rkt_store_source *first = &a->trace->source, *second = &b->trace->source;

    if (first->info.producer != RKT_PRODUCER_CAPTURE ||
        second->info.producer != RKT_PRODUCER_CAPTURE)
        return false;
    return first->info.node == second->info.node || (is_exact(a) && is_exact(b)) ||
           (a->align_state == RKT_ALIGN_MEASURED &&
            rkt_align_is_same(&first->align, &second->align));
}

/* Ranks of a host mostly follow each other. */
static uint32_t find_clock(const struct rkt_result *result, const uint32_t *clocks, size_t rank)
{
    for (size_t r = rank; r-- > 0;) {
        if (shares_clock(&result->ranks[rank], &result->ranks[r]))
            return clocks[r];
    }
    return (uint32_t)rank;
}

enum rkt_status rkt_clock_gap_find_clocks(struct rkt_result *result, struct rkt_arena *arena,
                                          struct rkt_error *err)
{
    uint32_t *clocks = RKT_ARENA_ARRAY(arena, uint32_t, result->rank_count + 1);

    if (!clocks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu ranks",
                        result->rank_count);
    for (size_t r = 0; r < result->rank_count; r++)
        clocks[r] = find_clock(result, clocks, r);
    result->clocks = clocks;
    return RKT_OK;
}

static uint32_t clock_of(const struct rkt_result *result, uint32_t rank)
{
    return result->clocks ? result->clocks[rank] : rank;
}

/* ---- gaps ---- */

int64_t rkt_clock_gap_ns(const struct rkt_result *result, uint32_t a, uint32_t b)
{
    const struct rkt_rank_result *first = &result->ranks[a], *second = &result->ranks[b];

    if (a == b)
        return 0;
    if (first->bound_ns < 0 || second->bound_ns < 0)
        return RKT_NA;
    return clock_of(result, a) == clock_of(result, b)
               ? together_ns(first->own_bound_ns, second->own_bound_ns)
               : together_ns(first->bound_ns, second->bound_ns);
}

bool rkt_clock_gap_tells(int64_t difference_ns, int64_t gap_ns)
{
    return difference_ns != RKT_NA && gap_ns != RKT_NA &&
           (difference_ns > gap_ns || difference_ns < -gap_ns);
}

bool rkt_clock_gap_blurs(int64_t difference_ns, int64_t gap_ns)
{
    return difference_ns != RKT_NA && gap_ns != 0 && !rkt_clock_gap_tells(difference_ns, gap_ns);
}

bool rkt_clock_gap_blurs_last(const struct rkt_collective *collective)
{
    return collective->last_rank != RKT_INDEX_NONE && !collective->last_is_distinguishable &&
           collective->participant_count > 1 &&
           collective->participant_count >= collective->expected_count;
}

/* The largest gap of two of some ranks; RKT_NA where one has no bound. */
struct widest {
    uint32_t clock; /* of the rank with the largest bound */
    int64_t bound_ns;
    int64_t other_bound_ns; /* the largest of other clocks; -1: there are none */
    int64_t own_ns[2];      /* the two largest, whichever their clocks */
    bool is_unknown;
};

static const struct widest NONE = {.clock = RKT_INDEX_NONE, .bound_ns = -1, .other_bound_ns = -1};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void widen(struct widest *widest, const struct rkt_result *result, uint32_t rank)
{
    const struct rkt_rank_result *of = &result->ranks[rank];
    uint32_t clock = clock_of(result, rank);

    widest->is_unknown |= of->bound_ns < 0;
    if (of->bound_ns > widest->bound_ns) {
        if (clock != widest->clock)
            widest->other_bound_ns = widest->bound_ns;
        widest->bound_ns = of->bound_ns;
        widest->clock = clock;
    } else if (clock != widest->clock) {
        widest->other_bound_ns = larger(widest->other_bound_ns, of->bound_ns);
    }
    widest->own_ns[1] =
        larger(widest->own_ns[1],
               of->own_bound_ns < widest->own_ns[0] ? of->own_bound_ns : widest->own_ns[0]);
    widest->own_ns[0] = larger(widest->own_ns[0], of->own_bound_ns);
}

static int64_t gap_of(const struct widest *widest)
{
    int64_t own_ns = together_ns(widest->own_ns[0], widest->own_ns[1]);

    if (widest->is_unknown)
        return RKT_NA;
    return widest->other_bound_ns < 0
               ? own_ns
               : larger(own_ns, together_ns(widest->bound_ns, widest->other_bound_ns));
}

static int64_t collective_gap_ns(const struct rkt_result *result,
                                 const struct rkt_collective *collective)
{
    struct widest widest = NONE;

    for (size_t i = 0; i < collective->participant_count; i++)
        widen(&widest, result, collective->participants[i].rank);
    return gap_of(&widest);
}

static const struct rkt_participant *last_of(const struct rkt_collective *collective)
{
    for (size_t i = 0; i < collective->participant_count; i++) {
        if (collective->participants[i].rank == collective->last_rank)
            return &collective->participants[i];
    }
    return NULL;
}

/*
 * Its lead must be larger than what the clocks of both ranks can be off. Where no bound is
 * known (imported stamps) the ends, which agree in truth, show how far off they are; and the
 * last to start must also be the one that waited least, which needs no clock.
 */
static bool is_last_told(const struct rkt_result *result, const struct rkt_collective *collective)
{
    const struct rkt_participant *self = last_of(collective);

    if (!self || collective->participant_count < 2 ||
        collective->participant_count < collective->expected_count)
        return false;
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *other = &collective->participants[i];
        int64_t lead_ns = self->job_start_ns - other->job_start_ns;
        int64_t gap_ns = rkt_clock_gap_ns(result, self->rank, other->rank);

        if (other == self)
            continue;
        if (gap_ns == RKT_NA && self->clock_free_wait_ns > 0)
            return false;
        if (!rkt_clock_gap_tells(lead_ns, gap_ns == RKT_NA ? collective->end_spread_ns : gap_ns))
            return false;
    }
    return true;
}

bool rkt_clock_gap_all_wait(const struct rkt_collective *collective)
{
    switch ((enum rkt_nccl_func)collective->func) {
    case RKT_NCCL_FUNC_UNKNOWN:
    case RKT_NCCL_FUNC_ALLREDUCE:
    case RKT_NCCL_FUNC_ALLGATHER:
    case RKT_NCCL_FUNC_REDUCESCATTER:
    case RKT_NCCL_FUNC_ALLTOALL:
    case RKT_NCCL_FUNC_BARRIER:
        return true;
    case RKT_NCCL_FUNC_BROADCAST:
    case RKT_NCCL_FUNC_REDUCE:
    case RKT_NCCL_FUNC_GATHER:
    case RKT_NCCL_FUNC_SCATTER:
    case RKT_NCCL_FUNC_SEND:
    case RKT_NCCL_FUNC_RECV:
    case RKT_NCCL_FUNC_SENDRECV:
        break;
    }
    return false;
}

/* clock_gap.h: the ends are apart by the measured spread less the gap at least. */
static bool is_clock_better(const struct rkt_collective *collective)
{
    int64_t gap_ns = collective->clock_gap_ns;

    if (gap_ns == RKT_NA)
        return false;
    return gap_ns <= collective->end_spread_ns - gap_ns ||
           (!rkt_clock_gap_all_wait(collective) && gap_ns <= collective->transfer_ns);
}

void rkt_clock_gap_judge(const struct rkt_result *result, struct rkt_collective *collective)
{
    bool is_timed = collective->end_spread_ns != RKT_NA;

    collective->clock_gap_ns = is_timed ? collective_gap_ns(result, collective) : RKT_NA;
    collective->last_is_distinguishable = is_timed && is_last_told(result, collective);
    collective->is_clocked = is_timed && is_clock_better(collective);
}

int64_t rkt_clock_gap_wait_ns(const struct rkt_collective *collective,
                              const struct rkt_participant *participant)
{
    return collective->is_clocked ? participant->wait_ns : participant->clock_free_wait_ns;
}

/* In no step, or in one that counts. */
static bool is_counted(const struct rkt_result *result, const struct rkt_collective *collective)
{
    const struct rkt_rank_result *rank = &result->ranks[collective->participants[0].rank];

    return collective->step < rank->step_count ? rkt_step_counts(&rank->steps[collective->step])
                                               : rank->step_count == 0;
}

/* Of the rank that has most: each step is counted once. */
static size_t count_steps(const struct rkt_result *result)
{
    size_t most = 0;

    for (size_t r = 0; r < result->rank_count; r++) {
        size_t count = 0;

        for (size_t i = 0; i < result->ranks[r].step_count; i++)
            count += rkt_step_counts(&result->ranks[r].steps[i]);
        most = count > most ? count : most;
    }
    return most > 0 ? most : 1;
}

void rkt_summarise_clocks(struct rkt_result *result)
{
    struct rkt_clock_summary *clock = &result->clock;
    struct widest widest = NONE;

    *clock = (struct rkt_clock_summary){0};
    for (size_t r = 0; r < result->rank_count && result->rank_count > 1; r++)
        widen(&widest, result, (uint32_t)r);
    clock->gap_ns = gap_of(&widest);
    for (size_t i = 0; i < result->collective_count; i++) {
        const struct rkt_collective *collective = &result->collectives[i];

        if (!collective->is_clocked)
            continue;
        clock->clocked_count++;
        if (is_counted(result, collective))
            clock->wait_gap_ns = together_ns(clock->wait_gap_ns, collective->clock_gap_ns);
    }
    clock->wait_gap_ns /= (int64_t)count_steps(result);
}
