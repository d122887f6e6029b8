/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TEST_GPU_H
#define SIMGPU_TEST_GPU_H

/* gpu - what the tests of the stand-ins share: a context with kernels of a chosen duration. */

#include <cuda.h>
#include <stdint.h>

#define assert_cuda(call) assert_int_equal((call), CUDA_SUCCESS)

struct test_gpu {
    CUcontext context;
    CUmodule module;
    CUfunction kernel;       /* "test_kernel", takes its duration in ns */
    CUfunction other_kernel; /* "other_kernel", no parameter */
};

/* cmocka group set-up: makes a context on device 0 current on the calling thread. */
int test_gpu_setup(void **state);

/* Launch `kernel` for `duration_ns`. */
CUresult test_gpu_launch(const struct test_gpu *gpu, CUstream stream, uint64_t duration_ns);

/* Launch `kernel` so that it runs until test_gpu_let_go: what is submitted after it waits, and
 * starts back to back. One at a time. */
CUresult test_gpu_hold(const struct test_gpu *gpu, CUstream stream);
void test_gpu_let_go(void);

#endif
