/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_KEY_INDEX_H
#define RKT_ANALYSIS_KEY_INDEX_H

/*
 * key_index - look-up of array members by a number (correlation, thread, time): sorted pairs.
 *
 * Equal keys keep their order: filled along an array they stand in the order of that array.
 * Threads: any; no state. Cost: sort O(n), by one pass for each byte in which keys differ, and as
 * much memory again while it runs; where some are smaller than one before them, for those alone,
 * and for none when sorted already. find O(log n).
 */

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct rkt_key_index {
    uint64_t key;
    uint32_t index;
};

/* A time as a key: those before 0 come first. */
static inline uint64_t rkt_key_of_time(int64_t ns)
{
    return (uint64_t)ns ^ (uint64_t)1 << 63;
}

/* RKT_ERR_NOMEM only; the items are then as they were. */
enum rkt_status rkt_key_index_sort(struct rkt_key_index *items, size_t count);
/* Position of the first item with this key or a larger one. */
size_t rkt_key_index_find(const struct rkt_key_index *items, size_t count, uint64_t key);
/* The same, in O(log d) where it is d from `near`: for keys that are looked up nearly in order. */
size_t rkt_key_index_find_near(const struct rkt_key_index *items, size_t count, uint64_t key,
                               size_t near);

#endif
