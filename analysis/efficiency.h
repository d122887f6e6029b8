/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_EFFICIENCY_H
#define RKT_ANALYSIS_EFFICIENCY_H

/*
 * efficiency - what of the ranks' time computes, and into which factors the rest divides
 * (metrics.md, "Scaling efficiency"); plain data, part of the result.
 *
 * Over the steady steps that every compared rank has; where there is none, over the runs as one
 * step.
 */

#include "analysis/result.h"

struct rkt_efficiency {
    bool has_steps;
    size_t step_count;
    size_t rank_count;
    int64_t windows_ns; /* sum over ranks and steps, as the following */
    int64_t useful_ns;  /* of which some compute kernel runs; the rest is lost, as the parts say */
    struct rkt_partition parts; /* sum over the same windows; of a rank in host view the next */
    struct rkt_host_partition host;
    int64_t steps_ns;   /* sum over steps of T, the longest window */
    double parallel;    /* PE = useful / windows; NAN, as the following */
    double balance;     /* LB = mean useful / largest useful */
    double comm;        /* CommE = largest useful / T */
    double serial;      /* SerE = largest useful / T without transfers */
    double transfer;    /* TE = T without transfers / T */
    double spread;      /* mean window / T: PE x spread = LB x CommE */
    double flops_per_s; /* of a GPU, as the user counts */
    double mfu;         /* of what the user says a GPU can do */
};

#endif
