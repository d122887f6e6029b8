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
    struct rkt_hold_order order = {true, "node7", "1234"}, got;
    struct rkt_error err;

    assert_rkt_ok(rkt_hold_release(pair->supervisor_fd, &order, &err), err);
    assert_rkt_ok(rkt_hold_wait(pair->job_fd, 0, &got, &err), err);
    assert_true(got.is_traced);
    assert_string_equal(got.master_host, "node7");
    assert_string_equal(got.master_port, "1234");
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
        cmocka_unit_test_setup_teardown(without_an_order_the_wait_has_an_end, make_pair,
                                        close_pair),
        cmocka_unit_test_setup_teardown(each_side_sees_the_other_ones_end, make_pair, close_pair),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
