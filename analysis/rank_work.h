/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_WORK_H
#define RKT_ANALYSIS_RANK_WORK_H

/*
 * rank_work - all that is found out about one rank without the others, in one pass over its
 * records.
 *
 *     whole trace -> steps, phases, windows, times by name, arrivals, lane -> what a thin trace holds
 *
 * What needs other ranks is made of the results: the collectives, with them the waits, and what
 * compares ranks. So a rank is read once, and ranks may be worked on anywhere, in any order.
 *
 * Place:   load -> [rank_work] -> match and all that follows.
 * Threads: any, each with ranks and an arena of its own. Memory: what is left of a rank is about
 *          500 bytes per collective, 700 per step and 6 per name in a step.
 */

#include "analysis/analysis.h"
#include "analysis/interval.h"
#include "analysis/name_times.h"
#include "analysis/rank_trace.h"
#include "common/arena.h"

/* A rank's part of the memory behind a result, and what reading it told. */
struct rkt_loaded_rank {
    struct rkt_rank_trace *trace;
    struct rkt_interval_set exposed;
    struct rkt_name_times *names;

    size_t source;        /* position in the reader of its main process */
    uint64_t event_count; /* of all its candidates, likewise the damage */
    struct rkt_read_damage damage;
};

void rkt_loaded_rank_release(struct rkt_loaded_rank *loaded);

/*
 * `loaded` has the rank's whole trace; it gets the rest, and `rank` what it points to. The steps
 * are the arena's. The trace stays whole: thin it, unless it is wanted again. RKT_AGAIN: it was
 * read in part, and that is not enough.
 */
enum rkt_status rkt_rank_work(const struct rkt_analysis_options *options,
                              struct rkt_loaded_rank *loaded, struct rkt_arena *arena,
                              struct rkt_rank_result *rank, struct rkt_error *err);

/* The first part of it: what export needs of a rank that is loaded again. */
enum rkt_status rkt_rank_prepare(const struct rkt_analysis_options *options,
                                 struct rkt_rank_trace *trace, struct rkt_arena *arena,
                                 struct rkt_rank_result *rank, struct rkt_error *err);

#endif
