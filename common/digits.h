/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_DIGITS_H
#define RKT_COMMON_DIGITS_H

/*
 * digits - up to eight decimal digits as one number, all at once: times have sixteen and more.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"

#define RKT_EIGHT_DIGITS 8
#define RKT_EIGHT_DIGITS_RANGE 100000000u /* a number of eight digits is below it */

/* Eight digits, the first of which is in the lowest byte: pairs, then fours, then all. */
static inline uint64_t rkt_sum_of_digits(uint64_t bytes)
{
    bytes &= UINT64_C(0x0f0f0f0f0f0f0f0f);
    bytes = (bytes * 10 + (bytes >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    bytes = (bytes * 100 + (bytes >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (bytes * 10000 + (bytes >> 32)) & UINT64_C(0xffffffff);
}

/* text[0, 8); false, *out untouched, where one of them is no digit. */
static inline bool rkt_eight_digits(const char *text, uint64_t *out)
{
    uint64_t bytes = rkt_get_u64((const uint8_t *)text);
    uint64_t high_halves = UINT64_C(0xf0f0f0f0f0f0f0f0);
    uint64_t zeros = UINT64_C(0x3030303030303030);

    /* '0' to '9' are 0x30 to 0x39: 6 more and they still begin with 3 */
    if ((bytes & high_halves) != zeros ||
        ((bytes + UINT64_C(0x0606060606060606)) & high_halves) != zeros)
        return false;
    *out = rkt_sum_of_digits(bytes);
    return true;
}

/* text[0, count), 1 to 8 of them, which are digits; all of text[0, 8) is read. */
static inline uint64_t rkt_few_digits(const char *text, size_t count)
{
    uint64_t bytes = rkt_get_u64((const uint8_t *)text);

    return rkt_sum_of_digits(bytes << 8 * (RKT_EIGHT_DIGITS - count)); /* zeros before them */
}

#endif
