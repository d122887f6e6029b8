/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/nccl/tell.h"

#include <string.h>

#include "tests/simgpu/nccl/version.h"

#define WARPS_PER_BLOCK 17

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

/* Up and down at once: it means that the work is on its way, not that it is done. The handle. */
static void *tell_task(const struct sim_task *task, int mask, void *group_handle)
{
    void *handle = NULL;
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
    if (mask & (int)(descr.type | SIM_BELOW_TASK))
        handle = sim_plugin_start(&task->comm->plugin, &descr);
    sim_plugin_stop(&task->comm->plugin, handle);
    return handle;
}

static void watch_op(const struct sim_task *task, void *handle, struct sim_watch_op *op)
{
    *op = (struct sim_watch_op){.handle = handle,
                                .channel_count = sim_task_channel_count(task),
                                .is_p2p = sim_task_is_p2p(task),
                                .is_send = task->func == SIM_SEND,
                                .peer = task->root,
                                .bytes = sim_task_bytes(task)};
}

void sim_tell_kernel(const struct sim_tell *tell, const struct sim_task *tasks,
                     struct sim_watch *watch)
{
    const struct sim_plugin_comm *plugin = &tasks->comm->plugin;
    struct rkt_nccl_descr descr = {
        .type = RKT_NCCL_EVENT_GROUP, .rank = tasks->comm->rank, .parent = tell->api_handle};
    void *group = NULL;
    bool is_silent;
    int op = 0;

    if (tell->mask & SIM_BELOW_GROUP)
        group = sim_plugin_start(plugin, &descr);
    is_silent = !group && sim_nccl_version() < 22800; /* a group without a handle: nothing below */
    for (const struct sim_task *task = tasks; task; task = task->next, op++) {
        void *handle = is_silent ? NULL : tell_task(task, tell->mask, group);

        if (watch)
            watch_op(task, handle, &watch->ops[op]);
        /* Not every rank is called back for a graph, so that it would not count the same. */
        if (!tell->is_replay || tell->mask & RKT_NCCL_EVENT_KERNEL_CH)
            task->comm->seq[task->func]++;
    }
    sim_plugin_stop(plugin, group);
    if (watch)
        sim_progress_post(tasks->comm->progress, watch);
}
