/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_ARRAY_H
#define RKT_COMMON_ARRAY_H

/*
 * array - growth for the plain triple (items, count, cap) that a struct holds.
 *
 *     if (!rkt_array_reserve((void **)&set->items, &set->cap, set->count + 1, sizeof(*set->items)))
 *         return RKT_ERR_NOMEM;
 *     set->items[set->count++] = item;
 *
 * Threads: as the struct. Free the items with free().
 */

#include <stdbool.h>
#include <stddef.h>

/* Where there is not enough room: twice as much as there was, or as often doubled as it takes. */
bool rkt_array_grow(void **items, size_t *cap, size_t need, size_t elem_bytes);

/* Room for `count` items that are not zeroed, for what fills them all. NULL: memory is out, or so
 * many fit into none. Free with free(). */
void *rkt_array_room(size_t count, size_t elem_bytes);

/* Make room for `need` items in all; then *items is not NULL. False (and all as before): memory is
 * out. */
static inline bool rkt_array_reserve(void **items, size_t *cap, size_t need, size_t elem_bytes)
{
    return (*items && need <= *cap) || rkt_array_grow(items, cap, need, elem_bytes);
}

#endif
