/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/rank_env.h"
#include "launch/sidecar_start.h"

/* Texts stay the environment's; NULL: no memory. */
static char **copy_without_mpi(char *const *env)
{
    size_t count = 0;
    char **copy;

    while (env[count])
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0, kept = 0; copy && i < count; i++) {
        if (!rkt_env_is_for_mpi(env[i]))
            copy[kept++] = env[i];
    }
    return copy;
}

static int spawn(const char *program, const char *argument, char *const *env, pid_t *pid_out)
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
        failure = posix_spawn(pid_out, program, &actions, &attributes, (char *const *)args, env);
    (void)posix_spawnattr_destroy(&attributes);
destroy_actions:
    (void)posix_spawn_file_actions_destroy(&actions);
    return failure;
}

enum rkt_status rkt_helper_start(const char *program, const char *argument, bool is_apart,
                                 pid_t *pid_out, struct rkt_error *err)
{
    char **env = is_apart ? copy_without_mpi(environ) : environ;
    int failure;

    if (!env)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to start %s", program);
    if (is_apart)
        rkt_widen_core_binding();
    failure = spawn(program, argument, env, pid_out);
    if (is_apart)
        free(env);
    errno = failure;
    if (failure != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot start %s", program);
    return RKT_OK;
}
