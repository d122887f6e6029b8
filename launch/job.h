/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_JOB_H
#define RKT_LAUNCH_JOB_H

/*
 * job - the training process: forked, held, then exec'd as if we were not there.
 *
 * Under a launcher, or without a terminal, the job leads a process group of its own, so
 * that each signal reaches it exactly once: by the supervisor. On a terminal it stays in
 * the supervisor's group, as job control and reading from the terminal want it.
 * What it gets from us: the environment of job_env.h. Signal mask and dispositions,
 * priority, core binding, descriptors and folder are those that the launcher gave.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"
#include "launch/job_env.h"

struct rkt_job_config {
    char *const *command;         /* NULL-terminated */
    char *const *env;             /* the launcher's */
    struct rkt_job_env_plan plan; /* as traced; the order of hold.h completes or reduces it */
    uint64_t hold_ns;
    bool has_own_group;
    int guard_fd; /* the supervisor's alone: closed in the job */
    sigset_t signal_mask;
    struct sigaction sigchld;
};

/* *hold_fd_out is the supervisor's end of hold.h. */
enum rkt_status rkt_job_start(const struct rkt_job_config *config, pid_t *pid_out, int *hold_fd_out,
                              struct rkt_error *err);

#endif
