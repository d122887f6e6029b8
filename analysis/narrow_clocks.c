/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/narrow_clocks.h"

#include <stdlib.h>

#include "analysis/collective_clocks.h"
#include "analysis/stages.h"
#include "common/align_at.h"

/* 250 bytes for each kernel of a collective. */
#define ARENA_BYTES_MAX ((size_t)16 << 30)

struct rkt_narrow_clocks {
    struct rkt_arena arena;
    uint32_t *clocks; /* of each rank */
    size_t rank_count;
    struct rkt_clock_narrowing narrowing;
};

/* The clock that is exact: of the reference's host. */
static const struct rkt_align_knot EXACT = {0};

static bool is_exact(const struct rkt_align_info *align)
{
    return align->state == RKT_ALIGN_REFERENCE || align->state == RKT_ALIGN_SAME_HOST;
}

/* Whichever sidecar is theirs. Nothing is known of a clock without an alignment: then it is that of
 * its node. */
static bool shares_clock(const struct rkt_result *result, const struct rkt_align_info *aligns,
                         size_t a, size_t b)
{
    return rkt_align_is_same(&aligns[a], &aligns[b]) ||
           (aligns[a].state == aligns[b].state && aligns[a].knot_count == 0 &&
            aligns[b].knot_count == 0 &&
            result->ranks[a].trace->source.info.node == result->ranks[b].trace->source.info.node);
}

static uint32_t clock_of(const struct rkt_narrow_clocks *clocks, const struct rkt_result *result,
                         const struct rkt_align_info *aligns, size_t rank, uint32_t clock_count)
{
    for (size_t r = rank; r-- > 0;) {
        if (shares_clock(result, aligns, rank, r))
            return clocks->clocks[r];
    }
    return clock_count;
}

/* The last clock is the reference itself, whether or not a rank reads it. */
static enum rkt_status find_clocks(struct rkt_narrow_clocks *clocks,
                                   const struct rkt_result *result,
                                   const struct rkt_align_info *aligns,
                                   struct rkt_clock_parts *parts, struct rkt_error *err)
{
    struct rkt_align_info *priors =
        RKT_ARENA_ARRAY(&clocks->arena, struct rkt_align_info, result->rank_count + 1);
    uint32_t count = 0;

    clocks->clocks = RKT_ARENA_ARRAY(&clocks->arena, uint32_t, result->rank_count + 1);
    if (!priors || !clocks->clocks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu ranks",
                        result->rank_count);
    clocks->rank_count = result->rank_count;
    for (size_t r = 0; r < result->rank_count; r++) {
        clocks->clocks[r] = clock_of(clocks, result, aligns, r, count);
        if (clocks->clocks[r] < count)
            continue;
        priors[count] = aligns[r];
        if (is_exact(&aligns[r])) {
            priors[count].knots = &EXACT;
            priors[count].knot_count = 1;
        } else if (aligns[r].state != RKT_ALIGN_MEASURED) {
            priors[count].knot_count = 0;
        }
        count++;
    }
    parts->priors = priors;
    parts->reference = count;
    parts->clock_count = count + 1;
    return RKT_OK;
}

/* False: its stamps cannot be taken to the clock that was measured. */
static bool make_part(const struct rkt_rank_trace *trace, const struct rkt_participant *self,
                      struct rkt_clock_part *part)
{
    int64_t start_error_ns, end_error_ns;

    if (!trace->clock ||
        !rkt_clock_map_to_raw(trace->clock, self->start_ns, &part->start_ns, &start_error_ns) ||
        !rkt_clock_map_to_raw(trace->clock, self->end_ns, &part->end_ns, &end_error_ns))
        return false;
    part->start_ns -= start_error_ns;
    part->end_ns += end_error_ns;
    return part->start_ns >= 0;
}

static void add_parts(const struct rkt_narrow_clocks *clocks, const struct rkt_result *result,
                      uint32_t index, struct rkt_clock_part *items, size_t *count)
{
    const struct rkt_collective *collective = &result->collectives[index];

    for (size_t i = 0; i < collective->participant_count; i++) {
        const struct rkt_participant *self = &collective->participants[i];
        struct rkt_clock_part part = {.clock = clocks->clocks[self->rank], .collective = index};

        if (!make_part(result->ranks[self->rank].trace, self, &part))
            continue;
        rkt_collective_direction(result, collective, self, &part.gives, &part.takes);
        items[(*count)++] = part;
    }
}

static enum rkt_status collect(struct rkt_narrow_clocks *clocks, const struct rkt_result *result,
                               struct rkt_clock_parts *parts, struct rkt_error *err)
{
    struct rkt_clock_part *items;
    size_t most = 1;

    for (size_t c = 0; c < result->collective_count; c++)
        most += result->collectives[c].participant_count;
    items = RKT_ARENA_ARRAY(&clocks->arena, struct rkt_clock_part, most);
    if (!items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu collectives",
                        result->collective_count);
    for (size_t c = 0; c < result->collective_count; c++) {
        if (rkt_collective_tells_clocks(result, &result->collectives[c]))
            add_parts(clocks, result, (uint32_t)c, items, &parts->count);
    }
    parts->items = items;
    parts->collective_count = result->collective_count;
    return RKT_OK;
}

enum rkt_status rkt_narrow_clocks_create(const struct rkt_result *result,
                                         const struct rkt_align_info *aligns,
                                         struct rkt_narrow_clocks **clocks_out,
                                         struct rkt_error *err)
{
    struct rkt_narrow_clocks *clocks = calloc(1, sizeof(*clocks));
    struct rkt_clock_parts parts = {.count = 0};
    enum rkt_status status;

    if (!clocks)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for clocks and collectives");
    rkt_arena_init(&clocks->arena, ARENA_BYTES_MAX);
    status = find_clocks(clocks, result, aligns, &parts, err);
    if (status == RKT_OK)
        status = collect(clocks, result, &parts, err);
    if (status == RKT_OK)
        status = rkt_clock_narrow(&parts, &clocks->arena, &clocks->narrowing, err);
    if (status != RKT_OK) {
        rkt_narrow_clocks_destroy(clocks);
        return status;
    }
    *clocks_out = clocks;
    return RKT_OK;
}

void rkt_narrow_clocks_destroy(struct rkt_narrow_clocks *clocks)
{
    if (!clocks)
        return;
    rkt_arena_release(&clocks->arena);
    free(clocks);
}

const struct rkt_clock_narrowed *rkt_narrow_clocks_find(const struct rkt_narrow_clocks *clocks,
                                                        size_t position)
{
    const struct rkt_clock_narrowed *narrowed;

    if (position >= clocks->rank_count)
        return NULL;
    narrowed = &clocks->narrowing.items[clocks->clocks[position]];
    return narrowed->before_ns > 0 ? narrowed : NULL;
}

bool rkt_narrow_clocks_contradict(const struct rkt_narrow_clocks *clocks)
{
    return clocks->narrowing.is_contradictory;
}
