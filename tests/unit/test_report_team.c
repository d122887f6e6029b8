/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/report_team.h"

#include <sched.h>

#include "common/clock.h"
#include "rkt_random.h"

#include "rkt_test.h"
#include "store_maker.h"

static void a_process_is_one_of_several_only_where_mpi_would_find_them(void **state)
{
    static const struct {
        const char *what;
        const char *env[5];
        int rank;
        int size;
    } CASES[] = {
        {"a shell", {"HOME=/"}, 0, 1},
        {"Open MPI", {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=2"}, 2, 4},
        {"Open MPI, one process",
         {"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"},
         0,
         1},
        {"a job of ranktrace run", {"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4"}, 0, 1},
        {"MPICH", {"PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=5"}, 1, 2},
        {"srun --mpi=pmix",
         {"SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=8", "PMIX_RANK=3"},
         3,
         8},
        {"srun without MPI", {"SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS=8"}, 0, 1},
        {"a shell of sbatch", {"SLURM_JOB_ID=7", "SLURM_PROCID=0", "SLURM_NTASKS=8"}, 0, 1},
        {"numbers that are none", {"OMPI_COMM_WORLD_RANK=x", "OMPI_COMM_WORLD_SIZE=4"}, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_report_place place;

        rkt_report_place_find((char *const *)CASES[i].env, &place);
        if (place.rank != CASES[i].rank || place.size != CASES[i].size)
            fail_msg("%s: %d of %d", CASES[i].what, place.rank, place.size);
    }
}

/* Ranks of half a million bytes each in the store, and a sidecar. */
static struct rkt_store_reader *make_store(struct store_maker *maker, uint32_t rank_count)
{
    struct rkt_random random = {1};

    store_maker_init(maker, RKT_PRODUCER_CAPTURE);
    for (uint32_t r = 0; r <= rank_count; r++) {
        uint32_t source =
            store_add_source(maker, (struct rkt_source_info){
                                        .producer = RKT_PRODUCER_CAPTURE,
                                        .role = r == rank_count ? RKT_ROLE_SIDECAR : RKT_ROLE_RANK,
                                        .rank_known = true,
                                        .rank = r,
                                    });

        for (uint64_t i = 0; i < 100000; i++) {
            uint64_t start_ns = 1 + rkt_random_below(&random, UINT64_C(1) << 40);

            store_add(maker, source,
                      (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                                         .clock_id = RKT_CLOCK_REALTIME,
                                         .start_ns = start_ns,
                                         .end_ns = start_ns + 1});
        }
    }
    return store_open(maker);
}

static void as_many_processes_as_are_asked_for_but_none_without_a_rank(void **state)
{
    struct store_maker maker;
    struct rkt_store_reader *reader = make_store(&maker, 3);

    (void)state;
    for (uint32_t asked = 1; asked <= 5; asked++)
        assert_int_equal(rkt_report_choose_jobs(reader, &(struct rkt_report_jobs){.asked = asked}),
                         asked < 3 ? asked : 3);
    store_maker_release(&maker);
}

static int core_count(void)
{
    cpu_set_t cpus;

    assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    return CPU_COUNT(&cpus);
}

static void one_process_a_core_starts_as_far_as_memory_allows(void **state)
{
    struct store_maker maker;
    struct rkt_store_reader *reader = make_store(&maker, 3);
    struct rkt_report_jobs jobs = {.memory_bytes = UINT64_C(4) << 30};

    (void)state;
    assert_int_equal(rkt_report_choose_jobs(reader, &jobs), core_count() < 3 ? core_count() : 3);
    jobs.memory_bytes = 1 << 20;
    assert_int_equal(rkt_report_choose_jobs(reader, &jobs), 1);
    store_maker_release(&maker);
}

static void a_small_store_is_not_worth_a_second_process(void **state)
{
    struct store_maker maker;

    (void)state;
    store_maker_init(&maker, RKT_PRODUCER_CAPTURE);
    for (uint32_t r = 0; r < 4; r++)
        (void)store_add_source(&maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                                .rank_known = true,
                                                                .rank = r});
    assert_int_equal(
        rkt_report_choose_jobs(store_open(&maker),
                               &(struct rkt_report_jobs){.memory_bytes = UINT64_C(4) << 30}),
        1);
    store_maker_release(&maker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_one_of_several_only_where_mpi_would_find_them),
        cmocka_unit_test(as_many_processes_as_are_asked_for_but_none_without_a_rank),
        cmocka_unit_test(one_process_a_core_starts_as_far_as_memory_allows),
        cmocka_unit_test(a_small_store_is_not_worth_a_second_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
