/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/task.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_GBPS "SIMGPU_NCCL_GBPS"
#define GBPS_DEFAULT 100
#define SETUP_NS 8000u
#define HOP_NS 2000u
#define CHANNEL_BYTES (512u << 10)
#define CHANNELS_MAX 16
#define LL_BYTES_MAX (64u << 10)
#define LL128_BYTES_MAX (1u << 20)
#define COUNT_MAX ((size_t)1 << 40)

static const struct {
    const char *name;
    const char *kernel_name; /* sums of signed numbers use the unsigned kernel */
    size_t bytes;
} TYPES[ncclNumTypes] = {
    [ncclInt8] = {"ncclInt8", "u8", 1},
    [ncclUint8] = {"ncclUint8", "u8", 1},
    [ncclInt32] = {"ncclInt32", "u32", 4},
    [ncclUint32] = {"ncclUint32", "u32", 4},
    [ncclInt64] = {"ncclInt64", "u64", 8},
    [ncclUint64] = {"ncclUint64", "u64", 8},
    [ncclFloat16] = {"ncclFloat16", "f16", 2},
    [ncclFloat32] = {"ncclFloat32", "f32", 4},
    [ncclFloat64] = {"ncclFloat64", "f64", 8},
    [ncclBfloat16] = {"ncclBfloat16", "bf16", 2},
    [ncclFloat8e4m3] = {"ncclFloat8e4m3", "f8e4m3", 1},
    [ncclFloat8e5m2] = {"ncclFloat8e5m2", "f8e5m2", 1},
};

static const char *const FUNCS[SIM_FUNC_COUNT] = {
    [SIM_ALL_REDUCE] = "AllReduce",
    [SIM_REDUCE] = "Reduce",
    [SIM_BROADCAST] = "Broadcast",
    [SIM_ALL_GATHER] = "AllGather",
    [SIM_REDUCE_SCATTER] = "ReduceScatter",
    [SIM_SEND] = "Send",
    [SIM_RECV] = "Recv",
};

ncclResult_t sim_task_check(const struct sim_task *task)
{
    if (!task->comm || (unsigned int)task->datatype >= ncclNumTypes ||
        (unsigned int)task->op >= ncclNumOps || task->count > COUNT_MAX)
        return ncclInvalidArgument;
    if (task->root < 0 || task->root >= task->comm->rank_count)
        return ncclInvalidArgument;
    if (task->func == SIM_SEND ? !task->send : !task->recv)
        return ncclInvalidArgument;
    return ncclSuccess;
}

const char *sim_func_name(enum sim_func func)
{
    return FUNCS[func];
}

const char *sim_datatype_name(ncclDataType_t datatype)
{
    return TYPES[datatype].name;
}

bool sim_task_is_p2p(const struct sim_task *task)
{
    return task->func == SIM_SEND || task->func == SIM_RECV;
}

uint64_t sim_task_bytes(const struct sim_task *task)
{
    uint64_t bytes = (uint64_t)task->count * TYPES[task->datatype].bytes;

    if (task->func == SIM_ALL_GATHER || task->func == SIM_REDUCE_SCATTER)
        bytes *= (uint64_t)task->comm->rank_count; /* the count is of one rank's share */
    return bytes;
}

static double bytes_per_ns(void)
{
    const char *text = getenv(ENV_GBPS); /* NOLINT(concurrency-mt-unsafe): as NCCL does */
    char *end;
    long value;

    if (!text || !*text)
        return GBPS_DEFAULT;
    value = strtol(text, &end, 10);
    return *end || value < 1 || value > 10000 ? GBPS_DEFAULT : (double)value;
}

/* How much more a link carries than the operation's bytes: that of a ring. */
static double ring_factor(const struct sim_task *task)
{
    double ranks = task->comm->rank_count;

    switch (task->func) {
    case SIM_ALL_REDUCE:
        return 2 * (ranks - 1) / ranks;
    case SIM_ALL_GATHER:
    case SIM_REDUCE_SCATTER:
        return (ranks - 1) / ranks;
    case SIM_REDUCE:
    case SIM_BROADCAST:
    case SIM_SEND:
    case SIM_RECV:
    case SIM_FUNC_COUNT:
        break;
    }
    return 1;
}

uint64_t sim_task_transfer_ns(const struct sim_task *task)
{
    double bytes = (double)sim_task_bytes(task) * ring_factor(task);

    return SETUP_NS + HOP_NS * (uint64_t)task->comm->rank_count +
           (uint64_t)(bytes / bytes_per_ns());
}

uint8_t sim_task_channel_count(const struct sim_task *task)
{
    uint64_t count = 1 + sim_task_bytes(task) / CHANNEL_BYTES;

    return (uint8_t)(count < CHANNELS_MAX ? count : CHANNELS_MAX);
}

const char *sim_task_proto(const struct sim_task *task)
{
    uint64_t bytes = sim_task_bytes(task);

    if (bytes <= LL_BYTES_MAX)
        return "LL";
    return bytes <= LL128_BYTES_MAX ? "LL128" : "SIMPLE";
}

/* The kernels of NCCL 2.28: one per function and type for sums, whatever the protocol, and one for
 * all that has none of its own. */
void sim_task_kernel_name(const struct sim_task *task, char *name, size_t name_bytes)
{
    static const char ARGUMENT[] = "24ncclDevKernelArgsStorageILm4096EE";
    char plain[96];

    if (sim_task_is_p2p(task))
        snprintf(plain, sizeof(plain), "ncclDevKernel_SendRecv");
    else if (task->func == SIM_BROADCAST || task->func == SIM_ALL_GATHER)
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s_RING_LL", FUNCS[task->func]);
    else if (task->op == ncclSum)
        snprintf(plain, sizeof(plain), "ncclDevKernel_%s_Sum_%s_RING_LL", FUNCS[task->func],
                 TYPES[task->datatype].kernel_name);
    else
        snprintf(plain, sizeof(plain), "ncclDevKernel_Generic");
    snprintf(name, name_bytes, "_Z%zu%s%s", strlen(plain), plain, ARGUMENT);
}
