/* SPDX-License-Identifier: Apache-2.0 */

/*
 * simgpu_train - a training loop as PyTorch DDP runs it, on the driver interface and NCCL alone:
 *
 *     main thread:    copy the input, launch forward, wait for autograd, launch the optimizer
 *     autograd:       launch backward; per bucket an AllReduce on a second stream
 *     compute stream: input, forward, backward, optimizer (after all buckets)
 *     comm stream:    bucket after bucket, each after its gradients
 *
 * The host runs at most one step ahead of the device. Each scenario plants one known fault.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/simgpu/train/autograd.h"
#include "tests/simgpu/train/gpu.h"
#include "tests/simgpu/train/marks.h"
#include "tests/simgpu/train/options.h"

#define OPTIMIZER_SHARE 8 /* of the forward time */
#define GAP_FACTOR 2      /* launch-gaps: host time per kernel time */
#define LOSS_BYTES 4

/* What was really asked for, over the whole run. */
struct truth {
    uint64_t kernel_count;
    uint64_t kernel_ns;
    uint64_t collective_count;
    uint64_t collective_bytes;
    uint64_t copy_count;
    uint64_t copy_bytes;
    uint64_t hidden_sync_count;
    uint64_t input_wait_ns;
    uint64_t launch_wait_ns;
};

struct train {
    struct train_options options;
    struct train_gpu gpu;
    struct truth truth;
    uint64_t forward_ns; /* of a layer on this rank */
    uint64_t backward_ns;
    uint64_t optimizer_ns; /* of a bucket */
    uint64_t bucket_marks[TRAIN_BUCKETS_MAX];
};

#define CUDA(call) train_check_cuda((call), #call)

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};

    nanosleep(&pause, NULL);
}

static bool is_slow_rank(const struct train_options *options, enum train_scenario scenario)
{
    return options->scenario == scenario && options->rank == options->slow_rank;
}

static void plan_durations(struct train *train)
{
    const struct train_options *options = &train->options;
    double factor = is_slow_rank(options, TRAIN_SLOW_COMPUTE) ? options->slow_factor : 1;
    double forward_ns = (double)options->compute_us * 1000 * factor;

    train->forward_ns = (uint64_t)(forward_ns / options->layer_count);
    train->backward_ns = 2 * train->forward_ns;
    train->optimizer_ns = (uint64_t)(forward_ns / OPTIMIZER_SHARE / options->bucket_count);
}

static void launch(struct train *train, enum train_kernel kernel, uint64_t duration_ns)
{
    if (train->options.scenario == TRAIN_LAUNCH_GAPS) {
        sleep_ns(GAP_FACTOR * duration_ns);
        train->truth.launch_wait_ns += GAP_FACTOR * duration_ns;
    }
    train_launch(&train->gpu, kernel, duration_ns);
    train->truth.kernel_count++;
    train->truth.kernel_ns += duration_ns;
}

/* slow-input: the loader takes `factor` times as long as the step computes, so that it is not
 * hidden behind the step before. */
static void load_input(struct train *train)
{
    const struct train_options *options = &train->options;

    train_mark_phase_begin(RANKTRACE_INPUT);
    if (is_slow_rank(options, TRAIN_SLOW_INPUT)) {
        uint64_t wait_ns = (uint64_t)((double)options->compute_us * 3000 * options->slow_factor);

        sleep_ns(wait_ns);
        train->truth.input_wait_ns += wait_ns;
    }
    if (options->input_bytes > 0) {
        CUDA(cuMemcpyHtoDAsync(train->gpu.input, train->gpu.host_input, options->input_bytes,
                               train->gpu.compute));
        train->truth.copy_count++;
        train->truth.copy_bytes += options->input_bytes;
    }
    train_mark_phase_end(RANKTRACE_INPUT);
}

/* What `.item()` does: fetch a number into ordinary memory and wait for it. */
static void fetch_loss(struct train *train)
{
    char loss[LOSS_BYTES];

    CUDA(cuMemcpyDtoHAsync(loss, train->gpu.input, sizeof(loss), train->gpu.compute));
    CUDA(cuStreamSynchronize(train->gpu.compute));
    train->truth.copy_count++;
    train->truth.copy_bytes += sizeof(loss);
    train->truth.hidden_sync_count++;
}

static void forward(struct train *train)
{
    train_mark_phase_begin(RANKTRACE_FORWARD);
    for (uint32_t layer = 0; layer < train->options.layer_count; layer++) {
        launch(train, TRAIN_KERNEL_FORWARD, train->forward_ns);
        if (train->options.scenario == TRAIN_HIDDEN_SYNC)
            fetch_loss(train);
    }
    train_mark_phase_end(RANKTRACE_FORWARD);
}

