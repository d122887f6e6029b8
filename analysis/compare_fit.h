/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COMPARE_FIT_H
#define RKT_ANALYSIS_COMPARE_FIT_H

/*
 * compare_fit - alpha and beta of the collectives of a series of runs. Models and sources stand in
 * compare_series.h, of which this is a part.
 *
 * Threads: any; no state.
 */

#include "analysis/compare_series.h"

/* What the collectives of one step cost, and what they are made of. */
struct rkt_transfer_cost {
    const char *why_not; /* "": the run can be fitted */
    double transfer_ns;  /* c: sum of the median transfer of each kind times how many a step has */
    double unit_count;   /* u */
    double unit_bytes;   /* v */
    bool has_tree;       /* all are AllReduces */
    uint32_t rank_count;
};

struct rkt_transfer_cost rkt_transfer_cost_of(const struct rkt_compare_run *run);

/* The better model of those that can be fitted; costs with a why_not are left out. */
void rkt_fit_transfers(const struct rkt_transfer_cost *costs, size_t count, struct rkt_fit *fit);

/* c of the fit where as many ranks do what `cost` is of. */
double rkt_fit_transfer_ns(const struct rkt_fit *fit, const struct rkt_transfer_cost *cost,
                           uint32_t rank_count);

#endif
