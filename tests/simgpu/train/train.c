/* SPDX-License-Identifier: Apache-2.0 */

/*
 * simgpu_train - a training loop as PyTorch DDP runs it (step.h), on the driver interface and NCCL
 * alone. Each scenario plants one known fault.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/simgpu/train/gate.h"
#include "tests/simgpu/train/marks.h"
#include "tests/simgpu/train/options.h"
#include "tests/simgpu/train/rival.h"
#include "tests/simgpu/train/side.h"
#include "tests/simgpu/train/step.h"

#define CUDA(call) train_check_cuda((call), #call)

static uint64_t read_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void run(struct train *train)
{
    uint64_t wall_ns = read_ns(CLOCK_MONOTONIC);
    uint64_t cpu_ns = read_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct train_side *side = train_side_start(&train->options, &train->gpu);

    for (uint32_t step = 0; step < train->options.step_count; step++) {
        if (!train_gate_pass(&train->options, step))
            break;
        train_rival_step(&train->options, step);
        train_step_run(train, step);
    }
    train->truth.side_kernel_count = train_side_join(side);
    CUDA(cuCtxSynchronize());
    train_mark_step_end();
    train->truth.thief_record_count = train_rival_end(&train->options);
    train->truth.wall_ns = read_ns(CLOCK_MONOTONIC) - wall_ns;
    train->truth.cpu_ns = read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
}

int main(int argc, char **argv)
{
    static struct train train; /* the autograd thread ends with the process */

    if (!train_options_parse(argc, argv, &train.options))
        return 2;
    train_step_plan(&train);
    train_gpu_open(&train.options, &train.gpu);
    train.truth.has_marks = train_marks_init();
    train.autograd = train_autograd_create(train_autograd_setup, train_backward, &train);
    if (!train.autograd) {
        fprintf(stderr, "simgpu_train: no thread for autograd\n");
        return 1;
    }
    run(&train);
    train_truth_print(&train.options, &train.truth);
    train_step_close(&train);
    train_gpu_close(&train.options, &train.gpu);
    return 0;
}
