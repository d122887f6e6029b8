/* SPDX-License-Identifier: Apache-2.0 */
#include "common/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/checked.h"

bool rkt_array_grow(void **items, size_t *cap, size_t need, size_t elem_bytes)
{
    size_t new_cap = *cap < 16 ? 16 : *cap;
    size_t bytes;
    void *grown;

    while (new_cap < need) {
        if (!rkt_mul_size(new_cap, 2, &new_cap))
            return false;
    }
    if (!rkt_mul_size(new_cap, elem_bytes, &bytes))
        return false;
    grown = realloc(*items, bytes);
    if (!grown)
        return false;
    *items = grown;
    *cap = new_cap;
    return true;
}

void *rkt_array_room(size_t count, size_t elem_bytes)
{
    size_t bytes;

    return rkt_mul_size(count, elem_bytes, &bytes) ? malloc(bytes) : NULL;
}
