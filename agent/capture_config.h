/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_CAPTURE_CONFIG_H
#define RKT_AGENT_CAPTURE_CONFIG_H

/*
 * capture_config - what the sidecar asks the capture library to record.
 *
 * Place: made of the options of `ranktrace run`, sent inside the welcome (hello.h), read only from
 *        then on. Its layout is part of RKT_REGION_ABI.
 */

#include <stdint.h>

enum rkt_capture_bit {
    RKT_CAPTURE_CUPTI = 1,
    RKT_CAPTURE_NCCL = 2,
    RKT_CAPTURE_MARKS = 4,
    RKT_CAPTURE_NVTX = 8,
    RKT_CAPTURE_MEMORY = 16,   /* with CUPTI: device memory that is taken and given back */
    RKT_CAPTURE_OVERHEAD = 32, /* with CUPTI: what it says that it costs itself */
};
#define RKT_CAPTURE_ALL 63u
#define RKT_CAPTURE_USUAL 31u /* all but the overhead */

/* How deep NCCL's own view goes. Anything above BASIC costs the job's proxy threads time. */
enum rkt_nccl_level {
    RKT_NCCL_LEVEL_BASIC = 0,
    RKT_NCCL_LEVEL_KERNEL = 1, /* and the channels of each kernel, by the GPU's own clock */
    RKT_NCCL_LEVEL_PROXY = 2,  /* and the network: operations, steps, plugins */
};

enum rkt_graph_level {
    RKT_GRAPH_LEVEL_NODE = 0,   /* a record per kernel in a CUDA graph */
    RKT_GRAPH_LEVEL_LAUNCH = 1, /* a record per launch of a graph: cheaper, blind inside */
};

/*
 * Which steps are recorded. After `skip` steps, cycles of `wait` closed, `warmup` (tracing is on
 * but counts as closed) and `active` recorded steps; `cycles` of them, 0 without end. active 0: no
 * schedule, all is recorded. (torch.profiler.schedule calls them skip_first and repeat.)
 */
struct rkt_schedule {
    uint64_t skip;
    uint32_t wait;
    uint32_t warmup;
    uint32_t active;
    uint32_t cycles;
    uint32_t by_step_number; /* 1: by the steps' own numbers, 0: by counting them from 0 */
    uint32_t reserved;
};

#define RKT_STEP_RANGE_BYTES 64u

struct rkt_capture_config {
    uint32_t mask;        /* enum rkt_capture_bit */
    uint32_t nccl_level;  /* enum rkt_nccl_level */
    uint32_t graph_level; /* enum rkt_graph_level */
    uint32_t is_closed;   /* 1: nothing is recorded until an order of the region says so */
    struct rkt_schedule schedule;
    char step_range[RKT_STEP_RANGE_BYTES]; /* ranges whose names begin so are the steps (steps.h);
                                              "": none, steps are marked */
};

#endif
