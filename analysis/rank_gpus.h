/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_GPUS_H
#define RKT_ANALYSIS_RANK_GPUS_H

/*
 * rank_gpus - which GPUs a rank uses, and what was sampled of them; a part of rank_trace.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

/* GPUs that one process is taken to use at most. */
#define RKT_DEVICES_MAX 64u

/* A sample: the mean over [start, end), or the value at start where they are the same. */
struct rkt_counter_sample {
    int64_t start_ns; /* rank time */
    int64_t end_ns;
    uint64_t value; /* in the counter's unit */
    uint32_t device_id;
    uint32_t name_id; /* RKT_COUNTER_NAMED */
    uint8_t counter;  /* enum rkt_counter */
};

struct rkt_rank_gpus {
    struct rkt_counter_sample *counters; /* by start_ns */
    size_t counter_count;
    int64_t longest_ns;                               /* the longest interval of a sample */
    struct rkt_event_device devices[RKT_DEVICES_MAX]; /* as the process said, each once */
    size_t device_count;
};

#endif
