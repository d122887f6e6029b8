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

struct rkt_unpacking {
    const uint8_t *at;
    const uint8_t *end;
    bool has_failed;
};

void rkt_unpacking_init(struct rkt_unpacking *from, struct rkt_bytes bytes);
uint64_t rkt_unpack_u64(struct rkt_unpacking *from);
int64_t rkt_unpack_i64(struct rkt_unpacking *from);

#endif
