/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SCENARIO_H
#define RKT_ANALYSIS_SIMULATE_SCENARIO_H

/*
 * scenario - a made-up job: its size, its speed, and what is wrong with it.
 *
 * As text, one "KEY = VALUE" a line, '#' begins a comment; keys that are absent keep their
 * default. Faults are lines of their own, as many as there are:
 *
 *     ranks = 8
 *     kernel = 50us
 *     fault = slow-compute rank=2 amount=25ms steps=5:10
 *
 * launch/README.md lists keys and faults. Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_FAULTS_MAX 32u
#define RKT_SIM_SHAPE_VARIANTS 8u /* of a launch shape, the last for RKT_FAULT_OTHER_SHAPES */

/* `amount` is ns per step unless said otherwise. */
enum rkt_fault_kind {
    RKT_FAULT_SLOW_COMPUTE,  /* kernels of backward are longer, by amount in all */
    RKT_FAULT_EXTRA_WORK,    /* one more kernel in forward, of its own name */
    RKT_FAULT_SLOW_INPUT,    /* the input takes longer */
    RKT_FAULT_SLOW_HOST,     /* host code between input and forward */
    RKT_FAULT_LAUNCH_GAPS,   /* host code between the launches of forward */
    RKT_FAULT_HIDDEN_SYNC,   /* amount: so many calls a step in forward that wait for the device */
    RKT_FAULT_PAGEABLE_COPY, /* amount: bytes a step by a blocking copy of pageable memory */
    RKT_FAULT_DEVICE_ALLOC,  /* a cudaMalloc before forward takes so long */
    RKT_FAULT_THROTTLED,  /* amount: ppm by which all kernels are longer, as is read of the GPU */
    RKT_FAULT_SLOW_LINK,  /* each transfer among these ranks alone takes longer by amount */
    RKT_FAULT_HOT_EXPERT, /* amount: ppm by which these ranks' experts get more tokens */
    RKT_FAULT_CLOCK_AHEAD, /* all stamps of the rank are later than its node's clock says, in all steps */
    RKT_FAULT_CLOCK_BEHIND, /* or earlier */
    RKT_FAULT_OTHER_SHAPES, /* kernels of forward have other launch shapes, and are longer by amount in all */
    RKT_FAULT_CHANGING_SHAPES /* amount: of so many launch shapes and inputs forward has another each step */
};

struct rkt_fault {
    enum rkt_fault_kind kind;
    uint32_t first_rank;
    uint32_t end_rank;
    uint32_t first_step;
    uint32_t end_step;
    uint64_t amount;
};

struct rkt_scenario {
    uint64_t seed;
    uint32_t rank_count;
    uint32_t node_count; /* ranks are dealt out in blocks; nodes have clocks of their own */
    uint32_t step_count;
    uint32_t forward_kernels; /* per step, likewise the next two */
    uint32_t backward_kernels;
    uint32_t optimizer_kernels;
    uint64_t kernel_ns;          /* mean length; each has its own, half to one and a half of that */
    uint64_t jitter_ppm;         /* of a kernel's length, from run to run: up to so much, even */
    uint64_t step_jitter_ppm;    /* likewise of all kernels of a rank's step, alike */
    uint64_t stall_ns;           /* of the host before forward, in one of 16 steps of a rank */
    uint64_t launch_ns;          /* host time of a launch */
    uint64_t launch_latency_ns;  /* from a launch's begin to the kernel's, if the stream is free */
    uint32_t queue_kernels;      /* launches that may be pending before the next one waits */
    uint32_t bucket_count;       /* AllReduces per step */
    uint64_t bucket_bytes;       /* of each */
    uint64_t bytes_per_s;        /* of a collective */
    uint64_t collective_ns;      /* and its time without bytes */
    uint64_t has_overlap;        /* 0: collectives start when all of backward has run */
    uint64_t input_ns;           /* host time of the input */
    uint64_t input_bytes;        /* pinned, copied on the stream of the kernels */
    uint64_t copy_bytes_per_s;   /* pinned; pageable memory takes four times as long */
    uint64_t clock_offset_ns;    /* nodes' clocks differ from node 0's by up to so much */
    uint64_t clock_drift_ppb;    /* and in rate by up to so much */
    uint64_t round_trip_ns;      /* of a clock exchange, at best */
    uint64_t unmeasured_ns;      /* in the middle of the run no clocks are exchanged for so long */
    uint32_t tensor_ranks;       /* slices of a layer; ranks next to each other */
    uint32_t tensor_collectives; /* AllReduces among them per micro-batch and direction */
    uint64_t tensor_bytes;       /* of each */
    uint32_t stage_count;        /* of a pipeline; the first ranks are the first stage */
    uint64_t stage_bytes;        /* of a send, per micro-batch and direction */
    uint32_t micro_batches;      /* per step: all forwards, then all backwards; or */
    uint64_t has_1f1b;           /* 1: one forward, one backward, as soon as the pipeline is full */
    uint32_t expert_ranks;       /* copies, next to each other, that have a share of the experts */
    uint32_t expert_layers;      /* with experts, per micro-batch and direction */
    uint32_t expert_kernels;     /* of each */
    uint64_t expert_bytes;       /* of its tokens, each way by an AllToAll */
    uint64_t expert_spread_ppm;  /* experts get more or fewer tokens, each time up to so much */
    uint64_t gpu_samples_ns;     /* between readings of the GPUs' clocks; 0: none */
    uint64_t tracer_ppm;         /* CPU time of node 0's sidecar, of a core; 0: not recorded */
    uint32_t shape_count;        /* launch shapes of the kernels of a name; 0: not recorded */
    uint64_t has_operators;      /* operators around launches are recorded */
    /* that a kernel of forward takes until backward, a step for good; 0: not recorded */
    uint64_t allocator_bytes;
    uint64_t cut_ns; /* ranks' records begin within so long, each at another time */
    struct rkt_fault faults[RKT_FAULTS_MAX];
    size_t fault_count;
};

void rkt_scenario_init(struct rkt_scenario *scenario); /* the defaults, no fault */

/* One line, without its end. RKT_ERR_INVALID: err says what is wrong with it. */
enum rkt_status rkt_scenario_line(struct rkt_scenario *scenario, const char *line,
                                  struct rkt_error *err);

/* A whole file; err names the line. */
enum rkt_status rkt_scenario_read(struct rkt_scenario *scenario, const char *path,
                                  struct rkt_error *err);

/* After the last line: do the numbers fit each other? Ranks and steps of faults are cut to those
 * that there are. */
enum rkt_status rkt_scenario_check(struct rkt_scenario *scenario, struct rkt_error *err);

/* Of all its numbers, never 0: scenarios that differ have other ids, but for chance. */
uint64_t rkt_scenario_id(const struct rkt_scenario *scenario);

/* "slow-compute" */
const char *rkt_fault_name(enum rkt_fault_kind kind);

/* Whether the fault is at work there. */
static inline bool rkt_fault_applies(const struct rkt_fault *fault, uint32_t rank, uint32_t step)
{
    return rank >= fault->first_rank && rank < fault->end_rank && step >= fault->first_step &&
           step < fault->end_step;
}

#endif
