/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_GPU_CLIENT_H
#define RKT_TESTS_GPU_CLIENT_H

/*
 * client - CUPTI used as the capture library does, but to learn about CUPTI itself: what it says of
 * each kernel is kept, with when it was said.
 *
 * Threads: start and stop by one; what is kept is read after stop.
 * Memory:  buffers are allocated as CUPTI asks and never freed; the first GPU_KERNELS_MAX kernels
 *          are kept, the rest only counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_KERNELS_MAX ((size_t)1 << 20)

enum gpu_client_calls {
    GPU_CALLS_NONE,
    GPU_CALLS_DRIVER_LAUNCHES, /* cuLaunchKernel and its kin, one by one */
    GPU_CALLS_ALL,             /* kinds DRIVER and RUNTIME whole */
};

struct gpu_kernel {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t seen_ns; /* CLOCK_REALTIME, when its buffer came */
    uint32_t correlation_id;
};

struct gpu_call {
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t correlation_id;
};

struct gpu_client {
    struct gpu_kernel *kernels;
    struct gpu_call *calls;
    uint64_t kernel_count; /* all, also those not kept */
    uint64_t call_count;
    uint64_t zero_count;    /* kernels whose stamps are 0 */
    uint64_t garbage_count; /* or run backwards, or are absurd */
    uint64_t first_bad;     /* the number of the first such kernel; 0: none */
    uint64_t dropped_count; /* by CUPTI */
    uint64_t matched_count; /* kept kernels with a call of their correlation id; after stop */
};

/* The one client of the process; NULL, with the reason, when CUPTI does not want. */
struct gpu_client *gpu_client_start(enum gpu_client_calls calls, const char **why_out);

/* Ask for what is complete. */
void gpu_client_flush(void);

/* No more records; takes what is left, and matches kernels with calls. */
void gpu_client_stop(void);

/* Of `count` values; sorts them. 0 when there is none. */
uint64_t gpu_percentile(uint64_t *values, size_t count, unsigned percent);

#endif
