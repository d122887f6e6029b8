/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_LAUNCH_H
#define SIMGPU_NCCL_LAUNCH_H

/*
 * launch - puts the tasks of one communicator and stream on the device as one kernel, which ends
 * when all ranks that it concerns have started theirs and the bytes have had their time.
 */

#include "tests/simgpu/nccl/task.h"

/* The kernel for `tasks`, a list whose members have the same communicator and stream. */
CUfunction sim_launch_prepare(const struct sim_task *tasks);

/* Launch it; counts the tasks in their communicator. */
ncclResult_t sim_launch(const struct sim_task *tasks, CUfunction function);

#endif
