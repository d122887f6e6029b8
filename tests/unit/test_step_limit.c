/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "launch/step_limit.h"

#define LIMIT_NS UINT64_C(200000000)

static void compute(uint64_t cpu_ns)
{
    uint64_t end_ns = rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns;

    while (rkt_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
        ;
}

static void step_for_ever(void)
{
    rkt_step_limit_begin(LIMIT_NS);
    compute(100 * LIMIT_NS);
}

static void step_often(void)
{
    for (int i = 0; i < 10; i++) {
        rkt_step_limit_begin(LIMIT_NS);
        compute(LIMIT_NS / 4);
    }
}

static void sleep_in_a_step(void)
{
    rkt_step_limit_begin(LIMIT_NS);
    (void)usleep(3 * LIMIT_NS / 1000);
}

static void step_without_limit(void)
{
    rkt_step_limit_begin(LIMIT_NS);
    rkt_step_limit_begin(0);
    compute(2 * LIMIT_NS);
}

/* The exit code of a process that does it; its line on standard error goes nowhere. */
static int exit_code_after(void (*action)(void))
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

        if (nowhere < 0 || dup2(nowhere, STDERR_FILENO) < 0 || rkt_step_limit_open(NULL) != RKT_OK)
            _exit(1);
        action();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_step_that_computes_without_end_ends_the_process(void **state)
{
    (void)state;
    assert_int_equal(exit_code_after(step_for_ever), RKT_STEP_LIMIT_EXIT_CODE);
}

static void steps_within_the_limit_go_on(void **state)
{
    (void)state;
    assert_int_equal(exit_code_after(step_often), 0);
    assert_int_equal(exit_code_after(sleep_in_a_step), 0);
    assert_int_equal(exit_code_after(step_without_limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_computes_without_end_ends_the_process),
        cmocka_unit_test(steps_within_the_limit_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
