/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/trace_keeper.h"

#include <stdlib.h>

#include "analysis/arrival.h"
#include "analysis/stages.h"
#include "common/array.h"

/* Steps of a rank that is opened again. */
#define SCRATCH_BYTES_MAX ((size_t)4 << 30)

struct rkt_trace_keeper {
    struct rkt_store_reader *reader;
    struct rkt_analysis_options options;
    uint64_t limit_bytes;
    uint64_t kept_bytes; /* of whole traces */
    size_t *sources;     /* by position in the result */
    size_t count;
    size_t cap;
    struct rkt_rank_trace *open; /* the one that was loaded again */
    size_t open_position;
};

enum rkt_status rkt_trace_keeper_create(struct rkt_store_reader *reader,
                                        const struct rkt_analysis_options *options,
                                        struct rkt_trace_keeper **keeper_out, struct rkt_error *err)
{
    struct rkt_trace_keeper *keeper = calloc(1, sizeof(*keeper));

    if (!keeper)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an analysis");
    keeper->reader = reader;
    if (options)
        keeper->options = *options;
    keeper->limit_bytes =
        keeper->options.memory_bytes ? keeper->options.memory_bytes : RKT_MEMORY_BYTES_USUAL;
    *keeper_out = keeper;
    return RKT_OK;
}

void rkt_trace_keeper_destroy(struct rkt_trace_keeper *keeper)
{
    if (!keeper)
        return;
    rkt_rank_trace_destroy(keeper->open);
    free(keeper->sources);
    free(keeper);
}

static enum rkt_status prepare(const struct rkt_trace_keeper *keeper, struct rkt_rank_trace *trace,
                               struct rkt_arena *arena, struct rkt_rank_result *rank,
                               struct rkt_error *err)
{
    enum rkt_status status = rkt_find_steps(trace, &keeper->options, arena, rank, err);

    return status == RKT_OK ? rkt_find_phases(trace, rank, err) : status;
}

/* Whether a trace may stay whole, now that it is here. */
static bool fits(struct rkt_trace_keeper *keeper, const struct rkt_rank_trace *trace)
{
    uint64_t bytes = rkt_rank_trace_bytes(trace);

    if (bytes > keeper->limit_bytes || keeper->kept_bytes > keeper->limit_bytes - bytes)
        return false;
    keeper->kept_bytes += bytes;
    return true;
}

enum rkt_status rkt_trace_keeper_add(struct rkt_trace_keeper *keeper, size_t source,
                                     struct rkt_rank_trace *trace, struct rkt_arena *arena,
                                     struct rkt_rank_result *rank, struct rkt_error *err)
{
    enum rkt_status status = prepare(keeper, trace, arena, rank, err);

    if (status != RKT_OK)
        return status;
    if (!rkt_array_reserve((void **)&keeper->sources, &keeper->cap, keeper->count + 1,
                           sizeof(*keeper->sources)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", keeper->count);
    keeper->sources[keeper->count++] = source;
    rank->bound_ns = rkt_clock_map_worst_bound(trace->clock, rank->run.start_ns, rank->run.end_ns);
    if (fits(keeper, trace))
        return RKT_OK;
    status = rkt_find_arrivals(trace, err); /* which asks for all work of the rank */
    return status == RKT_OK ? rkt_rank_trace_thin(trace, err) : status;
}

/* What matching found is in the thin trace, in the same order. */
static void take_collectives(struct rkt_rank_trace *whole, const struct rkt_rank_trace *thin)
{
    for (size_t i = 0; i < whole->work_count; i++)
        whole->works[i].collective = RKT_INDEX_NONE;
    for (size_t i = 0; i < thin->work_count; i++)
        whole->works[thin->whole_index[i]].collective = thin->works[i].collective;
}

static enum rkt_status load_again(struct rkt_trace_keeper *keeper, size_t position,
                                  const struct rkt_rank_trace *thin, struct rkt_error *err)
{
    const struct rkt_work_rules rules = {keeper->options.comm_kernel};
    struct rkt_rank_result scratch = {0};
    struct rkt_arena arena;
    enum rkt_status status;

    rkt_rank_trace_destroy(keeper->open);
    keeper->open = NULL;
    status =
        rkt_rank_trace_load(keeper->reader, keeper->sources[position], &rules, &keeper->open, err);
    if (status != RKT_OK)
        return status;
    rkt_arena_init(&arena, SCRATCH_BYTES_MAX);
    status = prepare(keeper, keeper->open, &arena, &scratch, err);
    rkt_arena_release(&arena);
    if (status == RKT_OK)
        take_collectives(keeper->open, thin);
    keeper->open_position = position;
    return status;
}

enum rkt_status rkt_trace_open(const struct rkt_result *result, size_t position,
                               const struct rkt_rank_trace **trace_out, struct rkt_error *err)
{
    const struct rkt_rank_trace *kept = result->ranks[position].trace;
    struct rkt_trace_keeper *keeper = result->keeper;
    enum rkt_status status = RKT_OK;

    *trace_out = kept;
    if (!keeper || !kept->whole_index)
        return RKT_OK;
    if (!keeper->open || keeper->open_position != position)
        status = load_again(keeper, position, kept, err);
    *trace_out = keeper->open;
    return status;
}
