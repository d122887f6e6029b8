/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_RANGE_NAME_H
#define RKT_ANALYSIS_RANGE_NAME_H

/*
 * range_name - what a host range means by its type and name (metrics.md, "Phases").
 *
 * Marks of the job count by type; annotations and NVTX ranges by name. Threads: any; no state.
 */

#include <stdbool.h>

#include "analysis/rank_trace.h"

/* "annotation": the category that an exported timeline shows; "other" for an unknown type. */
const char *rkt_range_type_name(uint8_t type);
/* The type of that name; RKT_RANGE_OTHER for any other text. */
enum rkt_range_type rkt_range_type_of_name(const char *name);

/* A mark, annotation or NVTX range for the backward pass: "backward" as a word, any case. */
bool rkt_range_is_backward(const struct rkt_range *range, const char *name);

/* Input: a mark; a range named data or input; a DataLoader's __next__. */
bool rkt_range_is_input(const struct rkt_range *range, const char *name);

/* An operator that autograd's engine runs in the backward pass. */
bool rkt_range_is_autograd_op(const struct rkt_range *range, const char *name);

#endif
