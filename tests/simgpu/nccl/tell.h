/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_TELL_H
#define SIMGPU_NCCL_TELL_H

/*
 * tell - tells the plugin that a kernel's operations are on their way: Group up, {Coll up,
 * down}..., Group down, then hands the kernel to the progress thread.
 *
 * Threads: the launching one; for a graph the driver's thread of host functions.
 */

#include "tests/simgpu/nccl/progress.h"
#include "tests/simgpu/nccl/task.h"

/* A parent is told of whenever one of its children is wanted. */
#define SIM_BELOW_TASK                                                                \
    (RKT_NCCL_EVENT_KERNEL_CH | RKT_NCCL_EVENT_PROXY_OP | RKT_NCCL_EVENT_PROXY_STEP | \
     RKT_NCCL_EVENT_NET_PLUGIN)
#define SIM_BELOW_GROUP \
    (RKT_NCCL_EVENT_GROUP | RKT_NCCL_EVENT_COLL | RKT_NCCL_EVENT_P2P | SIM_BELOW_TASK)

struct sim_tell {
    int mask;         /* the plugin's, as it was at the call */
    void *api_handle; /* of the GroupApi event */
    bool is_replay;
};

/* Takes the caller's reference of `watch`; NULL: nothing will be told of the kernel itself. */
void sim_tell_kernel(const struct sim_tell *tell, const struct sim_task *tasks,
                     struct sim_watch *watch);

#endif
