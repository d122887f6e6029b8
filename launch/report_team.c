/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/report_team.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "launch/install.h"
#include "launch/rank_env.h"

#define MPI_PROGRAM "ranktrace-report-mpi"
#define CPUS_MAX 8192
/* A process more is worth its start from so many bytes of records on: some 10 ms of work. */
#define BYTES_PER_JOB_MIN ((uint64_t)128 << 10)
/* What a rank takes in memory while it is worked on, by what it takes in the store; measured: 35 to
 * 105. */
#define MEMORY_PER_STORE_BYTE 128u

void rkt_report_place_find(char *const *env, struct rkt_report_place *place_out)
{
    struct rkt_rank_env ranks;

    *place_out = (struct rkt_report_place){NULL, 0, 1};
    if (rkt_rank_env_read(env, &ranks, NULL) == RKT_OK && ranks.has_pmi && ranks.rank >= 0 &&
        ranks.rank_count > 1)
        *place_out = (struct rkt_report_place){ranks.launcher, ranks.rank, ranks.rank_count};
}

void rkt_report_become_mpi(const struct rkt_report_place *place, char **argv)
{
    struct rkt_install install;
    char path[PATH_MAX];

    if (rkt_install_locate(&install, NULL) == RKT_OK &&
        rkt_install_program(&install, MPI_PROGRAM, path))
        (void)execv(path, argv);
    if (place->rank == 0)
        (void)fprintf(
            stderr,
            "ranktrace report: %s started %d processes, but this build has no %s: process "
            "0 makes the report alone\n",
            place->launcher, place->size, MPI_PROGRAM);
}

static uint64_t count_cores(void)
{
    cpu_set_t *cpus = CPU_ALLOC(CPUS_MAX);
    size_t cpus_bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    uint64_t count = 1;

    if (cpus && sched_getaffinity(0, cpus_bytes, cpus) == 0)
        count = (uint64_t)CPU_COUNT_S(cpus_bytes, cpus);
    CPU_FREE(cpus);
    return count;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int rkt_report_choose_jobs(const struct rkt_store_reader *reader,
                           const struct rkt_report_jobs *jobs)
{
    uint64_t rank_count = 0;
    uint64_t sum_bytes = 0;
    uint64_t most_bytes = 1;
    uint64_t count;

    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        uint64_t bytes = rkt_store_reader_source_bytes(reader, i);

        if (rkt_store_reader_source(reader, i)->info.role != RKT_ROLE_RANK)
            continue;
        rank_count++;
        sum_bytes += bytes;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
    }
    count = least_of(rank_count, jobs->asked > 0 ? jobs->asked : count_cores());
    if (jobs->asked == 0) {
        count = least_of(count, sum_bytes / BYTES_PER_JOB_MIN);
        count = least_of(count, jobs->memory_bytes / MEMORY_PER_STORE_BYTE / most_bytes);
    }
    return count > 1 ? (int)least_of(count, INT_MAX) : 1;
}
