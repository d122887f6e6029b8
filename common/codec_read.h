/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_READ_H
#define RKT_COMMON_CODEC_READ_H

/*
 * codec_read - walks msgpack in place, item by item; for the decoders of common/ only.
 *
 * Not msgpack-c's unpacker: that one takes memory for as many elements as a head claims (4 GiB
 * for 5 hostile bytes). This one allocates nothing, does not recurse and reads each byte once.
 *
 * Threads: any; a cursor is the caller's. Memory: bytes of an item point into the input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rkt_item_kind {
    RKT_ITEM_UINT,  /* any integer >= 0: value */
    RKT_ITEM_INT,   /* an integer < 0: value is its two's complement */
    RKT_ITEM_BOOL,  /* value */
    RKT_ITEM_BYTES, /* bin or str: bytes, count */
    RKT_ITEM_ARRAY, /* count elements follow */
    RKT_ITEM_MAP,   /* count pairs follow */
    RKT_ITEM_OTHER, /* nil, a float, an extension: passed over already */
};

struct rkt_item {
    enum rkt_item_kind kind;
    uint64_t value;
    const uint8_t *bytes;
    size_t count;
};

struct rkt_cursor {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
};

void rkt_cursor_init(struct rkt_cursor *cursor, const uint8_t *bytes, size_t len_bytes);

/* The next item; of an array or map only its head. False: cut short, or no msgpack. */
bool rkt_cursor_next(struct rkt_cursor *cursor, struct rkt_item *item_out);

/* Past everything inside `item`, which next has just given. */
bool rkt_cursor_skip_inside(struct rkt_cursor *cursor, const struct rkt_item *item);

/* The next item with everything inside it; item_out is its head. */
bool rkt_cursor_next_whole(struct rkt_cursor *cursor, struct rkt_item *item_out);

bool rkt_cursor_is_at_end(const struct rkt_cursor *cursor);
size_t rkt_cursor_offset(const struct rkt_cursor *cursor);

#endif
