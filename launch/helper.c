/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

static int spawn(const char *program, const char *argument, pid_t *pid_out)
{
    const char *args[] = {program, argument, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failure = ENOMEM;

    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return failure;
    if (posix_spawnattr_init(&attributes) != 0)
        goto destroy_actions;
    failure = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failure == 0)
        failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (failure == 0)
        failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (failure == 0)
        failure =
            posix_spawn(pid_out, program, &actions, &attributes, (char *const *)args, environ);
    (void)posix_spawnattr_destroy(&attributes);
destroy_actions:
    (void)posix_spawn_file_actions_destroy(&actions);
    return failure;
}

enum rkt_status rkt_helper_start(const char *program, const char *argument, pid_t *pid_out,
                                 struct rkt_error *err)
{
    errno = spawn(program, argument, pid_out);
    if (errno != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot start %s", program);
    return RKT_OK;
}
