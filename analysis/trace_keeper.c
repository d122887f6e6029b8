/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/trace_keeper.h"

#include <stdlib.h>

#include "analysis/rank_work.h"
#include "common/array.h"

/* Steps of a rank that is opened again. */
#define SCRATCH_BYTES_MAX ((size_t)4 << 30)

struct rkt_trace_keeper {
    struct rkt_store_reader *reader;
    struct rkt_analysis_options options;
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

/* Whether a trace may stay whole, now that it is here. */
static bool fits(struct rkt_trace_keeper *keeper, const struct rkt_rank_trace *trace)
{
    uint64_t limit_bytes = keeper->options.keep_bytes;
    uint64_t bytes = rkt_rank_trace_bytes(trace);

    if (bytes > limit_bytes || keeper->kept_bytes > limit_bytes - bytes)
        return false;
    keeper->kept_bytes += bytes;
    return true;
}

enum rkt_status rkt_trace_keeper_add(struct rkt_trace_keeper *keeper, size_t source,
                                     struct rkt_rank_trace *trace, struct rkt_error *err)
{
    if (!rkt_array_reserve((void **)&keeper->sources, &keeper->cap, keeper->count + 1,
                           sizeof(*keeper->sources)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu ranks", keeper->count);
    keeper->sources[keeper->count++] = source;
    return fits(keeper, trace) ? RKT_OK : rkt_rank_trace_thin(trace, err);
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
    const struct rkt_work_rules rules = {.comm_kernel_regex = keeper->options.comm_kernel};
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
    status = rkt_rank_prepare(&keeper->options, keeper->open, &arena, &scratch, err);
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
