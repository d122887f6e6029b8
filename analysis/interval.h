/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_INTERVAL_H
#define RKT_ANALYSIS_INTERVAL_H

/*
 * interval - sets of half-open intervals [start, end) of integer ns.
 *
 * A set that was normalised is sorted, disjoint and without empty or touching members; every
 * operation but add needs normalised inputs and gives a normalised output.
 *
 * Threads: one at a time. Cost: add O(1), normalise O(n log n), the rest O(n + m).
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_interval {
    int64_t start_ns;
    int64_t end_ns;
};

struct rkt_interval_set { /* all zero: empty */
    struct rkt_interval *items;
    size_t count;
    size_t cap;
};

void rkt_interval_set_release(struct rkt_interval_set *set); /* leaves it zeroed */
void rkt_interval_set_reset(struct rkt_interval_set *set);

/* Empty and reversed intervals are not added. RKT_ERR_NOMEM only. */
enum rkt_status rkt_interval_set_add(struct rkt_interval_set *set, int64_t start_ns,
                                     int64_t end_ns);
void rkt_interval_set_normalise(struct rkt_interval_set *set);

int64_t rkt_interval_set_length(const struct rkt_interval_set *set);
/* Length of set ∩ [start, end). O(log n + members inside). */
int64_t rkt_interval_set_length_within(const struct rkt_interval_set *set, int64_t start_ns,
                                       int64_t end_ns);

/* Index of the first member that ends after time_ns; count where there is none. */
size_t rkt_interval_set_first_after(const struct rkt_interval_set *set, int64_t time_ns);

/* `out` is neither a nor b. */
enum rkt_status rkt_interval_set_intersect(const struct rkt_interval_set *a,
                                           const struct rkt_interval_set *b,
                                           struct rkt_interval_set *out);
enum rkt_status rkt_interval_set_subtract(const struct rkt_interval_set *a,
                                          const struct rkt_interval_set *b,
                                          struct rkt_interval_set *out);

#endif
