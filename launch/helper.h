/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_HELPER_H
#define RKT_LAUNCH_HELPER_H

/*
 * helper - starts a program of ours that the supervisor waits for, such as the report.
 *
 * Output is the supervisor's, input is /dev/null, signals are as by default.
 */

#include <sys/types.h>

#include "common/status.h"

/* `argument` may be NULL. */
enum rkt_status rkt_helper_start(const char *program, const char *argument, pid_t *pid_out,
                                 struct rkt_error *err);

#endif
