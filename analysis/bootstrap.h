/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_BOOTSTRAP_H
#define RKT_ANALYSIS_BOOTSTRAP_H

/*
 * bootstrap - how far the median of a sample, and what is made of two of them, can be off
 * (metrics.md, "Comparing runs").
 *
 * The bootstrap draws n of n values with replacement, again and again, and looks at the spread of
 * the medians. Its distribution for a lower median is known exactly, so nothing is drawn here:
 *
 *     x1 <= ... <= xn sorted, m = (n - 1) / 2 + 1 the place of the lower median
 *     P(median* <= xk) = P(Binomial(n, k/n) >= m)           m of the draws or more are among x1 .. xk
 *
 * Two samples are independent: of all pairs of medians, each with the product of its probabilities,
 * the 2.5 % and 97.5 % quantiles of difference or ratio are the interval. (Efron 1979, Annals of
 * Statistics 7, section 3, gives the median's distribution.)
 *
 * Threads: any; no state. Cost: O(n) and, for two samples, (6 sqrt n)^2 pairs: places further than
 * 6 standard deviations from the median's are not looked at.
 */

#include <stddef.h>

#include "common/status.h"

/* The interval of fewer values is their whole range, and holds less than 95 %. */
#define RKT_BOOTSTRAP_MIN 5

struct rkt_sample {
    const double *sorted; /* ascending, finite */
    size_t count;
};

/* An estimate, and where it is with 95 %; NAN both bounds where a sample has under
 * RKT_BOOTSTRAP_MIN. */
struct rkt_estimate {
    double value; /* NAN: not known */
    double low;
    double high;
};

enum rkt_contrast {
    RKT_CONTRAST_DIFFERENCE, /* b - a */
    RKT_CONTRAST_RATIO,      /* b / a; NAN where a is not above 0 */
};

void rkt_sample_sort(double *values, size_t count);

/* Of the median of one sample; all NAN without values. */
struct rkt_estimate rkt_bootstrap_median(struct rkt_sample sample);

/* Of two medians. RKT_ERR_NOMEM only. */
enum rkt_status rkt_bootstrap_contrast(struct rkt_sample a, struct rkt_sample b,
                                       enum rkt_contrast contrast, struct rkt_estimate *out,
                                       struct rkt_error *err);

#endif
