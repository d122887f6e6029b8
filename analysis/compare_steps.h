/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COMPARE_STEPS_H
#define RKT_ANALYSIS_COMPARE_STEPS_H

/*
 * compare_steps - from the steps of each rank to one number per step of each metric.
 *
 * Place:   compare_run reads cells from a report -> [compare_steps] -> samples.
 * Threads: any; no state.
 */

#include "analysis/compare_run.h"

/* What a step of one rank holds; ns but for the first. */
enum rkt_step_field {
    RKT_FIELD_NUMBER,
    RKT_FIELD_IS_RECORDED,
    RKT_FIELD_IS_WARMUP,
    RKT_FIELD_WINDOW, /* summed over ranks, as what follows */
    RKT_FIELD_COMPUTE,
    RKT_FIELD_COMM,
    RKT_FIELD_TOGETHER,        /* compute and comm */
    RKT_FIELD_BUCKETS,         /* |U(buckets)| */
    RKT_FIELD_BUCKETS_COVERED, /* of which compute of backward runs */
    RKT_FIELD_COMM_WAIT,
    RKT_FIELD_COMM_TRANSFER,
    RKT_FIELD_COMM_UNSPLIT,
    RKT_FIELD_COPY,
    RKT_FIELD_IDLE_SYNC,
    RKT_FIELD_IDLE_ALLOC,
    RKT_FIELD_IDLE_INPUT,
    RKT_FIELD_IDLE_HOST,
    RKT_FIELD_IDLE_LAUNCH,
    RKT_FIELD_IDLE_DEPENDENCY,
    RKT_FIELD_IDLE_DEVICE,
    RKT_FIELD_IDLE_UNKNOWN,
    RKT_FIELD_COUNT
};

struct rkt_step_cell {
    int64_t fields[RKT_FIELD_COUNT]; /* each 0 to RKT_FIELD_MAX, so that sums over ranks fit */
    bool is_host_view;
    bool is_whole_window; /* no steps were found: the window stands for one */
    size_t order;         /* in the report: ranks one after the other */
    uint32_t rank_index;
};

#define RKT_FIELD_MAX (INT64_C(1) << 46) /* 19 hours; 2^17 ranks of it fit */

/* Of the replay: what the step would be shorter, were its slowest rank like its peers. */
struct rkt_step_gain {
    int64_t number;
    int64_t gain_ns; /* RKT_NA */
};

struct rkt_compare_steps {
    struct rkt_step_cell *cells;
    size_t cell_count;
    size_t cell_cap;
    struct rkt_step_gain *gains;
    size_t gain_count;
    size_t gain_cap;
};

/*
 * Fills step counts, why_no_steps and samples of *run, whose compared_count and is_host_view are
 * set. Sorts the cells and gains. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_compare_steps_sample(struct rkt_compare_steps *steps,
                                         struct rkt_compare_run *run, struct rkt_error *err);
void rkt_compare_steps_release(struct rkt_compare_steps *steps);

#endif
