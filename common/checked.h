/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CHECKED_H
#define RKT_COMMON_CHECKED_H

/*
 * checked - sums and products that say when they do not fit. False leaves *out untouched.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool rkt_add_size(size_t a, size_t b, size_t *out)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool rkt_mul_size(size_t a, size_t b, size_t *out)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

static inline bool rkt_add_i64(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

#endif
