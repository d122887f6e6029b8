/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_HELPER_H
#define RKT_LAUNCH_HELPER_H

/*
 * helper - starts a program of ours that the supervisor waits for, such as the report.
 *
 * Output is the supervisor's, input is /dev/null, signals are as by default.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "common/status.h"

/*
 * `argument` may be NULL. `is_apart`: it is none of the launcher's processes. Then MPI in it would
 * find nobody, and it may use every core that the cpuset allows: the job is over.
 */
enum rkt_status rkt_helper_start(const char *program, const char *argument, bool is_apart,
                                 pid_t *pid_out, struct rkt_error *err);

#endif
