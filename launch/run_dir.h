/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_RUN_DIR_H
#define RKT_LAUNCH_RUN_DIR_H

/*
 * run_dir - the private folder of one run, with the socket that training processes find.
 *
 * 0700, under XDG_RUNTIME_DIR or /tmp, and short enough for the path of a socket.
 */

#include "common/status.h"

/* sizeof(sun_path) of struct sockaddr_un */
#define RKT_SOCKET_PATH_BYTES 108

struct rkt_run_dir {
    char path[RKT_SOCKET_PATH_BYTES];
    char socket_path[RKT_SOCKET_PATH_BYTES];
};

/* `runtime_dir` (XDG_RUNTIME_DIR; NULL is fine) is used where it is absolute, short and
 * writable. */
enum rkt_status rkt_run_dir_create(const char *runtime_dir, struct rkt_run_dir *dir_out,
                                   struct rkt_error *err);

/* The folder, and the socket in it. Async-signal-safe; again is fine. */
void rkt_run_dir_remove(const struct rkt_run_dir *dir);

#endif
