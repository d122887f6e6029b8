/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <errno.h>

#include "common/status.h"

static void fail_fills_the_error_and_returns_the_status(void **state)
{
    struct rkt_error err;

    (void)state;
    errno = EBADF;
    assert_int_equal(rkt_fail(&err, RKT_ERR_RANGE, "got %d", 7), RKT_ERR_RANGE);
    assert_int_equal(err.status, RKT_ERR_RANGE);
    assert_string_equal(err.text, "got 7");
    assert_int_equal(err.sys_errno, 0);
    assert_int_equal(errno, EBADF);
}

static void fail_errno_appends_the_systems_words(void **state)
{
    struct rkt_error err;

    (void)state;
    errno = ENOENT;
    assert_int_equal(rkt_fail_errno(&err, RKT_ERR_IO, "cannot open %s", "x"), RKT_ERR_IO);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(errno, ENOENT);
}

static void an_error_pointer_may_be_null(void **state)
{
    (void)state;
    assert_int_equal(rkt_fail(NULL, RKT_ERR_IO, "x"), RKT_ERR_IO);
    assert_int_equal(rkt_fail_errno(NULL, RKT_ERR_IO, "x"), RKT_ERR_IO);
}

static void a_long_text_ends_in_dots_at_the_exact_limit(void **state)
{
    struct rkt_error err;
    char text[600];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[sizeof(err.text) - 1] = '\0'; /* fits exactly */
    (void)rkt_fail(&err, RKT_ERR_IO, "%s", text);
    assert_string_equal(err.text, text);
    text[sizeof(err.text) - 1] = 'a'; /* one too long */
    text[sizeof(err.text)] = '\0';
    (void)rkt_fail(&err, RKT_ERR_IO, "%s", text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + sizeof(err.text) - 4, "...");
}

static void a_prefix_says_whose_failure_it_is(void **state)
{
    struct rkt_error err;

    (void)state;
    (void)rkt_fail(&err, RKT_ERR_RANGE, "no rank %d", 7);
    rkt_error_prefix(&err, "a.rkt");
    assert_string_equal(err.text, "a.rkt: no rank 7");
    assert_int_equal(err.status, RKT_ERR_RANGE);
    memset(err.text, 'a', sizeof(err.text) - 1);
    err.text[sizeof(err.text) - 1] = '\0';
    rkt_error_prefix(&err, "b");
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + sizeof(err.text) - 4, "...");
    rkt_error_prefix(NULL, "c");
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(rkt_status_name(RKT_OK), "RKT_OK");
    assert_string_equal(rkt_status_name(RKT_ERR_MPI), "RKT_ERR_MPI");
    assert_string_equal(rkt_status_name((enum rkt_status)1234), "RKT_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_the_error_and_returns_the_status),
        cmocka_unit_test(fail_errno_appends_the_systems_words),
        cmocka_unit_test(an_error_pointer_may_be_null),
        cmocka_unit_test(a_long_text_ends_in_dots_at_the_exact_limit),
        cmocka_unit_test(a_prefix_says_whose_failure_it_is),
        cmocka_unit_test(every_status_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
