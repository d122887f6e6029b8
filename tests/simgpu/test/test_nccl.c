/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in NCCL: ranks really meet. */

#include <cuda.h>
#include <dirent.h>
#include <fcntl.h>
#include <nccl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simgpu/test/ranks.h"
#include "tests/unit/rkt_test.h"

#define MS 1000000ull
#define FLOATS 1024
#define LATE_RANK 2
#define LATE_MS 50
#define GAP_US 1 /* of the model, between two pieces of work of a stream */

static void all_reduce(ncclComm_t comm, CUstream stream)
{
    static float buffer[FLOATS];

    rank_assert(ncclAllReduce(buffer, buffer, FLOATS, ncclFloat32, ncclSum, comm, stream) ==
                ncclSuccess);
}

static CUevent record_event(CUstream stream)
{
    CUevent event;

    rank_assert(cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS);
    rank_assert(cuEventRecord(event, stream) == CUDA_SUCCESS);
    return event;
}

/*
 * All work is queued before rank 0 lets it begin with the first collective, so that the times
 * are the model's alone.
 */
static void late_rank_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);
    CUevent before;
    CUevent after;
    float ms;

    if (rank->rank == 0)
        test_shared_wait(rank->shared, rank->rank_count - 1);
    all_reduce(comm, NULL);
    if (rank->rank == LATE_RANK)
        rank_assert(test_gpu_launch(rank->gpu, NULL, LATE_MS * MS) == CUDA_SUCCESS);
    before = record_event(NULL);
    all_reduce(comm, NULL);
    after = record_event(NULL);
    atomic_fetch_add(&rank->shared->ready_count, 1);
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(cuEventElapsedTime(&ms, before, after) == CUDA_SUCCESS);
    atomic_store(&rank->shared->values[rank->rank], (uint64_t)((double)ms * 1000 + 0.5));
    rank_assert(cuEventDestroy(before) == CUDA_SUCCESS);
    rank_assert(cuEventDestroy(after) == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void a_late_rank_makes_the_others_wait(void **state)
{
    struct test_shared *shared = test_ranks_run(4, late_rank_part);
    uint64_t late_us = atomic_load(&shared->values[LATE_RANK]);

    (void)state;
    assert_in_range(late_us, 1, 1000); /* the last one waits for nobody */
    for (int rank = 1; rank < 4; rank++) {
        uint64_t took_us = atomic_load(&shared->values[rank]);

        if (rank != LATE_RANK)
            assert_in_range(took_us - late_us, LATE_MS * 1000, LATE_MS * 1000 + 2 * GAP_US);
    }
    munmap(shared, sizeof(*shared));
}

static void ring_part(struct test_rank *rank)
{
    static float send[FLOATS];
    static float recv[FLOATS];
    ncclComm_t comm = test_rank_join(rank);
    int next = (rank->rank + 1) % rank->rank_count;
    int previous = (rank->rank + rank->rank_count - 1) % rank->rank_count;

    for (int i = 0; i < 10; i++) {
        rank_assert(ncclGroupStart() == ncclSuccess);
        rank_assert(ncclSend(send, FLOATS, ncclFloat32, next, comm, NULL) == ncclSuccess);
        rank_assert(ncclRecv(recv, FLOATS, ncclFloat32, previous, comm, NULL) == ncclSuccess);
        rank_assert(ncclGroupEnd() == ncclSuccess);
    }
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void messages_find_their_partners(void **state)
{
    struct test_shared *shared = test_ranks_run(3, ring_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

static void every_function_part(struct test_rank *rank)
{
    static float a[FLOATS];
    static float b[FLOATS];
    ncclComm_t comm = test_rank_join(rank);
    int count;

    rank_assert(ncclCommCount(comm, &count) == ncclSuccess && count == rank->rank_count);
    for (int i = 0; i < 3; i++) {
        all_reduce(comm, NULL);
        rank_assert(ncclReduce(a, b, 8, ncclInt32, ncclMax, 1, comm, NULL) == ncclSuccess);
        rank_assert(ncclBroadcast(a, b, 8, ncclInt8, 0, comm, NULL) == ncclSuccess);
        rank_assert(ncclAllGather(a, b, 8, ncclFloat16, comm, NULL) == ncclSuccess);
        rank_assert(ncclReduceScatter(a, b, 8, ncclBfloat16, ncclAvg, comm, NULL) == ncclSuccess);
    }
    rank_assert(ncclAllReduce(a, b, 8, ncclNumTypes, ncclSum, comm, NULL) == ncclInvalidArgument);
    rank_assert(ncclBroadcast(a, b, 8, ncclInt8, 9, comm, NULL) == ncclInvalidArgument);
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void every_function_completes(void **state)
{
    struct test_shared *shared = test_ranks_run(2, every_function_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

/* More calls in one group than fit into one kernel, again and again, on ranks of unequal speed. */
static void big_group_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);

    for (int i = 0; i < 5; i++) {
        rank_assert(test_gpu_launch(rank->gpu, NULL, MS * (unsigned int)rank->rank) ==
                    CUDA_SUCCESS);
        rank_assert(ncclGroupStart() == ncclSuccess);
        for (int call = 0; call < 80; call++)
            all_reduce(comm, NULL);
        rank_assert(ncclGroupEnd() == ncclSuccess);
        all_reduce(comm, NULL);
    }
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void big_groups_complete(void **state)
{
    struct test_shared *shared = test_ranks_run(3, big_group_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

static void killed_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);

    if (rank->rank == 1)
        raise(SIGKILL);
    all_reduce(comm, NULL);
    atomic_fetch_add(&rank->shared->ready_count, 1);
    cuCtxSynchronize(); /* without end */
    _exit(0);
}

/* How many names in /dev/shm this process has made; takes them away. */
static int remove_segments_of_mine(void)
{
    DIR *folder = opendir("/dev/shm");
    const struct dirent *entry;
    char prefix[32];
    int count = 0;

    assert_non_null(folder);
    snprintf(prefix, sizeof(prefix), "simgpu-%d-", (int)getpid());
    while ((entry = readdir(folder))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0) {
            unlinkat(dirfd(folder), entry->d_name, 0);
            count++;
        }
    }
    closedir(folder);
    return count;
}

static void survivors_of_a_killed_rank_wait_but_can_be_ended(void **state)
{
    pid_t pids[3];
    struct test_shared *shared = test_ranks_start(3, killed_part, pids);
    int status = test_rank_status(pids[1]);

    (void)state;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    test_shared_wait(shared, 2);
    for (int rank = 0; rank < 3; rank += 2) {
        assert_int_equal(waitpid(pids[rank], &status, WNOHANG), 0);
        assert_int_equal(kill(pids[rank], SIGTERM), 0);
        status = test_rank_status(pids[rank]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
    assert_int_equal(remove_segments_of_mine(), 0);
    munmap(shared, sizeof(*shared));
}

/* Both say that they are rank 0 of 2. */
static void same_rank_part(struct test_rank *rank)
{
    ncclComm_t comm;

    rank_assert(ncclCommInitRank(&comm, 2, rank->id, 0) == ncclInvalidUsage);
    _exit(0);
}

static void a_rank_that_is_taken_is_refused(void **state)
{
    pid_t pids[2];
    struct test_shared *shared = test_ranks_start(2, same_rank_part, pids);
    int status;
    pid_t refused = waitpid(-1, &status, 0);
    pid_t waiting = refused == pids[0] ? pids[1] : pids[0];

    (void)state;
    assert_int_equal(status, 0);
    assert_int_equal(waitpid(waiting, &status, WNOHANG), 0);
    assert_int_equal(kill(waiting, SIGKILL), 0);
    test_rank_status(waiting);
    assert_int_equal(remove_segments_of_mine(), 1);
    munmap(shared, sizeof(*shared));
}

static void what_a_dead_process_left_is_removed(void **state)
{
    ncclUniqueId id;
    char name[64];
    pid_t pid = fork();
    int fd;

    (void)state;
    if (pid == 0)
        _exit(0);
    test_rank_status(pid);
    snprintf(name, sizeof(name), "/simgpu-%d-leftover", (int)pid);
    fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
    assert_int_equal(shm_open(name, O_RDWR, 0600), -1);
}

/* Even ranks and odd ones, in reverse order; the last has no color. */
static void split_part(struct test_rank *rank)
{
    bool is_last = rank->rank == rank->rank_count - 1;
    ncclComm_t comm = test_rank_join(rank);
    ncclComm_t half = NULL;
    int count = 0;
    int place = -1;

    for (int i = 0; i < 3; i++) {
        int color = is_last ? NCCL_SPLIT_NOCOLOR : rank->rank % 2;

        rank_assert(ncclCommSplit(comm, color, -rank->rank, &half, NULL) == ncclSuccess);
        rank_assert((half == NULL) == is_last);
        if (is_last)
            continue;
        rank_assert(ncclCommCount(half, &count) == ncclSuccess && count == 2);
        rank_assert(ncclCommUserRank(half, &place) == ncclSuccess);
        rank_assert(place == (rank->rank < 2 ? 1 : 0));
        all_reduce(half, NULL);
        rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
        rank_assert(ncclCommDestroy(half) == ncclSuccess);
    }
    all_reduce(comm, NULL);
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void communicators_split_by_color_and_key(void **state)
{
    struct test_shared *shared = test_ranks_run(5, split_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

#define DEVICES 3

/* One process and one thread with a communicator per device, as nccl-tests does it. */
static void devices_part(struct test_rank *rank)
{
    CUcontext contexts[DEVICES];
    ncclComm_t comms[DEVICES];

    for (int i = 0; i < DEVICES; i++)
        rank_assert(cuDevicePrimaryCtxRetain(&contexts[i], i) == CUDA_SUCCESS);
    rank_assert(ncclGroupStart() == ncclSuccess);
    for (int i = 0; i < DEVICES; i++) {
        rank_assert(cuCtxSetCurrent(contexts[i]) == CUDA_SUCCESS);
        rank_assert(ncclCommInitRank(&comms[i], DEVICES, rank->id, i) == ncclSuccess);
    }
    rank_assert(ncclGroupEnd() == ncclSuccess);
    for (int i = 0; i < DEVICES; i++) {
        int device = -1;

        rank_assert(ncclCommCuDevice(comms[i], &device) == ncclSuccess && device == i);
    }
    for (int round = 0; round < 3; round++) {
        rank_assert(ncclGroupStart() == ncclSuccess);
        for (int i = 0; i < DEVICES; i++) {
            rank_assert(cuCtxSetCurrent(contexts[i]) == CUDA_SUCCESS);
            all_reduce(comms[i], NULL);
        }
        rank_assert(ncclGroupEnd() == ncclSuccess);
    }
    for (int i = 0; i < DEVICES; i++) {
        rank_assert(cuCtxSetCurrent(contexts[i]) == CUDA_SUCCESS);
        rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
        rank_assert(ncclCommDestroy(comms[i]) == ncclSuccess);
    }
}

static void one_process_may_have_several_devices(void **state)
{
    struct test_shared *shared = test_ranks_run(1, devices_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

static void captured_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;

    rank_assert(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    rank_assert(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    all_reduce(comm, stream);
    all_reduce(comm, stream);
    rank_assert(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    rank_assert(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
    for (int i = 0; i < 5; i++) {
        rank_assert(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
        all_reduce(comm, stream); /* in between, not captured */
    }
    rank_assert(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    rank_assert(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    rank_assert(cuGraphDestroy(graph) == CUDA_SUCCESS);
    rank_assert(cuStreamDestroy(stream) == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
}

static void captured_collectives_meet_again_at_each_launch(void **state)
{
    struct test_shared *shared = test_ranks_run(2, captured_part);

    (void)state;
    munmap(shared, sizeof(*shared));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_rank_makes_the_others_wait),
        cmocka_unit_test(messages_find_their_partners),
        cmocka_unit_test(every_function_completes),
        cmocka_unit_test(big_groups_complete),
        cmocka_unit_test(survivors_of_a_killed_rank_wait_but_can_be_ended),
        cmocka_unit_test(a_rank_that_is_taken_is_refused),
        cmocka_unit_test(what_a_dead_process_left_is_removed),
        cmocka_unit_test(communicators_split_by_color_and_key),
        cmocka_unit_test(one_process_may_have_several_devices),
        cmocka_unit_test(captured_collectives_meet_again_at_each_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
