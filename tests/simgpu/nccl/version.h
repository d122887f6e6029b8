/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_VERSION_H
#define SIMGPU_NCCL_VERSION_H

/* version - which NCCL this is: SIMGPU_NCCL_VERSION, "2.23" to "2.31.2", default 2.28.9. */

/* As ncclGetVersion: 22809. */
int sim_nccl_version(void);

/* Newest profiler table that this NCCL knows: 1 to 7. */
int sim_nccl_profiler_version(void);

#endif
