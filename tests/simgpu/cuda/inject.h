/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUDA_INJECT_H
#define SIMGPU_CUDA_INJECT_H

/*
 * inject - loads the library that CUDA_INJECTION64_PATH names and calls its
 * InitializeInjection, as the driver does inside the first cuInit. A library that cannot be used is
 * told once on stderr and then ignored.
 */

void sim_inject(void);

#endif
