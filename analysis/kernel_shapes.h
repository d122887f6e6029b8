/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_KERNEL_SHAPES_H
#define RKT_ANALYSIS_KERNEL_SHAPES_H

/*
 * kernel_shapes - how many launch shapes each kernel has, and how often they change from one step to
 * the next: what follows input shapes that change.
 *
 * Place:   kernel_table -> [kernel_shapes]. Threads: any, for different ranks.
 * Cost:    a pass over the works, and shapes x steps (of which the first 1024 are looked at).
 */

#include "analysis/row_list.h"
#include "analysis/segment.h"

/* A kernel's key in the list: by name, and whether it is a collective's. */
static inline size_t rkt_kernel_key(const struct rkt_work *work)
{
    return (size_t)work->name_id * 2 + (work->work_class == RKT_WORK_COMM);
}

/*
 * Fills the columns STEPS, SHAPES and SHAPE_CHANGES of a rank's kernels; RKT_NA where no launch shape
 * is recorded. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_count_shapes(const struct rkt_rank_result *rank, struct rkt_row_list *kernels);

#endif