static void reduce_bucket(struct train *train, uint32_t bucket)
{
    struct train_gpu *gpu = &train->gpu;

    train->bucket_marks[bucket] = train_mark_bucket_begin(bucket, train->options.bucket_bytes);
    CUDA(cuEventRecord(gpu->gradients_ready[bucket], gpu->compute));
    CUDA(cuStreamWaitEvent(gpu->comm_stream, gpu->gradients_ready[bucket], 0));
    train_all_reduce(&train->options, gpu, bucket);
    CUDA(cuEventRecord(gpu->bucket_reduced[bucket], gpu->comm_stream));
    train->truth.collective_count++;
    train->truth.collective_bytes += train->options.bucket_bytes / sizeof(float) * sizeof(float);
}

static void autograd_setup(void *arg)
{
    const struct train *train = arg;

    CUDA(cuCtxSetCurrent(train->gpu.context));
}

/* On the autograd thread. A bucket goes out when the last of its layers has been launched. */
static void backward(void *arg)
{
    struct train *train = arg;
    uint32_t layer_count = train->options.layer_count;
    uint32_t bucket_count = train->options.bucket_count;
    uint32_t bucket = 0;

    for (uint32_t done = 1; done <= layer_count; done++) {
        launch(train, TRAIN_KERNEL_BACKWARD, train->backward_ns);
        while (train->options.scenario != TRAIN_NO_OVERLAP && bucket < bucket_count &&
               (bucket + 1) * layer_count <= done * bucket_count)
            reduce_bucket(train, bucket++);
    }
    while (bucket < bucket_count)
        reduce_bucket(train, bucket++);
}

static void wait_for_buckets(struct train *train)
{
    for (uint32_t i = 0; i < train->options.bucket_count; i++) {
        CUDA(cuStreamWaitEvent(train->gpu.compute, train->gpu.bucket_reduced[i], 0));
        train_mark_bucket_end(train->bucket_marks[i]);
    }
}

static void optimize(struct train *train)
{
    train_mark_phase_begin(RANKTRACE_OPTIMIZER);
    for (uint32_t i = 0; i < train->options.bucket_count; i++)
        launch(train, TRAIN_KERNEL_OPTIMIZER, train->optimizer_ns);
    train_mark_phase_end(RANKTRACE_OPTIMIZER);
}

static void run_step(struct train *train, struct train_autograd *autograd, uint32_t step)
{
    struct train_gpu *gpu = &train->gpu;

    train_mark_step(step);
    load_input(train);
    forward(train);
    train_mark_phase_begin(RANKTRACE_BACKWARD);
    train_autograd_run(autograd);
    wait_for_buckets(train);
    train_mark_phase_end(RANKTRACE_BACKWARD);
    optimize(train);
    CUDA(cuEventRecord(gpu->step_end[step % 2], gpu->compute));
    CUDA(cuEventSynchronize(gpu->step_end[(step + 1) % 2])); /* of the step before */
}

static void print_number(const char *name, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", name, value);
}

/* For tests to compare with: what was asked of the device, not what was measured. */
static void print_truth(const struct train *train, bool has_marks, uint64_t wall_ns)
{
    const struct train_options *options = &train->options;
    const struct truth *truth = &train->truth;

    printf("{\"rank\":%d,\"world_size\":%d,\"scenario\":\"%s\",\"slow_rank\":%d,"
           "\"slow_factor\":%g,",
           options->rank, options->world_size, train_scenario_name(options->scenario),
           options->slow_rank, options->slow_factor);
    print_number("steps", options->step_count);
    print_number("layers", options->layer_count);
    print_number("buckets", options->bucket_count);
    print_number("forward_ns", train->forward_ns * options->layer_count);
    print_number("backward_ns", train->backward_ns * options->layer_count);
    print_number("optimizer_ns", train->optimizer_ns * options->bucket_count);
    print_number("kernels", truth->kernel_count);
    print_number("kernel_ns", truth->kernel_ns);
    print_number("collectives", truth->collective_count);
    print_number("collective_bytes", truth->collective_bytes);
    print_number("copies", truth->copy_count);
    print_number("copy_bytes", truth->copy_bytes);
    print_number("hidden_syncs", truth->hidden_sync_count);
    print_number("input_wait_ns", truth->input_wait_ns);
    print_number("launch_wait_ns", truth->launch_wait_ns);
    print_number("wall_ns", wall_ns);
    printf("\"has_marks\":%s}\n", has_marks ? "true" : "false");
}

int main(int argc, char **argv)
{
    static struct train train;
    static struct train_autograd *autograd; /* ends with the process */
    uint64_t start_ns;
    bool has_marks;

    if (!train_options_parse(argc, argv, &train.options))
        return 2;
    plan_durations(&train);
    train_gpu_open(&train.options, &train.gpu);
    has_marks = train_marks_init();
    autograd = train_autograd_create(autograd_setup, backward, &train);
    if (!autograd) {
        fprintf(stderr, "simgpu_train: no thread for autograd\n");
        return 1;
    }
    start_ns = now_ns();
    for (uint32_t step = 0; step < train.options.step_count; step++)
        run_step(&train, autograd, step);
    CUDA(cuCtxSynchronize());
    train_mark_step_end();
    print_truth(&train, has_marks, now_ns() - start_ns);
    train_gpu_close(&train.options, &train.gpu);
    return 0;
}
