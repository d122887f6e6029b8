/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RANK_ENV_H
#define RKT_LAUNCH_RANK_ENV_H

/*
 * rank_env - which process of how many this is, as the launcher's variables say it.
 *
 * Pure: an environment in, numbers out. Asked in this order: Open MPI, Slurm, the
 * PMI of MPICH's launchers, bare PMIx. Slurm counts only inside a step: a batch script has
 * SLURM_PROCID too, but is one process.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

#define RKT_RANK_COUNT_MAX (1 << 20)

struct rkt_rank_env {
    const char *launcher; /* "Open MPI"; NULL: started by none */
    int32_t rank;         /* each -1 where the launcher does not say */
    int32_t rank_count;
    int32_t local_rank;
    int32_t local_rank_count;
    bool has_pmi;        /* MPI_Init would find the other ranks */
    bool signals_groups; /* the launcher signals process groups, not its children alone */
};

/* The value of `name` in `env` (NULL-terminated NAME=VALUE texts), or NULL. */
const char *rkt_env_get(char *const *env, const char *name);

/* Of a NAME=value text: by such a variable MPI_Init would find the other ranks, and attach to
 * them. */
bool rkt_env_is_for_mpi(const char *text);

/* RKT_ERR_INVALID: a variable of the launcher holds no number, or one out of range. */
enum rkt_status rkt_rank_env_read(char *const *env, struct rkt_rank_env *ranks_out,
                                  struct rkt_error *err);

/*
 * How many tasks the node at `node_index` has in Slurm's compressed list, "2(x3),1";
 * -1 where the text is no such list or too short.
 */
int32_t rkt_slurm_tasks_on_node(const char *list, uint64_t node_index);

#endif
