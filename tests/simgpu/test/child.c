/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/test/child.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/rkt_test.h"

/* The child keeps what it puts into its environment. */
static void put_environment(const char *environment)
{
    char *text = strdup(environment);
    char *rest;

    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        putenv(word);
}

static void (*child_body)(void);

static void run_body(void **state)
{
    (void)state;
    child_body();
}

/* A test group of its own, so that an assertion that fails does not go on with the parent's. */
static int run_as_group(const char *environment)
{
    const struct CMUnitTest tests[] = {
        {environment[0] ? environment : "nothing set", run_body, NULL, NULL, NULL}};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int test_child(const char *environment, void (*body)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        put_environment(environment);
        child_body = body;
        _exit(run_as_group(environment));
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}
