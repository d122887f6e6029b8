/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/signals.h"

#include <unistd.h>

#include "rkt_test.h"

static void take(int number)
{
    (void)number;
}

static void a_handler_is_seen_and_nothing_else(void **state)
{
    struct sigaction caught = {.sa_handler = take};

    (void)state;
    assert_false(rkt_signal_is_caught(getpid(), SIGUSR2));
    assert_int_equal(sigaction(SIGUSR2, &caught, NULL), 0);
    assert_true(rkt_signal_is_caught(getpid(), SIGUSR2));
    assert_false(rkt_signal_is_caught(getpid(), SIGUSR1));
    caught.sa_handler = SIG_IGN;
    assert_int_equal(sigaction(SIGUSR2, &caught, NULL), 0);
    assert_false(rkt_signal_is_caught(getpid(), SIGUSR2));
}

static void a_process_that_is_gone_catches_nothing(void **state)
{
    (void)state;
    assert_false(rkt_signal_is_caught(0x7ffffff0, SIGUSR2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_is_seen_and_nothing_else),
        cmocka_unit_test(a_process_that_is_gone_catches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
