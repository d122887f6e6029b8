/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_RKT_RANDOM_H
#define RKT_TESTS_UNIT_RKT_RANDOM_H

/* rkt_random - seeded numbers (splitmix64): a failing case can be run again. */

#include <stdint.h>

struct rkt_random {
    uint64_t state;
};

static inline uint64_t rkt_random_next(struct rkt_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* 0 .. limit - 1 */
static inline uint64_t rkt_random_below(struct rkt_random *random, uint64_t limit)
{
    return rkt_random_next(random) % limit;
}

#endif
