/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_TASK_H
#define SIMGPU_NCCL_TASK_H

/*
 * task - one call of NCCL on its way to the device, and what follows from its size: how many
 * channels, which protocol, how long the transfer takes once all ranks are there.
 */

#include <nccl.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/simgpu/nccl/comm.h"

struct sim_task {
    struct sim_task *next;
    enum sim_func func;
    const void *send;
    void *recv;
    size_t count; /* as the caller gave it */
    ncclDataType_t datatype;
    ncclRedOp_t op;
    int root; /* or peer */
    ncclComm_t comm;
    CUstream stream;
    void *api_handle; /* the plugin's CollApi or P2pApi event */
};

ncclResult_t sim_task_check(const struct sim_task *task);

const char *sim_func_name(enum sim_func func);          /* "AllReduce" */
const char *sim_datatype_name(ncclDataType_t datatype); /* "ncclFloat32" */
bool sim_task_is_p2p(const struct sim_task *task);

/* Bytes that one rank holds in the end: of one block for P2P, of all for AllGather. */
uint64_t sim_task_bytes(const struct sim_task *task);
uint64_t sim_task_transfer_ns(const struct sim_task *task);
uint8_t sim_task_channel_count(const struct sim_task *task);
const char *sim_task_proto(const struct sim_task *task);

/* The kernel's name as the driver and CUPTI give it: mangled, since NCCL's kernels are C++. */
void sim_task_kernel_name(const struct sim_task *task, char *name, size_t name_bytes);

#endif
