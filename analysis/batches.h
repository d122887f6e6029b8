/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_BATCHES_H
#define RKT_ANALYSIS_BATCHES_H

/*
 * batches - the steady steps that all ranks have, in rows of neighbours: what each kernel and
 * operator took in each (metrics.md, "Comparing runs").
 *
 *     steps      3  4  5  6 | 7  8  9  10 | 11 ...         up to 32 batches, as many steps in each but for one
 *     a kernel    812 us    |   808 us    |                summed over ranks and steps: exact
 *
 * So a report holds what an interval needs, in a few numbers a name, however many steps there are.
 * Steps that follow each other are alike; batches of them much less so.
 *
 * Place:   joined tables, names' times by step -> [batches] -> JSON report -> compare.
 * Threads: one. Memory: the arena's, 256 bytes for each kernel and 512 for each operator.
 */

#include "analysis/result.h"
#include "common/arena.h"
#include "common/status.h"

#define RKT_BATCHES_MAX 32

struct rkt_batch {
    uint64_t first_step; /* numbers */
    uint64_t last_step;
    size_t step_count;
};

struct rkt_batches {
    struct rkt_batch items[RKT_BATCHES_MAX];
    size_t count;
    size_t rank_count; /* over which they are summed: those that are compared */
    int64_t **kernels; /* by row of their table, then batch: ns; NULL: does not compute */
    /* Self times of operators likewise; all NULL where a steady step is not among the first 16 of a
     * rank, of which tables keep each apart (segment.h). */
    int64_t **device;
    int64_t **host;
};

/*
 * result->batches; result->tables are there, and stay as they are. NULL where no step is steady, or
 * a rank's times by name are not known. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_find_batches(struct rkt_result *result, struct rkt_arena *arena,
                                 struct rkt_error *err);

#endif
