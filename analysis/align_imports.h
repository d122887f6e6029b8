/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ALIGN_IMPORTS_H
#define RKT_ANALYSIS_ALIGN_IMPORTS_H

/*
 * align_imports - a timeline of imported traces, its ranks aligned by their collectives.
 *
 * Place:   import -> [align_imports] -> the same timeline, with other alignments.
 * Threads: one at a time. Memory: that of an analysis up to the matched collectives, for the call.
 * On error: the timeline is as it was.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_import_alignment {
    size_t rank_count;
    size_t tied_count; /* by collectives, with the reference; 0: none, and nothing was changed */
    int64_t bound_ns;  /* the widest of these, over all that they recorded (source_bound.h) */
    size_t off_count;  /* of these: their stamps are off by more than the bound */
    uint32_t off_rank; /* the one that is furthest off; by how much, and the bound of that */
    int64_t off_ns;
    int64_t off_bound_ns;
    bool is_contradictory; /* no clocks can have made these stamps: nothing was changed */
};

/* `path`: a timeline; where it holds fewer than two imported ranks there is nothing to align. */
enum rkt_status rkt_align_imports(const char *path, struct rkt_import_alignment *alignment_out,
                                  struct rkt_error *err);

#endif
