/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_STEP_SHAPES_H
#define RKT_ANALYSIS_STEP_SHAPES_H

/*
 * step_shapes - how many shapes each kernel is launched with, and each operator's inputs have, and
 * how often they change from one step to the next.
 *
 * Place:   kernel_table, operator_table -> [step_shapes]. Threads: any, for different ranks.
 * Cost:    a pass over the works or ranges; then shapes, and names x steps (of which the first 1024
 *          are looked at).
 */

#include "analysis/row_list.h"
#include "analysis/segment.h"

/* A kernel's key in the list: by name, and whether it is a collective's. */
static inline size_t rkt_kernel_key(const struct rkt_work *work)
{
    return (size_t)work->name_id * 2 + (work->work_class == RKT_WORK_COMM);
}

/*
 * Fills the columns STEPS, SHAPES and SHAPE_CHANGES of a rank's kernels; RKT_NA where no launch
 * shape is recorded. RKT_ERR_NOMEM only.
 */
enum rkt_status rkt_count_shapes(const struct rkt_rank_result *rank, struct rkt_row_list *kernels);

/* The same of a rank's operators, by name, and the sizes and types of their inputs. */
enum rkt_status rkt_count_input_shapes(const struct rkt_rank_result *rank,
                                       struct rkt_row_list *operators);

#endif
