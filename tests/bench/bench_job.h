/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_BENCH_JOB_H
#define RKT_TESTS_BENCH_JOB_H

/*
 * bench_job - what a call of libranktrace.so costs a job, whose sidecar drains it meanwhile.
 *
 * Calls are timed in batches, of which the median counts; two kinds of calls are compared in one
 * run, batch by batch, as the machine is not the same from one second to the next.
 */

#include <stdint.h>

#include "agent/capture_config.h"

#define BENCH_BATCHES 401
#define BENCH_CALLS 512 /* of each batch; far fewer than a ring holds */

/*
 * Run `job` in a process of its own, with RANKTRACE_SOCKET set, and drain it in this one. Returns 0
 * when it came to its end and nothing was dropped; says what else on stderr.
 */
int bench_run_job(const struct rkt_capture_config *config, void (*job)(void));

/* Nanoseconds per call: batch after batch of `call` and of clock_gettime, with pauses that let the
 * sidecar catch up. */
struct bench_pair {
    double call_ns;
    double clock_ns;
};
struct bench_pair bench_median(void (*call)(void));

#endif
