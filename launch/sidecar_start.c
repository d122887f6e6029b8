/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/sidecar_start.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/signals.h"

#define SIDECAR_CPUS_MAX 8192
#define EXIT_CANNOT_EXEC 127

void rkt_widen_core_binding(void)
{
    cpu_set_t *all = CPU_ALLOC(SIDECAR_CPUS_MAX);
    size_t all_bytes = CPU_ALLOC_SIZE(SIDECAR_CPUS_MAX);

    if (!all)
        return;
    CPU_ZERO_S(all_bytes, all);
    for (int cpu = 0; cpu < SIDECAR_CPUS_MAX; cpu++)
        CPU_SET_S((size_t)cpu, all_bytes, all);
    (void)sched_setaffinity(0, all_bytes, all); /* the kernel cuts it to the cpuset */
    CPU_FREE(all);
}

static void set_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t none;

    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number == SIGPIPE || (rkt_signal_is_sent(number) && number != SIGCONT))
            (void)sigaction(number, &ignore, NULL);
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_sidecar(const struct rkt_sidecar_config *config, int control_fd)
{
    char fd_text[16], drain_text[32];
    const char *args[] = {
        config->program,
        "--control-fd",
        fd_text,
        "--socket",
        config->socket_path,
        "--output",
        config->output,
        "--command",
        config->command,
        "--on-failure",
        config->on_failure,
        "--drain-timeout",
        drain_text,
        config->is_per_node ? "--per-node" : NULL,
        NULL,
    };
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)snprintf(fd_text, sizeof(fd_text), "%d", control_fd);
    (void)snprintf(drain_text, sizeof(drain_text), "%lluns",
                   (unsigned long long)config->drain_timeout_ns);
    (void)dup2(null_fd, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* the job's stdout is the job's alone */
    (void)fcntl(control_fd, F_SETFD, 0);
    rkt_widen_core_binding();
    set_signals();
    execv(config->program, (char *const *)args);
    _exit(EXIT_CANNOT_EXEC);
}

enum rkt_status rkt_sidecar_start(const struct rkt_sidecar_config *config, pid_t *pid_out,
                                  int *control_fd_out, struct rkt_error *err)
{
    int fds[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make the sidecar's socket pair");
    pid = fork();
    if (pid == 0)
        become_sidecar(config, fds[1]);
    (void)close(fds[1]);
    if (pid < 0) {
        enum rkt_status status = rkt_fail_errno(err, RKT_ERR_IO, "cannot fork the sidecar");

        (void)close(fds[0]);
        return status;
    }
    *pid_out = pid;
    *control_fd_out = fds[0];
    return RKT_OK;
}
