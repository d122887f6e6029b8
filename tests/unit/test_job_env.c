/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include <stdlib.h>

#include "launch/job_env.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VARIABLES_MAX 16
#define ARENA_BYTES (64u << 10)

static const struct rkt_rank_env RANK_5_OF_8 = {"Open MPI", 5, 8, 1, 4, true, true};
static const struct rkt_rank_env ALONE = {NULL, -1, -1, -1, -1, false, false};

#define MASTER .master_host = "node7", .master_port = "23456"
#define TRACING .socket_path = "/run/s", .capture_library = "/lib/c.so", .torch_hook_dir = "/hook"

static const struct {
    const char *what;
    const char *env[VARIABLES_MAX];
    struct rkt_job_env_plan plan;
    const char *want[VARIABLES_MAX]; /* in this order */
} CASES[] = {
    {"mpirun: the rank family, tracing, and no way to our MPI",
     {"HOME=/root", "PMIX_RANK=5", "PMI_FD=3", "OMPI_MCA_orte_hnp_uri=x",
      "OMPI_MCA_ess_base_vpid=5", "OMPI_COMM_WORLD_RANK=5", "OMPI_MCA_btl=tcp"},
     {.ranks = &RANK_5_OF_8, .has_mpi_sidecar = true, .sets_ranks = true, MASTER, TRACING},
     {"HOME=/root", "OMPI_COMM_WORLD_RANK=5", "OMPI_MCA_btl=tcp", "RANK=5", "WORLD_SIZE=8",
      "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=node7", "MASTER_PORT=23456",
      "CUDA_INJECTION64_PATH=/lib/c.so", "NCCL_PROFILER_PLUGIN=/lib/c.so",
      "NVTX_INJECTION64_PATH=/lib/c.so", "RANKTRACE_SOCKET=/run/s", "RANKTRACE_LIBRARY=/lib/c.so",
      "PYTHONPATH=/hook"}},
    {"what the user set stays",
     {"RANK=1", "MASTER_ADDR=mine", "CUDA_INJECTION64_PATH=/nsys.so", "NCCL_PROFILER_PLUGIN=none",
      "NVTX_INJECTION64_PATH=/other.so"},
     {.ranks = &RANK_5_OF_8, .has_mpi_sidecar = true, .sets_ranks = true, MASTER, TRACING},
     {"RANK=1", "MASTER_ADDR=mine", "CUDA_INJECTION64_PATH=/nsys.so", "NCCL_PROFILER_PLUGIN=none",
      "NVTX_INJECTION64_PATH=/other.so", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
      "MASTER_PORT=23456", "RANKTRACE_SOCKET=/run/s", "RANKTRACE_LIBRARY=/lib/c.so",
      "PYTHONPATH=/hook"}},
    {"untraced: ranks, but nothing that captures; another run's socket goes",
     {"RANKTRACE_SOCKET=/old", "RANKTRACE_LIBRARY=/old", "PYTHONPATH=/mine", "PMIX_RANK=5"},
     {.ranks = &RANK_5_OF_8, .has_mpi_sidecar = true, .sets_ranks = true},
     {"PYTHONPATH=/mine", "RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4"}},
    {"per node: torchrun sets the ranks",
     {"OMPI_COMM_WORLD_RANK=5", "PMIX_RANK=5"},
     {.ranks = &RANK_5_OF_8, .has_mpi_sidecar = true, MASTER, TRACING},
     {"OMPI_COMM_WORLD_RANK=5", "CUDA_INJECTION64_PATH=/lib/c.so", "NCCL_PROFILER_PLUGIN=/lib/c.so",
      "NVTX_INJECTION64_PATH=/lib/c.so", "RANKTRACE_SOCKET=/run/s", "RANKTRACE_LIBRARY=/lib/c.so",
      "PYTHONPATH=/hook"}},
    {"no launcher: nothing about ranks, PMI stays the job's own",
     {"PMIX_RANK=0", "PYTHONPATH=/a:/b"},
     {.ranks = &ALONE, .sets_ranks = true, MASTER, TRACING},
     {"PMIX_RANK=0", "CUDA_INJECTION64_PATH=/lib/c.so", "NCCL_PROFILER_PLUGIN=/lib/c.so",
      "NVTX_INJECTION64_PATH=/lib/c.so", "RANKTRACE_SOCKET=/run/s", "RANKTRACE_LIBRARY=/lib/c.so",
      "PYTHONPATH=/hook:/a:/b"}},
    {"NVTX is not captured, and lines that wait are not looked for",
     {"RANKTRACE_SYNC_LINES=1"},
     {.ranks = &ALONE, TRACING, .has_no_nvtx = true, .has_no_sync_lines = true},
     {"CUDA_INJECTION64_PATH=/lib/c.so", "NCCL_PROFILER_PLUGIN=/lib/c.so",
      "RANKTRACE_SOCKET=/run/s", "RANKTRACE_LIBRARY=/lib/c.so", "RANKTRACE_SYNC_LINES=0",
      "PYTHONPATH=/hook"}},
    {"an empty PYTHONPATH would put the current folder in the path: it does not",
     {"PYTHONPATH="},
     {.ranks = &ALONE, .torch_hook_dir = "/hook"},
     {"PYTHONPATH=/hook"}},
};

