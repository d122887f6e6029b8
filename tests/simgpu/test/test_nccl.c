/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in NCCL: ranks really meet, and a plugin hears of it in NCCL's order. */

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

#ifndef SIMGPU_PROBE_PATH
#error "the build says where the probe is"
#endif

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

/* One AllReduce on its own, then a group of two, as rank 0 is told of them. */
static void plugin_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);

    all_reduce(comm, NULL);
    rank_assert(ncclGroupStart() == ncclSuccess);
    all_reduce(comm, NULL);
    all_reduce(comm, NULL);
    rank_assert(ncclGroupEnd() == ncclSuccess);
    rank_assert(cuCtxSynchronize() == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
    _exit(0); /* the plugin's last line is from its unloading, not from exit */
}

#define ONE_CALL_V5                               \
    "start GroupApi -\n"                          \
    "state GroupApi 23\n"                         \
    "start CollApi GroupApi\n"                    \
    "stop CollApi\n"                              \
    "state GroupApi 24\n"                         \
    "start KernelLaunch GroupApi\n"               \
    "stop KernelLaunch\n"                         \
    "start Group GroupApi\n"                      \
    "start Coll CollApi AllReduce 0\nstop Coll\n" \
    "stop Group\n"                                \
    "stop GroupApi\n"
#define TWO_CALLS_V5                              \
    "start GroupApi -\n"                          \
    "state GroupApi 23\n"                         \
    "start CollApi GroupApi\n"                    \
    "stop CollApi\n"                              \
    "start CollApi GroupApi\n"                    \
    "stop CollApi\n"                              \
    "state GroupApi 24\n"                         \
    "start KernelLaunch GroupApi\n"               \
    "stop KernelLaunch\n"                         \
    "start Group GroupApi\n"                      \
    "start Coll CollApi AllReduce 1\nstop Coll\n" \
    "start Coll CollApi AllReduce 2\nstop Coll\n" \
    "stop Group\n"                                \
    "stop GroupApi\n"
#define ALL_CALLS_V4                            \
    "start Group -\n"                           \
    "start Coll Group AllReduce 0\nstop Coll\n" \
    "stop Group\n"                              \
    "start Group -\n"                           \
    "start Coll Group AllReduce 1\nstop Coll\n" \
    "start Coll Group AllReduce 2\nstop Coll\n" \
    "stop Group\n"
#define AT_THE_END "finalize\nunloaded\n"

static void read_and_remove(const char *folder, int rank, char *text, size_t text_bytes)
{
    char path[64];
    size_t bytes;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%d.txt", folder, rank);
    file = fopen(path, "re");
    assert_non_null(file);
    bytes = fread(text, 1, text_bytes - 1, file);
    text[bytes] = '\0';
    fclose(file);
    unlink(path);
}

/* What the plugin of rank 0 was told. */
static void run_with_plugin(const char *version, const char *mask, char *told, size_t told_bytes)
{
    char folder[] = "/tmp/simgpu-test-XXXXXX";
    struct test_shared *shared;

    assert_non_null(mkdtemp(folder));
    setenv("SIMGPU_PROBE_DIR", folder, 1);
    setenv("SIMGPU_PROBE_MASK", mask, 1);
    setenv("SIMGPU_NCCL_VERSION", version, 1);
    setenv("NCCL_PROFILER_PLUGIN", SIMGPU_PROBE_PATH, 1);
    shared = test_ranks_run(2, plugin_part);
    munmap(shared, sizeof(*shared));
    unsetenv("NCCL_PROFILER_PLUGIN");
    read_and_remove(folder, 1, told, told_bytes);
    read_and_remove(folder, 0, told, told_bytes);
    rmdir(folder);
}

static void a_plugin_is_told_in_the_order_of_its_version(void **state)
{
    static const struct {
        const char *what;
        const char *version;
        const char *mask;
        const char *told;
    } CASES[] = {
        {"2.28 takes table v5", "2.28.9", "0xf06",
         "init 5 2 0\n" ONE_CALL_V5 TWO_CALLS_V5 AT_THE_END},
        {"2.30 takes v6, which changes nothing here", "2.30.7", "0xf06",
         "init 6 2 0\n" ONE_CALL_V5 TWO_CALLS_V5 AT_THE_END},
        {"2.31 takes v7", "2.31", "0xf06", "init 7 2 0\n" ONE_CALL_V5 TWO_CALLS_V5 AT_THE_END},
        {"2.27 takes v4, which has no events of the calls", "2.27", "0xf06",
         "init 4 2 0\n" ALL_CALLS_V4 AT_THE_END},
        {"2.26 takes v3, which is not told of the communicator", "2.26", "0xf06",
         "init 3 0 0\n" ALL_CALLS_V4 AT_THE_END},
        {"a mask of 0 is silence", "2.28.9", "0", "init 5 2 0\n" AT_THE_END},
    };
    char told[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        run_with_plugin(CASES[i].version, CASES[i].mask, told, sizeof(told));
        if (strcmp(told, CASES[i].told) != 0)
            fail_msg("%s: told\n%s\nnot\n%s", CASES[i].what, told, CASES[i].told);
    }
}

static void parents_are_told_when_a_child_is_wanted(void **state)
{
    char told[4096];

    (void)state;
    run_with_plugin("2.28.9", "0x2", told, sizeof(told)); /* Coll alone */
    assert_non_null(strstr(told, "start GroupApi -\n"));
    assert_non_null(strstr(told, "start CollApi GroupApi\n"));
    assert_non_null(strstr(told, "start Coll CollApi AllReduce 0\n"));
    assert_null(strstr(told, "KernelLaunch"));
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
        cmocka_unit_test(a_plugin_is_told_in_the_order_of_its_version),
        cmocka_unit_test(parents_are_told_when_a_child_is_wanted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
