/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COMPARE_SERIES_H
#define RKT_ANALYSIS_COMPARE_SERIES_H

/*
 * compare_series - the same job on more and more ranks: how well it scales, and what it would do on
 * more (metrics.md, "Comparing runs").
 *
 * Place:   compare_run -> [compare_series] -> report/compare_text, report/compare_json.
 * Formula: N0 the smallest number of ranks, T the median step with its interval (bootstrap.h)
 *              weak    E(N) = T(N0) / T(N)              the work of a rank stays
 *              strong  E(N) = N0 T(N0) / (N T(N))       the work of all ranks together stays
 *              speedup = E(N) N / N0
 *          Which of the two: the slope b of log U over log N, U the computing of a rank in a step: weak
 *          where |b| <= 1/4, strong where |b + 1| <= 1/4, else neither is claimed.
 * Outlook: transfers c of a step, fitted by least squares of relative misses, both parameters >= 0
 *              ring    c = alpha u (N - 1)    + beta v (N - 1) / N
 *              tree    c = alpha u ceil(log2 N) + beta v
 *          u = sum of f, v = sum of f x bytes over the collectives of a step, f = 2 for AllReduce, 1
 *          for AllGather and ReduceScatter (ring only: a tree of these is no model). These are the
 *          costs of Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
 *          Operations in MPICH", 2005. The better one counts, where no run is missed by over 10 %.
 *          What transfers grow by makes a step longer by as much at most, and at least by the share
 *          that is exposed now. Of strong scaling computing shrinks as 1/N, at best all but exposed
 *          transfers does; at worst computing hides none of the transfers any longer.
 * Memory:  its own, up to release; runs are the caller's. Threads: any; no state.
 */

#include "analysis/compare_run.h"

enum rkt_scaling {
    RKT_SCALING_UNKNOWN,
    RKT_SCALING_WEAK,
    RKT_SCALING_STRONG
};
const char *rkt_scaling_name(enum rkt_scaling scaling);

struct rkt_series_row {
    const struct rkt_compare_run *run;
    struct rkt_estimate step_ns;
    struct rkt_estimate speedup; /* NAN where the kind of scaling is not known, likewise */
    struct rkt_estimate efficiency;
    double parallel; /* PE, LB, CommE: medians over steps; NAN, as all of these */
    double balance;
    double comm;
    double serial; /* SerE, TE: of the whole run */
    double transfer;
    double transfer_ns; /* c: of the collectives of a step, measured */
    double modelled_ns; /* the same by the fit */
};

struct rkt_fit {
    const char *why_not; /* "": there is one */
    const char *model;   /* "ring" or "tree"; also of a fit that is too poor */
    double alpha_ns;
    double beta_ns_per_byte;
    double miss; /* largest relative miss of a run; NAN */
    size_t point_count;
};

#define RKT_FIT_MISS_MAX 0.10
#define RKT_FIT_POINTS_MIN \
    3 /* numbers of ranks above 1: two parameters, and one that can disagree */
#define RKT_OUTLOOK_COUNT 2 /* twice and four times the largest run: no further is claimed */

struct rkt_outlook {
    uint32_t rank_count;
    double step_low_ns; /* NAN, as all of these */
    double step_high_ns;
    double efficiency_low;
    double efficiency_high;
};

struct rkt_series {
    struct rkt_series_row *rows; /* by number of ranks; of equal ones in the order given */
    size_t row_count;
    enum rkt_scaling scaling;
    bool is_told;            /* by the user */
    double work_slope;       /* b; NAN */
    const char *why_unknown; /* the kind of scaling: "" where it is known */
    size_t twice_count;      /* rows whose number of ranks the row before has, too */
    struct rkt_fit fit;
    struct rkt_outlook outlook[RKT_OUTLOOK_COUNT]; /* where there is a fit */
};

/* `told` RKT_SCALING_UNKNOWN: to be found. RKT_ERR_NOMEM only. */
enum rkt_status rkt_series_create(const struct rkt_compare_run *runs, size_t run_count,
                                  enum rkt_scaling told, struct rkt_series *out,
                                  struct rkt_error *err);
void rkt_series_release(struct rkt_series *series);

#endif
