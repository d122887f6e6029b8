/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_LANE_PARTS_H
#define RKT_ANALYSIS_LANE_PARTS_H

/*
 * lane_parts - what the files of lane share; for nobody else.
 *
 *   lane_gpu.c     pieces, joins, marks and launches of a rank with GPU work
 *   lane_host.c    the same of one without: by its own marks and buckets
 *   lane.c         makes items of these
 *   lane_launch.c  how far the host was at each, and what hangs on it
 */

#include "analysis/lane.h"

/* A stretch of the lane's time and what it went to; pieces tile it, in order. */
struct rkt_lane_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint8_t cause; /* enum rkt_cause */
};

/* A stretch in which the lane could not go on for a collective; in order, disjoint. */
struct rkt_lane_wait {
    int64_t start_ns;
    int64_t end_ns;
};

/* A place in the lane. */
struct rkt_lane_mark {
    int64_t at_ns;
    uint32_t step;
    uint32_t work;
    uint8_t kind;      /* enum rkt_replay_kind */
    int64_t called_ns; /* of a post its launch, which decides between posts at one time */
};

/* A kernel or copy of the lane whose launch is known. */
struct rkt_lane_launch {
    int64_t called_ns;
    int64_t length_ns;    /* of the call */
    int64_t gap_start_ns; /* the lane had nothing to do from then to start_ns */
    int64_t start_ns;
};

struct rkt_lane_draft {
    int64_t start_ns; /* where the first step begins */
    struct rkt_lane_piece *pieces;
    size_t piece_count;
    size_t piece_cap;
    struct rkt_lane_wait *waits;
    size_t wait_count;
    size_t wait_cap;
    struct rkt_lane_mark *marks; /* in any order */
    size_t mark_count;
    size_t mark_cap;
    struct rkt_lane_launch *launches; /* by start of the work */
    size_t launch_count;
    size_t launch_cap;
    bool has_unlaunched; /* of some work of the lane no launch is known */
};

/* All but the ends of steps, which are later than all else of their step; ends_ns has the earliest
 * that each may have. RKT_ERR_NOMEM only. */
enum rkt_status rkt_lane_draft_gpu(const struct rkt_rank_trace *trace,
                                   const struct rkt_rank_result *rank, struct rkt_lane_draft *draft,
                                   int64_t *ends_ns);
enum rkt_status rkt_lane_draft_host(const struct rkt_rank_trace *trace,
                                    const struct rkt_rank_result *rank,
                                    struct rkt_lane_draft *draft, int64_t *ends_ns);

/* RKT_ERR_NOMEM only. An empty piece or wait is not added; neighbours of one cause become one. */
enum rkt_status rkt_lane_add_piece(struct rkt_lane_draft *draft, int64_t start_ns, int64_t end_ns,
                                   enum rkt_cause cause);
enum rkt_status rkt_lane_add_wait(struct rkt_lane_draft *draft, int64_t start_ns, int64_t end_ns);
enum rkt_status rkt_lane_add_mark(struct rkt_lane_draft *draft, struct rkt_lane_mark mark);
enum rkt_status rkt_lane_add_launch(struct rkt_lane_draft *draft, struct rkt_lane_launch launch);

/* Sets what items tell of the host. at_ns: by item, where the lane is after it. RKT_ERR_NOMEM
 * only. */
enum rkt_status rkt_lane_launches(const struct rkt_rank_trace *trace,
                                  const struct rkt_lane_draft *draft, struct rkt_lane_item *items,
                                  const int64_t *at_ns, size_t count);

#endif
