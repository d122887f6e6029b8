/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_REPORT_TEAM_H
#define RKT_LAUNCH_REPORT_TEAM_H

/*
 * report_team - which processes make a report together.
 *
 *     mpirun -np K ranktrace report     the K of mpirun, each in ranktrace-report-mpi
 *     ranktrace report                  this one and children, as many as --jobs says or as pay off
 *
 * The program without MPI is not linked with it: where it finds itself started as one of several it
 * becomes the other one.
 *
 * Threads: main, before any other starts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/store_reader.h"
#include "common/transport.h"

/* This process among those of a launcher: one of one where there is none. */
struct rkt_report_place {
    const char *launcher; /* "Open MPI"; NULL: none, or MPI_Init would find nobody */
    int rank;
    int size;
};

void rkt_report_place_find(char *const *env, struct rkt_report_place *place_out);

/*
 * Becomes the program with MPI, with the same words. Returns where this build has none: then rank 0
 * says so in one line and goes on alone, and the others have nothing to do.
 */
void rkt_report_become_mpi(const struct rkt_report_place *place, char **argv);

struct rkt_report_jobs {
    uint32_t asked;        /* processes; 0: one for each core, as far as it pays off */
    uint64_t memory_bytes; /* for what they work on at once; where none is asked for */
};

/* How many processes of this host are to share the work on a store: 1 or more. */
int rkt_report_choose_jobs(const struct rkt_store_reader *reader,
                           const struct rkt_report_jobs *jobs);

#endif
