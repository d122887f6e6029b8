/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_STEADY_H
#define RKT_ANALYSIS_STEADY_H

/*
 * steady - sums and medians over the steady steps of a rank: those after the warm-up.
 *
 * A rank without steady steps counts with its run window as one step, and says so by
 * has_steps.
 *
 * Threads: any; no state.
 */

#include "analysis/result.h"

struct rkt_steady {
    size_t step_count; /* steps summed; 1 for the run window */
    bool has_steps;
    bool is_host_view;
    int64_t window_ns; /* sums, as everything below */
    int64_t compute_ns;
    int64_t comm_ns;
    int64_t exposed_ns;
    int64_t together_ns; /* compute and comm */
    int64_t kernels_ns;  /* compute or comm */
    struct rkt_partition parts;
    struct rkt_host_partition host;
};

struct rkt_steady rkt_steady_of(const struct rkt_rank_result *rank);

/* From the first steady step to the end of the last; without them the run. */
void rkt_steady_stretch(const struct rkt_rank_result *rank, int64_t *start_ns, int64_t *end_ns);

/* Adds `from` to the sums of `to`; step_count too. */
void rkt_steady_add(struct rkt_steady *to, const struct rkt_steady *from);

/* What all idle causes and all copy kinds come to. */
int64_t rkt_partition_idle_ns(const struct rkt_partition *parts);
int64_t rkt_partition_copy_ns(const struct rkt_partition *parts);

/* NAN where `whole_ns` is not above 0. */
double rkt_share(int64_t part_ns, int64_t whole_ns);

/* The value that sorting brings to `place`, which is below `count`; reorders `values`. O(n). */
int64_t rkt_select_i64(int64_t *values, size_t count, size_t place);
/* Lower median; reorders `values`. RKT_NA for none. */
int64_t rkt_median_i64(int64_t *values, size_t count);
/* Median of the distances to `centre`; reorders `values`. */
int64_t rkt_mad_i64(int64_t *values, size_t count, int64_t centre);

#endif
