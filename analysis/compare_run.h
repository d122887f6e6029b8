/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_COMPARE_RUN_H
#define RKT_ANALYSIS_COMPARE_RUN_H

/*
 * compare_run - what of a run is compared with other runs; read from its JSON report.
 *
 * Place:   a JSON report, of a file or just made of a timeline -> [compare_run] -> compare and
 *          compare_series. There is one way in, so that a report and its timeline compare alike.
 * Steps:   the steady ones that all compared ranks have. Per step one number of each metric, over
 *          these ranks (metrics.md, "Comparing runs"). Ranks in host view count only where there
 *          are no others.
 * Memory:  its own, up to release. Threads: any; no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/bootstrap.h"
#include "common/arena.h"
#include "common/status.h"

enum rkt_metric {
    RKT_METRIC_STEP,      /* ns: T, the longest window of the ranks */
    RKT_METRIC_COMPUTE,   /* ns, mean over ranks, as the following: |U(compute)| */
    RKT_METRIC_COMM_WAIT, /* exposed communication; host view has transfer only */
    RKT_METRIC_COMM_TRANSFER,
    RKT_METRIC_COMM_UNSPLIT,
    RKT_METRIC_COPY, /* exposed copies */
    RKT_METRIC_IDLE, /* and of it ... */
    RKT_METRIC_IDLE_SYNC,
    RKT_METRIC_IDLE_ALLOC,
    RKT_METRIC_IDLE_INPUT,
    RKT_METRIC_IDLE_HOST,
    RKT_METRIC_IDLE_LAUNCH,
    RKT_METRIC_IDLE_DEPENDENCY,
    RKT_METRIC_IDLE_DEVICE,
    RKT_METRIC_IDLE_UNKNOWN,
    RKT_METRIC_COMM_SHARE,       /* ratios of sums over ranks: |U(comm)| / |G| */
    RKT_METRIC_EXPOSED_SHARE,    /* |U(comm) \ U(compute)| / |G| */
    RKT_METRIC_OVERLAP,          /* |U(comm) and U(compute)| / |U(comm)| */
    RKT_METRIC_BACKWARD_OVERLAP, /* of the gradient buckets, as under AllReduce/backward overlap */
    RKT_METRIC_STRAGGLER,        /* largest gain of a rank / T */
    RKT_METRIC_PARALLEL,         /* PE */
    RKT_METRIC_BALANCE,          /* LB */
    RKT_METRIC_COMM_EFFICIENCY,  /* CommE */
    RKT_METRIC_COUNT
};

const char *rkt_metric_name(enum rkt_metric metric);  /* as in JSON: "step_ns" */
const char *rkt_metric_title(enum rkt_metric metric); /* for a person: "step time" */
bool rkt_metric_is_time(enum rkt_metric metric);      /* ns; else a ratio */
/* Less of it is better (1), more is (-1), or neither (0: compute, whose share is what counts). */
int rkt_metric_direction(enum rkt_metric metric);

/* What a name's time is of. */
enum rkt_use_kind {
    RKT_USE_COMPUTE, /* kernels */
    RKT_USE_COMM,
    RKT_USE_OPERATOR_DEVICE, /* self times of operators */
    RKT_USE_OPERATOR_HOST,
    RKT_USE_COUNT
};

static inline bool rkt_use_is_of_operator(enum rkt_use_kind kind)
{
    return kind == RKT_USE_OPERATOR_DEVICE || kind == RKT_USE_OPERATOR_HOST;
}

/* A kernel or an operator by name, over the steady steps and ranks. */
struct rkt_kernel_use {
    const char *name;
    enum rkt_use_kind kind;
    int64_t count;
    int64_t total_ns;
    struct rkt_sample
        of_step; /* ns per step and rank, of each batch (batches.h); count 0: not known */
};

/* The collectives of one function and size, in the whole run. */
struct rkt_collective_use {
    const char *func;
    int64_t bytes;              /* RKT_NA */
    struct rkt_sample transfer; /* ns, of each: the shortest duration over its ranks */
    size_t step_count_in;       /* of them in some step */
    uint32_t member_count;      /* of their communicator, the most; 0 unknown */
};

struct rkt_compare_run {
    const char *label; /* on loan: the path that the user gave */
    const char *producer;
    const char *command;
    const char *step_source;
    uint32_t rank_count; /* of the job where known, else those that are here */
    uint32_t compared_count;
    int64_t loss_count;
    bool is_host_view;
    bool is_incomplete;       /* cut short, or parts of its timeline are missing */
    bool is_part;             /* a report of some ranks, steps or time (selection.h) */
    int64_t wait_gap_ns;      /* what clocks may be wrong by in a step's waits; 0 not said */
    size_t step_count;        /* steady, as the samples */
    size_t recorded_count;    /* steps that all have, warm-up too */
    const char *why_no_steps; /* "" */
    struct rkt_sample metrics[RKT_METRIC_COUNT]; /* count 0: not known */
    double serial;                               /* SerE and TE of the whole run; NAN */
    double transfer;
    const char *why_no_replay; /* "" where they hold */
    bool has_straggler;
    int64_t straggler_rank; /* RKT_NA */
    const char *straggler_cause;
    struct rkt_kernel_use *kernels; /* and operators, by name and kind */
    size_t kernel_count;
    struct rkt_collective_use *collectives; /* by function, then size */
    size_t collective_count;
    struct rkt_arena arena;
};

/*
 * `json` ends with a zero byte, and is overwritten. RKT_ERR_FORMAT: it is no JSON, or none of
 * ranktrace's reports; RKT_ERR_VERSION: of another version. On failure *run holds nothing.
 */
enum rkt_status rkt_compare_run_read(char *json, const char *label, struct rkt_compare_run *run,
                                     struct rkt_error *err);
void rkt_compare_run_release(struct rkt_compare_run *run);

#endif
