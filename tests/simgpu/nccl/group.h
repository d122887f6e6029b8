/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_GROUP_H
#define SIMGPU_NCCL_GROUP_H

/*
 * group - calls between ncclGroupStart and ncclGroupEnd, or one call on its own; each thread has
 * its own. Tells the plugin, in NCCL's order:
 *
 *     GroupApi up, state 23, {CollApi up, down}..., state 24,
 *     per kernel: KernelLaunch up, launch, KernelLaunch down, Group up, {Coll up, down}..., Group down,
 *     GroupApi down
 *
 * Communicators that are made in a group are made at its end, each on a thread of its own, as
 * several devices of one process need it. A parent is told of whenever one of its children is
 * wanted.
 */

#include "tests/simgpu/nccl/task.h"

void sim_group_start(void);
bool sim_group_is_open(void);
ncclResult_t sim_group_end(void);

/* Copies the task. Outside a group it is launched before this returns. */
ncclResult_t sim_group_add(const struct sim_task *task);

#endif
