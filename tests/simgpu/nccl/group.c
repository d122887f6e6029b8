/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/group.h"

#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/nccl/launch.h"

#define BELOW_COLL (RKT_NCCL_EVENT_COLL | RKT_NCCL_EVENT_P2P | RKT_NCCL_EVENT_KERNEL_CH)
#define BELOW_GROUP (RKT_NCCL_EVENT_GROUP | BELOW_COLL)
#define BELOW_COLL_API (RKT_NCCL_EVENT_COLL_API | RKT_NCCL_EVENT_P2P_API | BELOW_COLL)
#define BELOW_GROUP_API \
    (RKT_NCCL_EVENT_GROUP_API | RKT_NCCL_EVENT_KERNEL_LAUNCH | BELOW_COLL_API | BELOW_GROUP)
#define WARPS_PER_BLOCK 17

static _Thread_local struct {
    int depth;
    ncclResult_t result; /* the first failure inside the group */
    struct sim_task *first;
    struct sim_task *last;
    ncclComm_t api_comm; /* of the GroupApi event; NULL: not begun */
    void *api_handle;
    int mask; /* the plugin's, as it was when the group's first call came */
} group;

static void begin_group_api(ncclComm_t comm)
{
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_GROUP_API, .rank = comm->rank, .group_api = {.depth = group.depth}};

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

static void begin_call_api(struct sim_task *task)
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
    } else {
        descr.type = RKT_NCCL_EVENT_COLL_API;
        descr.coll_api.func = sim_func_name(task->func);
        descr.coll_api.count = task->count;
        descr.coll_api.datatype = sim_datatype_name(task->datatype);
        descr.coll_api.root = task->root;
        descr.coll_api.stream = task->stream;
    }
    task->api_handle = sim_plugin_start(&task->comm->plugin, &descr);
}

static void describe_coll(const struct sim_task *task, struct rkt_nccl_descr *descr)
{
    descr->type = RKT_NCCL_EVENT_COLL;
    descr->coll.seq = task->comm->seq[task->func];
    descr->coll.func = sim_func_name(task->func);
    descr->coll.send = task->send;
    descr->coll.recv = task->recv;
    descr->coll.count = task->count;
    descr->coll.root = task->root;
    descr->coll.datatype = sim_datatype_name(task->datatype);
    descr->coll.channel_count = sim_task_channel_count(task);
    descr->coll.warp_count = WARPS_PER_BLOCK;
    descr->coll.algo = "RING";
    descr->coll.proto = sim_task_proto(task);
}

static void describe_p2p(const struct sim_task *task, struct rkt_nccl_descr *descr)
{
    descr->type = RKT_NCCL_EVENT_P2P;
    descr->p2p.func = sim_func_name(task->func);
    memcpy(&descr->p2p.buffer, task->func == SIM_RECV ? (const void *)&task->recv : &task->send,
           sizeof(descr->p2p.buffer)); /* not const there */
    descr->p2p.datatype = sim_datatype_name(task->datatype);
    descr->p2p.count = task->count;
    descr->p2p.peer = task->root;
    descr->p2p.channel_count = sim_task_channel_count(task);
}

/* Up and down at once: it means that the work is on its way, not that it is done. */
static void tell_task(const struct sim_task *task, void *group_handle)
{
    bool is_old = sim_plugin_version() <= 4;
    struct rkt_nccl_descr descr = {.rank = task->comm->rank,
                                   .parent = is_old ? group_handle : task->api_handle};

    if (sim_task_is_p2p(task)) {
        describe_p2p(task, &descr);
        if (!is_old)
            descr.p2p.parent_group = group_handle;
    } else {
        describe_coll(task, &descr);
        if (!is_old)
            descr.coll.parent_group = group_handle;
    }
    if (group.mask & (int)(descr.type | RKT_NCCL_EVENT_KERNEL_CH))
        sim_plugin_stop(&task->comm->plugin, sim_plugin_start(&task->comm->plugin, &descr));
}

static void tell_group(const struct sim_task *tasks)
{
    const struct sim_plugin_comm *plugin = &tasks->comm->plugin;
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_GROUP, .rank = tasks->comm->rank, .parent = group.api_handle};
    void *handle = NULL;

    if (group.mask & BELOW_GROUP)
        handle = sim_plugin_start(plugin, &descr);
    for (const struct sim_task *task = tasks; task; task = task->next) {
        tell_task(task, handle);
        task->comm->seq[task->func]++;
    }
    sim_plugin_stop(plugin, handle);
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
    const struct sim_plugin_comm *plugin = &tasks->comm->plugin;
    struct rkt_nccl_descr descr = {.type = RKT_NCCL_EVENT_KERNEL_LAUNCH,
                                   .rank = tasks->comm->rank,
                                   .parent = group.api_handle,
                                   .kernel_launch = {.stream = tasks->stream}};
    CUfunction function = sim_launch_prepare(tasks);
    void *handle = NULL;
    ncclResult_t result;

    if (!function)
        return ncclUnhandledCudaError;
    if (group.mask & RKT_NCCL_EVENT_KERNEL_LAUNCH)
        handle = sim_plugin_start(plugin, &descr);
    result = sim_launch(tasks, function);
    sim_plugin_stop(plugin, handle);
    if (result == ncclSuccess)
        tell_group(tasks);
    return result;
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

static ncclResult_t launch_taken(struct sim_task *tasks)
{
    ncclResult_t result = ncclSuccess;

    if (tasks->comm->rank_count > 1)
        return launch_together(tasks);
    for (const struct sim_task *task = tasks; task && result == ncclSuccess; task = task->next)
        result = launch_alone(task);
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

ncclResult_t sim_group_end(void)
{
    if (group.depth == 0)
        return ncclInvalidUsage;
    if (--group.depth > 0)
        return ncclSuccess;
    return launch_all();
}

static ncclResult_t append(const struct sim_task *task)
{
    struct sim_task *copy = malloc(sizeof(*copy));

    if (!copy)
        return ncclSystemError;
    *copy = *task;
    copy->next = NULL;
    if (!group.api_comm)
        begin_group_api(copy->comm);
    begin_call_api(copy);
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
