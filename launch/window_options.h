/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_WINDOW_OPTIONS_H
#define RKT_LAUNCH_WINDOW_OPTIONS_H

/*
 * window_options - when to record: --steps, --schedule, --delay, --duration, --start-closed.
 *
 * Place:   as capture_options.h: checked by run, handed on as environment, read by the sidecar. The
 *          first two become part of the capture's configuration, the others rank 0's orders.
 * Threads: main.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/capture_config.h"
#include "common/options.h"
#include "common/status.h"

/* As they were given, NULL where they were not; on loan from argv or the environment. */
struct rkt_window_options {
    const char *steps;    /* "10:20", "10:", ":20" */
    const char *schedule; /* "wait=2,warmup=2,active=3,repeat=1,skip_first=10" */
    const char *delay;
    const char *duration;
    bool starts_closed;
};

/* Rows of an option table, for a struct with the member `when` of the type above. */
/* clang-format off */
#define RKT_WINDOW_OPTION_ROWS(type) \
    {"steps", 0, "RANKTRACE_STEPS", RKT_OPTION_STRING, offsetof(type, when.steps), \
     "FROM:TO", NULL, "record the steps FROM to TO - 1; the one before is warm-up"}, \
    {"schedule", 0, "RANKTRACE_SCHEDULE", RKT_OPTION_STRING, offsetof(type, when.schedule), \
     "LIST", NULL, "wait=N,warmup=N,active=N,repeat=N,skip_first=N as torch.profiler's"}, \
    {"delay", 0, "RANKTRACE_DELAY", RKT_OPTION_STRING, offsetof(type, when.delay), \
     "TIME", NULL, "begin to record so long after the start"}, \
    {"duration", 0, "RANKTRACE_DURATION", RKT_OPTION_STRING, offsetof(type, when.duration), \
     "TIME", NULL, "record for so long"}, \
    {"start-closed", 0, "RANKTRACE_START_CLOSED", RKT_OPTION_FLAG, \
     offsetof(type, when.starts_closed), NULL, NULL, "record nothing until SIGUSR2"}
/* clang-format on */

struct rkt_window_plan {
    struct rkt_schedule schedule;
    bool is_closed; /* at the start */
    uint64_t delay_ns;
    uint64_t duration_ns;
};

/*
 * RKT_ERR_INVALID: a text that makes no sense, said by the option's name; or windows by steps where
 * `capture` leaves out the marks that say what a step is.
 */
enum rkt_status rkt_window_options_read(const struct rkt_window_options *when,
                                        const struct rkt_capture_config *capture,
                                        struct rkt_window_plan *plan_out, struct rkt_error *err);

/* Into this process' environment, which the sidecar inherits; false: no memory. */
bool rkt_window_options_export(const struct rkt_window_options *when);

#endif
