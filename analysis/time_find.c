/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/time_find.h"

#include <string.h>

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

size_t rkt_time_find_past(const int64_t *times, size_t count, size_t elem_bytes, int64_t time_ns)
{
    return time_ns < INT64_MAX ? rkt_time_find(times, count, elem_bytes, time_ns + 1) : count;
}
