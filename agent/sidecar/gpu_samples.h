/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_GPU_SAMPLES_H
#define RKT_AGENT_SIDECAR_GPU_SAMPLES_H

/*
 * gpu_samples - NVML's numbers of the GPUs that the job uses, at an interval.
 *
 * Place:   NVML -> gpu_reader -> [gpu_samples] -> process, by way of process_set.
 * Threads: the calls below by the sidecar's one thread. NVML may block for milliseconds, for
 *          seconds while it starts, or for ever on a broken GPU: so one thread of this module's
 *          own makes all calls of NVML and no other, least of all one of MPI. It is started with
 *          the first GPU; a job without one never loads NVML.
 * Cost:    that thread sleeps 99 times the CPU time that a round took: at most 1 % of a core,
 *          whatever interval is asked for.
 * Memory:  fixed; a round for which there is no room is not made.
 * Waiting: destroy waits 0.2 s at most; a thread that is stuck in NVML is left behind with its
 *          memory, which is said in one line.
 */

#include <stddef.h>
#include <stdint.h>

#include "agent/sidecar/gpu_reader.h"
#include "common/event.h"
#include "common/status.h"

#define RKT_GPUS_MAX 64u
#define RKT_GPU_NONE UINT32_MAX

struct rkt_gpu_samples;

enum rkt_status rkt_gpu_samples_create(uint64_t interval_ns, struct rkt_gpu_samples **samples_out,
                                       struct rkt_error *err);
void rkt_gpu_samples_destroy(struct rkt_gpu_samples *samples); /* NULL is fine */

/*
 * The GPU's number in the samples; the same for the same GPU. It is sampled from when a process
 * wants it. RKT_GPU_NONE: one too many, or no thread could be started.
 */
uint32_t rkt_gpu_samples_add(struct rkt_gpu_samples *samples,
                             const struct rkt_event_device *identity);

/* Bit i: GPU i is sampled from now on; those without are not. */
void rkt_gpu_samples_want(struct rkt_gpu_samples *samples, uint64_t gpus);

/* What was read since the last call, oldest first; returns how many. */
size_t rkt_gpu_samples_take(struct rkt_gpu_samples *samples, struct rkt_gpu_sample *out,
                            size_t cap);

#endif
