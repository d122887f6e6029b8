/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_SIDECAR_START_H
#define RKT_LAUNCH_SIDECAR_START_H

/*
 * sidecar_start - starts ranktrace-sidecar as agent/control.h promises it.
 *
 * On every core that the cpuset allows (the launcher's core binding is the job's: a
 * sidecar in it would take turns with the training), no terminal input, deaf to the signals
 * that the launcher sends to all: the supervisor tells it when to end.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

struct rkt_sidecar_config {
    const char *program;
    const char *socket_path;
    const char *output;
    const char *command; /* the job's, for the report */
    const char *on_failure;
    uint64_t drain_timeout_ns;
    bool is_per_node;
};

/* This process may use every core that the cpuset allows. */
void rkt_widen_core_binding(void);

/* *control_fd_out is the supervisor's end, closed on exec. */
enum rkt_status rkt_sidecar_start(const struct rkt_sidecar_config *config, pid_t *pid_out,
                                  int *control_fd_out, struct rkt_error *err);

#endif
