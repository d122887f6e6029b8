/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_LAUNCH_INSTALL_H
#define RKT_LAUNCH_INSTALL_H

/*
 * install - where the other parts of this ranktrace are.
 *
 * Found from the running program's own file, so that a tree can be moved, linked to or
 * run from the build folder:
 *
 *     PREFIX/bin/ranktrace                     PREFIX/bin/ranktrace-*  (build folder)
 *     PREFIX/libexec/ranktrace/ranktrace-*     PREFIX/lib/libranktrace.so
 *     PREFIX/share/ranktrace/torch_hook
 *
 * Threads: one at a time.
 */

#include <limits.h>
#include <stdbool.h>

#include "common/status.h"

struct rkt_install {
    char program_dir[PATH_MAX]; /* where the running program is, links resolved */
    char prefix[PATH_MAX];
};

enum rkt_status rkt_install_locate(struct rkt_install *install_out, struct rkt_error *err);

/* As locate, for the program at `program_path` (absolute, links resolved). */
enum rkt_status rkt_install_from(const char *program_path, struct rkt_install *install_out,
                                 struct rkt_error *err);

/* Each writes the path of what is there and can be used; false, *path unspecified, otherwise. */
bool rkt_install_program(const struct rkt_install *install, const char *name, char path[PATH_MAX]);
bool rkt_install_library(const struct rkt_install *install, const char *name, char path[PATH_MAX]);
bool rkt_install_share(const struct rkt_install *install, const char *name, char path[PATH_MAX]);

#endif
