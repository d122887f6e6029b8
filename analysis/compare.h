/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COMPARE_H
#define RKT_ANALYSIS_COMPARE_H

/*
 * compare - a run after a change against one before it (metrics.md, "Comparing runs").
 *
 * Place:   compare_run -> [compare] -> report/compare_text, report/compare_json.
 * Formula: per metric the lower median over steady steps of each run; the change is their
 *          difference, with the interval of bootstrap.h. It is real when the interval does not hold
 *          0 and both runs were captured alike (producer, view, source of steps).
 * Memory:  its own, up to release; names are the runs'. Threads: any; no state.
 */

#include "analysis/compare_run.h"

struct rkt_metric_change {
    double before; /* medians; NAN, as the following */
    double after;
    struct rkt_estimate difference;
    bool is_real;
    bool is_blurred;     /* the clocks may have made it */
    const char *why_not; /* the change has no interval, or does not count: "" */
};

/* Numbers of a whole run, which have no interval. */
enum rkt_run_factor {
    RKT_FACTOR_SERIAL,
    RKT_FACTOR_TRANSFER,
    RKT_FACTOR_COUNT
};
const char *rkt_run_factor_name(enum rkt_run_factor factor); /* as in JSON */
double rkt_run_factor_of(const struct rkt_compare_run *run, enum rkt_run_factor factor);

/*
 * A kernel, an operator's self time, or collectives of one function and size; sides[0] before, [1]
 * after.
 *
 * Of many kernels some differ by chance. So those are judged that both runs have, with at least 0.1
 * % of the kernels' time and 5 batches of steps in each, all together by Holm's rule (rank_sum.h):
 * where the runs are equal, with 95 % none of them is real. Operators likewise.
 */
struct rkt_name_change {
    const char *name;
    bool is_collective;
    enum rkt_use_kind kind; /* not of a collective */
    int64_t bytes;          /* of a collective; RKT_NA */
    struct {
        bool is_there;
        double count;     /* per step, of a kernel also per rank, as step_ns */
        double mean_ns;   /* of one; of a collective the median */
        double median_ns; /* of step_ns over batches of steps; NAN where these are not known */
        double step_ns;   /* of all of them */
    } sides[2];
    double difference_ns;        /* of step_ns; a side that is not there is 0 */
    struct rkt_estimate of_one;  /* of mean_ns; only collectives have bounds */
    struct rkt_estimate of_step; /* kernels that compute: of the medians of step_ns over batches */
    double p;                    /* that of rank_sum.h; NAN where it is not judged */
    bool is_real;        /* not by chance: those bounds do not hold 0, and the runs are alike */
    const char *why_not; /* "" where it is, and of a collective */
};

/* Names stand in three lists. */
enum rkt_name_list {
    RKT_LIST_KERNELS,
    RKT_LIST_OPERATORS,
    RKT_LIST_COLLECTIVES
};

static inline enum rkt_name_list rkt_name_list_of(const struct rkt_name_change *change)
{
    if (change->is_collective)
        return RKT_LIST_COLLECTIVES;
    return rkt_use_is_of_operator(change->kind) ? RKT_LIST_OPERATORS : RKT_LIST_KERNELS;
}

struct rkt_comparison {
    const struct rkt_compare_run *runs[2];
    const char *why_not_alike; /* "" where they are */
    struct rkt_metric_change metrics[RKT_METRIC_COUNT];
    struct rkt_name_change *names; /* by size of difference_ns, largest first */
    size_t name_count;
    size_t judged_counts[2];      /* kernels, then operators' times */
    double use_ns[RKT_USE_COUNT]; /* per step and rank, both runs together */
    double common_share; /* of the kernels' time, both runs: in kernels that both have; NAN */
};

#define RKT_JUDGED_SHARE_MIN 0.001

/* With less in common the runs are of different programs, which is said. */
#define RKT_COMMON_SHARE_MIN 0.5

/* Whether two runs were captured alike, "": yes; and the common_share of them. */
const char *rkt_why_not_alike(const struct rkt_compare_run *a, const struct rkt_compare_run *b);
double rkt_common_share(const struct rkt_compare_run *a, const struct rkt_compare_run *b);

/* RKT_ERR_NOMEM only. */
enum rkt_status rkt_compare(const struct rkt_compare_run *before,
                            const struct rkt_compare_run *after, struct rkt_comparison *out,
                            struct rkt_error *err);
void rkt_comparison_release(struct rkt_comparison *comparison);

/* Change as a share of before; NAN where that is not above 0. */
double rkt_metric_change_share(const struct rkt_metric_change *change);

#endif
