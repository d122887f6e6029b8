/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_CLOCKSIM_RANDOM_H
#define RKT_TESTS_CLOCKSIM_RANDOM_H

/*
 * random - the same numbers from the same seed, on every machine (SplitMix64).
 */

#include <stdint.h>

struct sim_random {
    uint64_t state;
};

/* `stream`: independent numbers of one seed. */
struct sim_random sim_random_of(uint64_t seed, uint64_t stream);
uint64_t sim_random_next(struct sim_random *random);
double sim_random_uniform(struct sim_random *random, double low, double high);
double sim_random_normal(struct sim_random *random);                   /* of variance 1 */
double sim_random_exponential(struct sim_random *random, double mean); /* 0 or more */
/* P(X > x) = (scale/x)^shape from scale on. */
double sim_random_pareto(struct sim_random *random, double scale, double shape);

#endif
