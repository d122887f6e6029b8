/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_NCCL_HOST_H
#define RKT_TESTS_UNIT_NCCL_HOST_H

/*
 * nccl_host - the test takes NCCL's part inside a job (capture_job.h): it looks the tables of the
 * built libranktrace.so up by name and calls them.
 */

#include <stdint.h>

#include "agent/capture/nccl_api/profiler.h"

#define NCCL_MASK_BASIC 0xf06
#define NCCL_MASK_KERNEL 0x7f46
#define NCCL_MASK_PROXY 0x7ffe

/* Ends the job at once when false. */
void nccl_must(int is_true);

/* ncclProfiler_v<n> of the library; ends the job when it is not there. */
const void *nccl_table(const char *name);

/* The table in use by the calls below; set it first in a job. */
extern const struct rkt_nccl_profiler_v5 *nccl_v5;

/* A communicator of four ranks, of which this is the second. */
void *nccl_init(uint64_t comm_id, int *mask);

/* An event of this type with plausible arguments; the handle, which may be NULL. */
void *nccl_start(void *comm, uint64_t type, void *parent);
void *nccl_start_descr(void *comm, struct rkt_nccl_descr *descr);
void nccl_stop(void *handle);
void nccl_state(void *handle, int state, uint64_t argument);

#endif
