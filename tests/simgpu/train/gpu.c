/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/simgpu/train/exchange.h"
#include "tests/simgpu/train/runtime.h"

/* A kernel of one thread that ends `duration` ns of the device's clock after it began. */
#define SPIN_KERNEL(name)                  \
    ".visible .entry " name "(\n"          \
    "    .param .u64 duration\n"           \
    ")\n"                                  \
    "{\n"                                  \
    "    .reg .pred %p<2>;\n"              \
    "    .reg .b64 %rd<5>;\n"              \
    "    ld.param.u64 %rd1, [duration];\n" \
    "    mov.u64 %rd2, %globaltimer;\n"    \
    "again:\n"                             \
    "    mov.u64 %rd3, %globaltimer;\n"    \
    "    sub.s64 %rd4, %rd3, %rd2;\n"      \
    "    setp.lt.u64 %p1, %rd4, %rd1;\n"   \
    "    @%p1 bra again;\n"                \
    "    ret;\n"                           \
    "}\n"

static const char PTX[] =
    ".version 6.3\n"
    ".target sm_75\n"
    ".address_size 64\n" SPIN_KERNEL("train_forward") SPIN_KERNEL("train_backward")
        SPIN_KERNEL("train_optimizer") SPIN_KERNEL("train_side");

static const char *const KERNELS[TRAIN_KERNEL_COUNT] = {
    [TRAIN_KERNEL_FORWARD] = "train_forward",
    [TRAIN_KERNEL_BACKWARD] = "train_backward",
    [TRAIN_KERNEL_OPTIMIZER] = "train_optimizer",
    [TRAIN_KERNEL_SIDE] = "train_side",
};

void train_check_cuda(CUresult result, const char *what)
{
    const char *text = "unknown error";

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "simgpu_train: %s: %s\n", what, text);
    exit(1);
}

void train_check_nccl(ncclResult_t result, const char *what)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "simgpu_train: %s: %s\n", what, ncclGetErrorString(result));
    exit(1);
}

#define CUDA(call) train_check_cuda((call), #call)
#define NCCL(call) train_check_nccl((call), #call)

static void open_context(const struct train_options *options, struct train_gpu *gpu)
{
    CUdevice device;

    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, options->local_rank));
    CUDA(cuDevicePrimaryCtxRetain(&gpu->context, device));
    CUDA(cuCtxSetCurrent(gpu->context));
    CUDA(cuModuleLoadData(&gpu->module, PTX));
    for (int i = 0; i < TRAIN_KERNEL_COUNT; i++)
        CUDA(cuModuleGetFunction(&gpu->kernels[i], gpu->module, KERNELS[i]));
    CUDA(cuStreamCreate(&gpu->compute, CU_STREAM_NON_BLOCKING));
    CUDA(cuStreamCreate(&gpu->comm_stream, CU_STREAM_NON_BLOCKING));
}

static void open_buffers(const struct train_options *options, struct train_gpu *gpu)
{
    for (uint32_t i = 0; i < options->bucket_count; i++) {
        CUDA(cuMemAlloc(&gpu->buckets[i], options->bucket_bytes + 4));
        CUDA(cuEventCreate(&gpu->gradients_ready[i], CU_EVENT_DISABLE_TIMING));
        CUDA(cuEventCreate(&gpu->bucket_reduced[i], CU_EVENT_DISABLE_TIMING));
    }
    for (int i = 0; i < 2; i++)
        CUDA(cuEventCreate(&gpu->step_end[i], CU_EVENT_DISABLE_TIMING));
    CUDA(cuMemAlloc(&gpu->input, options->input_bytes + 4));
    if (options->scenario == TRAIN_PAGEABLE)
        gpu->host_input = calloc(1, options->input_bytes + 4);
    else
        CUDA(cuMemHostAlloc(&gpu->host_input, options->input_bytes + 4, 0));
    if (!gpu->host_input)
        train_check_cuda(CUDA_ERROR_OUT_OF_MEMORY, "calloc of the input");
}

void train_gpu_open(const struct train_options *options, struct train_gpu *gpu)
{
    ncclUniqueId id;

    if (options->has_runtime && !train_runtime_init())
        exit(1);
    open_context(options, gpu);
    open_buffers(options, gpu);
    if (!train_exchange_id(options, &id))
        exit(1);
    NCCL(ncclCommInitRank(&gpu->comm, options->world_size, id, options->rank));
}

void train_gpu_close(const struct train_options *options, struct train_gpu *gpu)
{
    CUDA(cuCtxSynchronize());
    NCCL(ncclCommDestroy(gpu->comm));
    for (uint32_t i = 0; i < options->bucket_count; i++) {
        CUDA(cuMemFree(gpu->buckets[i]));
        CUDA(cuEventDestroy(gpu->gradients_ready[i]));
        CUDA(cuEventDestroy(gpu->bucket_reduced[i]));
    }
    for (int i = 0; i < 2; i++)
        CUDA(cuEventDestroy(gpu->step_end[i]));
    CUDA(cuMemFree(gpu->input));
    if (options->scenario == TRAIN_PAGEABLE)
        free(gpu->host_input);
    else
        CUDA(cuMemFreeHost(gpu->host_input));
    CUDA(cuStreamDestroy(gpu->compute));
    CUDA(cuStreamDestroy(gpu->comm_stream));
    CUDA(cuModuleUnload(gpu->module));
}

void train_launch(const struct train_gpu *gpu, enum train_kernel kernel, CUstream stream,
                  uint64_t duration_ns)
{
    void *params[] = {&duration_ns};
    struct simgpu_call call;

    train_runtime_begin(&call);
    CUDA(cuLaunchKernel(gpu->kernels[kernel], 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    train_runtime_end(&call);
}

void train_all_reduce(const struct train_options *options, const struct train_gpu *gpu,
                      uint32_t bucket)
{
    /* NCCL takes device addresses as pointers */
    void *buffer = (void *)(uintptr_t)gpu->buckets[bucket]; /* NOLINT(performance-no-int-to-ptr) */

    NCCL(ncclAllReduce(buffer, buffer, options->bucket_bytes / sizeof(float), ncclFloat32, ncclSum,
                       gpu->comm, gpu->comm_stream));
}
