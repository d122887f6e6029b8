/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_SIDECAR_OPTIONS_H
#define RKT_LAUNCH_SIDECAR_OPTIONS_H

/*
 * sidecar_options - the command line between the supervisor and its sidecar.
 *
 * Not for people: the supervisor writes it. Threads: main.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/region.h"
#include "common/status.h"
#include "launch/capture_options.h"
#include "launch/fan_in.h"
#include "launch/window_options.h"

struct rkt_sidecar_options {
    uint32_t control_fd; /* the supervisor's end is agent/control.h */
    const char *socket;  /* where training processes connect; its folder exists, 0700 */
    const char *output;  /* rank 0 writes OUTPUT/timeline.rkt; the folder exists */
    const char *command; /* the job's, for the report */
    const char *on_failure;
    struct rkt_capture_options asked;
    struct rkt_window_options when;
    bool per_node;   /* one sidecar for all ranks of its node */
    bool needs_sync; /* rank 0: an acknowledged record survives a power loss */
    uint64_t drain_timeout_ns;
    uint64_t flush_interval_ns;
    uint64_t queue_bytes;
    uint64_t spool_bytes;
    const char *fan_in;
    uint32_t clock_star;
    uint64_t ptp_bound_ns;
    const char *store;
    const char *spool_dir; /* NULL: the output folder, or where that is none, TMPDIR */
    uint64_t heap_bytes;
    uint32_t ring_count;
    uint32_t ring_capacity;

    /* made from the texts above */
    bool is_abort_on_failure;
    struct rkt_capture_config capture_config;
    struct rkt_window_plan window_plan; /* what of it rank 0 decides by time */
    uint64_t gpu_interval_ns;           /* 0: GPUs are not sampled */
    struct rkt_region_config region;
    struct rkt_fan_in groups;
};

/* As rkt_options_parse; values that are no sense are RKT_ERR_INVALID too. */
enum rkt_status rkt_sidecar_options_parse(int argc, char **argv, struct rkt_sidecar_options *out,
                                          struct rkt_error *err);

#endif
