/* SPDX-License-Identifier: Apache-2.0 */
#include "common/step_name.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS_MAX 18 /* no overflow */

static bool is_separator(char c)
{
    return c != '\0' && strchr(" \t#_:=/([", c) != NULL;
}

uint64_t rkt_step_name_number(const char *rest, size_t len_bytes, uint64_t otherwise)
{
    uint64_t number = 0;
    size_t at = 0;
    size_t first;

    while (at < len_bytes && is_separator(rest[at]))
        at++;
    for (first = at; at < len_bytes && rest[at] >= '0' && rest[at] <= '9'; at++) {
        if (at - first == DIGITS_MAX)
            return otherwise;
        number = number * 10 + (uint64_t)(rest[at] - '0');
    }
    return at > first ? number : otherwise;
}
