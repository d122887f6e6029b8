/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/packed.h"

#include <string.h>

#include "rkt_test.h"

static const uint64_t NUMBERS[] = {
    0, 1, 127, 128, 300, 16383, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
#define NUMBER_COUNT (sizeof(NUMBERS) / sizeof(NUMBERS[0]))

static struct rkt_bytes bytes_of(const struct rkt_packed *packed)
{
    return (struct rkt_bytes){packed->bytes, packed->len_bytes};
}

static void numbers_come_back_as_they_were(void **state)
{
    struct rkt_packed packed = {0};
    struct rkt_unpacking from;

    (void)state;
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        rkt_packed_u64(&packed, NUMBERS[i]);
        rkt_packed_i64(&packed, (int64_t)NUMBERS[i]);
        rkt_packed_i64(&packed, -(int64_t)(NUMBERS[i] >> 1));
    }
    rkt_packed_i64(&packed, INT64_MIN);
    rkt_packed_trim(&packed);
    rkt_unpacking_init(&from, bytes_of(&packed));
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        assert_true(rkt_unpack_u64(&from) == NUMBERS[i]);
        assert_true(rkt_unpack_i64(&from) == (int64_t)NUMBERS[i]);
        assert_true(rkt_unpack_i64(&from) == -(int64_t)(NUMBERS[i] >> 1));
    }
    assert_true(rkt_unpack_i64(&from) == INT64_MIN);
    assert_true(from.at == from.end);
    assert_false(from.has_failed);
    rkt_packed_release(&packed);
}

static void small_numbers_take_one_byte(void **state)
{
    struct rkt_packed packed = {0};

    (void)state;
    rkt_packed_u64(&packed, 127);
    rkt_packed_i64(&packed, -64);
    rkt_packed_i64(&packed, 63);
    assert_int_equal(packed.len_bytes, 3);
    rkt_packed_release(&packed);
}

static void bytes_that_end_too_early_are_noticed(void **state)
{
    static const uint8_t ENDLESS[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct rkt_unpacking from;

    (void)state;
    for (size_t len_bytes = 0; len_bytes <= sizeof(ENDLESS); len_bytes++) {
        rkt_unpacking_init(&from, (struct rkt_bytes){ENDLESS, len_bytes});
        assert_true(rkt_unpack_u64(&from) == 0);
        assert_true(from.has_failed);
        assert_true(rkt_unpack_i64(&from) == 0);
        assert_true(from.at == from.end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_as_they_were),
        cmocka_unit_test(small_numbers_take_one_byte),
        cmocka_unit_test(bytes_that_end_too_early_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
