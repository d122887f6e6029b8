/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RUN_CHECK_H
#define RKT_LAUNCH_RUN_CHECK_H

/*
 * run_check - what must hold before anything is started, each with one clear line if not.
 */

#include <limits.h>
#include <stdbool.h>

#include "common/status.h"
#include "launch/rank_env.h"

/* RKT_ERR_INVALID: `name`, looked up in `path` (PATH) unless it has a slash, cannot be run. */
enum rkt_status rkt_check_command(const char *name, const char *path, struct rkt_error *err);

/* Make the folder, with those above it. RKT_ERR_IO: no file can be written in it. */
enum rkt_status rkt_check_output(const char *dir, struct rkt_error *err);

/*
 * Rename what an earlier run left in the folder as timeline.rkt to the first free one of
 * timeline.1.rkt, timeline.2.rkt ..., and write that path; "" where there was nothing: a job that
 * is started again must neither lose the earlier timeline nor run untraced. RKT_ERR_INVALID: a
 * run that has not ended is writing it.
 */
enum rkt_status rkt_set_earlier_aside(const char *dir, char moved_to[PATH_MAX],
                                      struct rkt_error *err);

/*
 * *needs_mpi_out: several sidecars have to find each other. RKT_ERR_INVALID: several ranks are
 * evidently wanted, but they cannot find each other as they were started.
 */
enum rkt_status rkt_check_launch(char *const *env, const struct rkt_rank_env *ranks,
                                 bool *needs_mpi_out, struct rkt_error *err);

/* Whether the command starts the ranks of a node itself, as torchrun does. */
bool rkt_command_starts_ranks(char *const *command);

#endif
