/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/signals.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

/* Not those of faults, of job control and of writes: they are about the process that gets them. */
static const int SENT[] = {SIGHUP,    SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM,
                           SIGVTALRM, SIGPROF, SIGIO,   SIGXCPU, SIGPWR,  SIGURG,  SIGWINCH};

bool rkt_signal_is_sent(int signal_number)
{
    for (size_t i = 0; i < sizeof(SENT) / sizeof(SENT[0]); i++) {
        if (SENT[i] == signal_number)
            return true;
    }
    return signal_number >= SIGRTMIN && signal_number <= SIGRTMAX;
}

enum rkt_status rkt_signals_open(struct rkt_signals *signals_out, struct rkt_error *err)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t handled, pipe_only;

    (void)sigemptyset(&handled);
    (void)sigaddset(&handled, SIGCHLD);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;

        if (rkt_signal_is_sent(number) && sigaction(number, NULL, &action) == 0 &&
            action.sa_handler != SIG_IGN)
            (void)sigaddset(&handled, number);
    }
    signals_out->fd = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals_out->fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot listen to signals");
    /* A launcher that ignores SIGCHLD would take the job's code from us. */
    (void)sigaction(SIGCHLD, &by_default, &signals_out->child);
    (void)pthread_sigmask(SIG_BLOCK, &handled, &signals_out->mask);
    /* A line for a reader of stderr who has left must not end us. */
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
    return RKT_OK;
}

bool rkt_signal_is_caught(pid_t pid, int signal_number)
{
    char path[32], line[128];
    uint64_t caught = 0;
    FILE *status;

    (void)snprintf(path, sizeof(path), "/proc/%ld/status", (long)pid);
    status = fopen(path, "re");
    if (!status)
        return false;
    while (fgets(line, sizeof(line), status)) {
        if (strncmp(line, "SigCgt:", strlen("SigCgt:")) == 0)
            caught = strtoull(line + strlen("SigCgt:"), NULL, 16);
    }
    (void)fclose(status);
    return caught >> (signal_number - 1) & 1;
}

bool rkt_signal_ends_processes(int signal_number)
{
    return signal_number == SIGHUP || signal_number == SIGINT || signal_number == SIGQUIT ||
           signal_number == SIGTERM;
}
