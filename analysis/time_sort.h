/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TIME_SORT_H
#define RKT_ANALYSIS_TIME_SORT_H

/*
 * time_sort - stable sort of structs whose first two members are start_ns and end_ns (int64_t).
 *
 * Cost: O(n) when sorted already, as most arrays of a trace nearly are; else O(n log n) on
 * 24-byte keys, and one move of each struct.
 * Threads: any; no state.
 */

#include <stddef.h>

#include "common/status.h"

enum rkt_time_order {
    RKT_BY_START,         /* ties: as they were */
    RKT_BY_START_END,     /* ties: the shorter first, then as they were */
    RKT_BY_START_LONGEST, /* ties: the longer first (an outer range before an inner one) */
};

/* RKT_ERR_NOMEM only; the array is then as it was. */
enum rkt_status rkt_time_sort(void *items, size_t count, size_t elem_bytes,
                              enum rkt_time_order order);

#endif
