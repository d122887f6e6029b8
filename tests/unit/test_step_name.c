/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "common/step_name.h"

#define OTHERWISE UINT64_C(77)

static void number_behind_the_name_is_the_step_s(void **state)
{
    static const struct {
        const char *rest;
        uint64_t number;
    } cases[] = {
        {"12", 12},
        {"0", 0},
        {" 12", 12},
        {"#12", 12},
        {"_12", 12},
        {": 12", 12},
        {" = 12", 12},
        {"/12", 12},
        {"[12]", 12},
        {"12 of 100", 12},
        {"999999999999999999", UINT64_C(999999999999999999)},
        {"1000000000000000000", OTHERWISE},
        {"", OTHERWISE},
        {" ", OTHERWISE},
        {"s 12", OTHERWISE},
        {"-12", OTHERWISE},
        {" of epoch 3", OTHERWISE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rkt_step_name_number(cases[i].rest, strlen(cases[i].rest), OTHERWISE) !=
            cases[i].number)
            fail_msg("'%s' is another step", cases[i].rest);
    }
}

static void nothing_behind_the_end_is_read(void **state)
{
    static const char rest[] = {' ', '1', '2', '3'};

    (void)state;
    assert_int_equal(rkt_step_name_number(rest, 3, OTHERWISE), 12);
    assert_int_equal(rkt_step_name_number(rest, 1, OTHERWISE), OTHERWISE);
    assert_int_equal(rkt_step_name_number(rest, 0, OTHERWISE), OTHERWISE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_behind_the_name_is_the_step_s),
        cmocka_unit_test(nothing_behind_the_end_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
