/* SPDX-License-Identifier: Apache-2.0 */

/* The stand-in NCCL as the host of a profiler plugin, which the probe plays: it hears of everything
 * in NCCL's order, and of all that NCCL gets wrong. */

#include <cuda.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simgpu/test/ranks.h"
#include "tests/unit/rkt_test.h"

#ifndef SIMGPU_PROBE_PATH
#error "the build says where the probe is"
#endif

#define FLOATS 1024
#define TOLD_BYTES 16384

static void all_reduce(ncclComm_t comm, CUstream stream)
{
    static float buffer[FLOATS];

    rank_assert(ncclAllReduce(buffer, buffer, FLOATS, ncclFloat32, ncclSum, comm, stream) ==
                ncclSuccess);
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
    text[0] = '\0';
    file = fopen(path, "re");
    if (!file)
        return; /* nothing was told */
    bytes = fread(text, 1, text_bytes - 1, file);
    text[bytes] = '\0';
    fclose(file);
    unlink(path);
}

struct host {
    const char *version;
    const char *mask;
    const char *mode;       /* NULL: all as it should be */
    const char *no_handles; /* events that the plugin gives none for; NULL: none */
    int rank_count;
};

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* What the plugin of rank 0 was told. */
static void run_host(const struct host *host, void (*part)(struct test_rank *rank),
                     char told[TOLD_BYTES])
{
    char folder[] = "/tmp/simgpu-test-XXXXXX";
    struct test_shared *shared;

    assert_non_null(mkdtemp(folder));
    set("SIMGPU_PROBE_DIR", folder);
    set("SIMGPU_PROBE_MASK", host->mask);
    set("SIMGPU_PROBE_NULL", host->no_handles);
    set("SIMGPU_NCCL_VERSION", host->version);
    set("SIMGPU_NCCL_MODE", host->mode);
    set("NCCL_PROFILER_PLUGIN", SIMGPU_PROBE_PATH);
    shared = test_ranks_run(host->rank_count, part);
    munmap(shared, sizeof(*shared));
    unsetenv("NCCL_PROFILER_PLUGIN");
    for (int rank = host->rank_count - 1; rank >= 0; rank--)
        read_and_remove(folder, rank, told, TOLD_BYTES);
    rmdir(folder);
}

static void run_with_plugin(const char *version, const char *mask, char told[TOLD_BYTES])
{
    run_host(&(struct host){.version = version, .mask = mask, .rank_count = 2}, plugin_part, told);
}

static void assert_told(const char *told, const char *text)
{
    if (!strstr(told, text))
        fail_msg("told\n%s\nwithout\n%s", told, text);
}

/* Only the lines with that word: other threads tell in between. */
static void keep_lines(char *told, const char *word)
{
    char *to = told;

    for (char *line = told; *line;) {
        char *end = strchr(line, '\n') + 1;
        char *found = strstr(line, word);

        if (found && found < end) {
            memmove(to, line, (size_t)(end - line));
            to += end - line;
        }
        line = end;
    }
    *to = '\0';
}

static size_t count_told(const char *told, const char *text)
{
    size_t count = 0;

    for (const char *at = strstr(told, text); at; at = strstr(at + 1, text))
        count++;
    return count;
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
    char told[TOLD_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        run_with_plugin(CASES[i].version, CASES[i].mask, told);
        if (strcmp(told, CASES[i].told) != 0)
            fail_msg("%s: told\n%s\nnot\n%s", CASES[i].what, told, CASES[i].told);
    }
}

static void parents_are_told_when_a_child_is_wanted(void **state)
{
    char told[TOLD_BYTES];

    (void)state;
    run_with_plugin("2.28.9", "0x2", told); /* Coll alone */
    assert_non_null(strstr(told, "start GroupApi -\n"));
    assert_non_null(strstr(told, "start CollApi GroupApi\n"));
    assert_non_null(strstr(told, "start Coll CollApi AllReduce 0\n"));
    assert_null(strstr(told, "KernelLaunch"));
}

