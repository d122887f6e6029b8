/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_BYTES_H
#define RKT_COMMON_BYTES_H

/*
 * bytes - a run of bytes, and little-endian integers at any address. The one way that
 * numbers of our formats are read and written; the caller has checked the bounds.
 */

#include <stddef.h>
#include <stdint.h>

/* On loan, for as long as the function that gives or takes it says. */
struct rkt_bytes {
    const uint8_t *at;
    size_t len_bytes;
};

static inline void rkt_put_u16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static inline void rkt_put_u32(uint8_t *at, uint32_t v)
{
    rkt_put_u16(at, (uint16_t)v);
    rkt_put_u16(at + 2, (uint16_t)(v >> 16));
}

static inline void rkt_put_u64(uint8_t *at, uint64_t v)
{
    rkt_put_u32(at, (uint32_t)v);
    rkt_put_u32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t rkt_get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t rkt_get_u32(const uint8_t *at)
{
    return (uint32_t)rkt_get_u16(at) | (uint32_t)rkt_get_u16(at + 2) << 16;
}

static inline uint64_t rkt_get_u64(const uint8_t *at)
{
    return (uint64_t)rkt_get_u32(at) | (uint64_t)rkt_get_u32(at + 4) << 32;
}

#endif
