/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/group.h"

#include <stdlib.h>

#include "tests/simgpu/nccl/init.h"
#include "tests/simgpu/nccl/launch.h"

#define BELOW_COLL_API (RKT_NCCL_EVENT_COLL_API | RKT_NCCL_EVENT_P2P_API | SIM_BELOW_GROUP)
#define BELOW_GROUP_API (RKT_NCCL_EVENT_GROUP_API | RKT_NCCL_EVENT_KERNEL_LAUNCH | BELOW_COLL_API)

static _Thread_local struct {
    int depth;
    ncclResult_t result; /* the first failure inside the group */
    struct sim_task *first;
    struct sim_task *last;
    ncclComm_t api_comm; /* of the GroupApi event; NULL: not begun */
    void *api_handle;
    int mask; /* the plugin's, as it was when the group's first call came */
} group;

static void begin_group_api(ncclComm_t comm, bool is_captured)
{
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_GROUP_API,
                                   .rank = comm->rank,
                                   .group_api = {.is_captured = is_captured, .depth = group.depth}};

    group.api_comm = comm;
    group.api_handle = NULL;
    group.mask = sim_plugin_mask(&comm->plugin);
    if (!(group.mask & BELOW_GROUP_API))
        return;
    group.api_handle = sim_plugin_start(&comm->plugin, &descr);
    sim_plugin_record(&comm->plugin, group.api_handle, RKT_NCCL_STATE_GROUP_START_STOP, 0);
}

static void end_group_api(void)
{
    if (group.api_comm)
        sim_plugin_stop(&group.api_comm->plugin, group.api_handle);
    group.api_comm = NULL;
    group.api_handle = NULL;
}

static void begin_call_api(struct sim_task *task, bool is_captured)
{
    struct rkt_nccl_descr descr = {.rank = task->comm->rank, .parent = group.api_handle};

    if (!(group.mask & BELOW_COLL_API))
        return;
    if (sim_task_is_p2p(task)) {
        descr.type = RKT_NCCL_EVENT_P2P_API;
        descr.p2p_api.func = sim_func_name(task->func);
        descr.p2p_api.count = task->count;
        descr.p2p_api.datatype = sim_datatype_name(task->datatype);
        descr.p2p_api.stream = task->stream;
        descr.p2p_api.is_captured = is_captured;
    } else {
        descr.type = RKT_NCCL_EVENT_COLL_API;
        descr.coll_api.func = sim_func_name(task->func);
        descr.coll_api.count = task->count;
        descr.coll_api.datatype = sim_datatype_name(task->datatype);
        descr.coll_api.root = task->root;
        descr.coll_api.stream = task->stream;
        descr.coll_api.is_captured = is_captured;
    }
    task->api_handle = sim_plugin_start(&task->comm->plugin, &descr);
}

/* A communicator of one rank: a copy, and nothing to tell but the call. */
static ncclResult_t launch_alone(const struct sim_task *task)
{
    CUdeviceptr to = (CUdeviceptr)(uintptr_t)task->recv;
    CUdeviceptr from = (CUdeviceptr)(uintptr_t)task->send;

    if (sim_task_is_p2p(task) || to == from || task->count == 0)
        return ncclSuccess;
    return cuMemcpyAsync(to, from, sim_task_bytes(task), task->stream) == CUDA_SUCCESS
               ? ncclSuccess
               : ncclUnhandledCudaError;
}

static ncclResult_t launch_together(const struct sim_task *tasks)
{
    struct sim_tell tell = {.mask = group.mask, .api_handle = group.api_handle};

    return sim_launch(tasks, &tell);
}

/* Moves from the group's list those that go into one kernel with its first, in order. */
static struct sim_task *take_together(void)
{
    struct sim_task *taken = group.first;
    struct sim_task *taken_last = taken;
    struct sim_task **link = &taken->next;
    int count = 1;

    group.first = NULL;
    group.last = NULL;
    while (*link) {
        struct sim_task *task = *link;

        if (task->comm == taken->comm && task->stream == taken->stream &&
            count < SIM_MEET_FUSED_MAX) {
            count++;
            taken_last = task;
            link = &task->next;
            continue;
        }
        *link = task->next;
        task->next = NULL;
        if (group.last)
            group.last->next = task;
        else
            group.first = task;
        group.last = task;
    }
    taken_last->next = NULL;
    return taken;
}

static ncclResult_t launch_in_context(const struct sim_task *tasks)
{
    ncclResult_t result = ncclSuccess;

    if (tasks->comm->rank_count > 1)
        return launch_together(tasks);
    for (const struct sim_task *task = tasks; task && result == ncclSuccess; task = task->next)
        result = launch_alone(task);
    return result;
}

/* The caller may have gone on to another device inside the group. */
static ncclResult_t launch_taken(const struct sim_task *tasks)
{
    CUcontext before;
    ncclResult_t result;

    if (cuCtxGetCurrent(&before) != CUDA_SUCCESS ||
        cuCtxSetCurrent(tasks->comm->context) != CUDA_SUCCESS)
        return ncclUnhandledCudaError;
    result = launch_in_context(tasks);
    if (cuCtxSetCurrent(before) != CUDA_SUCCESS && result == ncclSuccess)
        result = ncclUnhandledCudaError;
    return result;
}

static ncclResult_t launch_all(void)
{
    ncclResult_t result = group.result;

    if (group.api_comm)
        sim_plugin_record(&group.api_comm->plugin, group.api_handle, RKT_NCCL_STATE_GROUP_END_START,
                          0);
    while (group.first) {
        struct sim_task *tasks = take_together();

        if (result == ncclSuccess)
            result = launch_taken(tasks);
        while (tasks) {
            struct sim_task *task = tasks;

            tasks = task->next;
            free(task);
        }
    }
    end_group_api();
    group.result = ncclSuccess;
    return result;
}

void sim_group_start(void)
{
    group.depth++;
}

bool sim_group_is_open(void)
{
    return group.depth > 0;
}

ncclResult_t sim_group_end(void)
{
    ncclResult_t made;

    if (group.depth == 0)
        return ncclInvalidUsage;
    if (--group.depth > 0)
        return ncclSuccess;
    made = sim_init_all();
    if (group.result == ncclSuccess)
        group.result = made;
    return launch_all();
}

static ncclResult_t append(const struct sim_task *task)
{
    struct sim_task *copy = malloc(sizeof(*copy));
    bool is_captured = sim_launch_is_captured(task->stream);

    if (!copy)
        return ncclSystemError;
    *copy = *task;
    copy->next = NULL;
    if (!group.api_comm)
        begin_group_api(copy->comm, is_captured);
    begin_call_api(copy, is_captured);
    if (group.last)
        group.last->next = copy;
    else
        group.first = copy;
    group.last = copy;
    sim_plugin_stop(&copy->comm->plugin, copy->api_handle);
    return ncclSuccess;
}

ncclResult_t sim_group_add(const struct sim_task *task)
{
    ncclResult_t result = sim_task_check(task);

    sim_group_start();
    if (result == ncclSuccess)
        result = append(task);
    if (result != ncclSuccess && group.result == ncclSuccess)
        group.result = result;
    if (group.depth == 1)
        return sim_group_end();
    sim_group_end();
    return result;
}
