/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "analysis/clock_gap.h"
#include "analysis/match_unit.h"
#include "analysis/stages.h"

#define NS_PER_S 1e9

static bool is_timed(const struct rkt_result *result, const struct rkt_collective *collective)
{
    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_rank_result *rank = &result->ranks[collective->participants[i].rank];

        if (rank->align_state == RKT_ALIGN_UNALIGNED)
            return false;
    }
    return true;
}

/* Position among the participants of the last to start; the lowest rank of equal ones. */
static size_t last_position(const struct rkt_collective *collective)
{
    size_t last = 0;

    for (size_t i = 1; i < collective->participant_count; i++) {
        if (collective->participants[i].job_start_ns > collective->participants[last].job_start_ns)
            last = i;
    }
    return last;
}

static const struct rkt_op *ops_of(const struct rkt_result *result,
                                   const struct rkt_participant *participant, uint32_t *count_out)
{
    const struct rkt_rank_trace *trace = result->ranks[participant->rank].trace;
    const struct rkt_work *work;

    *count_out = 0;
    if (participant->work == RKT_INDEX_NONE)
        return NULL;
    work = rkt_rank_trace_work(trace, participant->work);
    if (work->op == RKT_INDEX_NONE || work->op_count == 0)
        return NULL;
    *count_out = work->op_count;
    return &trace->ops[work->op];
}

/* The participant that is `comm_rank` in the communicator; NULL where that is not known. */
static const struct rkt_participant *find_member(const struct rkt_result *result,
                                                 const struct rkt_collective *collective,
                                                 int32_t comm_rank)
{
    for (size_t i = 0; comm_rank >= 0 && i < collective->participant_count; i++) {
        const struct rkt_participant *participant = &collective->participants[i];
        const struct rkt_comm *comm =
            rkt_match_find_comm(result->ranks[participant->rank].trace, collective->comm_id);

        if (comm != NULL && comm->rank == comm_rank)
            return participant;
    }
    return NULL;
}

const struct rkt_participant *rkt_collective_root(const struct rkt_result *result,
                                                  const struct rkt_collective *collective)
{
    for (size_t i = 0; i < collective->participant_count; i++) {
        uint32_t count;
        const struct rkt_op *ops = ops_of(result, &collective->participants[i], &count);

        if (ops != NULL)
            return find_member(result, collective, ops->nccl.peer);
    }
    return NULL;
}

void rkt_collective_direction(const struct rkt_result *result,
                              const struct rkt_collective *collective,
                              const struct rkt_participant *self, bool *gives_out, bool *takes_out)
{
    bool is_from_root =
        collective->func == RKT_NCCL_FUNC_BROADCAST || collective->func == RKT_NCCL_FUNC_SCATTER;
    bool is_to_root =
        collective->func == RKT_NCCL_FUNC_REDUCE || collective->func == RKT_NCCL_FUNC_GATHER;
    const struct rkt_participant *root =
        is_from_root || is_to_root ? rkt_collective_root(result, collective) : NULL;

    *gives_out = !root || (root->rank == self->rank) == is_from_root;
    *takes_out = !root || !*gives_out;
}

/*
 * The latest start among the peers that this kernel exchanges with. A send that ended before
 * its receiver began was buffered and waited for nobody.
 */
static int64_t exchange_release_ns(const struct rkt_result *result,
                                   const struct rkt_collective *collective,
                                   const struct rkt_participant *self, int64_t last_start_ns)
{
    int64_t release_ns = self->job_start_ns;
    uint32_t count;
    const struct rkt_op *ops = ops_of(result, self, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct rkt_participant *peer = find_member(result, collective, ops[i].nccl.peer);
        bool is_buffered = peer != NULL && ops[i].nccl.func == RKT_NCCL_FUNC_SEND &&
                           self->job_end_ns <= peer->job_start_ns;

        if (peer != NULL && !is_buffered && peer->job_start_ns > release_ns)
            release_ns = peer->job_start_ns;
    }
    return ops == NULL ? last_start_ns : release_ns;
}

/* metrics.md, "Collectives": from when on the data of participant `self` can move. */
static int64_t release_ns_of(const struct rkt_result *result,
                             const struct rkt_collective *collective,
                             const struct rkt_participant *self, const struct rkt_participant *root,
                             int64_t last_start_ns)
{
    switch ((enum rkt_nccl_func)collective->func) {
    case RKT_NCCL_FUNC_BROADCAST:
    case RKT_NCCL_FUNC_SCATTER:
        return root == NULL ? last_start_ns : root->job_start_ns;
    case RKT_NCCL_FUNC_REDUCE:
    case RKT_NCCL_FUNC_GATHER:
        return root == NULL || root == self ? last_start_ns : self->job_start_ns;
    case RKT_NCCL_FUNC_SEND:
    case RKT_NCCL_FUNC_RECV:
    case RKT_NCCL_FUNC_SENDRECV:
        return exchange_release_ns(result, collective, self, last_start_ns);
    case RKT_NCCL_FUNC_UNKNOWN:
    case RKT_NCCL_FUNC_ALLREDUCE:
    case RKT_NCCL_FUNC_ALLGATHER:
    case RKT_NCCL_FUNC_REDUCESCATTER:
    case RKT_NCCL_FUNC_ALLTOALL:
    case RKT_NCCL_FUNC_BARRIER:
        break;
    }
    return last_start_ns;
}

