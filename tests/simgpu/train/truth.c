/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/train/truth.h"

#include <inttypes.h>
#include <stdio.h>

void train_truth_add(struct train_truth *sum, const struct train_truth *before,
                     const struct train_truth *after)
{
    sum->kernel_count += after->kernel_count - before->kernel_count;
    sum->kernel_ns += after->kernel_ns - before->kernel_ns;
    sum->collective_count += after->collective_count - before->collective_count;
    sum->collective_bytes += after->collective_bytes - before->collective_bytes;
    sum->copy_count += after->copy_count - before->copy_count;
    sum->copy_bytes += after->copy_bytes - before->copy_bytes;
}

static void print_number(const char *name, uint64_t value)
{
    printf("\"%s\":%" PRIu64 ",", name, value);
}

static void print_options(const struct train_options *options)
{
    printf("{\"rank\":%d,\"world_size\":%d,\"scenario\":\"%s\",\"slow_rank\":%d,"
           "\"slow_factor\":%g,",
           options->rank, options->world_size, train_scenario_name(options->scenario),
           options->slow_rank, options->slow_factor);
    print_number("steps", options->step_count);
    print_number("layers", options->layer_count);
    print_number("buckets", options->bucket_count);
}

void train_truth_print(const struct train_options *options, const struct train_truth *truth)
{
    print_options(options);
    print_number("forward_ns", truth->forward_ns);
    print_number("backward_ns", truth->backward_ns);
    print_number("optimizer_ns", truth->optimizer_ns);
    print_number("kernels", truth->kernel_count);
    print_number("kernel_ns", truth->kernel_ns);
    print_number("collectives", truth->collective_count);
    print_number("collective_bytes", truth->collective_bytes);
    print_number("copies", truth->copy_count);
    print_number("copy_bytes", truth->copy_bytes);
    print_number("hidden_syncs", truth->hidden_sync_count);
    print_number("input_wait_ns", truth->input_wait_ns);
    print_number("launch_wait_ns", truth->launch_wait_ns);
    print_number("memory_ops", truth->memory_count);
    print_number("memory_bytes", truth->memory_bytes);
    print_number("graph_launches", truth->graph_launch_count);
    print_number("side_kernels", truth->side_kernel_count);
    print_number("thief_records", truth->thief_record_count);
    print_number("wall_ns", truth->wall_ns);
    print_number("cpu_ns", truth->cpu_ns);
    printf("\"has_marks\":%s}\n", truth->has_marks ? "true" : "false");
}
