/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_COLUMN_H
#define RKT_COMMON_CODEC_COLUMN_H

/*
 * codec_column - one column of numbers in msgpack: an integer when all rows are alike, else
 * a bin of byte planes. For batches (codec) and indexes (store_index).
 *
 * Planes: with w = 1, 2, 4 or 8 bytes per number, the smallest that holds all of them, plane
 * p holds byte p (0 = least significant) of every row. Neighbours in a plane are alike,
 * which is what zstd needs.
 *
 * Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/codec_read.h"
#include "common/codec_write.h"

/* Key and value; nothing when every number is 0, as an absent column is. True if written. */
bool rkt_column_write(struct rkt_codec_buf *buf, uint8_t key, const uint64_t *values, size_t count);

/* Fills values_out; false unless `item` is a column of `count` rows of at most `max_bytes` each. */
bool rkt_column_read(const struct rkt_item *item, size_t count, unsigned max_bytes,
                     uint64_t *values_out);

/* The pairs of a map with keys below key_end, to items[key] and has_key[key]; others are passed
 * over. False: no map, or cut short. */
bool rkt_columns_find(struct rkt_bytes raw, struct rkt_item *items, bool *has_key, size_t key_end);

/* Signed differences as small unsigned numbers: 0, -1, 1, -2 ... to 0, 1, 2, 3 ... */
static inline uint64_t rkt_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t rkt_unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

#endif