static void a_plugin_of_another_time_is_not_loaded(void **state)
{
    static const char *const VERSIONS[] = {"2.23", "2.24.3", "2.25"};
    char told[TOLD_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        run_with_plugin(VERSIONS[i], "0xf06", told);
        assert_string_equal(told, "unloaded\n"); /* it has no table of that version */
    }
}

/* ---- channels ---- */

#define ONE_CHANNEL                           \
    "start KernelCh Coll 0 NCCL Progress 0\n" \
    "state KernelCh 22\n"                     \
    "stop KernelCh\n"

static void channels_are_told_by_the_progress_thread_after_the_collective(void **state)
{
    char told[TOLD_BYTES];

    (void)state;
    run_with_plugin("2.28.9", "0xf46", told);
    assert_true(strstr(told, "stop Coll\n") < strstr(told, "start KernelCh"));
    keep_lines(told, "KernelCh");
    assert_int_equal(count_told(told, ONE_CHANNEL), 3);
    run_with_plugin("2.27", "0xf46", told);
    keep_lines(told, "KernelCh");
    assert_int_equal(count_told(told, ONE_CHANNEL), 3);
}

static void channels_may_end_before_they_begin(void **state)
{
    const struct host host = {
        .version = "2.28.9", .mask = "0x42", .mode = "early-stop", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, plugin_part, told);
    assert_int_equal(count_told(told, "start KernelCh Coll 0"), 3);
    assert_int_equal(count_told(told, "stop KernelCh\n"), 2); /* by the handle of the one before */
}

static void channels_may_end_at_no_time(void **state)
{
    const struct host host = {
        .version = "2.28.9", .mask = "0x42", .mode = "zero-stop", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, plugin_part, told);
    assert_int_equal(count_told(told, "state KernelCh 22 0\n"), 3);
}

/* ---- network ---- */

#define SEND_STEP                 \
    "start ProxyStep ProxyOp\n"   \
    "state ProxyStep 8\n"         \
    "state ProxyStep 20\n"        \
    "state ProxyStep 9\n"         \
    "start NetPlugin ProxyStep\n" \
    "stop ProxyStep\n"

static void network_work_has_its_steps(void **state)
{
    struct host host = {.version = "2.28.9", .mask = "0xbf", .mode = "net", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, plugin_part, told);
    assert_int_equal(count_told(told, "start ProxyOp Coll own\n"), 2 * 3);
    assert_int_equal(count_told(told, "stop ProxyOp\n"), 2 * 3);
    assert_int_equal(count_told(told, "stop NetPlugin\n"), 2 * 2 * 3);
    keep_lines(told, "ProxyStep");
    assert_int_equal(count_told(told, SEND_STEP SEND_STEP), 3);
    assert_told(told, "state ProxyStep 10\nstate ProxyStep 11\nstate ProxyStep 12\n");
    host.mode = NULL; /* all in one node: nothing of this */
    run_host(&host, plugin_part, told);
    assert_null(strstr(told, "start ProxyOp"));
}

static void network_work_may_be_for_another_process(void **state)
{
    const struct host host = {
        .version = "2.28.9", .mask = "0xa", .mode = "net,pxn", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, plugin_part, told);
    assert_int_equal(count_told(told, "start ProxyOp Coll foreign\n"), 2 * 3);
}

/* ---- handles ---- */

static void without_handles_nothing_is_stopped(void **state)
{
    struct host host = {
        .version = "2.28.9", .mask = "0xf46", .no_handles = "0xffff", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, plugin_part, told);
    assert_null(strstr(told, "stop"));
    assert_null(strstr(told, "state"));
    assert_int_equal(count_told(told, "start Coll - AllReduce"), 3); /* children all the same */
    assert_int_equal(count_told(told, "start KernelCh - 0"), 3);
    host.version = "2.27";
    run_host(&host, plugin_part, told);
    assert_int_equal(count_told(told, "start Group -\n"), 2);
    assert_null(strstr(told, "start Coll"));
}

/* ---- graphs ---- */

#define REPLAYS 3

