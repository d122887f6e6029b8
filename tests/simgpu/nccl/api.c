/* SPDX-License-Identifier: Apache-2.0 */

/* NCCL's public interface. */

#include <nccl.h>
#include <string.h>

#include "tests/simgpu/nccl/comm.h"
#include "tests/simgpu/nccl/group.h"
#include "tests/simgpu/nccl/init.h"
#include "tests/simgpu/nccl/version.h"

/* NCCL's own header declares these two without a prototype. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

static _Thread_local ncclResult_t last_result;

static ncclResult_t say(ncclResult_t result)
{
    if (result != ncclSuccess)
        last_result = result;
    return result;
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return say(ncclInvalidArgument);
    *version = sim_nccl_version();
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    if (!id)
        return say(ncclInvalidArgument);
    memset(id, 0, sizeof(*id));
    return say(sim_meet_make_id((uint8_t *)id->internal) ? ncclSuccess : ncclSystemError);
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const TEXTS[] = {
        "no error",         "unhandled cuda error", "unhandled system error", "internal error",
        "invalid argument", "invalid usage",        "remote process exited",  "in progress",
    };

    return (unsigned int)result < sizeof(TEXTS) / sizeof(TEXTS[0]) ? TEXTS[result]
                                                                   : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return ncclGetErrorString(last_result);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int rank_count, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    const char *name = config ? config->commName : NULL;

    if (!comm)
        return say(ncclInvalidArgument);
    if (sim_group_is_open())
        return say(sim_init_later(&(struct sim_init){
            .id = id, .rank = rank, .rank_count = rank_count, .name = name, .comm_out = comm}));
    return say(sim_comm_create(&id, rank, rank_count, name, comm));
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int rank_count, ncclUniqueId id, int rank)
{
    return ncclCommInitRankConfig(comm, rank_count, id, rank, NULL);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                           ncclConfig_t *config)
{
    if (!comm || !newcomm || color < NCCL_SPLIT_NOCOLOR)
        return say(ncclInvalidArgument);
    return say(sim_comm_split(comm, color, key, config ? config->commName : NULL, newcomm));
}

/* Nothing is buffered on the host, so there is nothing to flush. */
ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return say(comm ? ncclSuccess : ncclInvalidArgument);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (comm)
        sim_comm_destroy(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (!comm)
        return ncclSuccess;
    sim_meet_abort(comm->meet);
    sim_comm_destroy(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if (!comm || !error)
        return say(ncclInvalidArgument);
    *error = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    if (!comm || !count)
        return say(ncclInvalidArgument);
    *count = comm->rank_count;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    if (!comm || !device)
        return say(ncclInvalidArgument);
    *device = comm->device;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    if (!comm || !rank)
        return say(ncclInvalidArgument);
    *rank = comm->rank;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    sim_group_start();
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    return say(sim_group_end());
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_ALL_REDUCE,
                                                .send = send,
                                                .recv = recv,
                                                .count = count,
                                                .datatype = datatype,
                                                .op = op,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_REDUCE,
                                                .send = send,
                                                .recv = recv,
                                                .count = count,
                                                .datatype = datatype,
                                                .op = op,
                                                .root = root,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_BROADCAST,
                                                .send = send,
                                                .recv = recv,
                                                .count = count,
                                                .datatype = datatype,
                                                .root = root,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t recv_count,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_REDUCE_SCATTER,
                                                .send = send,
                                                .recv = recv,
                                                .count = recv_count,
                                                .datatype = datatype,
                                                .op = op,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t send_count, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_ALL_GATHER,
                                                .send = send,
                                                .recv = recv,
                                                .count = send_count,
                                                .datatype = datatype,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_SEND,
                                                .send = send,
                                                .count = count,
                                                .datatype = datatype,
                                                .root = peer,
                                                .comm = comm,
                                                .stream = stream}));
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return say(sim_group_add(&(struct sim_task){.func = SIM_RECV,
                                                .recv = recv,
                                                .count = count,
                                                .datatype = datatype,
                                                .root = peer,
                                                .comm = comm,
                                                .stream = stream}));
}
