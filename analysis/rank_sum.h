/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANK_SUM_H
#define RKT_ANALYSIS_RANK_SUM_H

/*
 * rank_sum - how often two samples would differ so much, were they of one kind (Mann and Whitney
 * 1947, Annals of Mathematical Statistics 18), and which of many differences are more than chance.
 *
 *     U = pairs in which a's value is the smaller, ties half            a 1 2 4   b 3 5 6    U = 8 of 9
 *     p = P(U or its mirror image as far from the middle)               3, 2 or 1 of 20 ways, twice: 0.2
 *
 * Nothing is taken to be normal, so a few steps that took long make no change of nothing. Threads:
 * any; no state. Cost: O(n m min(n, m)); of 32 and 32 values 10 us.
 */

#include "analysis/bootstrap.h"

/* So many values of each side count; more are not asked for. */
#define RKT_RANK_SUM_MAX 64

/* Two-sided, exact without ties, and too large with them. 1 where a sample is empty or too
 * large. */
double rkt_rank_sum_p(struct rkt_sample a, struct rkt_sample b);

/*
 * Holm's rule (1979, Scandinavian Journal of Statistics 6): of `count` values of p the ones that
 * are more than chance, so that with 95 % not one of them is chance. Returns the largest p that
 * counts; below 0 none. Sorts `p`.
 */
double rkt_holm_limit(double *p, size_t count);

#endif
