/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/packed.h"

#include <stdlib.h>
#include <string.h>

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

void rkt_packed_bytes(struct rkt_packed *packed, const void *bytes, size_t len_bytes)
{
    if (len_bytes == 0 || !make_room(packed, len_bytes))
        return;
    memcpy(packed->bytes + packed->len_bytes, bytes, len_bytes);
    packed->len_bytes += len_bytes;
}

void rkt_packed_text(struct rkt_packed *packed, const void *bytes, size_t len_bytes)
{
    rkt_packed_u64(packed, len_bytes);
    rkt_packed_bytes(packed, bytes, len_bytes);
}

size_t rkt_unpack_count(struct rkt_unpacking *from)
{
    uint64_t count = rkt_unpack_u64(from);

    if (count <= (size_t)(from->end - from->at))
        return (size_t)count;
    from->at = from->end;
    from->has_failed = true;
    return 0;
}

struct rkt_bytes rkt_unpack_text(struct rkt_unpacking *from)
{
    size_t len_bytes = rkt_unpack_count(from);
    struct rkt_bytes text = {from->at, len_bytes};

    from->at += len_bytes;
    return text;
}

/* ---- structs ---- */

static size_t bytes_of(enum rkt_packed_type type)
{
    switch (type) {
    case RKT_PACKED_BOOL:
    case RKT_PACKED_U8:
        return 1;
    case RKT_PACKED_U16:
        return 2;
    case RKT_PACKED_U32:
    case RKT_PACKED_I32:
        return 4;
    case RKT_PACKED_U64:
    case RKT_PACKED_I64:
    case RKT_PACKED_DOUBLE:
        break;
    }
    return 8;
}

static uint64_t load(const unsigned char *at, enum rkt_packed_type type)
{
    uint64_t v64;
    uint32_t v32;
    uint16_t v16;

    switch (bytes_of(type)) {
    case 1:
        return *at;
    case 2:
        memcpy(&v16, at, sizeof(v16));
        return v16;
    case 4:
        memcpy(&v32, at, sizeof(v32));
        return type == RKT_PACKED_I32 ? (uint64_t)(int64_t)(int32_t)v32 : v32;
    default:
        memcpy(&v64, at, sizeof(v64));
        return v64;
    }
}

static void store(unsigned char *at, enum rkt_packed_type type, uint64_t value)
{
    uint32_t v32 = (uint32_t)value;
    uint16_t v16 = (uint16_t)value;

    switch (bytes_of(type)) {
    case 1: /* a bool that is neither of the two is no value */
        *at = type == RKT_PACKED_BOOL ? value != 0 : (uint8_t)value;
        return;
    case 2:
        memcpy(at, &v16, sizeof(v16));
        return;
    case 4:
        memcpy(at, &v32, sizeof(v32));
        return;
    default:
        memcpy(at, &value, sizeof(value));
    }
}

static bool is_signed(enum rkt_packed_type type)
{
    return type == RKT_PACKED_I32 || type == RKT_PACKED_I64;
}

static void pack_member(struct rkt_packed *packed, const struct rkt_packed_member *member,
                        const unsigned char *item)
{
    const unsigned char *at = item + member->offset;

    for (size_t i = 0; i < member->count; i++, at += bytes_of(member->type)) {
        uint64_t value = load(at, member->type);

        rkt_packed_u64(packed, is_signed(member->type) ? rkt_zigzag(value) : value);
    }
}

void rkt_packed_structs(struct rkt_packed *packed, const struct rkt_packed_table *table,
                        const void *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *item = (const unsigned char *)items + i * table->struct_bytes;

        for (size_t m = 0; m < table->count; m++)
            pack_member(packed, &table->members[m], item);
    }
}

static void unpack_member(struct rkt_unpacking *from, const struct rkt_packed_member *member,
                          unsigned char *item)
{
    unsigned char *at = item + member->offset;

    for (size_t i = 0; i < member->count; i++, at += bytes_of(member->type)) {
        uint64_t value = rkt_unpack_u64(from);

        store(at, member->type, is_signed(member->type) ? rkt_unzigzag(value) : value);
    }
}

void rkt_unpack_structs(struct rkt_unpacking *from, const struct rkt_packed_table *table,
                        void *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char *item = (unsigned char *)items + i * table->struct_bytes;

        for (size_t m = 0; m < table->count; m++)
            unpack_member(from, &table->members[m], item);
    }
}
