/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_GUARD_H
#define RKT_LAUNCH_GUARD_H

/*
 * guard - sees to it that a supervisor killed by SIGKILL leaves nothing behind.
 *
 * A launcher's SIGKILL reaches the process group of the supervisor, not that of the job,
 * which has one of its own (see job.h). The guard is a small process in a session of its
 * own that waits for the supervisor's end of a socket pair to close. If the supervisor did not
 * say good-bye, the guard kills the job and removes the private folder, as the launcher
 * would have done without us.
 *
 * Threads: the supervisor's one.
 */

#include <sys/types.h>

#include "common/status.h"
#include "launch/run_dir.h"

struct rkt_guard {
    int fd; /* the supervisor's end, closed on exec */
    pid_t pid;
};

/* Fork it, before anything else is open. */
enum rkt_status rkt_guard_start(const struct rkt_run_dir *dir, struct rkt_guard *guard_out,
                                struct rkt_error *err);

/* What to kill: a process, or minus a process group; 0: nothing (any more). */
void rkt_guard_aim(const struct rkt_guard *guard, pid_t target);

/* Let it go, and reap it: in a container there may be nobody else who would. */
void rkt_guard_end(struct rkt_guard *guard);

#endif
