/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_SERIES_H
#define RKT_TESTS_CLOCKSIM_SERIES_H

/*
 * series - many numbers, and their quantiles.
 */

#include <stddef.h>

struct sim_series {
    float *values;
    size_t count;
    size_t cap;
};

void sim_series_add(struct sim_series *series, double value);
/* Nearest rank; sorts. 0 of none; share 1 is the largest. */
double sim_series_quantile(struct sim_series *series, double share);
void sim_series_release(struct sim_series *series);

#endif
