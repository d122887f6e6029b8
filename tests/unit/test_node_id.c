/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "common/node_id.h"

static void this_host_is_named_and_shares_its_own_clock(void **state)
{
    struct rkt_node_id a, b;

    (void)state;
    rkt_node_id_read(&a);
    rkt_node_id_read(&b);
    assert_int_not_equal(a.host[0], '\0');
    assert_int_equal(strlen(a.boot_id), 36);
    assert_true(rkt_node_id_shares_clock(&a, &b));
}

static void clocks_are_shared_by_boot_and_time_namespace(void **state)
{
    static const struct {
        const char *what;
        struct rkt_node_id a, b;
        bool shares;
    } CASES[] = {
        {"same", {"h", "boot", 1}, {"h", "boot", 1}, true},
        {"same kernel, other container name", {"h", "boot", 1}, {"i", "boot", 1}, true},
        {"other boot", {"h", "boot", 1}, {"h", "toob", 1}, false},
        {"other time namespace", {"h", "boot", 1}, {"h", "boot", 2}, false},
        {"unknown", {"h", "", 0}, {"h", "", 0}, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        if (rkt_node_id_shares_clock(&CASES[i].a, &CASES[i].b) != CASES[i].shares)
            fail_msg("%s", CASES[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_host_is_named_and_shares_its_own_clock),
        cmocka_unit_test(clocks_are_shared_by_boot_and_time_namespace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
