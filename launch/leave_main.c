/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranktrace-leave - tells the launcher that this rank is finished, when its sidecar cannot.
 *
 * A launcher that speaks PMIx (mpirun, srun --mpi=pmix) takes a rank that has started MPI
 * and exits without having finished it for a crash, and kills all the others: healthy jobs
 * would pay for a sidecar that died. PMIx identifies a process by what is in its
 * environment, so this one can connect as the dead one did and finalize in its place.
 * Tried with Open MPI 4.1.4.
 *
 * This is the only file that includes pmix.h.
 */
#include <pmix.h>
#include <stddef.h>
#include <stdio.h>

int main(void)
{
    pmix_proc_t self;
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status == PMIX_SUCCESS)
        status = PMIx_Finalize(NULL, 0);
    if (status == PMIX_SUCCESS)
        return 0;
    (void)fprintf(stderr,
                  "ranktrace leave: the launcher cannot be told that this rank is done: %s\n",
                  PMIx_Error_string(status));
    return 1;
}
