/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_MPI_HELP_H
#define RKT_COMMON_MPI_HELP_H

/*
 * mpi_help - what Open MPI has to say goes to our log, and not by way of mpirun.
 *
 * Open MPI 4 sends its warnings ("failed to TCP connect to a peer": one that has died) to mpirun,
 * and waits inside the call under way until mpirun has them. An mpirun that is about to end all
 * ranks takes none for two seconds, in which this process must bring its records to safety; a job
 * that knows of no MPI is told that it may hang. Warnings of its event library, where that is the
 * system's, would go to the job's standard error.
 *
 * Threads: main, right after MPI_Init. Other MPIs are left as they are.
 */

void rkt_mpi_help_take(void);

#endif
