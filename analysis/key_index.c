/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/key_index.h"

#include <stdlib.h>

static int compare_key_indexes(const void *a, const void *b)
{
    const struct rkt_key_index *x = a;
    const struct rkt_key_index *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void rkt_key_index_sort(struct rkt_key_index *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare_key_indexes(&items[i - 1], &items[i]) > 0) {
            qsort(items, count, sizeof(*items), compare_key_indexes);
            return;
        }
    }
}

size_t rkt_key_index_find(const struct rkt_key_index *items, size_t count, uint64_t key)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
