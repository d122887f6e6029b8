/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_GPU_H
#define SIMGPU_TRAIN_GPU_H

/*
 * gpu - the device side of the training program: context, streams, buffers, and kernels that
 * take a chosen time. The kernels are PTX that loops on the device's clock, so the program does the
 * same on a real device as on the stand-in.
 *
 * Errors: any failure of the driver or NCCL is told once and ends the process with code 1.
 */

#include <cuda.h>
#include <nccl.h>
#include <stdint.h>

#include "tests/simgpu/train/options.h"

enum train_kernel {
    TRAIN_KERNEL_FORWARD,
    TRAIN_KERNEL_BACKWARD,
    TRAIN_KERNEL_OPTIMIZER,
    TRAIN_KERNEL_SIDE,
    TRAIN_KERNEL_COUNT,
};

struct train_gpu {
    CUcontext context;
    CUmodule module;
    CUfunction kernels[TRAIN_KERNEL_COUNT];
    CUstream compute;
    CUstream comm_stream;
    CUevent gradients_ready[TRAIN_BUCKETS_MAX];
    CUevent bucket_reduced[TRAIN_BUCKETS_MAX];
    CUevent step_end[2]; /* of this step and the one before */
    CUdeviceptr buckets[TRAIN_BUCKETS_MAX];
    CUdeviceptr input;
    void *host_input; /* pinned, but in scenario pageable-input */
    ncclComm_t comm;
};

void train_check_cuda(CUresult result, const char *what);
void train_check_nccl(ncclResult_t result, const char *what);

void train_gpu_open(const struct train_options *options, struct train_gpu *gpu);
void train_gpu_close(const struct train_options *options, struct train_gpu *gpu);

void train_launch(const struct train_gpu *gpu, enum train_kernel kernel, CUstream stream,
                  uint64_t duration_ns);
void train_all_reduce(const struct train_options *options, const struct train_gpu *gpu,
                      uint32_t bucket);

#endif
