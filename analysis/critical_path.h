/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_CRITICAL_PATH_H
#define RKT_ANALYSIS_CRITICAL_PATH_H

/*
 * critical_path - what the ends of steps hung on: own work of some rank, or a transfer
 * (metrics.md, "Critical path").
 *
 *     rank 0   |======|P|==========|          J|===|E        own work of rank 1, the transfer,
 *     rank 1   |=============|P|===|          J|===|E        then own work of rank 0 or 1
 *                            |----transfer----|
 *
 * The paths of steps that follow each other tile the time from the first step's start to the last
 * one's end.
 *
 * Place:   replay_graph, replay -> [critical_path] -> whatif.
 * Threads: one at a time. Memory: its own, until the owner releases it.
 */

#include "analysis/replay_graph.h"

/* A stretch of the path of one step; times from its begin. */
struct rkt_path_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t rank;        /* position; of a transfer the rank that waits for it */
    uint32_t collective;  /* of a transfer; RKT_INDEX_NONE: own work */
    enum rkt_cause cause; /* of own work: what most of it is */
};

struct rkt_critical_path { /* all zero: nothing yet */
    int64_t total_ns;      /* of the steps, which the following add up to */
    int64_t transfer_ns;
    int64_t own_ns[RKT_CAUSE_OTHER + 1]; /* by cause */
    int64_t *rank_ns;                    /* own work on it, by position */
    uint64_t step_number;                /* whose pieces these are */
    struct rkt_path_piece *pieces;       /* in order of time; neighbours of one kind are one */
    size_t piece_count;
    size_t piece_cap;
};

/*
 * Adds the path of a step to the sums, as the last run of the replay has it; `path` says which.
 * keeps_pieces: it is the one to show. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_critical_path_add(struct rkt_critical_path *sums,
                                      const struct rkt_replay_graph_of_steps *graph,
                                      const struct rkt_replay *replay,
                                      const struct rkt_replay_path *path, bool keeps_pieces);

#endif
