/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_TEST_RANKS_H
#define SIMGPU_TEST_RANKS_H

/*
 * ranks - a test as several processes, one per rank, that share a piece of memory. No driver call
 * is made before the fork.
 */

#include <nccl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/simgpu/test/gpu.h"

#define TEST_RANKS_MAX 8

/* What all ranks and the test itself see. */
struct test_shared {
    _Atomic int ready_count;
    _Atomic uint64_t values[TEST_RANKS_MAX];
};

struct test_rank {
    int rank;
    int rank_count;
    ncclUniqueId id;
    struct test_shared *shared;
    struct test_gpu *gpu;
};

/* A rank's part. Ends the process with 1 and a line on stderr when `claim` is false. */
#define rank_assert(claim) test_rank_assert((claim), #claim, __LINE__)
void test_rank_assert(int claim, const char *text, int line);

/* Join the others and return this rank's communicator. */
ncclComm_t test_rank_join(const struct test_rank *rank);

/* Wait until `count` ranks have said that they are ready. */
void test_shared_wait(struct test_shared *shared, int count);

/* Fork `rank_count` processes that run `part`; pids_out has room for them. The memory stays
 * mapped. */
struct test_shared *test_ranks_start(int rank_count, void (*part)(struct test_rank *rank),
                                     pid_t *pids_out);

/* Wait status of one process. */
int test_rank_status(pid_t pid);

/* Start, and assert that each exits with 0. */
struct test_shared *test_ranks_run(int rank_count, void (*part)(struct test_rank *rank));

#endif
