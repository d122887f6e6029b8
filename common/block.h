/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_BLOCK_H
#define RKT_COMMON_BLOCK_H

/*
 * block - sixteen bytes of text at once: which of them are like this or that.
 *
 * Each function gives a mask, bit i for byte i. All sixteen bytes are read, at any address. With
 * SSE2, which every x86-64 has, they are a few instructions; elsewhere eight bytes at a time.
 */

#include <stdint.h>

#if defined(__SSE2__) && !defined(RKT_BLOCK_WITHOUT_SSE2) /* the latter for tests */
#define RKT_BLOCK_WITH_SSE2 1
#include <emmintrin.h>
#else
#include "common/bytes.h"
#endif

#define RKT_BLOCK_BYTES 16u

#ifdef RKT_BLOCK_WITH_SSE2

static inline __m128i rkt_block_load(const char *text)
{
    return _mm_loadu_si128((const __m128i *)(const void *)text);
}

/* a[i] == b[i] */
static inline uint32_t rkt_block_same(const char *a, const char *b)
{
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(rkt_block_load(a), rkt_block_load(b)));
}

/* Of the next two the sign of each byte is the answer: differences that stay within their
 * bounds. */

/* No decimal digit. */
static inline uint32_t rkt_block_no_digits(const char *text)
{
    /* moved so that '0' to '9' are the ten lowest numbers with a sign */
    __m128i moved = _mm_add_epi8(rkt_block_load(text), _mm_set1_epi8(128 - '0'));

    return (uint32_t)_mm_movemask_epi8(_mm_subs_epi8(_mm_set1_epi8(-128 + 9), moved));
}

/* What a JSON text cannot hold as it is, or what may mean something else: quotes, backslashes,
 * control characters, and what is no ASCII. */
static inline uint32_t rkt_block_no_text(const char *text)
{
    __m128i bytes = rkt_block_load(text);
    __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i backslashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    __m128i others = _mm_subs_epi8(bytes, _mm_set1_epi8(' ')); /* above 127 is below 0 */

    return (uint32_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), others));
}

#else

#define RKT_BLOCK_ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

static inline uint64_t rkt_block_word(const char *text)
{
    return rkt_get_u64((const uint8_t *)text);
}

/* The top bit of each byte that is below `limit`, which is at most 128. */
static inline uint64_t rkt_block_below(uint64_t word, uint64_t limit)
{
    uint64_t low = word & RKT_BLOCK_ALL(0x7f);

    return ~(low + RKT_BLOCK_ALL(0x80 - limit)) & ~word & RKT_BLOCK_ALL(0x80);
}

static inline uint64_t rkt_block_equal(uint64_t word, uint64_t byte)
{
    return rkt_block_below(word ^ RKT_BLOCK_ALL(byte), 1);
}

/* The top bits of two words as a mask. */
static inline uint32_t rkt_block_mask(uint64_t low, uint64_t high)
{
    uint64_t gather = UINT64_C(0x0002040810204081); /* brings bit 8 i + 7 to bit 56 + i */

    return (uint32_t)(((low >> 7) * gather) >> 49 & 0x7f) | (uint32_t)(low >> 63) << 7 |
           (uint32_t)(((high >> 7) * gather) >> 49 & 0x7f) << 8 | (uint32_t)(high >> 63) << 15;
}

static inline uint32_t rkt_block_same(const char *a, const char *b)
{
    return rkt_block_mask(rkt_block_equal(rkt_block_word(a) ^ rkt_block_word(b), 0),
                          rkt_block_equal(rkt_block_word(a + 8) ^ rkt_block_word(b + 8), 0));
}

static inline uint64_t rkt_block_word_no_digits(uint64_t word)
{
    return (rkt_block_below(word, '0') | ~rkt_block_below(word, '9' + 1)) & RKT_BLOCK_ALL(0x80);
}

static inline uint32_t rkt_block_no_digits(const char *text)
{
    return rkt_block_mask(rkt_block_word_no_digits(rkt_block_word(text)),
                          rkt_block_word_no_digits(rkt_block_word(text + 8)));
}

static inline uint64_t rkt_block_word_no_text(uint64_t word)
{
    return rkt_block_equal(word, '"') | rkt_block_equal(word, '\\') | rkt_block_below(word, ' ') |
           (word & RKT_BLOCK_ALL(0x80));
}

static inline uint32_t rkt_block_no_text(const char *text)
{
    return rkt_block_mask(rkt_block_word_no_text(rkt_block_word(text)),
                          rkt_block_word_no_text(rkt_block_word(text + 8)));
}

#endif

#endif
