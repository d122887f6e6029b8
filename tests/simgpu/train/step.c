/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/step.h"

#include <time.h>

#include "tests/simgpu/train/marks.h"

#define OPTIMIZER_SHARE 8 /* of the forward time */
#define GAP_FACTOR 2      /* launch-gaps: host time per kernel time */
#define LOSS_BYTES 4
#define CHURN_BYTES (1u << 20)

#define CUDA(call) train_check_cuda((call), #call)

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

void train_step_plan(struct train *train)
{
    const struct train_options *options = &train->options;
    double factor = is_slow_rank(options, TRAIN_SLOW_COMPUTE) ? options->slow_factor : 1;
    double forward_ns = (double)options->compute_us * 1000 * factor;

    train->forward_ns = (uint64_t)(forward_ns / options->layer_count);
    train->backward_ns = 2 * train->forward_ns;
    train->optimizer_ns = (uint64_t)(forward_ns / OPTIMIZER_SHARE / options->bucket_count);
    train->truth.forward_ns = train->forward_ns * options->layer_count;
    train->truth.backward_ns = train->backward_ns * options->layer_count;
    train->truth.optimizer_ns = train->optimizer_ns * options->bucket_count;
}

static void launch(struct train *train, enum train_kernel kernel, uint64_t duration_ns)
{
    if (train->options.scenario == TRAIN_LAUNCH_GAPS) {
        sleep_ns(GAP_FACTOR * duration_ns);
        train->truth.launch_wait_ns += GAP_FACTOR * duration_ns;
    }
    train_launch(&train->gpu, kernel, train->gpu.compute, duration_ns);
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

void train_autograd_setup(void *arg)
{
    const struct train *train = arg;

    CUDA(cuCtxSetCurrent(train->gpu.context));
}

/* A bucket goes out when the last of its layers has been launched. */
void train_backward(void *arg)
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

/* --memory-churn: one block from the device and one from its pool. Giving back the first waits for
 * the device. */
static void churn_memory(struct train *train)
{
    CUstream stream = train->gpu.compute;

    for (uint32_t i = 0; i < train->options.memory_churn; i++) {
        CUdeviceptr block;
        CUdeviceptr of_pool;

        CUDA(cuMemAlloc(&block, CHURN_BYTES));
        CUDA(cuMemAllocAsync(&of_pool, CHURN_BYTES, stream));
        CUDA(cuMemFreeAsync(of_pool, stream));
        CUDA(cuMemFree(block));
        train->truth.memory_count += 4;
        train->truth.memory_bytes += 2ull * CHURN_BYTES;
    }
}

static void put_step(struct train *train)
{
    load_input(train);
    forward(train);
    train_mark_phase_begin(RANKTRACE_BACKWARD);
    train_autograd_run(train->autograd);
    wait_for_buckets(train);
    train_mark_phase_end(RANKTRACE_BACKWARD);
    optimize(train);
}

/* Backward is captured on another thread than the one that begins, so any thread may. */
static void capture_step(struct train *train)
{
    struct train_truth before = train->truth;
    CUgraph graph;

    CUDA(cuStreamBeginCapture(train->gpu.compute, CU_STREAM_CAPTURE_MODE_RELAXED));
    put_step(train);
    CUDA(cuStreamEndCapture(train->gpu.compute, &graph));
    CUDA(cuGraphInstantiate(&train->graph, graph, 0));
    CUDA(cuGraphDestroy(graph));
    train_truth_add(&train->of_graph, &before, &train->truth);
    train->truth = before;
}

static void launch_step(struct train *train)
{
    static const struct train_truth nothing;

    if (!train->graph)
        capture_step(train);
    CUDA(cuGraphLaunch(train->graph, train->gpu.compute));
    train->truth.graph_launch_count++;
    train_truth_add(&train->truth, &nothing, &train->of_graph);
}

void train_step_run(struct train *train, uint32_t step)
{
    struct train_gpu *gpu = &train->gpu;

    train_mark_step(step);
    if (train->options.has_graphs && step > 0) /* the first one is the warm-up */
        launch_step(train);
    else
        put_step(train);
    churn_memory(train);
    CUDA(cuEventRecord(gpu->step_end[step % 2], gpu->compute));
    CUDA(cuEventSynchronize(gpu->step_end[(step + 1) % 2])); /* of the step before */
}

void train_step_close(struct train *train)
{
    if (train->graph)
        CUDA(cuGraphExecDestroy(train->graph));
}
