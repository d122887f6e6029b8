/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_COMM_H
#define SIMGPU_NCCL_COMM_H

/*
 * comm - a communicator: its place among the ranks, its kernels, its plugin context.
 *
 * Threads: one at a time, as NCCL asks for; what kernels under way need of it (the meeting
 *          place) has references of its own and outlives it.
 */

#include <cuda.h>
#include <nccl.h>
#include <stdint.h>

#include "tests/simgpu/nccl/meet.h"
#include "tests/simgpu/nccl/plugin.h"

enum sim_func {
    SIM_ALL_REDUCE,
    SIM_REDUCE,
    SIM_BROADCAST,
    SIM_ALL_GATHER,
    SIM_REDUCE_SCATTER,
    SIM_SEND,
    SIM_RECV,
    SIM_FUNC_COUNT,
};

struct sim_progress;
struct sim_kernel; /* a kernel that was loaded once */

struct ncclComm {
    int rank;
    int rank_count;
    CUdevice device;
    CUcontext context; /* current where it was made: its work goes there */
    struct sim_meet *meet;
    ncclUniqueId id;
    uint64_t split_count;
    char *name; /* NULL: none */
    struct sim_plugin_comm plugin;
    struct sim_progress *progress;
    struct sim_kernel *kernels;
    uint64_t collective_count;               /* launched so far: the index for meet */
    uint64_t seq[SIM_FUNC_COUNT];            /* per function, as the profiler counts */
    uint64_t sent_count[SIM_MEET_RANKS_MAX]; /* per peer */
    uint64_t received_count[SIM_MEET_RANKS_MAX];
};

/* Waits for all ranks. The calling thread needs a current context. */
ncclResult_t sim_comm_create(const ncclUniqueId *id, int rank, int rank_count, const char *name,
                             ncclComm_t *comm_out);
void sim_comm_destroy(ncclComm_t comm);

/* Those with the same color make a communicator, in the order of their keys. All ranks of `comm`
 * call it, and wait for one another. */
ncclResult_t sim_comm_split(ncclComm_t comm, int color, int key, const char *name,
                            ncclComm_t *comm_out);

/* The device function for that name; NULL: the driver refused it. */
CUfunction sim_comm_kernel(ncclComm_t comm, const char *name);

#endif
