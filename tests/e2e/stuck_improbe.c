/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stuck_improbe - a library to preload into a sidecar: once the file that STUCK_WHEN names is
 * there, MPI_Improbe never returns, as in an Open MPI whose list of events has become a ring.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                MPI_Status *status)
{
    static int (*improbe)(int, int, MPI_Comm, int *, MPI_Message *, MPI_Status *);
    const char *when = getenv("STUCK_WHEN"); // NOLINT(concurrency-mt-unsafe): nobody writes it

    if (!improbe)
        *(void **)&improbe = dlsym(RTLD_NEXT, "PMPI_Improbe");
    while (when && access(when, F_OK) == 0)
        ;
    return improbe(source, tag, comm, flag, message, status);
}