static void the_jobs_environment_follows_the_plan(void **state)
{
    struct rkt_arena arena;

    (void)state;
    rkt_arena_init(&arena, ARENA_BYTES);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct rkt_error err;
        char **got;
        size_t at = 0;

        assert_rkt_ok(
            rkt_job_env_build((char *const *)CASES[i].env, &CASES[i].plan, &arena, &got, &err),
            err);
        for (; CASES[i].want[at]; at++) {
            if (!got[at] || strcmp(got[at], CASES[i].want[at]) != 0)
                fail_msg("%s: [%zu] is %s, not %s", CASES[i].what, at, got[at] ? got[at] : "(end)",
                         CASES[i].want[at]);
        }
        if (got[at])
            fail_msg("%s: also has %s", CASES[i].what, got[at]);
        rkt_arena_reset(&arena);
    }
    rkt_arena_release(&arena);
}

static void an_environment_past_the_limit_is_an_error(void **state)
{
    static const char *const env[] = {"A=1", "B=2", NULL};
    struct rkt_job_env_plan plan = {.ranks = &RANK_5_OF_8, .sets_ranks = true};
    struct rkt_arena arena;
    struct rkt_error err;
    char **got = NULL;

    (void)state;
    rkt_arena_init(&arena, 16);
    assert_rkt_status(rkt_job_env_build((char *const *)env, &plan, &arena, &got, &err),
                      RKT_ERR_NOMEM);
    assert_null(got);
    rkt_arena_release(&arena);
}

static void ranks_of_one_job_guess_the_same_port(void **state)
{
    static const char *const rank0[] = {"PMIX_NAMESPACE=1386938369", "PMIX_RANK=0", NULL};
    static const char *const rank1[] = {"PMIX_RANK=1", "PMIX_NAMESPACE=1386938369", NULL};
    static const char *const other[] = {"PMIX_NAMESPACE=1386938370", NULL};
    static const char *const none[] = {"PMIX_RANK=1", NULL};
    char a[RKT_MASTER_PORT_BYTES], b[RKT_MASTER_PORT_BYTES];

    (void)state;
    assert_true(rkt_job_env_guess_port((char *const *)rank0, a));
    assert_true(rkt_job_env_guess_port((char *const *)rank1, b));
    assert_string_equal(a, b);
    assert_in_range(strtol(a, NULL, 10), 20000, 31999);
    assert_true(rkt_job_env_guess_port((char *const *)other, b));
    assert_string_not_equal(a, b);
    assert_false(rkt_job_env_guess_port((char *const *)none, a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_environment_follows_the_plan),
        cmocka_unit_test(an_environment_past_the_limit_is_an_error),
        cmocka_unit_test(ranks_of_one_job_guess_the_same_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
