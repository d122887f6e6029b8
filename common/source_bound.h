/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_SOURCE_BOUND_H
#define RKT_COMMON_SOURCE_BOUND_H

/*
 * source_bound - the widest bounds of an alignment over what its source recorded.
 *
 * Before the first knot and after the last the bounds grow: the knots alone do not tell them. As
 * in reports, what counts is the GPU's work, or all records where there is none, from first start
 * to last end, in the clock of the alignment. Of what is not stamped in that clock nothing is
 * known; without any of it the knots are all there is.
 *
 * Place:   store_reader -> [source_bound] -> who says a clock's bound without an analysis.
 * Threads: one at a time. Memory: that of a walk. Batches whose span is stored are not read.
 */

#include "common/store_reader.h"

struct rkt_source_bound {
    int64_t bound_ns; /* guaranteed; -1: none is known */
    int64_t likely_ns;
};

/* `align`: of that source, as it is stored or not. */
enum rkt_status rkt_source_bound_find(struct rkt_store_reader *reader,
                                      const struct rkt_source_info *info,
                                      const struct rkt_align_info *align,
                                      struct rkt_source_bound *bound_out, struct rkt_error *err);

#endif
