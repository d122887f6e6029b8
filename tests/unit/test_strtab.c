/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>

#include "common/strtab.h"

static int setup(void **state)
{
    *state = rkt_strtab_create();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    rkt_strtab_destroy(*state);
    return 0;
}

static void equal_texts_share_an_id_and_ids_are_dense(void **state)
{
    struct rkt_strtab *tab = *state;
    char name[32];

    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 5000; i++) {
            int len = snprintf(name, sizeof(name), "kernel_%u", i);

            assert_int_equal(rkt_strtab_intern(tab, name, (size_t)len), i);
        }
    }
    assert_int_equal(rkt_strtab_count(tab), 5001);
    assert_string_equal(rkt_strtab_get(tab, 4711, NULL), "kernel_4711");
}

static void id_zero_is_empty_and_unknown_ids_read_as_it(void **state)
{
    size_t len = 99;

    assert_int_equal(rkt_strtab_intern(*state, "", 0), 0);
    assert_string_equal(rkt_strtab_get(*state, 12345, &len), "");
    assert_int_equal(len, 0);
}

static void texts_may_hold_any_byte(void **state)
{
    const char text[] = {'a', 0, (char)0xff, '"'};
    size_t len;
    uint32_t id = rkt_strtab_intern(*state, text, sizeof(text));

    assert_memory_equal(rkt_strtab_get(*state, id, &len), text, sizeof(text));
    assert_int_equal(len, sizeof(text));
    assert_int_not_equal(rkt_strtab_intern(*state, "a", 1), id);
}

static void define_leaves_holes_and_refuses_another_text(void **state)
{
    assert_int_equal(rkt_strtab_define(*state, 7, "seven", 5), RKT_OK);
    assert_int_equal(rkt_strtab_define(*state, 7, "seven", 5), RKT_OK);
    assert_int_equal(rkt_strtab_define(*state, 7, "eight", 5), RKT_ERR_FORMAT);
    assert_string_equal(rkt_strtab_get(*state, 3, NULL), "");
    assert_int_equal(rkt_strtab_define(*state, 3, "seven", 5), RKT_OK);
    assert_int_equal(rkt_strtab_intern(*state, "seven", 5), 7);
    assert_int_equal(rkt_strtab_define(*state, RKT_STRING_COUNT_MAX, "x", 1), RKT_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_texts_share_an_id_and_ids_are_dense, setup, teardown),
        cmocka_unit_test_setup_teardown(id_zero_is_empty_and_unknown_ids_read_as_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(texts_may_hold_any_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(define_leaves_holes_and_refuses_another_text, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
