/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TIME_SORT_H
#define RKT_ANALYSIS_TIME_SORT_H

/*
 * time_sort - stable sort of structs whose first two members are start_ns and end_ns (int64_t).
 *
 * Cost: O(n). One look at each where they are in order; where pieces of some length are, these are
 * merged, and only what has to move is moved; else a sort of 16-byte keys (key_index.h) and one
 * move of each struct.
 * Threads: any; no state.
 */

#include <stddef.h>

#include "common/status.h"

enum rkt_time_order {
    RKT_BY_START,         /* ties: as they were */
    RKT_BY_START_END,     /* ties: the shorter first, then as they were */
    RKT_BY_START_LONGEST, /* ties: the longer first (an outer range before an inner one) */
};

/* RKT_ERR_NOMEM only, for 2^32 items or more, too; the array is then as it was. */
enum rkt_status rkt_time_sort(void *items, size_t count, size_t elem_bytes,
                              enum rkt_time_order order);

#endif
