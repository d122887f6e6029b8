/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_CONTROL_H
#define RKT_AGENT_CONTROL_H

/*
 * control - messages between a supervisor and its sidecar (a SOCK_SEQPACKET pair).
 *
 *     sidecar -> supervisor: READY, ABORT_JOB, WAITING, STORE_CLOSED, DONE
 *     supervisor -> sidecar: JOB_STARTED, JOB_ENDED, REPORT_DONE, STOP, TOGGLE
 *
 *  - READY         the job may start; text = "HOST PORT [ADDRESS]" of rank 0 for MASTER_ADDR and
 *                  MASTER_PORT; the address is for where the host's name is not known
 *  - JOB_STARTED   value = pid
 *  - JOB_ENDED     value = wait status
 *  - ABORT_JOB     another rank failed; value = that rank; send the job TERM, then KILL
 *  - WAITING       the sidecar is well and drains, or waits for other ranks, whose jobs may run
 *                  for hours yet; sent every RKT_CONTROL_WAITING_NS between JOB_ENDED and DONE.
 *                  A sidecar that stays silent is taken for hung and killed
 *  - STORE_CLOSED  rank 0 only: the file is closed; text = path; value = 0, or 1 where it could not
 *                  be written to its end (readable as far as it goes); the supervisor reports
 *  - REPORT_DONE   rank 0 only: the other sidecars may leave; value = exit code of the report
 *  - DONE          the sidecar leaves in good order; value = what this rank should return when its
 *                  job did not fail itself. It exits soon after: with 0 when it left MPI by
 *                  MPI_Finalize, else (a peer is dead, Finalize would hang) with another code
 *  - STOP          end soon: the supervisor got a signal; value = its number
 *  - TOGGLE        open the capture window of all ranks, or close it: the supervisor got SIGUSR2
 *
 * Either side's hang-up is a message too: the other one died.
 *
 * The supervisor starts ranktrace-sidecar, or ranktrace-sidecar-mpi, as
 *     PROGRAM --control-fd N --socket PATH --output DIR --command TEXT
 *             --on-failure abort|wait --drain-timeout TIME [--per-node]
 * with the launcher's whole environment (other options by their variables), stdin from
 * /dev/null, stdout joined to stderr, all cores that the cpuset allows, and HUP,
 * INT, QUIT, TERM, PIPE, USR1 and USR2 ignored: it ends by DONE, STOP or hang-up.
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
    RKT_CONTROL_WAITING = 9,
    RKT_CONTROL_TOGGLE = 10,
};

#define RKT_CONTROL_WAITING_NS 2000000000u

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
