/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TRAIN_OPTIONS_H
#define SIMGPU_TRAIN_OPTIONS_H

/* options - command line of simgpu_train, and the place of this process from the environment. */

#include <stdbool.h>
#include <stdint.h>

#define TRAIN_STEPS_MAX 1000000
#define TRAIN_LAYERS_MAX 256
#define TRAIN_BUCKETS_MAX 64
#define TRAIN_THREADS_MAX 256

enum train_scenario {
    TRAIN_CLEAN,
    TRAIN_SLOW_COMPUTE, /* kernels of the slow rank last slow-factor times as long */
    TRAIN_SLOW_INPUT,   /* the slow rank waits for its input before each step */
    TRAIN_HIDDEN_SYNC, /* a pageable copy to the host and a wait in each forward layer, all ranks */
    TRAIN_LAUNCH_GAPS, /* the host takes longer to launch than the device to compute, all ranks */
    TRAIN_NO_OVERLAP,  /* all collectives after the whole backward pass */
    TRAIN_PAGEABLE,    /* input comes from memory that is not pinned */
};

struct train_options {
    enum train_scenario scenario;
    uint32_t step_count;
    uint32_t layer_count;
    uint32_t bucket_count;
    uint64_t compute_us;   /* forward of a step; backward takes twice that */
    uint64_t bucket_bytes; /* gradients in one bucket */
    uint64_t input_bytes;
    int slow_rank;
    double slow_factor;
    bool has_graphs;       /* capture the step, then launch it as a graph */
    bool has_runtime;      /* launches look as if they came from the CUDA runtime */
    uint32_t memory_churn; /* blocks taken and given back in a step, in each of two ways */
    uint32_t thread_count; /* that launch side_kernels together, at `rate` a second */
    uint64_t side_kernels;
    uint64_t rate;    /* 0: as fast as it goes */
    const char *gate; /* a file that says how many steps may begin; NULL: all */
    bool has_thief;   /* another CUPTI client from the first to the last of these steps */
    bool thief_finalizes;
    uint32_t thief_first;
    uint32_t thief_last;

    int rank;
    int world_size;
    int local_rank;
    const char *master_addr;
    uint16_t master_port;
};

const char *train_scenario_name(enum train_scenario scenario);

/* False: wrong use, and why is on stderr. --help prints and exits with 0. */
bool train_options_parse(int argc, char **argv, struct train_options *options_out);

#endif
