/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/nccl/mode.h"
#include "tests/simgpu/nccl/progress.h"

#define KERNEL_NAME_BYTES 128

struct sim_kernel {
    struct sim_kernel *next;
    CUmodule module;
    CUfunction function;
    char name[KERNEL_NAME_BYTES];
};

/* Equal on all ranks, since the id is. FNV-1a. */
static uint64_t hash_id(const ncclUniqueId *id)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < sizeof(id->internal); i++)
        hash = (hash ^ (uint8_t)id->internal[i]) * 0x100000001b3u;
    return hash;
}

static ncclResult_t join(ncclComm_t comm, const ncclUniqueId *id)
{
    switch (
        sim_meet_join((const uint8_t *)id->internal, comm->rank, comm->rank_count, &comm->meet)) {
    case SIM_MEET_OK:
        return ncclSuccess;
    case SIM_MEET_ERR_SYSTEM:
        return ncclSystemError;
    case SIM_MEET_ERR_MISMATCH:
        return ncclInvalidUsage;
    }
    return ncclInternalError;
}

ncclResult_t sim_comm_create(const ncclUniqueId *id, int rank, int rank_count, const char *name,
                             ncclComm_t *comm_out)
{
    CUcontext context;
    CUdevice device;
    ncclComm_t comm;
    ncclResult_t result;

    if (rank_count < 1 || rank_count > SIM_MEET_RANKS_MAX || rank < 0 || rank >= rank_count)
        return ncclInvalidArgument;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    comm = calloc(1, sizeof(*comm));
    if (!comm)
        return ncclSystemError;
    comm->rank = rank;
    comm->rank_count = rank_count;
    comm->device = device;
    comm->context = context;
    comm->id = *id;
    comm->name = name ? strdup(name) : NULL;
    comm->progress = sim_progress_create(&comm->plugin);
    result = comm->progress ? join(comm, id) : ncclSystemError;
    if (result != ncclSuccess) {
        sim_progress_destroy(comm->progress);
        free(comm->name);
        free(comm);
        return result;
    }
    comm->plugin =
        (struct sim_plugin_comm){.id = hash_id(id),
                                 .name = comm->name,
                                 .node_count = sim_mode_is(SIM_MODE_NET) ? rank_count : 1,
                                 .rank_count = rank_count,
                                 .rank = rank};
    sim_plugin_open(&comm->plugin);
    *comm_out = comm;
    return ncclSuccess;
}

/* The same for all of one color, and unlike all others; the maker's pid stays in front. */
static ncclUniqueId split_id(const ncclComm_t comm, int color)
{
    ncclUniqueId id = comm->id;
    uint64_t mix = hash_id(&comm->id) ^ (comm->split_count << 32) ^ (uint32_t)color;

    for (size_t i = sizeof(uint32_t); i < SIM_MEET_ID_BYTES; i++) {
        mix = mix * 6364136223846793005u + 1442695040888963407u;
        id.internal[i] = (char)(mix >> 56);
    }
    return id;
}

ncclResult_t sim_comm_split(ncclComm_t comm, int color, int key, const char *name,
                            ncclComm_t *comm_out)
{
    struct sim_meet_split splits[SIM_MEET_RANKS_MAX];
    ncclUniqueId id = split_id(comm, color);
    int rank = 0;
    int count = 0;

    sim_meet_split(comm->meet, comm->split_count++, (struct sim_meet_split){color, key}, splits);
    *comm_out = NULL;
    if (color == NCCL_SPLIT_NOCOLOR)
        return ncclSuccess;
    for (int i = 0; i < comm->rank_count; i++) {
        if (splits[i].color != color)
            continue;
        count++;
        rank += splits[i].key < key || (splits[i].key == key && i < comm->rank);
    }
    return sim_comm_create(&id, rank, count, name, comm_out);
}

void sim_comm_destroy(ncclComm_t comm)
{
    sim_progress_destroy(comm->progress);
    sim_plugin_close(&comm->plugin);
    while (comm->kernels) {
        struct sim_kernel *kernel = comm->kernels;

        comm->kernels = kernel->next;
        cuModuleUnload(kernel->module);
        free(kernel);
    }
    sim_meet_unref(comm->meet);
    free(comm->name);
    free(comm);
}

static struct sim_kernel *load_kernel(const char *name)
{
    struct sim_kernel *kernel = calloc(1, sizeof(*kernel));
    char text[KERNEL_NAME_BYTES + 128];

    if (!kernel)
        return NULL;
    snprintf(kernel->name, sizeof(kernel->name), "%s", name);
    snprintf(text, sizeof(text),
             ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry %s()\n{ ret; }\n",
             kernel->name);
    if (cuModuleLoadData(&kernel->module, text) != CUDA_SUCCESS) {
        free(kernel);
        return NULL;
    }
    if (cuModuleGetFunction(&kernel->function, kernel->module, kernel->name) != CUDA_SUCCESS) {
        cuModuleUnload(kernel->module);
        free(kernel);
        return NULL;
    }
    return kernel;
}

CUfunction sim_comm_kernel(ncclComm_t comm, const char *name)
{
    struct sim_kernel *kernel = comm->kernels;

    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    if (!kernel) {
        kernel = load_kernel(name);
        if (!kernel)
            return NULL;
        kernel->next = comm->kernels;
        comm->kernels = kernel;
    }
    return kernel->function;
}
