/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_HOLD_H
#define RKT_LAUNCH_HOLD_H

/*
 * hold - keeps the job back until its sidecar is ready, but no longer than agreed.
 *
 * The job's own process waits, so that nothing that happens to the supervisor's or the
 * sidecar's loop can keep it from starting: after `hold_ns` it goes on by itself.
 *
 *     supervisor -> job: one order: start, traced or not
 *     job -> supervisor: STARTS just before exec; FAILED when exec did not work.
 *                        The hang-up after STARTS says that exec worked
 *
 * Threads: one per end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "launch/own_address.h"

struct rkt_hold_master {
    char host[256]; /* "": not known */
    char port[16];
    char address[RKT_ADDRESS_BYTES]; /* of the host, where its name is not known; "": none */
};

struct rkt_hold_order {
    uint32_t is_traced;
    struct rkt_hold_master master;
};

/* From "HOST PORT" or "HOST PORT ADDRESS"; anything else leaves all empty. */
void rkt_hold_order_set_master(struct rkt_hold_order *order, const char *text);

enum rkt_hold_word {
    RKT_HOLD_STARTS_TRACED = 1,
    RKT_HOLD_STARTS_UNTRACED = 2,
    RKT_HOLD_FAILED = 3,
};

struct rkt_hold_report {
    uint32_t word;     /* enum rkt_hold_word */
    int32_t sys_errno; /* of FAILED */
};

/* Two ends of one socket pair, both closed on exec. */
enum rkt_status rkt_hold_create(int *supervisor_fd_out, int *job_fd_out, struct rkt_error *err);

/* Supervisor. Neither waits. */
enum rkt_status rkt_hold_release(int fd, const struct rkt_hold_order *order, struct rkt_error *err);
/* RKT_AGAIN: no word yet. RKT_END: hung up. */
enum rkt_status rkt_hold_read(int fd, struct rkt_hold_report *report_out, struct rkt_error *err);

/* Job. RKT_AGAIN: no order came within hold_ns. RKT_END: the supervisor is gone. */
enum rkt_status rkt_hold_wait(int fd, uint64_t hold_ns, struct rkt_hold_order *order_out,
                              struct rkt_error *err);
void rkt_hold_say(int fd, enum rkt_hold_word word, int sys_errno);

#endif
