/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_WORKS_H
#define RKT_ANALYSIS_SIMULATE_SIM_WORKS_H

/*
 * sim_works - what every rank of a simulated run did and when, as CSV: what a table of it has to
 * add up to.
 *
 *     rank,step,what,name,phase,stream,start_ns,end_ns,call_start_ns,call_end_ns,bytes,shape
 *     0,0,copy,pinned,input,7,...            compute, comm, copy: work of the device, and its launch
 *     0,0,call,cudaMalloc,,,...              of the host alone; input: no call, but its range
 *     0,0,operator,aten::mm,forward,,...     of the framework
 *     0,0,memory,reserved memory,,,...       that its allocator has from then on, in bytes; likewise allocated
 *
 * shape: of a launch, or of an operator's inputs; 0 where that is not recorded.
 *
 * Times are job time as the reference clock shows it, as in sim_truth. Ranks in order, in each its
 * steps; in each of these works by start, then what the host did.
 *
 * Threads: one. Memory: a rank's.
 */

#include <stdio.h>

#include "analysis/simulate/sim_run.h"

enum rkt_status rkt_sim_works_write(const struct rkt_sim_run *run, FILE *out,
                                    struct rkt_error *err);

#endif
