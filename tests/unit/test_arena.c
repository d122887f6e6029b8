/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdalign.h>

#include "common/arena.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    struct rkt_arena arena;
    unsigned char *before = NULL;

    (void)state;
    rkt_arena_init(&arena, SIZE_MAX);
    for (size_t bytes = 1; bytes < 200000; bytes = bytes * 3 + 1) {
        unsigned char *now = rkt_arena_calloc(&arena, bytes, 1);

        assert_non_null(now);
        assert_int_equal((uintptr_t)now % alignof(max_align_t), 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(now[i], 0);
        memset(now, 0xff, bytes);
        assert_true(now != before);
        before = now;
    }
    rkt_arena_release(&arena);
    assert_null(arena.blocks);
}

static void the_limit_fails_the_call_and_keeps_the_rest(void **state)
{
    struct rkt_arena arena;

    (void)state;
    rkt_arena_init(&arena, 1024);
    assert_non_null(rkt_arena_calloc(&arena, 1024, 1));
    assert_null(rkt_arena_calloc(&arena, 1, 1));
    rkt_arena_reset(&arena);
    assert_non_null(rkt_arena_calloc(&arena, 1000, 1));
    rkt_arena_release(&arena);
}

static void an_overflowing_product_is_refused(void **state)
{
    struct rkt_arena arena;

    (void)state;
    rkt_arena_init(&arena, SIZE_MAX);
    assert_null(rkt_arena_calloc(&arena, SIZE_MAX / 2, 3));
    assert_null(rkt_arena_calloc(&arena, SIZE_MAX, 1));
    rkt_arena_release(&arena);
}

static void strndup_copies_and_closes(void **state)
{
    struct rkt_arena arena;
    char *copy;

    (void)state;
    rkt_arena_init(&arena, SIZE_MAX);
    copy = rkt_arena_strndup(&arena, "abcdef", 3);
    assert_string_equal(copy, "abc");
    assert_string_equal(rkt_arena_strndup(&arena, NULL, 0), "");
    rkt_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(the_limit_fails_the_call_and_keeps_the_rest),
        cmocka_unit_test(an_overflowing_product_is_refused),
        cmocka_unit_test(strndup_copies_and_closes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
