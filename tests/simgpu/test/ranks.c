/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/test/ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/rkt_test.h"

void test_rank_assert(int claim, const char *text, int line)
{
    if (claim)
        return;
    fprintf(stderr, "rank process: line %d: not true: %s\n", line, text);
    _exit(1);
}

ncclComm_t test_rank_join(const struct test_rank *rank)
{
    ncclComm_t comm;

    rank_assert(ncclCommInitRank(&comm, rank->rank_count, rank->id, rank->rank) == ncclSuccess);
    return comm;
}

void test_shared_wait(struct test_shared *shared, int count)
{
    while (atomic_load(&shared->ready_count) < count)
        usleep(1000);
}

static void run_rank(struct test_rank *rank, void (*part)(struct test_rank *rank))
{
    char number[16];
    void *gpu;

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody waiting */
    snprintf(number, sizeof(number), "%d", rank->rank);
    setenv("RANK", number, 1);
    rank_assert(test_gpu_setup(&gpu) == 0);
    rank->gpu = gpu;
    part(rank);
    exit(0);
}

struct test_shared *test_ranks_start(int rank_count, void (*part)(struct test_rank *rank),
                                     pid_t *pids_out)
{
    struct test_rank rank = {.rank_count = rank_count};

    rank.shared =
        mmap(NULL, sizeof(*rank.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(rank.shared, MAP_FAILED);
    assert_int_equal(ncclGetUniqueId(&rank.id), ncclSuccess);
    for (rank.rank = 0; rank.rank < rank_count; rank.rank++) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
            run_rank(&rank, part);
        pids_out[rank.rank] = pid;
    }
    return rank.shared;
}

int test_rank_status(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

struct test_shared *test_ranks_run(int rank_count, void (*part)(struct test_rank *rank))
{
    pid_t pids[TEST_RANKS_MAX];
    struct test_shared *shared = test_ranks_start(rank_count, part, pids);

    for (int i = 0; i < rank_count; i++)
        assert_int_equal(test_rank_status(pids[i]), 0);
    return shared;
}
