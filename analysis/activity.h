/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ACTIVITY_H
#define RKT_ANALYSIS_ACTIVITY_H

/*
 * activity - what a rank's device did at each instant of its run.
 *
 * Place:   rank_trace -> [activity] -> partition, exposed. Made once per GPU rank, so that every
 *          window is a look-up: O(log n + what lies inside).
 * Unions:  normalised sets over all streams of the rank (interval.h).
 * Parts:   exclusive pieces that tile [first start, last end of work) without a hole, in
 *          order; neighbours differ in part.
 *
 * Threads: read only after create. Memory: its own.
 */

#include <stddef.h>
#include <stdint.h>

#include "analysis/interval.h"
#include "analysis/result.h"
#include "common/status.h"

/* In the order of metrics.md, "Partition": at each instant the first that applies. */
enum rkt_part {
    RKT_PART_OVERLAPPED,
    RKT_PART_COMPUTE,
    RKT_PART_COMM_TRANSFER,
    RKT_PART_COMM_WAIT,
    RKT_PART_COMM_UNSPLIT, /* of an activity all of the three: exposed.h splits them */
    RKT_PART_COPY,         /* + enum rkt_copy_part */
    RKT_PART_IDLE = RKT_PART_COPY + RKT_COPY_PART_COUNT, /* + enum rkt_idle_cause */
    RKT_PART_COUNT = RKT_PART_IDLE + RKT_IDLE_CAUSE_COUNT
};

struct rkt_idle; /* analysis/idle.h */

struct rkt_piece {
    int64_t start_ns;
    int64_t end_ns;
    uint8_t part; /* enum rkt_part */
};

struct rkt_activity {
    struct rkt_interval_set compute;
    struct rkt_interval_set comm;
    struct rkt_interval_set copy;
    struct rkt_interval_set copy_by_part[RKT_COPY_PART_COUNT];
    struct rkt_piece *pieces;
    size_t piece_count;
    struct rkt_idle *idle; /* of this rank, for who walks its gaps again (idle.h) */
};

/* Of a whole trace. */
enum rkt_status rkt_activity_create(const struct rkt_rank_trace *trace,
                                    struct rkt_activity **activity_out, struct rkt_error *err);
void rkt_activity_destroy(struct rkt_activity *activity); /* NULL is fine */

/* Exclusive parts of [start, end): they sum to exactly the part of it that the run covers. */
void rkt_activity_parts_within(const struct rkt_activity *activity, int64_t start_ns,
                               int64_t end_ns, struct rkt_partition *parts_out);

/* enum rkt_copy_part of a copy or memset. */
enum rkt_copy_part rkt_copy_part_of(const struct rkt_work *work);

#endif
