/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_GPU_READER_H
#define RKT_AGENT_SIDECAR_GPU_READER_H

/*
 * gpu_reader - what NVML says of one GPU at a moment, and since the moment before.
 *
 * Place:    NVML -> [gpu_reader] -> gpu_samples -> process.
 * Threads:  one at a time. Waiting: as long as NVML does.
 * On error: what failed is not asked again: one counter, or the GPU as a whole where it is lost,
 *           with one line. A passing error is tried again ten times. What the GPU or the driver
 *           does not have is said at level info, as it is a normal state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/sidecar/gpu_library.h"
#include "common/event.h"

/* NVML's counters need so long between two readings. */
#define RKT_GPM_INTERVAL_MIN_NS 100000000u
/* Samples that one reading gives at most. */
#define RKT_GPU_READING_MAX RKT_COUNTER_COUNT

struct rkt_gpu_sample {
    uint64_t start_ns; /* MONOTONIC_RAW; a mean over [start, end), or the value at start */
    uint64_t end_ns;
    uint64_t value;  /* in the counter's unit */
    uint32_t gpu;    /* whose it is: the caller's number */
    uint8_t counter; /* enum rkt_counter */
};

struct rkt_gpu_reader {
    const struct rkt_gpu_library *library; /* on loan */
    nvmlDevice_t device;
    char name[48]; /* UUID or PCI address, as NVML writes them */
    uint32_t gpu;
    bool is_lost;
    bool is_off[RKT_COUNTER_COUNT];
    uint8_t failures[RKT_COUNTER_COUNT]; /* passing errors in a row */

    /* what hardly ever changes is given when it does */
    bool has_last[RKT_COUNTER_COUNT];
    uint64_t last[RKT_COUNTER_COUNT];

    nvmlGpmSample_t gpm[2]; /* [0] is the earlier one; both NULL: not supported */
    uint64_t gpm_ns;        /* when gpm[0] was read; 0: not yet */
};

/* Finds the GPU by UUID, else by PCI address. False, with one line: NVML knows neither. */
bool rkt_gpu_reader_open(struct rkt_gpu_reader *reader, const struct rkt_gpu_library *library,
                         const struct rkt_event_device *identity, uint32_t gpu);
void rkt_gpu_reader_close(struct rkt_gpu_reader *reader);

/* Up to RKT_GPU_READING_MAX samples, stamped now_ns; returns how many. */
size_t rkt_gpu_reader_read(struct rkt_gpu_reader *reader, uint64_t now_ns,
                           struct rkt_gpu_sample *samples);

#endif
