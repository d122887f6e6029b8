/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_TIME_FIND_H
#define RKT_ANALYSIS_TIME_FIND_H

/*
 * time_find - binary search in an array of structs by one of their times.
 *
 *     rkt_time_find(&works->start_ns, work_count, sizeof(*works), t)   first with start_ns >= t
 *     rkt_time_find_past(&items->end_ns, count, sizeof(*items), t)     first with end_ns > t
 *
 *     rkt_time_find_near(…, t, near)   as rkt_time_find, soon done where that is `near` or little more;
 *                                                                    likewise past_near
 *
 * `times` is the member in the first item of an array sorted by it; an array without items may
 * be NULL. Both give `count` where there is none.
 * Threads: any; no state. Cost: O(log n).
 */

#include <stddef.h>
#include <stdint.h>

size_t rkt_time_find(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns);
size_t rkt_time_find_near(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns,
                          size_t near);
size_t rkt_time_find_past(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns);
size_t rkt_time_find_past_near(const int64_t *times, size_t count, size_t elem_bytes,
                               int64_t time_ns, size_t near);

#endif
