/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_SUPERVISOR_H
#define RKT_LAUNCH_SUPERVISOR_H

/*
 * supervisor - the launcher's own child: starts a job and its sidecar, and outlives both.
 *
 *  - signals go on to the job; the sidecar is told to end by a message
 *  - a sidecar that dies, hangs or never gets ready costs the trace, never the job
 *  - the exit code is the job's own when it failed, 128 + N when signal N ended it; else what
 *    the sidecar says, and 0 without one
 *
 * Waiting: for the job, without limit; for everything else, with one. Threads: one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "launch/job.h"
#include "launch/sidecar_start.h"

/* What SIGUSR2 means. Its default would end a job that does not expect it. */
enum rkt_on_usr2 {
    RKT_ON_USR2_AUTO,    /* the job's where it catches it, else as TOGGLE */
    RKT_ON_USR2_TOGGLE,  /* open or close the capture window of all ranks; not the job's */
    RKT_ON_USR2_FORWARD, /* the job's, as other signals */
};

struct rkt_supervisor_config {
    struct rkt_job_config job; /* guard_fd and what belongs to signals are filled in here */
    struct rkt_sidecar_config sidecar;
    const char *report_program; /* NULL: no report */
    const char *leave_program;  /* NULL: none; see leave_main.c */
    enum rkt_on_usr2 on_usr2;
    uint64_t report_timeout_ns;
    uint64_t kill_after_ns; /* from TERM to KILL when another rank failed */
};

/* RKT_ERR_*: the job was not started. */
enum rkt_status rkt_supervise(const struct rkt_supervisor_config *config, const char *runtime_dir,
                              int *exit_code_out, struct rkt_error *err);

#endif
