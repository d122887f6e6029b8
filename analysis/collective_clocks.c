/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/collective_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stages.h"
#include "common/align_at.h"
#include "common/clock_curve.h"

/* 128 bytes for each kernel of a collective. */
#define ARENA_BYTES_MAX ((size_t)16 << 30)
#define US INT64_C(1000)
/* 73 years from 1970: sums with what a tie tells fit in 64 bits. */
#define BASE_NS_MAX (INT64_C(1) << 61)

struct rkt_collective_clocks {
    struct rkt_arena arena;
    struct rkt_clock_ties ties; /* by position in ranks */
};

/* What a file adds to its stamps; one that is no time is none. */
static int64_t sane_base(int64_t base_ns)
{
    return base_ns > BASE_NS_MAX || base_ns < -BASE_NS_MAX ? 0 : base_ns;
}

/* Else an unknown pair may have had nothing to tell each other. */
static bool is_direction_known(const struct rkt_result *result,
                               const struct rkt_collective *collective)
{
    switch ((enum rkt_nccl_func)collective->func) {
    case RKT_NCCL_FUNC_ALLREDUCE:
    case RKT_NCCL_FUNC_ALLGATHER:
    case RKT_NCCL_FUNC_REDUCESCATTER:
    case RKT_NCCL_FUNC_ALLTOALL:
    case RKT_NCCL_FUNC_BARRIER:
        return true;
    case RKT_NCCL_FUNC_BROADCAST:
    case RKT_NCCL_FUNC_SCATTER:
    case RKT_NCCL_FUNC_REDUCE:
    case RKT_NCCL_FUNC_GATHER:
        return rkt_collective_root(result, collective) != NULL;
    case RKT_NCCL_FUNC_UNKNOWN:
    case RKT_NCCL_FUNC_SEND:
    case RKT_NCCL_FUNC_RECV:
    case RKT_NCCL_FUNC_SENDRECV:
        break;
    }
    return false;
}

/* By order alone, where kernels were left over, one may stand for its neighbour. */
static bool is_matched(const struct rkt_result *result, const struct rkt_collective *collective)
{
    return collective->participant_count > 1 &&
           (collective->confidence != RKT_MATCH_WEAK || result->unmatched_count == 0);
}

bool rkt_collective_tells_clocks(const struct rkt_result *result,
                                 const struct rkt_collective *collective)
{
    return is_matched(result, collective) && is_direction_known(result, collective);
}

/* By rank: by how much later than it says may a kernel have ended, its start told and not cut. */
static void find_cuts(const struct rkt_result *result, int64_t *cut_ns)
{
    for (size_t r = 0; r < result->rank_count; r++)
        cut_ns[r] = 2 * US;
    for (size_t c = 0; c < result->collective_count; c++) {
        const struct rkt_collective *collective = &result->collectives[c];

        for (size_t i = 0; i < collective->participant_count; i++) {
            const struct rkt_participant *self = &collective->participants[i];

            if (self->start_ns % US != 0 || self->end_ns % US != 0)
                cut_ns[self->rank] = 2;
        }
    }
}

static size_t count_parts(const struct rkt_result *result)
{
    size_t count = 0;

    for (size_t c = 0; c < result->collective_count; c++)
        count += result->collectives[c].participant_count;
    return count;
}

static void add_parts(const struct rkt_result *result, size_t index, const int64_t *cut_ns,
                      struct rkt_clock_part *items, size_t *count)
{
    const struct rkt_collective *collective = &result->collectives[index];

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *self = &collective->participants[i];
        struct rkt_clock_part *part = &items[(*count)++];

        *part = (struct rkt_clock_part){.clock = self->rank,
                                        .collective = (uint32_t)index,
                                        .start_ns = self->start_ns,
                                        .end_ns = self->end_ns + cut_ns[self->rank]};
        rkt_collective_direction(result, collective, self, &part->gives, &part->takes);
    }
}

static enum rkt_status collect(const struct rkt_result *result, struct rkt_arena *arena,
                               struct rkt_clock_parts *parts, struct rkt_error *err)
{
    struct rkt_clock_part *items =
        RKT_ARENA_ARRAY(arena, struct rkt_clock_part, count_parts(result) + 1);
    int64_t *cut_ns = RKT_ARENA_ARRAY(arena, int64_t, result->rank_count + 1);

    if (!items || !cut_ns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu collectives",
                        result->collective_count);
    find_cuts(result, cut_ns);
    *parts = (struct rkt_clock_parts){.items = items,
                                      .collective_count = result->collective_count,
                                      .clock_count = result->rank_count,
                                      .reference = (uint32_t)result->rank_count};
    for (size_t c = 0; c < result->collective_count; c++) {
        if (rkt_collective_tells_clocks(result, &result->collectives[c]))
            add_parts(result, c, cut_ns, items, &parts->count);
    }
    for (size_t i = 0; i < parts->count; i++) {
        if (items[i].clock < parts->reference)
            parts->reference = items[i].clock;
    }
    return RKT_OK;
}

static bool shares_clock(const struct rkt_store_source *a, const struct rkt_store_source *b)
{
    return (a->info.host[0] != '\0' && strcmp(a->info.host, b->info.host) == 0) ||
           (a->info.file[0] != '\0' && strcmp(a->info.file, b->info.file) == 0);
}

