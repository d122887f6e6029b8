/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_PACKED_H
#define RKT_ANALYSIS_PACKED_H

/*
 * packed - numbers and texts in few bytes: what an analysis keeps of many ranks, and what its
 * processes send each other. Nothing of it is ever stored: both ends are the same program.
 *
 * A number is 7 bits a byte, low ones first; one that may be negative is zigzag first.
 *
 * Threads: one at a time.
 * On error: out of memory, or bytes that end too early, sets has_failed; later writes do nothing
 *          and later reads give 0, so that a caller checks once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

struct rkt_packed { /* all zero: empty */
    uint8_t *bytes;
    size_t len_bytes;
    size_t cap_bytes;
    bool has_failed;
};

void rkt_packed_release(struct rkt_packed *packed); /* leaves it zeroed */
void rkt_packed_reset(struct rkt_packed *packed);   /* keeps the memory */
void rkt_packed_trim(struct rkt_packed *packed);    /* gives back what is not used */

void rkt_packed_u64(struct rkt_packed *packed, uint64_t value);
void rkt_packed_i64(struct rkt_packed *packed, int64_t value);

void rkt_packed_bytes(struct rkt_packed *packed, const void *bytes, size_t len_bytes);
/* Their number, then the bytes. */
void rkt_packed_text(struct rkt_packed *packed, const void *bytes, size_t len_bytes);

struct rkt_unpacking {
    const uint8_t *at;
    const uint8_t *end;
    bool has_failed;
};

void rkt_unpacking_init(struct rkt_unpacking *from, struct rkt_bytes bytes);
uint64_t rkt_unpack_u64(struct rkt_unpacking *from);
int64_t rkt_unpack_i64(struct rkt_unpacking *from);
/* On loan, for as long as the packed bytes are there. */
struct rkt_bytes rkt_unpack_text(struct rkt_unpacking *from);

/*
 * A number of things of at least one byte each: has_failed, and 0, where fewer bytes are left, so
 * that a caller may take memory for them.
 */
size_t rkt_unpack_count(struct rkt_unpacking *from);

/* ---- plain structs by a table of their members ---- */

enum rkt_packed_type {
    RKT_PACKED_BOOL,
    RKT_PACKED_U8,
    RKT_PACKED_U16,
    RKT_PACKED_U32,
    RKT_PACKED_U64,
    RKT_PACKED_I32,
    RKT_PACKED_I64,
    RKT_PACKED_DOUBLE,
};

struct rkt_packed_member {
    size_t offset;
    size_t count; /* 1, or of an array */
    enum rkt_packed_type type;
};

#define RKT_PACKED_TYPE_OF(value)       \
    _Generic((value), bool              \
             : RKT_PACKED_BOOL, uint8_t \
             : RKT_PACKED_U8, uint16_t  \
             : RKT_PACKED_U16, uint32_t \
             : RKT_PACKED_U32, uint64_t \
             : RKT_PACKED_U64, int32_t  \
             : RKT_PACKED_I32, int64_t  \
             : RKT_PACKED_I64, double   \
             : RKT_PACKED_DOUBLE)

/* Rows of a table; of an array, and of a struct that is made of int64_t alone. */
#define RKT_PACKED(type, member)                                                    \
    {                                                                               \
        offsetof(type, member), 1, RKT_PACKED_TYPE_OF(((const type *)NULL)->member) \
    }
#define RKT_PACKED_ARRAY(type, member)                                                      \
    {                                                                                       \
        offsetof(type, member),                                                             \
            sizeof(((const type *)NULL)->member) / sizeof(((const type *)NULL)->member[0]), \
            RKT_PACKED_TYPE_OF(((const type *)NULL)->member[0])                             \
    }
#define RKT_PACKED_I64S(type, member)                                                   \
    {                                                                                   \
        offsetof(type, member), sizeof(((const type *)NULL)->member) / sizeof(int64_t), \
            RKT_PACKED_I64                                                              \
    }

struct rkt_packed_table {
    const struct rkt_packed_member *members;
    size_t count;
    size_t struct_bytes;
};

#define RKT_PACKED_TABLE(type, members_of)                                       \
    {                                                                            \
        (members_of), sizeof(members_of) / sizeof((members_of)[0]), sizeof(type) \
    }

/* `count` structs, one after the other; unpack leaves alone what is in no row. */
void rkt_packed_structs(struct rkt_packed *packed, const struct rkt_packed_table *table,
                        const void *items, size_t count);
void rkt_unpack_structs(struct rkt_unpacking *from, const struct rkt_packed_table *table,
                        void *items, size_t count);

#endif
