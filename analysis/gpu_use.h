/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_GPU_USE_H
#define RKT_ANALYSIS_GPU_USE_H

/*
 * gpu_use - what the samples of a GPU say over a stretch of time (metrics.md, "GPU samples").
 *
 * Threads: any; no state.
 */

#include "analysis/rank_trace.h"

#define RKT_THROTTLE_REASON_COUNT 8 /* reason i is bit i: enum rkt_throttle_reason */

struct rkt_gpu_use {
    uint32_t device_id;
    /* By enum rkt_counter, in its unit; NAN without a sample. A mean over time, by duration where
     * samples have one; most is the largest of the samples. */
    double mean[RKT_COUNTER_COUNT];
    double most[RKT_COUNTER_COUNT];
    size_t count[RKT_COUNTER_COUNT]; /* samples */
    /* The shares of the readings of reasons why clocks are low that name any limit (every reason
     * but idle), or this one; NAN without a reading. */
    double throttled;
    double throttled_by[RKT_THROTTLE_REASON_COUNT];
};

/* Samples of one GPU in [start, end) of rank time; O(log n + those that are looked at). */
struct rkt_gpu_use rkt_gpu_use_over(const struct rkt_rank_trace *trace, uint32_t device_id,
                                    int64_t start_ns, int64_t end_ns);

/*
 * The rank's GPUs with samples, that with most GPU work first: up to RKT_DEVICES_MAX ids; returns
 * how many.
 */
size_t rkt_gpu_list(const struct rkt_rank_trace *trace, uint32_t ids[RKT_DEVICES_MAX]);

/* Which GPU a device id of the rank is; NULL where that was not recorded. */
const struct rkt_event_device *rkt_gpu_device(const struct rkt_rank_trace *trace,
                                              uint32_t device_id);

#endif
