/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rkt_test.h"

#include "launch/rank_env.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VARIABLES_MAX 8

static void each_launcher_is_read_in_its_own_words(void **state)
{
    static const struct {
        const char *what;
        const char *env[VARIABLES_MAX];
        struct rkt_rank_env want;
    } cases[] = {
        {"no launcher", {"HOME=/root", "RANK=3"}, {NULL, -1, -1, -1, -1, false, false}},
        {"Open MPI",
         {"PMIX_RANK=5", "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8",
          "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=4"},
         {"Open MPI", 5, 8, 1, 4, true, true}},
        {"Open MPI inside a Slurm step",
         {"SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "OMPI_COMM_WORLD_RANK=6",
          "OMPI_COMM_WORLD_SIZE=8", "PMIX_RANK=6"},
         {"Open MPI", 6, 8, -1, -1, true, true}},
        {"srun --mpi=pmix",
         {"SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=6", "SLURM_LOCALID=1",
          "SLURM_NODEID=1", "SLURM_STEP_TASKS_PER_NODE=2(x3)", "PMIX_RANK=3"},
         {"Slurm", 3, 6, 1, 2, true, false}},
        {"srun --mpi=none: no other rank can be found",
         {"SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_NTASKS=4", "SLURM_LOCALID=3"},
         {"Slurm", 3, 4, 3, -1, false, false}},
        {"a batch script is one process, however many tasks the job has",
         {"SLURM_PROCID=0", "SLURM_NTASKS=64", "SLURM_LOCALID=0"},
         {NULL, -1, -1, -1, -1, false, false}},
        {"MPICH",
         {"PMI_RANK=1", "PMI_SIZE=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"},
         {"PMI", 1, 2, 1, 2, true, false}},
        {"bare PMIx says no count", {"PMIX_RANK=2"}, {"PMIx", 2, -1, -1, -1, true, true}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct rkt_rank_env *want = &cases[i].want;
        struct rkt_rank_env got;
        struct rkt_error err;

        assert_rkt_ok(rkt_rank_env_read((char *const *)cases[i].env, &got, &err), err);
        if (!want->launcher != !got.launcher ||
            (want->launcher && strcmp(want->launcher, got.launcher) != 0))
            fail_msg("%s: launcher is %s", cases[i].what, got.launcher ? got.launcher : "none");
        if (got.rank != want->rank || got.rank_count != want->rank_count ||
            got.local_rank != want->local_rank || got.local_rank_count != want->local_rank_count ||
            got.has_pmi != want->has_pmi || got.signals_groups != want->signals_groups)
            fail_msg("%s: rank %d of %d, local %d of %d, pmi %d", cases[i].what, got.rank,
                     got.rank_count, got.local_rank, got.local_rank_count, got.has_pmi);
    }
}

static void a_launchers_nonsense_is_refused_by_name(void **state)
{
    static const struct {
        const char *what;
        const char *env[VARIABLES_MAX];
        const char *says;
    } cases[] = {
        {"a word", {"OMPI_COMM_WORLD_RANK=one"}, "OMPI_COMM_WORLD_RANK"},
        {"negative", {"OMPI_COMM_WORLD_RANK=-1"}, "OMPI_COMM_WORLD_RANK"},
        {"empty", {"PMI_RANK="}, "PMI_RANK"},
        {"past the limit", {"OMPI_COMM_WORLD_RANK=4294967296"}, "OMPI_COMM_WORLD_RANK"},
        {"rank past the count", {"PMI_RANK=2", "PMI_SIZE=2"}, "rank 2 of 2"},
        {"count of none", {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=0"}, "rank 0 of 0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rkt_rank_env got;
        struct rkt_error err;

        assert_rkt_status(rkt_rank_env_read((char *const *)cases[i].env, &got, &err),
                          RKT_ERR_INVALID);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: '%s' does not name %s", cases[i].what, err.text, cases[i].says);
    }
}

static void slurms_compressed_list_gives_the_tasks_of_a_node(void **state)
{
    static const struct {
        const char *list;
        uint64_t node_index;
        int32_t want;
    } cases[] = {
        {"4", 0, 4},       {"4", 1, -1},      {"2(x3),1", 0, 2},
        {"2(x3),1", 2, 2}, {"2(x3),1", 3, 1}, {"2(x3),1", 4, -1},
        {"", 0, -1},       {"x", 0, -1},      {"2(x", 0, -1},
        {"2(x3", 0, -1},   {"2(3)", 0, 2},    {"2(3)", 1, -1},
        {"1,2,3", 2, 3},   {"1;2", 1, -1},    {"99999999999999999999", 0, -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t got = rkt_slurm_tasks_on_node(cases[i].list, cases[i].node_index);

        if (got != cases[i].want)
            fail_msg("'%s' at %llu is %d", cases[i].list, (unsigned long long)cases[i].node_index,
                     got);
    }
}

static void a_variable_is_found_by_its_whole_name(void **state)
{
    static const char *const env[] = {"RANKS=1", "RANK_=2", "RANK=", "RANK=4", NULL};

    (void)state;
    assert_string_equal(rkt_env_get((char *const *)env, "RANK"), "");
    assert_null(rkt_env_get((char *const *)env, "RAN"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launcher_is_read_in_its_own_words),
        cmocka_unit_test(a_launchers_nonsense_is_refused_by_name),
        cmocka_unit_test(slurms_compressed_list_gives_the_tasks_of_a_node),
        cmocka_unit_test(a_variable_is_found_by_its_whole_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
