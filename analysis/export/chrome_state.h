/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EXPORT_CHROME_STATE_H
#define RKT_ANALYSIS_EXPORT_CHROME_STATE_H

/* chrome_state - what the parts of the Chrome export share; for chrome*.c alone. */

#include "analysis/export/lanes.h"
#include "analysis/export/slices.h"
#include "common/json_writer.h"

/* A launch with GPU work: its first work in device order. */
struct rkt_chrome_launch {
    uint32_t correlation_id;
    uint32_t work;
};

struct rkt_chrome {
    struct rkt_json json;
    const struct rkt_result *result;
    int64_t shared_origin_ns; /* first event of all ranks that are on one clock */
    uint32_t next_tid;
    uint64_t next_flow;
    struct rkt_lanes lanes;
    uint32_t *tids; /* by lane of the track at hand */
    size_t tid_cap;

    /* of the rank at hand */
    size_t position;
    const struct rkt_rank_result *rank;
    const struct rkt_rank_trace *trace;
    int64_t origin_ns;
    uint32_t track_order;
    struct rkt_chrome_launch *launches; /* by correlation id */
    size_t launch_count;
};

/* Viewers take pid 0 for the idle task, so ranks begin at 1. */
static inline int64_t rkt_chrome_pid(const struct rkt_chrome *chrome)
{
    return (int64_t)chrome->rank->rank + 1;
}

/* chrome_slice.c: one slice of the rank at hand, with its end of a flow. */
void rkt_chrome_put_slice(struct rkt_chrome *chrome, const struct rkt_slice *slice, uint32_t tid);

/*
 * chrome_identity.c: what only import reads, so that it makes the same timeline again. Of a
 * rank and of a track as metadata, of GPU work in its args.
 */
void rkt_chrome_put_rank_identity(struct rkt_chrome *chrome);
void rkt_chrome_put_track_identity(struct rkt_chrome *chrome, const struct rkt_slice *slice,
                                   uint32_t tid);
void rkt_chrome_put_work_identity(struct rkt_chrome *chrome, const struct rkt_work *work);

/* chrome_counter.c: the samples of the rank at hand. */
void rkt_chrome_put_counters(struct rkt_chrome *chrome);

#endif
