/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/test/gpu.h"

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
