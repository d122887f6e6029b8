/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <errno.h>
#include <unistd.h>

#include "launch/hold.h"

struct pair {
    int supervisor_fd;
    int job_fd;
};

static int make_pair(void **state)
{
    static struct pair pair;

    *state = &pair;
    return rkt_hold_create(&pair.supervisor_fd, &pair.job_fd, NULL) == RKT_OK ? 0 : -1;
}

static int close_pair(void **state)
{
    const struct pair *pair = *state;

    (void)close(pair->supervisor_fd);
    (void)close(pair->job_fd);
    return 0;
}

static void an_order_reaches_the_job_whole(void **state)
{
    const struct pair *pair = *state;
    struct rkt_hold_order order = {true, {"node7", "1234", ""}}, got;
    struct rkt_error err;

    assert_rkt_ok(rkt_hold_release(pair->supervisor_fd, &order, &err), err);
    assert_rkt_ok(rkt_hold_wait(pair->job_fd, 0, &got, &err), err);
    assert_true(got.is_traced);
    assert_string_equal(got.master.host, "node7");
    assert_string_equal(got.master.port, "1234");
}

static void a_master_is_taken_whole_or_not_at_all(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        const char *port;
        const char *address;
    } cases[] = {
        {"node7 29500", "node7", "29500", ""},
        {"2001:db8::1 65535", "2001:db8::1", "65535", ""},
        {"", "", "", ""},
        {"node7", "", "", ""},
        {" 29500", "", "", ""},
        {"node7 ", "", "", ""},
        {"node7 0", "", "", ""},
        {"node7 65536", "", "", ""},
        {"node7 29500 10.1.2.3", "node7", "29500", "10.1.2.3"},
        {"node7 29500 2001:db8::1", "node7", "29500", "2001:db8::1"},
        {"node7 29500 ", "node7", "29500", ""},
        {"node7 29500 x", "", "", ""},
        {"node7 29500 10.1.2.3 x", "", "", ""},
        {"node7 29500  10.1.2.3", "", "", ""},
        {"node7 -1", "", "", ""},
        {"node7 00000000000000029500", "", "", ""},
    };
    char long_text[400];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rkt_hold_order order = {true, {"before", "1", "::1"}};

        rkt_hold_order_set_master(&order, cases[i].text);
        if (strcmp(order.master.host, cases[i].host) != 0 ||
            strcmp(order.master.port, cases[i].port) != 0 ||
            strcmp(order.master.address, cases[i].address) != 0)
            fail_msg("'%s' gave '%s' '%s' '%s'", cases[i].text, order.master.host,
                     order.master.port, order.master.address);
    }
    for (size_t host_len = 255; host_len <= 256; host_len++) {
        struct rkt_hold_order order = {.is_traced = true};

        memset(long_text, 'h', host_len);
        memcpy(long_text + host_len, " 7", 3);
        rkt_hold_order_set_master(&order, long_text);
        assert_int_equal(strlen(order.master.host), host_len == 255 ? 255 : 0);
    }
}

static void without_an_order_the_wait_has_an_end(void **state)
{
    const struct pair *pair = *state;
    struct rkt_hold_order got;
    struct rkt_error err;

    assert_rkt_status(rkt_hold_wait(pair->job_fd, 1000000, &got, &err), RKT_AGAIN);
}

static void each_side_sees_the_other_ones_end(void **state)
{
    struct pair *pair = *state;
    struct rkt_hold_order order = {.is_traced = true}, got;
    struct rkt_hold_report report;
    struct rkt_error err;

    assert_rkt_status(rkt_hold_read(pair->supervisor_fd, &report, &err), RKT_AGAIN);
    rkt_hold_say(pair->job_fd, RKT_HOLD_FAILED, ENOEXEC);
    assert_rkt_ok(rkt_hold_read(pair->supervisor_fd, &report, &err), err);
    assert_int_equal(report.word, RKT_HOLD_FAILED);
    assert_int_equal(report.sys_errno, ENOEXEC);
    (void)close(pair->job_fd);
    assert_rkt_status(rkt_hold_read(pair->supervisor_fd, &report, &err), RKT_END);
    assert_rkt_status(rkt_hold_release(pair->supervisor_fd, &order, &err), RKT_ERR_IO);

    assert_rkt_ok(rkt_hold_create(&pair->supervisor_fd, &pair->job_fd, &err), err);
    (void)close(pair->supervisor_fd);
    assert_rkt_status(rkt_hold_wait(pair->job_fd, UINT64_MAX, &got, &err), RKT_END);
    rkt_hold_say(pair->job_fd, RKT_HOLD_STARTS_TRACED, 0); /* nobody hears it: no signal either */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_order_reaches_the_job_whole, make_pair, close_pair),
        cmocka_unit_test(a_master_is_taken_whole_or_not_at_all),
        cmocka_unit_test_setup_teardown(without_an_order_the_wait_has_an_end, make_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(each_side_sees_the_other_ones_end, make_pair, close_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
