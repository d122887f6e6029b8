/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_MPI_WATCH_H
#define RKT_LAUNCH_MPI_WATCH_H

/*
 * mpi_watch - does the job use MPI itself? Then 'run' is the wrong way to trace it.
 *
 * The job's MPI_Init finds no launcher, since the sidecar is the launcher's MPI process:
 * each rank would be alone in a world of one, without an error. Best effort: it sees
 * that the job's main process has loaded an MPI library, not that it calls it; and it
 * looks a few times in the first minutes only.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RKT_MPI_WATCH_NEVER UINT64_MAX

struct rkt_mpi_watch {
    uint64_t next_ns; /* look then, on CLOCK_MONOTONIC; NEVER: no more */
    uint64_t gap_ns;
};

void rkt_mpi_watch_init(struct rkt_mpi_watch *watch, uint64_t now_ns);

/* At next_ns. True, once, when an MPI library is there. */
bool rkt_mpi_watch_look(struct rkt_mpi_watch *watch, pid_t pid, uint64_t now_ns);

/* Whether a path is an MPI library's: ".../libmpi.so.40". */
bool rkt_is_mpi_library(const char *path);

#endif
