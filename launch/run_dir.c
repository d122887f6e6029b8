/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/run_dir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#define FALLBACK_DIR "/tmp"
#define SOCKET_NAME "socket"

_Static_assert(sizeof(((struct sockaddr_un *)NULL)->sun_path) == RKT_SOCKET_PATH_BYTES,
               "a socket's path has another limit here");

static bool make_in(const char *base, struct rkt_run_dir *dir)
{
    int len = snprintf(dir->path, sizeof(dir->path), "%s/ranktrace-XXXXXX", base);

    if (len < 0 || (size_t)len + sizeof("/" SOCKET_NAME) > sizeof(dir->path))
        return false;
    if (!mkdtemp(dir->path)) /* 0700 */
        return false;
    (void)snprintf(dir->socket_path, sizeof(dir->socket_path), "%.*s/" SOCKET_NAME, len, dir->path);
    return true;
}

enum rkt_status rkt_run_dir_create(const char *runtime_dir, struct rkt_run_dir *dir_out,
                                   struct rkt_error *err)
{
    struct rkt_run_dir dir;

    if ((!runtime_dir || *runtime_dir != '/' || !make_in(runtime_dir, &dir)) &&
        !make_in(FALLBACK_DIR, &dir))
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot make a private folder in " FALLBACK_DIR);
    *dir_out = dir;
    return RKT_OK;
}

void rkt_run_dir_remove(const struct rkt_run_dir *dir)
{
    (void)unlink(dir->socket_path);
    (void)rmdir(dir->path);
}
