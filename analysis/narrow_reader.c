/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/narrow_reader.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/narrow_clocks.h"
#include "common/clock.h"
#include "common/clock_curve.h"
#include "common/clock_redo.h"

/* ---- whether it may help ---- */

/* When a node's clocks were read, by its MONOTONIC_RAW. */
struct read_times {
    int64_t first_ns;
    int64_t last_ns;
};

static bool is_of_pairs(void *ctx, const struct rkt_batch_span *span)
{
    (void)ctx;
    return span->kind == RKT_EVENT_CLOCK_PAIR;
}

static enum rkt_status take_times(void *ctx, const struct rkt_event *events, size_t count,
                                  struct rkt_error *err)
{
    struct read_times *times = ctx;

    (void)err;
    for (size_t i = 0; i < count && events->kind == RKT_EVENT_CLOCK_PAIR; i++) {
        int64_t at_ns = (int64_t)events[i].start_ns;

        if (events[i].start_ns > RKT_TIME_MAX_NS)
            continue;
        times->first_ns = at_ns < times->first_ns ? at_ns : times->first_ns;
        times->last_ns = at_ns > times->last_ns ? at_ns : times->last_ns;
    }
    return RKT_OK;
}

static enum rkt_status is_wide(struct rkt_store_reader *reader,
                               const struct rkt_store_source *source, bool *is_wide_out,
                               struct rkt_error *err)
{
    struct read_times times = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
    const struct rkt_store_part pairs = {is_of_pairs, take_times, &times};
    enum rkt_status status;

    *is_wide_out = false;
    if (source->info.role != RKT_ROLE_SIDECAR || !source->has_align ||
        source->align.state != RKT_ALIGN_MEASURED)
        return RKT_OK;
    status = rkt_store_reader_walk_part(reader, source->info.source, NULL, &pairs, err);
    if (status == RKT_OK && times.first_ns <= times.last_ns)
        *is_wide_out = rkt_clock_narrow_may(&source->align, times.first_ns, times.last_ns);
    return status;
}

/* Then it would be no narrower: what it costs is saved. */
static bool is_done(const struct rkt_store_reader *reader)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        if (rkt_store_reader_source(reader, i)->align.flags & RKT_CLOCK_NARROWED)
            return true;
    }
    return false;
}

static enum rkt_status may_help(struct rkt_store_reader *reader, bool *may_out,
                                struct rkt_error *err)
{
    size_t count = is_done(reader) ? 0 : rkt_store_reader_source_count(reader);
    enum rkt_status status = RKT_OK;

    *may_out = false;
    for (size_t i = 0; i < count && status == RKT_OK && !*may_out; i++)
        status = is_wide(reader, rkt_store_reader_source(reader, i), may_out, err);
    return status;
}

/* ---- doing it ---- */

static enum rkt_status set_align(struct rkt_store_reader *reader, uint32_t source,
                                 const struct rkt_align_info *align, struct rkt_error *err)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        if (rkt_store_reader_source(reader, i)->info.source == source)
            return rkt_store_reader_set_align(reader, i, align, err);
    }
    return RKT_OK; /* a store that grows: its reader has not seen it */
}

static enum rkt_status take_narrowed(struct rkt_store_reader *reader,
                                     const struct rkt_result *result,
                                     const struct rkt_narrow_clocks *clocks,
                                     struct rkt_narrowing *narrowing, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    narrowing->is_contradicted = rkt_narrow_clocks_contradict(clocks);
    for (size_t r = 0; r < result->rank_count && status == RKT_OK; r++) {
        const struct rkt_clock_narrowed *narrowed = rkt_narrow_clocks_find(clocks, r);

        if (!narrowed)
            continue;
        narrowing->rank_count++;
        if (narrowed->before_ns > narrowing->before_ns)
            narrowing->before_ns = narrowed->before_ns;
        if (narrowed->after_ns > narrowing->after_ns)
            narrowing->after_ns = narrowed->after_ns;
        status =
            set_align(reader, result->ranks[r].trace->source.info.source, &narrowed->align, err);
    }
    return status;
}

static enum rkt_status narrow_matched(struct rkt_store_reader *reader,
                                      const struct rkt_result *result,
                                      struct rkt_narrowing *narrowing, struct rkt_error *err)
{
    struct rkt_align_info *aligns = calloc(result->rank_count + 1, sizeof(*aligns));
    struct rkt_narrow_clocks *clocks = NULL;
    enum rkt_status status;

    if (!aligns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu alignments", result->rank_count);
    for (size_t r = 0; r < result->rank_count; r++)
        aligns[r] = result->ranks[r].trace->source.align;
    status = rkt_narrow_clocks_create(result, aligns, &clocks, err);
    if (status == RKT_OK)
        status = take_narrowed(reader, result, clocks, narrowing, err);
    rkt_narrow_clocks_destroy(clocks);
    free(aligns);
    return status;
}

/* By a reader of its own: what damage a reading finds is told once by each. */
static enum rkt_status narrow(struct rkt_store_reader *reader, const char *comm_kernel,
                              struct rkt_narrowing *narrowing, struct rkt_error *err)
{
    const struct rkt_analysis_options matches = {.comm_kernel = comm_kernel, .only_matches = true};
    struct rkt_analysis *analysis = NULL;
    struct rkt_store_reader *again;
    enum rkt_status status = rkt_store_reader_open(rkt_store_reader_path(reader, 0), &again, err);

    if (status != RKT_OK)
        return status;
    status = rkt_analysis_create(again, &matches, &analysis, err);
    if (status == RKT_OK)
        status = narrow_matched(reader, rkt_analysis_result(analysis), narrowing, err);
    rkt_analysis_destroy(analysis);
    rkt_store_reader_close(again);
    return status;
}

enum rkt_status rkt_narrow_reader(struct rkt_store_reader *reader, const char *comm_kernel,
                                  struct rkt_narrowing *narrowing_out, struct rkt_error *err)
{
    struct rkt_narrowing narrowing = {0};
    bool may = false;
    enum rkt_status status = rkt_clock_redo_missing(reader, err);

    if (status == RKT_OK)
        status = may_help(reader, &may, err);
    if (status == RKT_OK && may)
        status = narrow(reader, comm_kernel, &narrowing, err);
    if (status == RKT_OK)
        *narrowing_out = narrowing;
    return status;
}
