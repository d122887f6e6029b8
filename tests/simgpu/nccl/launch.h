/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_LAUNCH_H
#define SIMGPU_NCCL_LAUNCH_H

/*
 * launch - puts the tasks of one communicator and stream on the device as one kernel, which ends
 * when all ranks that it concerns have started theirs and the bytes have had their time; and tells
 * the plugin: KernelLaunch up, launch, KernelLaunch down, then what tell.h says.
 *
 * Into a stream that is captured the kernel goes as a node of the graph. Then the operations are
 * told only where a kernel has work for the progress thread, each time that the graph is launched:
 * by a host function in front of it. Else a replay is silence.
 */

#include "tests/simgpu/nccl/tell.h"

bool sim_launch_is_captured(CUstream stream);

/* Launch `tasks`, a list whose members have the same communicator and stream. */
ncclResult_t sim_launch(const struct sim_task *tasks, const struct sim_tell *tell);

#endif