static bool allows(const struct rkt_align_info *align, int64_t claim_ns)
{
    for (size_t i = 0; i < align->knot_count; i++) {
        if (llabs(align->knots[i].offset_ns - claim_ns) > align->knots[i].bound_ns)
            return false;
    }
    return true;
}

/* collective_clocks.h: those that may well be on the reference's clock stay where their stamps put
 * them. */
static void keep_claims(const struct rkt_result *result, uint32_t reference,
                        struct rkt_collective_clocks *clocks, struct rkt_align_knot *const *knots)
{
    const struct rkt_store_source *other = &result->ranks[reference].trace->source;

    for (size_t r = 0; r < clocks->ties.count; r++) {
        const struct rkt_store_source *source = &result->ranks[r].trace->source;
        const struct rkt_align_info *align = &clocks->ties.items[r].align;
        int64_t claim_ns = sane_base(source->info.base_ns);

        if (r == reference || !shares_clock(source, other) || !allows(align, claim_ns))
            continue;
        for (size_t i = 0; i < align->knot_count; i++) {
            knots[r][i].bound_ns += llabs(knots[r][i].offset_ns - claim_ns);
            knots[r][i].likely_ns = knots[r][i].bound_ns;
            knots[r][i].offset_ns = claim_ns;
        }
    }
}

/* From the reference's stamps to job time, which its file tells. */
static enum rkt_status move_to_job_time(const struct rkt_result *result, uint32_t reference,
                                        struct rkt_collective_clocks *clocks, struct rkt_error *err)
{
    const struct rkt_store_source *source = &result->ranks[reference].trace->source;
    struct rkt_align_knot *own = RKT_ARENA_ARRAY(&clocks->arena, struct rkt_align_knot, 1);
    struct rkt_align_knot **all =
        RKT_ARENA_ARRAY(&clocks->arena, struct rkt_align_knot *, clocks->ties.count);
    int64_t base_ns = sane_base(rkt_align_at(&source->align, 0).offset_ns);

    if (!own || !all)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an alignment");
    own->offset_ns = base_ns;
    clocks->ties.items[reference].align.knots = own;
    clocks->ties.items[reference].align.knot_count = 1;
    for (size_t r = 0; r < clocks->ties.count; r++) {
        struct rkt_align_info *align = &clocks->ties.items[r].align;
        struct rkt_align_knot *moved;

        align->source = result->ranks[r].trace->source.info.source;
        if (r == reference || align->knot_count == 0)
            continue;
        moved = RKT_ARENA_ARRAY(&clocks->arena, struct rkt_align_knot, align->knot_count);
        if (!moved)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align->knot_count);
        for (size_t i = 0; i < align->knot_count; i++) {
            moved[i] = align->knots[i];
            moved[i].offset_ns += base_ns;
        }
        align->knots = moved;
        all[r] = moved;
    }
    keep_claims(result, reference, clocks, all);
    return RKT_OK;
}

enum rkt_status rkt_collective_clocks_create(const struct rkt_result *result, uint32_t rho_ppb,
                                             struct rkt_collective_clocks **clocks_out,
                                             struct rkt_error *err)
{
    struct rkt_collective_clocks *clocks = calloc(1, sizeof(*clocks));
    struct rkt_clock_parts parts = {.count = 0};
    enum rkt_status status;

    if (!clocks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for clocks from collectives");
    rkt_arena_init(&clocks->arena, ARENA_BYTES_MAX);
    status = collect(result, &clocks->arena, &parts, err);
    if (status == RKT_OK && parts.count > 0) {
        status = rkt_clock_collectives_solve(&parts, rho_ppb, &clocks->arena, &clocks->ties, err);
        if (status == RKT_OK)
            status = move_to_job_time(result, parts.reference, clocks, err);
    }
    if (status != RKT_OK) {
        rkt_collective_clocks_destroy(clocks);
        return status;
    }
    *clocks_out = clocks;
    return RKT_OK;
}

void rkt_collective_clocks_destroy(struct rkt_collective_clocks *clocks)
{
    if (!clocks)
        return;
    rkt_arena_release(&clocks->arena);
    free(clocks);
}

const struct rkt_clock_tie *rkt_collective_clocks_find(const struct rkt_collective_clocks *clocks,
                                                       uint32_t source)
{
    for (size_t r = 0; r < clocks->ties.count && !rkt_collective_clocks_contradict(clocks); r++) {
        const struct rkt_clock_tie *tie = &clocks->ties.items[r];

        if (tie->is_tied && tie->align.source == source)
            return tie;
    }
    return NULL;
}

bool rkt_collective_clocks_contradict(const struct rkt_collective_clocks *clocks)
{
    return (clocks->ties.flags & RKT_CLOCK_CONTRADICTORY) != 0;
}

bool rkt_collective_clocks_claim(const struct rkt_store_source *source,
                                 const struct rkt_clock_tie *tie, int64_t *off_ns_out,
                                 int64_t *bound_ns_out)
{
    int64_t at_ns = (int64_t)tie->align.knots[tie->align.knot_count / 2].local_ns;
    struct rkt_align_point point = rkt_align_at(&tie->align, at_ns);

    *off_ns_out = sane_base(source->info.base_ns) - point.offset_ns;
    *bound_ns_out = point.bound_ns;
    return *off_ns_out > point.bound_ns || *off_ns_out < -point.bound_ns;
}
