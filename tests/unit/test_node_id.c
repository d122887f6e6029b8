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

static void a_node_is_a_host_name_of_a_boot(void **state)
{
    static const struct rkt_node_id HERE = {"node-1", "boot", 1};
    static const struct rkt_node_id SAME = {"node-1", "boot", 2}; /* another time namespace */
    static const struct rkt_node_id OTHERS[] = {
        {"node-2", "boot", 1}, {"node-1", "toob", 1}, {"", "", 0}, {"node-1boot", "", 1}};

    (void)state;
    assert_true(rkt_node_id_number(&HERE) == rkt_node_id_number(&SAME));
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        assert_false(rkt_node_id_number(&HERE) == rkt_node_id_number(&OTHERS[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_host_is_named_and_shares_its_own_clock),
        cmocka_unit_test(clocks_are_shared_by_boot_and_time_namespace),
        cmocka_unit_test(a_node_is_a_host_name_of_a_boot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
