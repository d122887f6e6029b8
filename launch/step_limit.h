/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_STEP_LIMIT_H
#define RKT_LAUNCH_STEP_LIMIT_H

/*
 * step_limit - ends a process one of whose steps computes without end.
 *
 * MPI libraries have faults that make a call spin for ever once a peer has died. A sidecar in such
 * a call would take a core from the job for as long as that runs, and hold up its end. What counts
 * is the CPU time of the process: one that is stopped, or gets no core, is not stuck.
 *
 * Threads: main. Owns SIGPROF and ITIMER_PROF. At the limit one line goes to standard error, and
 * the process ends at once with RKT_STEP_LIMIT_EXIT_CODE.
 */

#include <stdint.h>

#include "common/status.h"

#define RKT_STEP_LIMIT_EXIT_CODE 70

enum rkt_status rkt_step_limit_open(struct rkt_error *err);

/* A step begins, which may take that much CPU time; 0: any. */
void rkt_step_limit_begin(uint64_t cpu_ns);

#endif
