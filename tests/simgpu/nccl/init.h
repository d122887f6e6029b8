/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_NCCL_INIT_H
#define SIMGPU_NCCL_INIT_H

/*
 * init - communicators that a group makes at its end: each waits for its other ranks, which may be
 * in the same thread's group, so each is made on a thread of its own.
 *
 * Threads: each thread has its own list.
 */

#include "tests/simgpu/nccl/comm.h"

struct sim_init {
    ncclUniqueId id;
    int rank;
    int rank_count;
    const char *name; /* copied; NULL: none */
    ncclComm_t *comm_out;
};

/* For the end of the group, with the context that is current now. */
ncclResult_t sim_init_later(const struct sim_init *init);

/* Make all of this thread's; the first failure. */
ncclResult_t sim_init_all(void);

#endif
