/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_ROW_LIST_H
#define RKT_ANALYSIS_ROW_LIST_H

/*
 * row_list - rows of a key table while they are found: by a small number each, in O(1).
 *
 *     key      a number below key_count that the maker gives to what belongs together, such as twice
 *              a name's id and one more for collectives
 *     segment  segment.h: each has rows of its own
 *     row      index in rows, in the order in which keys were first seen
 *
 * Threads: one at a time. Memory: its own, 4 bytes per possible key and, for each seen, per segment.
 */

#include "analysis/key_table.h"
#include "analysis/segment.h"

/* Rows of a key by segment: index + 1; 0 not seen. */
struct rkt_row_place {
    uint32_t rows[RKT_SEGMENT_COUNT];
};

struct rkt_row_list {
    struct rkt_row *rows;
    size_t row_count;
    size_t row_cap;
    struct rkt_row_place *places;
    size_t place_count;
    size_t place_cap;
    uint32_t *place_of_key; /* index + 1; 0 not seen */
    size_t key_count;
};

/* RKT_ERR_NOMEM only; release is the caller's. */
enum rkt_status rkt_row_list_init(struct rkt_row_list *list, size_t key_count);
void rkt_row_list_release(struct rkt_row_list *list);

/*
 * The row of a key in a segment, on loan until the next is asked for; NULL when memory is out. A
 * new one (*is_new_out) has 0 in every column; the caller gives it kind and name, which
 * rkt_row_list_finish copies.
 */
struct rkt_row *rkt_row_list_get(struct rkt_row_list *list, size_t key, unsigned segment,
                                 bool *is_new_out);

/* NULL: there is none. */
struct rkt_row *rkt_row_list_find(const struct rkt_row_list *list, size_t key, unsigned segment);

/* The rows that are not 0 in every column, as a table in the arena, in the order in which they
 * were found. */
enum rkt_status rkt_row_list_finish(const struct rkt_row_list *list, struct rkt_arena *arena,
                                    struct rkt_table *table_out);

/* *sum += ns, which stays where it cannot grow: a hostile trace may hold anything. */
static inline void rkt_row_add(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

#endif
