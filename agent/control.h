/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_CONTROL_H
#define RKT_AGENT_CONTROL_H

/*
 * control - messages between a supervisor and its sidecar (a SOCK_SEQPACKET pair).
 *
 *     sidecar -> supervisor: READY, ABORT_JOB, STORE_CLOSED, DONE
 *     supervisor -> sidecar: JOB_STARTED, JOB_ENDED, REPORT_DONE, STOP
 *
 *  - READY         the job may start; text = "HOST PORT" of rank 0 for MASTER_ADDR/MASTER_PORT
 *  - JOB_STARTED   value = pid
 *  - JOB_ENDED     value = wait status
 *  - ABORT_JOB     another rank failed; value = that rank; send the job TERM, then KILL
 *  - STORE_CLOSED  rank 0 only: the file is complete; text = path; the supervisor reports
 *  - REPORT_DONE   rank 0 only: the other sidecars may leave
 *  - DONE          the sidecar leaves in good order; value = what this rank should return when its
 *                  job did not fail itself
 *  - STOP          end soon: the supervisor got a signal; value = its number
 *
 * Either side's hang-up is a message too: the other one died.
 *
 * Waiting: send and receive never block. Threads: one per end.
 */

#include <stdint.h>

#include "common/status.h"

enum rkt_control_type {
    RKT_CONTROL_READY = 1,
    RKT_CONTROL_JOB_STARTED = 2,
    RKT_CONTROL_JOB_ENDED = 3,
    RKT_CONTROL_ABORT_JOB = 4,
    RKT_CONTROL_STORE_CLOSED = 5,
    RKT_CONTROL_REPORT_DONE = 6,
    RKT_CONTROL_DONE = 7,
    RKT_CONTROL_STOP = 8,
};

struct rkt_control_message {
    uint32_t type; /* enum rkt_control_type */
    int32_t value;
    char text[4096]; /* NUL-terminated */
};

/* RKT_ERR_IO: the other end is gone (or its queue is full, which never happens in use). */
enum rkt_status rkt_control_send(int fd, enum rkt_control_type type, int32_t value,
                                 const char *text, struct rkt_error *err);
/* RKT_AGAIN: nothing waits. RKT_END: the other end is gone. */
enum rkt_status rkt_control_receive(int fd, struct rkt_control_message *message_out,
                                    struct rkt_error *err);

#endif
