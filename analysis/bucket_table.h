/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_BUCKET_TABLE_H
#define RKT_ANALYSIS_BUCKET_TABLE_H

/*
 * bucket_table - the gradient buckets of a step, one after the other (metrics.md,
 * "AllReduce/backward overlap"); plain data, part of the result.
 *
 * Of the n-th bucket of all steady steps: lower medians over steps and ranks of those that are
 * known.
 */

#include "analysis/result.h"

struct rkt_bucket_row {
    uint32_t index;
    uint64_t bytes;           /* of the first; 0 unknown */
    const char *func_name;    /* likewise */
    size_t collective_count;  /* steps in which it is */
    int64_t launch_offset_ns; /* host: from the begin of backward; RKT_NA unknown, as all times */
    int64_t ready_ns;         /* from the begin of backward on the GPU, likewise the next */
    int64_t start_ns;
    double queued_share; /* of ranks and steps: began when the one before on its stream ended */
    int64_t wait_ns;
    int64_t transfer_ns;
    int64_t exposed_ns;
    double busbw_bytes_per_s; /* NAN unknown */
};

#endif
