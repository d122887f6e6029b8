/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time_find.h"

#include <string.h>

#define NEAR_TRIES 4

static int64_t time_at(const int64_t *times, size_t i, size_t elem_bytes)
{
    int64_t time_ns;

    memcpy(&time_ns, (const char *)times + i * elem_bytes, sizeof(time_ns));
    return time_ns;
}

size_t rkt_time_find(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (time_at(times, middle, elem_bytes) < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t rkt_time_find_near(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns,
                          size_t near)
{
    if (near > count || (near > 0 && time_at(times, near - 1, elem_bytes) >= time_ns))
        return rkt_time_find(times, count, elem_bytes, time_ns);
    for (size_t i = near; i < near + NEAR_TRIES; i++) {
        if (i == count || time_at(times, i, elem_bytes) >= time_ns)
            return i;
    }
    return rkt_time_find(times, count, elem_bytes, time_ns);
}

size_t rkt_time_find_past(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns)
{
    return time_ns < INT64_MAX ? rkt_time_find(times, count, elem_bytes, time_ns + 1) : count;
}

size_t rkt_time_find_past_near(const int64_t *times, size_t count, size_t elem_bytes,
                               int64_t time_ns, size_t near)
{
    return time_ns < INT64_MAX ? rkt_time_find_near(times, count, elem_bytes, time_ns + 1, near)
                               : count;
}
