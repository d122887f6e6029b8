/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/packed.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/codec_column.h"

#define NUMBER_BYTES_MAX 10u /* of 64 bits, 7 a byte */

void rkt_packed_release(struct rkt_packed *packed)
{
    free(packed->bytes);
    *packed = (struct rkt_packed){0};
}

void rkt_packed_reset(struct rkt_packed *packed)
{
    packed->len_bytes = 0;
    packed->has_failed = false;
}

void rkt_packed_trim(struct rkt_packed *packed)
{
    void *shrunk = packed->len_bytes > 0 ? realloc(packed->bytes, packed->len_bytes) : NULL;

    if (!shrunk)
        return;
    packed->bytes = shrunk;
    packed->cap_bytes = packed->len_bytes;
}

static bool make_room(struct rkt_packed *packed, size_t more_bytes)
{
    if (packed->has_failed || more_bytes > SIZE_MAX - packed->len_bytes ||
        !rkt_array_reserve((void **)&packed->bytes, &packed->cap_bytes,
                           packed->len_bytes + more_bytes, 1))
        packed->has_failed = true;
    return !packed->has_failed;
}

void rkt_packed_u64(struct rkt_packed *packed, uint64_t value)
{
    if (!make_room(packed, NUMBER_BYTES_MAX))
        return;
    for (; value > 0x7f; value >>= 7)
        packed->bytes[packed->len_bytes++] = (uint8_t)(value | 0x80);
    packed->bytes[packed->len_bytes++] = (uint8_t)value;
}

void rkt_packed_i64(struct rkt_packed *packed, int64_t value)
{
    rkt_packed_u64(packed, rkt_zigzag((uint64_t)value));
}

void rkt_unpacking_init(struct rkt_unpacking *from, struct rkt_bytes bytes)
{
    *from = (struct rkt_unpacking){.at = bytes.at, .end = bytes.at + bytes.len_bytes};
}

uint64_t rkt_unpack_u64(struct rkt_unpacking *from)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte <= 0x7f)
            return value;
    }
    from->at = from->end;
    from->has_failed = true;
    return 0;
}

int64_t rkt_unpack_i64(struct rkt_unpacking *from)
{
    return (int64_t)rkt_unzigzag(rkt_unpack_u64(from));
}
