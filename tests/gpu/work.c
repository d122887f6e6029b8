/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/work.h"

#include <stdio.h>
#include <stdlib.h>

static const char PTX[] = ".version 6.0\n"
                          ".target sm_50\n"
                          ".address_size 64\n"
                          ".visible .entry gpu_spin(\n"
                          "    .param .u64 duration\n"
                          ")\n"
                          "{\n"
                          "    .reg .pred %p<2>;\n"
                          "    .reg .b64 %rd<5>;\n"
                          "    ld.param.u64 %rd1, [duration];\n"
                          "    mov.u64 %rd2, %globaltimer;\n"
                          "again:\n"
                          "    mov.u64 %rd3, %globaltimer;\n"
                          "    sub.s64 %rd4, %rd3, %rd2;\n"
                          "    setp.lt.u64 %p1, %rd4, %rd1;\n"
                          "    @%p1 bra again;\n"
                          "    ret;\n"
                          "}\n"
                          ".visible .entry gpu_stamp(\n"
                          "    .param .u64 duration,\n"
                          "    .param .u64 stamps\n"
                          ")\n"
                          "{\n"
                          "    .reg .pred %p<2>;\n"
                          "    .reg .b64 %rd<7>;\n"
                          "    ld.param.u64 %rd1, [duration];\n"
                          "    ld.param.u64 %rd2, [stamps];\n"
                          "    cvta.to.global.u64 %rd3, %rd2;\n"
                          "    mov.u64 %rd4, %globaltimer;\n"
                          "    st.global.u64 [%rd3], %rd4;\n"
                          "again:\n"
                          "    mov.u64 %rd5, %globaltimer;\n"
                          "    sub.s64 %rd6, %rd5, %rd4;\n"
                          "    setp.lt.u64 %p1, %rd6, %rd1;\n"
                          "    @%p1 bra again;\n"
                          "    st.global.u64 [%rd3+8], %rd5;\n"
                          "    ret;\n"
                          "}\n";

void gpu_check(CUresult result, const char *what)
{
    const char *text = "unknown error";

    if (result == CUDA_SUCCESS)
        return;
    (void)cuGetErrorString(result, &text);
    (void)fprintf(stderr, "%s: %s\n", what, text);
    exit(1);
}

int gpu_work_init(void)
{
    int count = 0;

    if (cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS && count > 0)
        return count;
    (void)fprintf(stderr, "there is no GPU\n");
    exit(77);
}

void gpu_work_open(struct gpu_work *work)
{
    CUmodule module;

    (void)gpu_work_init();
    GPU_CHECK(cuDeviceGet(&work->device, 0));
    GPU_CHECK(cuDevicePrimaryCtxRetain(&work->context, work->device));
    GPU_CHECK(cuCtxSetCurrent(work->context));
    GPU_CHECK(cuModuleLoadData(&module, PTX));
    GPU_CHECK(cuModuleGetFunction(&work->spin, module, "gpu_spin"));
    GPU_CHECK(cuModuleGetFunction(&work->stamp, module, "gpu_stamp"));
    GPU_CHECK(cuStreamCreate(&work->stream, CU_STREAM_NON_BLOCKING));
}

void gpu_work_spin(const struct gpu_work *work, uint64_t duration_ns)
{
    void *params[] = {&duration_ns};

    GPU_CHECK(cuLaunchKernel(work->spin, 1, 1, 1, 1, 1, 1, 0, work->stream, params, NULL));
}

void gpu_work_stamp(const struct gpu_work *work, uint64_t duration_ns, CUdeviceptr stamps)
{
    void *params[] = {&duration_ns, &stamps};

    GPU_CHECK(cuLaunchKernel(work->stamp, 1, 1, 1, 1, 1, 1, 0, work->stream, params, NULL));
}
