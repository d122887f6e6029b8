/* SPDX-License-Identifier: Apache-2.0 */
/* Built twice: as it is used here, and as on processors without SSE2. */
#include "rkt_test.h"

#include <stdbool.h>

#include "common/block.h"

#define PLACES (RKT_BLOCK_BYTES + 3) /* also addresses that are no multiple of anything */

static bool is_no_digit(char c)
{
    return c < '0' || c > '9';
}

static bool is_no_text(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < ' ' || (unsigned char)c > 127;
}

/* By each byte alone. */
static uint32_t mask_of(const char *text, bool (*is_one)(char c))
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < RKT_BLOCK_BYTES; i++)
        mask |= (uint32_t)is_one(text[i]) << i;
    return mask;
}

static void each_byte_is_told_at_each_place(void **state)
{
    static const char AROUND[] = {'5', 'x', '"', '\x7f', '\xff', '\0'};
    char text[2 * PLACES];

    (void)state;
    for (size_t a = 0; a < sizeof(AROUND); a++) {
        for (size_t at = 0; at < PLACES; at++) {
            for (int c = 0; c < 256; c++) {
                memset(text, AROUND[a], sizeof(text));
                text[at] = (char)c;
                for (size_t from = 0; from < 3; from++) {
                    assert_int_equal(rkt_block_no_digits(text + from),
                                     mask_of(text + from, is_no_digit));
                    assert_int_equal(rkt_block_no_text(text + from),
                                     mask_of(text + from, is_no_text));
                }
            }
        }
    }
}

static void bytes_are_the_same_or_not(void **state)
{
    char a[RKT_BLOCK_BYTES];
    char b[RKT_BLOCK_BYTES];

    (void)state;
    for (uint32_t i = 0; i < RKT_BLOCK_BYTES; i++) {
        for (int change = 0; change < 256; change++) {
            memset(a, 'x', sizeof(a));
            memset(b, 'x', sizeof(b));
            b[i] = (char)(b[i] ^ change);
            assert_int_equal(rkt_block_same(a, b), change == 0 ? 0xffffu : 0xffffu & ~(1u << i));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_is_told_at_each_place),
        cmocka_unit_test(bytes_are_the_same_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
