/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/analysis.h"

#include <stdlib.h>

#include "analysis/batches.h"
#include "analysis/clock_gap.h"
#include "analysis/collective_link.h"
#include "analysis/exposed.h"
#include "analysis/finding.h"
#include "analysis/load.h"
#include "analysis/measure.h"
#include "analysis/narrow_reader.h"
#include "analysis/rank_tables.h"
#include "analysis/set_apart.h"
#include "analysis/stages.h"
#include "analysis/trace_keeper.h"

/* Steps, collectives and their participants: some 200 bytes for each kernel of a collective. */
#define ARENA_BYTES_MAX ((size_t)16 << 30)

struct rkt_analysis {
    struct rkt_selection selection;
    struct rkt_arena arena;
    struct rkt_loaded_ranks loaded;
    struct rkt_result result;
};

/* Only now is it known which steps all ranks have. */
static void leave_out_unrecorded(struct rkt_result *result)
{
    for (size_t r = 0; r < result->rank_count; r++) {
        for (size_t i = 0; i < result->ranks[r].step_count; i++) {
            if (result->ranks[r].steps[i].is_unrecorded)
                rkt_leave_unmeasured(&result->ranks[r].steps[i]);
        }
    }
}

/* Up to which events of which ranks are one collective. */
static enum rkt_status match(struct rkt_analysis *analysis, struct rkt_store_reader *reader,
                             const struct rkt_analysis_options *options, struct rkt_error *err)
{
    struct rkt_result *result = &analysis->result;
    enum rkt_status status = rkt_trace_keeper_create(reader, options, &result->keeper, err);

    if (status == RKT_OK)
        status = rkt_load_ranks(reader, options, &analysis->loaded, result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_match_collectives(result, &analysis->arena, err);
    return status;
}

/* What ranks cost each other, and what is lost where. */
static enum rkt_status measure(struct rkt_analysis *analysis,
                               const struct rkt_analysis_options *options, struct rkt_error *err)
{
    struct rkt_result *result = &analysis->result;
    enum rkt_status status = rkt_clock_gap_find_clocks(result, &analysis->arena, err);

    if (status != RKT_OK)
        return status;
    rkt_measure_collectives(result);
    rkt_set_apart(result);
    status = rkt_find_links(result, err);
    if (status == RKT_OK)
        status = rkt_compare_windows(result, &analysis->arena, err);
    leave_out_unrecorded(result);
    if (status == RKT_OK)
        status = rkt_split_exposed(result, err);
    if (status == RKT_OK)
        status = rkt_find_straggler(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_buckets(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_efficiency(result, options, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_gpu_use(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_allocator_use(result, &analysis->arena, err);
    return status;
}

/* The words for it. */
static enum rkt_status tell(struct rkt_analysis *analysis, struct rkt_error *err)
{
    struct rkt_result *result = &analysis->result;
    enum rkt_status status = rkt_name_waiting_lines(result, &analysis->arena, err);

    if (status == RKT_OK)
        status = rkt_find_last_arriver(result, err);
    if (status == RKT_OK)
        status = rkt_summarise(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_join_tables(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_batches(result, &analysis->arena, err);
    if (status == RKT_OK)
        status = rkt_find_findings(result, &analysis->arena, err);
    return status;
}

/* Alignments are the same for all that follows. */
static enum rkt_status narrow(struct rkt_result *result, struct rkt_store_reader *reader,
                              const struct rkt_analysis_options *options, struct rkt_error *err)
{
    if (options->only_matches) /* as it is done for narrowing */
        return RKT_OK;
    if (!options->narrowing)
        return rkt_narrow_reader(reader, options->comm_kernel, &result->narrowing, err);
    result->narrowing = *options->narrowing;
    return RKT_OK;
}

static enum rkt_status run_stages(struct rkt_analysis *analysis, struct rkt_store_reader *reader,
                                  const struct rkt_analysis_options *options, struct rkt_error *err)
{
    enum rkt_status status = narrow(&analysis->result, reader, options, err);

    if (status == RKT_OK)
        status = match(analysis, reader, options, err);
    if (status != RKT_OK || options->only_matches)
        return status;
    status = measure(analysis, options, err);
    return status == RKT_OK ? tell(analysis, err) : status;
}

enum rkt_status rkt_analysis_create(struct rkt_store_reader *reader,
                                    const struct rkt_analysis_options *asked,
                                    struct rkt_analysis **analysis_out, struct rkt_error *err)
{
    struct rkt_analysis *analysis = calloc(1, sizeof(*analysis));
    struct rkt_analysis_options options = *asked;
    enum rkt_status status;

    if (!analysis)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an analysis");
    rkt_arena_init(&analysis->arena, ARENA_BYTES_MAX);
    status = rkt_selection_parse(&options.part, &analysis->selection, err);
    if (status == RKT_OK && rkt_selection_is_part(&analysis->selection))
        options.selection = &analysis->selection;
    if (status == RKT_OK)
        status = run_stages(analysis, reader, &options, err);
    if (status != RKT_OK) {
        rkt_analysis_destroy(analysis);
        return status;
    }
    *analysis_out = analysis;
    return RKT_OK;
}

void rkt_analysis_destroy(struct rkt_analysis *analysis)
{
    if (!analysis)
        return;
    rkt_loaded_ranks_release(&analysis->loaded);
    rkt_trace_keeper_destroy(analysis->result.keeper);
    rkt_arena_release(&analysis->arena);
    free(analysis);
}

const struct rkt_result *rkt_analysis_result(const struct rkt_analysis *analysis)
{
    return &analysis->result;
}
