/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ANALYSIS_H
#define RKT_ANALYSIS_ANALYSIS_H

/*
 * analysis - a store in, every number out (analysis/doc/metrics.md).
 *
 * Order of work: rank_trace per rank -> step -> phase -> match (all ranks) ->
 *                partition and idle per window -> overlap -> straggler -> summary.
 * Partial data (a cut file, missing ranks, lost records) gives partial results and notes.
 *
 * Threads: one at a time. Memory: the analysis owns the result and all traces; how much that is,
 *          trace_keeper.h says.
 */

#include "analysis/result.h"
#include "common/status.h"
#include "common/store_reader.h"

struct rkt_analysis_options {
    const char *step_range;  /* name that begins a step's range; NULL: ProfilerStep# */
    const char *comm_kernel; /* regex of more comm kernels; NULL */
    uint64_t memory_bytes;   /* for whole traces of ranks (trace_keeper.h); 0: 512 MiB */
};

struct rkt_analysis;

/* `reader` stays open for as long as the analysis lives. */
enum rkt_status rkt_analysis_create(struct rkt_store_reader *reader,
                                    const struct rkt_analysis_options *options,
                                    struct rkt_analysis **analysis_out, struct rkt_error *err);
void rkt_analysis_destroy(struct rkt_analysis *analysis); /* NULL is fine */
const struct rkt_result *rkt_analysis_result(const struct rkt_analysis *analysis);

#endif