static int64_t duration_ns(const struct rkt_participant *participant)
{
    return participant->end_ns - participant->start_ns;
}

static void measure_durations(struct rkt_collective *collective)
{
    collective->transfer_ns = duration_ns(&collective->participants[0]);
    for (size_t i = 1; i < collective->participant_count; i++) {
        if (duration_ns(&collective->participants[i]) < collective->transfer_ns)
            collective->transfer_ns = duration_ns(&collective->participants[i]);
    }
    for (size_t i = 0; i < collective->participant_count; i++) {
        struct rkt_participant *participant = &collective->participants[i];

        participant->clock_free_wait_ns = duration_ns(participant) - collective->transfer_ns;
        participant->wait_ns = RKT_NA;
        participant->active_ns = RKT_NA;
    }
    collective->start_spread_ns = RKT_NA;
    collective->end_spread_ns = RKT_NA;
    collective->clocked_transfer_ns = RKT_NA;
    collective->last_rank = RKT_INDEX_NONE;
}

static void split_waits(const struct rkt_result *result, struct rkt_collective *collective,
                        int64_t last_start_ns)
{
    const struct rkt_participant *root = rkt_collective_root(result, collective);

    for (size_t i = 0; i < collective->participant_count; i++) {
        struct rkt_participant *self = &collective->participants[i];
        int64_t release_ns = release_ns_of(result, collective, self, root, last_start_ns);
        int64_t wait_ns = release_ns - self->job_start_ns;

        if (wait_ns < 0)
            wait_ns = 0;
        if (wait_ns > duration_ns(self))
            wait_ns = duration_ns(self);
        self->wait_ns = wait_ns;
        self->active_ns = duration_ns(self) - wait_ns;
    }
}

static void measure_on_clock(const struct rkt_result *result, struct rkt_collective *collective)
{
    size_t last = last_position(collective);
    int64_t last_start_ns = collective->participants[last].job_start_ns;
    int64_t first_end_ns = collective->participants[0].job_end_ns;
    int64_t last_end_ns = first_end_ns;

    for (size_t i = 1; i < collective->participant_count; i++) {
        int64_t end_ns = collective->participants[i].job_end_ns;

        first_end_ns = end_ns < first_end_ns ? end_ns : first_end_ns;
        last_end_ns = end_ns > last_end_ns ? end_ns : last_end_ns;
    }
    collective->start_spread_ns = last_start_ns - collective->job_first_start_ns;
    collective->end_spread_ns = last_end_ns - first_end_ns;
    collective->clocked_transfer_ns =
        first_end_ns > last_start_ns ? first_end_ns - last_start_ns : 0;
    collective->last_rank = collective->participants[last].rank;
    split_waits(result, collective, last_start_ns);
}

/* Lower median: the smallest value that half of the participants do not exceed. */
static int64_t median_active_ns(const struct rkt_collective *collective)
{
    int64_t low = 0;
    int64_t high = INT64_MAX;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        size_t below = 0;

        for (size_t i = 0; i < collective->participant_count; i++)
            below += collective->participants[i].active_ns <= middle;
        if (below >= (collective->participant_count + 1) / 2)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* busbw / algbw, as nccl-tests define it. */
static double bus_factor(uint8_t func, double ranks)
{
    switch ((enum rkt_nccl_func)func) {
    case RKT_NCCL_FUNC_ALLREDUCE:
        return 2 * (ranks - 1) / ranks;
    case RKT_NCCL_FUNC_ALLGATHER:
    case RKT_NCCL_FUNC_REDUCESCATTER:
    case RKT_NCCL_FUNC_ALLTOALL:
        return (ranks - 1) / ranks;
    case RKT_NCCL_FUNC_BROADCAST:
    case RKT_NCCL_FUNC_REDUCE:
    case RKT_NCCL_FUNC_SEND:
    case RKT_NCCL_FUNC_RECV:
    case RKT_NCCL_FUNC_SENDRECV:
        return 1;
    case RKT_NCCL_FUNC_UNKNOWN:
    case RKT_NCCL_FUNC_GATHER:
    case RKT_NCCL_FUNC_SCATTER:
    case RKT_NCCL_FUNC_BARRIER:
        break;
    }
    return (double)NAN;
}

static double busbw_of(const struct rkt_collective *collective)
{
    size_t ranks =
        collective->expected_count > 0 ? collective->expected_count : collective->participant_count;
    int64_t time_ns =
        collective->is_clocked ? median_active_ns(collective) : collective->transfer_ns;

    if (collective->participants[0].work == RKT_INDEX_NONE || collective->bytes == 0 ||
        time_ns <= 0)
        return (double)NAN;
    return (double)collective->bytes / ((double)time_ns / NS_PER_S) *
           bus_factor(collective->func, (double)ranks);
}

void rkt_measure_collectives(struct rkt_result *result)
{
    for (size_t i = 0; i < result->collective_count; i++) {
        struct rkt_collective *collective = &result->collectives[i];

        measure_durations(collective);
        if (is_timed(result, collective))
            measure_on_clock(result, collective);
        rkt_clock_gap_judge(result, collective);
        collective->busbw_bytes_per_s = busbw_of(collective);
    }
}
