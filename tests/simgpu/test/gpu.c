/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/test/gpu.h"

#include <stdatomic.h>
#include <time.h>

#include "tests/simgpu/hooks.h"

static const char PTX[] = "// two kernels\n"
                          ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry test_kernel(\n    .param .u64 duration\n)\n{ ret; }\n"
                          ".visible .entry other_kernel()\n{ ret; }\n";

int test_gpu_setup(void **state)
{
    static struct test_gpu gpu;
    CUdevice device;

    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
        cuDevicePrimaryCtxRetain(&gpu.context, device) != CUDA_SUCCESS ||
        cuCtxSetCurrent(gpu.context) != CUDA_SUCCESS ||
        cuModuleLoadData(&gpu.module, PTX) != CUDA_SUCCESS ||
        cuModuleGetFunction(&gpu.kernel, gpu.module, "test_kernel") != CUDA_SUCCESS ||
        cuModuleGetFunction(&gpu.other_kernel, gpu.module, "other_kernel") != CUDA_SUCCESS)
        return -1;
    *state = &gpu;
    return 0;
}

CUresult test_gpu_launch(const struct test_gpu *gpu, CUstream stream, uint64_t duration_ns)
{
    void *params[] = {&duration_ns};

    return cuLaunchKernel(gpu->kernel, 8, 1, 1, 128, 1, 1, 0, stream, params, NULL);
}

static _Atomic uint64_t let_go_ns; /* 0: held */
static uint64_t hold_start_ns;     /* the device's thread alone */

static void hold_started(void *arg, uint64_t start_ns)
{
    (void)arg;
    hold_start_ns = start_ns;
}

static bool hold_ended(void *arg, uint64_t *end_ns)
{
    uint64_t until_ns = atomic_load(&let_go_ns);

    (void)arg;
    if (until_ns == 0)
        return false;
    *end_ns = until_ns > hold_start_ns ? until_ns : hold_start_ns;
    return true;
}

static void hold_release(void *arg)
{
    (void)arg;
}

CUresult test_gpu_hold(const struct test_gpu *gpu, CUstream stream)
{
    static const struct simgpu_gate gate = {
        .started = hold_started, .ended = hold_ended, .release = hold_release};

    atomic_store(&let_go_ns, 0);
    simgpuGateNextLaunch(&gate);
    return test_gpu_launch(gpu, stream, 0);
}

void test_gpu_let_go(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    atomic_store(&let_go_ns, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec);
}
