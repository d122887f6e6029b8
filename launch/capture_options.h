/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_CAPTURE_OPTIONS_H
#define RKT_LAUNCH_CAPTURE_OPTIONS_H

/*
 * capture_options - what a user may ask of capture, said to `ranktrace run`.
 *
 * Place:   run checks the texts, so that wrong use ends before the job starts, and hands them to
 *          the sidecar as environment; the sidecar reads the same table, and sends the outcome to
 *          each process in its welcome.
 * Threads: main.
 */

#include <stddef.h>

#include "agent/capture_config.h"
#include "common/options.h"
#include "common/status.h"

/* As they were given; on loan from argv or the environment. */
struct rkt_capture_options {
    const char *capture;
    const char *graphs;
    const char *nccl;
    const char *gpu_samples;
    const char *step_range; /* NULL: not given */
};

/* Rows of an option table, for a struct with the member `asked` of the type above. */
/* clang-format off */
#define RKT_CAPTURE_OPTION_ROWS(type) \
    {"capture", 0, "RANKTRACE_CAPTURE", RKT_OPTION_STRING, offsetof(type, asked.capture), \
     "LIST", "cupti,nccl,marks,nvtx,memory", "what is captured; overhead, too, on request: see launch/README.md"}, \
    {"graphs", 0, "RANKTRACE_GRAPHS", RKT_OPTION_STRING, offsetof(type, asked.graphs), \
     "node|launch", "node", "CUDA graphs: every kernel, or each launch as one piece (cheaper)"}, \
    {"nccl", 0, "RANKTRACE_NCCL", RKT_OPTION_STRING, offsetof(type, asked.nccl), \
     "basic|kernel|proxy", "basic", \
     "how deep NCCL is looked into; more costs the job: see launch/README.md"}, \
    {"gpu-samples", 0, "RANKTRACE_GPU_SAMPLES", RKT_OPTION_STRING, \
     offsetof(type, asked.gpu_samples), "TIME|off", "1s", \
     "how often clocks, power and utilisation of the GPUs are read (NVML); from 10ms on"}, \
    {"step-range", 0, "RANKTRACE_STEP_RANGE", RKT_OPTION_STRING, \
     offsetof(type, asked.step_range), "NAME", NULL, \
     "ranges (NVTX, ranktrace.h) whose names begin so are the steps"}
/* clang-format on */

/* RKT_ERR_INVALID: a text that makes no sense, said by the option's name. */
enum rkt_status rkt_capture_options_read(const struct rkt_capture_options *asked,
                                         struct rkt_capture_config *config_out,
                                         struct rkt_error *err);

/* How often GPUs are sampled; 0: never. Likewise. */
enum rkt_status rkt_capture_options_gpu_interval(const struct rkt_capture_options *asked,
                                                 uint64_t *interval_ns_out, struct rkt_error *err);

/* Into this process' environment, which the sidecar inherits; false: no memory. */
bool rkt_capture_options_export(const struct rkt_capture_options *asked);

#endif
