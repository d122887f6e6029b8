/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time_sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"

struct key {
    int64_t start_ns;
    int64_t second; /* what decides between equal starts */
    size_t index;   /* then the order they had */
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static struct key key_of(const unsigned char *item, size_t index, enum rkt_time_order order)
{
    struct key key = {.index = index};
    int64_t end_ns;

    memcpy(&key.start_ns, item, sizeof(key.start_ns));
    memcpy(&end_ns, item + sizeof(key.start_ns), sizeof(end_ns));
    if (order == RKT_BY_START_END)
        key.second = end_ns;
    else if (order == RKT_BY_START_LONGEST)
        key.second = -end_ns;
    return key;
}

/* False: the keys are in order already. */
static bool fill_keys(struct key *keys, const unsigned char *items, size_t count, size_t elem_bytes,
                      enum rkt_time_order order)
{
    bool is_mixed = false;

    for (size_t i = 0; i < count; i++) {
        keys[i] = key_of(items + i * elem_bytes, i, order);
        if (i > 0 && compare_keys(&keys[i - 1], &keys[i]) > 0)
            is_mixed = true;
    }
    return is_mixed;
}

enum rkt_status rkt_time_sort(void *items, size_t count, size_t elem_bytes,
                              enum rkt_time_order order)
{
    enum rkt_status status = RKT_ERR_NOMEM;
    unsigned char *moved = NULL;
    struct key *keys;
    size_t bytes;

    if (count < 2)
        return RKT_OK;
    keys = calloc(count, sizeof(*keys));
    if (!keys)
        return RKT_ERR_NOMEM;
    if (!fill_keys(keys, items, count, elem_bytes, order)) {
        status = RKT_OK;
        goto free_keys;
    }
    if (!rkt_mul_size(count, elem_bytes, &bytes))
        goto free_keys;
    moved = malloc(bytes);
    if (!moved)
        goto free_keys;
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        memcpy(moved + i * elem_bytes, (unsigned char *)items + keys[i].index * elem_bytes,
               elem_bytes);
    memcpy(items, moved, bytes);
    status = RKT_OK;

    free(moved);
free_keys:
    free(keys);
    return status;
}
