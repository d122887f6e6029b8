/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/refusals.h"

#include <stdio.h>
#include <unistd.h>

#include "rkt_test.h"

#define S UINT64_C(1000000000)

static struct rkt_refusals refusals;
static char said[4096];

/* Refuse `count` for `reason`, then say at `now_ns`; what was said is in `said`. */
static void refuse(unsigned count, const char *reason, uint64_t now_ns, bool is_last)
{
    struct rkt_error err = {0};
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    ssize_t got;

    (void)snprintf(err.text, sizeof(err.text), "%s", reason);
    for (unsigned i = 0; i < count; i++)
        rkt_refusals_add(&refusals, &err);
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    rkt_refusals_say(&refusals, now_ns, is_last);
    (void)dup2(saved, STDERR_FILENO);
    close(saved);
    got = pread(fileno(file), said, sizeof(said) - 1, 0);
    said[got > 0 ? got : 0] = '\0';
    (void)fclose(file);
}

static void the_first_is_said_at_once_and_the_rest_once_a_second(void **state)
{
    (void)state;
    refusals = (struct rkt_refusals){0};
    refuse(0, "", S, false);
    assert_string_equal(said, "");
    refuse(1, "old", S, false);
    assert_non_null(strstr(said, "reason=\"old\" count=1\n"));
    refuse(500, "older", S + S / 2, false);
    assert_string_equal(said, "");
    refuse(7, "oldest", 2 * S, false);
    assert_non_null(strstr(said, "reason=\"oldest\" count=507\n"));
    refuse(0, "", 9 * S, false);
    assert_string_equal(said, "");
}

static void at_the_end_all_is_said(void **state)
{
    (void)state;
    refusals = (struct rkt_refusals){0};
    refuse(1, "a", S, false);
    refuse(3, "b", S, true);
    assert_non_null(strstr(said, "reason=\"b\" count=3\n"));
    refuse(0, "", S, true);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_said_at_once_and_the_rest_once_a_second),
        cmocka_unit_test(at_the_end_all_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
