/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_KEY_INDEX_H
#define RKT_ANALYSIS_KEY_INDEX_H

/*
 * key_index - look-up of array members by a number (correlation, thread): sorted pairs.
 *
 * Equal keys stand in order of index, so in the order of the array that they point into.
 * Threads: any; no state. Cost: sort O(n), or O(n log n) when out of order; find O(log n).
 */

#include <stddef.h>
#include <stdint.h>

struct rkt_key_index {
    uint64_t key;
    uint32_t index;
};

void rkt_key_index_sort(struct rkt_key_index *items, size_t count);
/* Position of the first item with this key or a larger one. */
size_t rkt_key_index_find(const struct rkt_key_index *items, size_t count, uint64_t key);

#endif
