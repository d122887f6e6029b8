/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/side.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CUDA(call) train_check_cuda((call), #call)

struct worker {
    const struct train_gpu *gpu;
    pthread_t thread;
    uint64_t kernel_count;
    uint64_t interval_ns; /* 0: as fast as it goes */
};

struct train_side {
    uint32_t worker_count;
    struct worker workers[];
};

static void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void *worker_main(void *arg)
{
    const struct worker *worker = arg;
    struct timespec start;
    CUstream stream;
    uint64_t due_ns;

    CUDA(cuCtxSetCurrent(worker->gpu->context));
    CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    clock_gettime(CLOCK_MONOTONIC, &start);
    due_ns = (uint64_t)start.tv_sec * 1000000000u + (uint64_t)start.tv_nsec;
    for (uint64_t i = 0; i < worker->kernel_count; i++) {
        train_launch(worker->gpu, TRAIN_KERNEL_SIDE, stream, 0);
        due_ns += worker->interval_ns;
        if (worker->interval_ns > 0)
            sleep_until(due_ns);
    }
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuStreamDestroy(stream));
    return NULL;
}

struct train_side *train_side_start(const struct train_options *options,
                                    const struct train_gpu *gpu)
{
    uint32_t count = options->thread_count;
    struct train_side *side;

    if (options->side_kernels == 0)
        return NULL;
    side = calloc(1, sizeof(*side) + count * sizeof(side->workers[0]));
    for (uint32_t i = 0; side && i < count; i++) {
        struct worker *worker = &side->workers[i];

        worker->gpu = gpu;
        worker->kernel_count = options->side_kernels / count + (i < options->side_kernels % count);
        if (options->rate > 0)
            worker->interval_ns = 1000000000ull * count / options->rate;
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break;
        side->worker_count++;
    }
    if (!side || side->worker_count < count) {
        fprintf(stderr, "simgpu_train: no thread for --threads\n");
        exit(1);
    }
    return side;
}

uint64_t train_side_join(struct train_side *side)
{
    uint64_t kernel_count = 0;

    for (uint32_t i = 0; side && i < side->worker_count; i++) {
        pthread_join(side->workers[i].thread, NULL);
        kernel_count += side->workers[i].kernel_count;
    }
    free(side);
    return kernel_count;
}