static void captured_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;

    rank_assert(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    rank_assert(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    all_reduce(comm, stream);
    rank_assert(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    rank_assert(cuGraphInstantiate(&exec, graph, 0) == CUDA_SUCCESS);
    rank_assert(cuGraphDestroy(graph) == CUDA_SUCCESS);
    for (int i = 0; i < REPLAYS; i++)
        rank_assert(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
    rank_assert(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    rank_assert(cuGraphExecDestroy(exec) == CUDA_SUCCESS);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
    _exit(0);
}

static void a_captured_collective_is_told_once(void **state)
{
    const struct host host = {.version = "2.28.9", .mask = "0xf06", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, captured_part, told);
    assert_string_equal(told, "init 5 2 0\n"
                              "start GroupApi - captured\n"
                              "state GroupApi 23\n"
                              "start CollApi GroupApi captured\n"
                              "stop CollApi\n"
                              "state GroupApi 24\n"
                              "start KernelLaunch GroupApi\n"
                              "stop KernelLaunch\n"
                              "stop GroupApi\n" AT_THE_END);
}

static void a_captured_collective_with_channels_is_told_each_time(void **state)
{
    const struct host host = {.version = "2.28.9", .mask = "0xf46", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, captured_part, told);
    assert_int_equal(count_told(told, "start CollApi GroupApi captured\n"), 1);
    assert_int_equal(count_told(told, "start KernelLaunch GroupApi\n"), 1);
    assert_int_equal(count_told(told, "start Coll CollApi AllReduce"), REPLAYS);
    keep_lines(told, "KernelCh");
    assert_int_equal(count_told(told, ONE_CHANNEL), REPLAYS);
}

/* ---- communicators ---- */

static void alone_part(struct test_rank *rank)
{
    ncclComm_t comm = test_rank_join(rank);

    all_reduce(comm, NULL);
    rank_assert(ncclCommDestroy(comm) == ncclSuccess);
    _exit(0);
}

static void a_communicator_of_one_rank_has_calls_only(void **state)
{
    const struct host host = {.version = "2.28.9", .mask = "0xf46", .rank_count = 1};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, alone_part, told);
    assert_string_equal(told, "init 5 1 0\n"
                              "start GroupApi -\n"
                              "state GroupApi 23\n"
                              "start CollApi GroupApi\n"
                              "stop CollApi\n"
                              "state GroupApi 24\n"
                              "stop GroupApi\n" AT_THE_END);
}

static void named_part(struct test_rank *rank)
{
    ncclConfig_t config = {.commName = "default_pg:0"};
    ncclComm_t comm;

    rank_assert(ncclCommInitRankConfig(&comm, rank->rank_count, rank->id, rank->rank, &config) ==
                ncclSuccess);
    rank_assert(ncclCommFinalize(comm) == ncclSuccess);
    rank_assert(ncclCommAbort(comm) == ncclSuccess);
    _exit(0);
}

static void names_come_along(void **state)
{
    const struct host host = {.version = "2.28.9", .mask = "0xf06", .rank_count = 2};
    char told[TOLD_BYTES];

    (void)state;
    run_host(&host, named_part, told);
    assert_string_equal(told, "init 5 2 0 default_pg:0\n" AT_THE_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_told_in_the_order_of_its_version),
        cmocka_unit_test(parents_are_told_when_a_child_is_wanted),
        cmocka_unit_test(a_plugin_of_another_time_is_not_loaded),
        cmocka_unit_test(channels_are_told_by_the_progress_thread_after_the_collective),
        cmocka_unit_test(channels_may_end_before_they_begin),
        cmocka_unit_test(channels_may_end_at_no_time),
        cmocka_unit_test(network_work_has_its_steps),
        cmocka_unit_test(network_work_may_be_for_another_process),
        cmocka_unit_test(without_handles_nothing_is_stopped),
        cmocka_unit_test(a_captured_collective_is_told_once),
        cmocka_unit_test(a_captured_collective_with_channels_is_told_each_time),
        cmocka_unit_test(a_communicator_of_one_rank_has_calls_only),
        cmocka_unit_test(names_come_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
