/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_JOB_ENV_H
#define RKT_LAUNCH_JOB_ENV_H

/*
 * job_env - the environment of the training process, made from the launcher's.
 *
 * Pure: an environment in, an environment out.
 *
 *  - set only where unset: RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR
 *    MASTER_PORT, CUDA_INJECTION64_PATH, NCCL_PROFILER_PLUGIN, NVTX_INJECTION64_PATH
 *  - set always: RANKTRACE_SOCKET, RANKTRACE_LIBRARY; RANKTRACE_SYNC_LINES where it is off; and the
 *    torch hook's folder goes in front of PYTHONPATH
 *  - removed, where our sidecar is an MPI process: what would make a second MPI in the job
 *    attach to ours (PMIX_*, PMI_*, OMPI_MCA_orte_*, OMPI_MCA_ess_*)
 *
 * Threads: any.
 */

#include <stdbool.h>

#include "common/arena.h"
#include "common/status.h"
#include "launch/rank_env.h"

struct rkt_job_env_plan {
    const struct rkt_rank_env *ranks;
    bool has_mpi_sidecar;
    bool sets_ranks;         /* false: the command starts the ranks itself, as torchrun does */
    const char *master_host; /* NULL: not known */
    const char *master_port;

    /* What tracing needs; NULL: that one is left out. All NULL: the job runs untraced. */
    const char *socket_path;
    const char *capture_library;
    const char *torch_hook_dir;
    bool has_no_nvtx;       /* NVTX is not captured */
    bool has_no_sync_lines; /* the torch hook does not look for calls that wait for the GPU */
};

/*
 * *env_out and its new texts are in the arena; the others are those of `env`.
 * RKT_ERR_NOMEM past the arena's limit.
 */
enum rkt_status rkt_job_env_build(char *const *env, const struct rkt_job_env_plan *plan,
                                  struct rkt_arena *arena, char ***env_out, struct rkt_error *err);

#define RKT_MASTER_PORT_BYTES 16

/*
 * A port that all ranks of one launch agree on without talking, from the launcher's name for
 * the job; false where it has none. For a job that must start though no sidecar said which port
 * is free.
 */
bool rkt_job_env_guess_port(char *const *env, char port[RKT_MASTER_PORT_BYTES]);

#endif
