/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/align_imports.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/collective_clocks.h"
#include "common/source_bound.h"
#include "common/store_realign.h"

static bool is_imported_rank(const struct rkt_store_source *source)
{
    return source->info.role == RKT_ROLE_RANK && source->info.producer != RKT_PRODUCER_CAPTURE;
}

static enum rkt_status note_tie(struct rkt_store_reader *reader,
                                const struct rkt_store_source *source,
                                const struct rkt_clock_tie *tie,
                                struct rkt_import_alignment *alignment, struct rkt_error *err)
{
    struct rkt_source_bound worst;
    int64_t off_ns, bound_ns;
    enum rkt_status status = rkt_source_bound_find(reader, &source->info, &tie->align, &worst, err);

    if (status != RKT_OK)
        return status;
    alignment->tied_count++;
    if (worst.bound_ns > alignment->bound_ns)
        alignment->bound_ns = worst.bound_ns;
    if (!rkt_collective_clocks_claim(source, tie, &off_ns, &bound_ns))
        return RKT_OK;
    alignment->off_count++;
    if (llabs(off_ns) <= llabs(alignment->off_ns))
        return RKT_OK;
    alignment->off_ns = off_ns;
    alignment->off_bound_ns = bound_ns;
    alignment->off_rank = source->info.rank;
    return RKT_OK;
}

static enum rkt_status align(struct rkt_store_reader *reader, const char *path,
                             const struct rkt_collective_clocks *clocks,
                             struct rkt_import_alignment *alignment, struct rkt_error *err)
{
    size_t count = rkt_store_reader_source_count(reader);
    struct rkt_align_info *aligns = calloc(count + 1, sizeof(*aligns));
    enum rkt_status status = RKT_OK;

    if (!aligns)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu alignments", count);
    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);
        const struct rkt_clock_tie *tie =
            is_imported_rank(source) ? rkt_collective_clocks_find(clocks, source->info.source)
                                     : NULL;

        aligns[i] = tie ? tie->align : source->align;
        aligns[i].source = source->info.source;
        if (tie)
            status = note_tie(reader, source, tie, alignment, err);
    }
    if (alignment->tied_count < 2) /* the reference alone */
        alignment->tied_count = 0;
    else if (status == RKT_OK)
        status = rkt_store_realign(reader, path, aligns, err);
    free(aligns);
    return status;
}

static enum rkt_status align_matched(struct rkt_store_reader *reader, const char *path,
                                     struct rkt_import_alignment *alignment, struct rkt_error *err)
{
    static const struct rkt_analysis_options MATCHES = {.only_matches = true};
    struct rkt_collective_clocks *clocks = NULL;
    struct rkt_analysis *analysis;
    enum rkt_status status = rkt_analysis_create(reader, &MATCHES, &analysis, err);

    if (status != RKT_OK)
        return status;
    status = rkt_collective_clocks_create(rkt_analysis_result(analysis), 0, &clocks, err);
    if (status == RKT_OK) {
        alignment->is_contradictory = rkt_collective_clocks_contradict(clocks);
        if (!alignment->is_contradictory)
            status = align(reader, path, clocks, alignment, err);
    }
    rkt_collective_clocks_destroy(clocks);
    rkt_analysis_destroy(analysis);
    return status;
}

enum rkt_status rkt_align_imports(const char *path, struct rkt_import_alignment *alignment_out,
                                  struct rkt_error *err)
{
    struct rkt_import_alignment alignment = {0};
    struct rkt_store_reader *reader;
    enum rkt_status status = rkt_store_reader_open(path, &reader, err);

    if (status != RKT_OK)
        return status;
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++)
        alignment.rank_count += is_imported_rank(rkt_store_reader_source(reader, i));
    if (alignment.rank_count > 1)
        status = align_matched(reader, path, &alignment, err);
    rkt_store_reader_close(reader);
    if (status == RKT_OK)
        *alignment_out = alignment;
    return status;
}
