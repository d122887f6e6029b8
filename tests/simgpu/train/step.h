/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_STEP_H
#define SIMGPU_TRAIN_STEP_H

/*
 * step - one training step as PyTorch DDP runs it, launched call by call or, with --graphs,
 * captured once as a whole and then launched as a graph:
 *
 *     main thread:    copy the input, launch forward, wait for autograd, launch the optimizer
 *     autograd:       launch backward; per bucket an AllReduce on a second stream
 *     compute stream: input, forward, backward, optimizer (after all buckets)
 *     comm stream:    bucket after bucket, each after its gradients
 */

#include "tests/simgpu/train/autograd.h"
#include "tests/simgpu/train/gpu.h"
#include "tests/simgpu/train/options.h"
#include "tests/simgpu/train/truth.h"

struct train {
    struct train_options options;
    struct train_gpu gpu;
    struct train_truth truth;
    struct train_autograd *autograd;
    uint64_t forward_ns; /* of a layer on this rank */
    uint64_t backward_ns;
    uint64_t optimizer_ns; /* of a bucket */
    uint64_t bucket_marks[TRAIN_BUCKETS_MAX];
    CUgraphExec graph;           /* NULL: not captured yet */
    struct train_truth of_graph; /* what one launch does */
};

/* After the options are set. */
void train_step_plan(struct train *train);

/* What the autograd thread does first, and then once per step; `arg` is the struct train. */
void train_autograd_setup(void *arg);
void train_backward(void *arg);

/* The host runs at most one step ahead of the device. */
void train_step_run(struct train *train, uint32_t step);

void train_step_close(struct train *train);

#endif
