/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ANALYSIS_H
#define RKT_ANALYSIS_ANALYSIS_H

/*
 * analysis - a store in, every number out (analysis/doc/metrics.md).
 *
 * Order of work: per rank (rank_work.h)  rank_trace -> step -> phase -> partition, idle, overlap
 *                of all ranks            match -> waits -> straggler -> summary
 * Partial data (a cut file, missing ranks, lost records) gives partial results and notes.
 *
 * Threads: one at a time. Memory: the analysis owns the result: what rank_work.h says for each
 *          rank, and the whole trace of the one that is worked on, about 250 B per event.
 */

#include "analysis/result.h"
#include "analysis/selection.h"
#include "analysis/team.h"
#include "common/status.h"
#include "common/store_reader.h"

struct rkt_analysis_options {
    const char *step_range;  /* name that begins a step's range; NULL: ProfilerStep# */
    const char *comm_kernel; /* regex of more comm kernels; NULL */
    double step_flops;       /* of a step, all ranks together; 0 unknown */
    double peak_flops;       /* that a GPU can do per second; 0 unknown */
    struct rkt_team *team;   /* that shares the work (team.h); NULL: this process alone */
    bool only_matches;       /* collectives as they are matched, for their clocks: no more */
    uint64_t keep_bytes;     /* of whole traces that stay (trace_keeper.h); 0: none */
    /* narrow_reader's, of the reader; NULL: create does that */
    const struct rkt_narrowing *narrowing;
    struct rkt_selection_texts part; /* of the run that is looked at; all NULL: all of it */
    struct rkt_selection *selection; /* what `part` says, set by create; NULL: everything */
};

struct rkt_analysis;

/*
 * `reader` stays open for as long as the analysis lives. RKT_ERR_INVALID: of what was asked for
 * there is nothing. RKT_END: this process is a member of the team, and its share is done; there is
 * no analysis, and the end is for the caller to give.
 */
enum rkt_status rkt_analysis_create(struct rkt_store_reader *reader,
                                    const struct rkt_analysis_options *asked,
                                    struct rkt_analysis **analysis_out, struct rkt_error *err);
void rkt_analysis_destroy(struct rkt_analysis *analysis); /* NULL is fine */
const struct rkt_result *rkt_analysis_result(const struct rkt_analysis *analysis);

#endif
