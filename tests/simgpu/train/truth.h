/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_TRUTH_H
#define SIMGPU_TRAIN_TRUTH_H

/* truth - what a rank really asked of the device, over the whole run, for tests to compare with. */

#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/train/options.h"

struct train_truth {
    /* what every step or the whole run did; of graphs what their launches did */
    uint64_t kernel_count;
    uint64_t kernel_ns;
    uint64_t collective_count;
    uint64_t collective_bytes;
    uint64_t copy_count;
    uint64_t copy_bytes;
    uint64_t hidden_sync_count;
    uint64_t input_wait_ns;
    uint64_t launch_wait_ns;
    uint64_t memory_count; /* operations */
    uint64_t memory_bytes; /* taken, and given back again */
    uint64_t graph_launch_count;
    uint64_t side_kernel_count; /* not in kernel_count */
    uint64_t thief_record_count;

    /* of one step */
    uint64_t forward_ns;
    uint64_t backward_ns;
    uint64_t optimizer_ns;

    uint64_t wall_ns;
    uint64_t cpu_ns; /* of the process, all threads */
    bool has_marks;
};

/* *sum += after - before, for all that counts what steps did. */
void train_truth_add(struct train_truth *sum, const struct train_truth *before,
                     const struct train_truth *after);

/* One line of JSON. */
void train_truth_print(const struct train_options *options, const struct train_truth *truth);

#endif
