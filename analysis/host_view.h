/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_HOST_VIEW_H
#define RKT_ANALYSIS_HOST_VIEW_H

/*
 * host_view - what a rank without GPU records did at each instant (metrics.md, "Host view").
 *
 * compute: forward, backward or optimizer, and neither in a marked wait for communication nor
 * asleep.
 * comm:    a gradient bucket between its hand-over to the process group and its completion.
 * input:   fetching data, and neither of these.
 * asleep:  what the thread of such a phase slept outside waits, as the phase tells. It does not
 *          tell when: here it lies at its begin.
 *
 * Made once per rank, so that every window is a look-up. Threads: read only after create.
 * Memory: its own.
 */

#include "analysis/interval.h"
#include "analysis/result.h"
#include "common/status.h"

struct rkt_host_view {
    struct rkt_interval_set compute;
    struct rkt_interval_set backward; /* without waits */
    struct rkt_interval_set comm;
    struct rkt_interval_set together;                        /* compute and comm */
    struct rkt_interval_set input;                           /* alone */
    struct rkt_interval_set asleep[RKT_PHASE_OPTIMIZER + 1]; /* by enum rkt_phase; [0] is empty */
};

enum rkt_status rkt_host_view_create(const struct rkt_rank_trace *trace,
                                     struct rkt_host_view **view_out, struct rkt_error *err);
void rkt_host_view_destroy(struct rkt_host_view *view); /* NULL is fine */

/* Fills the window, whose bounds are set. */
void rkt_host_view_fill(const struct rkt_host_view *view, struct rkt_window *window);

/* What of the window its phases slept. */
void rkt_host_view_asleep(const struct rkt_host_view *view, const struct rkt_window *window,
                          int64_t asleep_ns[RKT_PHASE_OPTIMIZER + 1]);

/* One window after the other as one: *to begins as an empty window, filled. */
void rkt_host_view_add(struct rkt_window *to, const struct rkt_window *window);

#endif
