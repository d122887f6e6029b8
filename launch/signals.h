/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_SIGNALS_H
#define RKT_LAUNCH_SIGNALS_H

/*
 * signals - the supervisor's signals, as events to read in place of handlers.
 *
 * A signal that the launcher had us ignore (nohup, a shell's background) stays ignored, for
 * us and for the job.
 */

#include <signal.h>
#include <stdbool.h>

#include "common/status.h"

struct rkt_signals {
    int fd; /* of struct signalfd_siginfo; does not block; closed on exec */
    /* as they were before: what the job must get back */
    sigset_t mask;
    struct sigaction child;
};

/* What a launcher, a batch system or a person sends to a job: it is the job's, who gets it as
 * well. */
bool rkt_signal_is_sent(int signal_number);

/* SIGCHLD, and what is sent: blocked, and read from fd. */
enum rkt_status rkt_signals_open(struct rkt_signals *signals_out, struct rkt_error *err);

/* Whether this process has a handler of its own for it; false also where nothing is known. */
bool rkt_signal_is_caught(pid_t pid, int signal_number);

/* HUP, INT, QUIT, TERM: who sends it wants the end. */
bool rkt_signal_ends_processes(int signal_number);

#endif
