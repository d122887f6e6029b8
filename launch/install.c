/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/install.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIN_DIR "bin"
#define SHARE_DIR "share/ranktrace"

/* The build folder has the one, a distribution may have another. */
static const char *const LIB_DIRS[] = {"lib", RKT_LIB_DIR};

/* Cut `suffix`, a relative path, off the end of *dir. */
static bool cut_suffix(char *dir, const char *suffix)
{
    size_t len = strlen(dir), suffix_len = strlen(suffix);

    if (len <= suffix_len || strcmp(dir + len - suffix_len, suffix) != 0 ||
        dir[len - suffix_len - 1] != '/')
        return false;
    dir[len - suffix_len - 1] = '\0';
    return true;
}

/* dir/sub/name into path, when it is there and `mode` (of access) is allowed. */
static bool find_in(const char *dir, const char *sub, const char *name, int mode,
                    char path[PATH_MAX])
{
    int len = snprintf(path, PATH_MAX, "%s/%s%s%s", dir, sub, *sub ? "/" : "", name);

    return len > 0 && len < PATH_MAX && access(path, mode) == 0;
}

enum rkt_status rkt_install_from(const char *program_path, struct rkt_install *install_out,
                                 struct rkt_error *err)
{
    const char *slash = strrchr(program_path, '/');
    size_t len = slash ? (size_t)(slash - program_path) : 0;

    if (!slash || len >= PATH_MAX)
        return rkt_fail(err, RKT_ERR_INTERNAL, "'%s' is no path of a program", program_path);
    memcpy(install_out->program_dir, program_path, len);
    install_out->program_dir[len] = '\0';
    memcpy(install_out->prefix, install_out->program_dir, len + 1);
    if (!cut_suffix(install_out->prefix, RKT_LIBEXEC_DIR))
        (void)cut_suffix(install_out->prefix, BIN_DIR);
    return RKT_OK;
}

enum rkt_status rkt_install_locate(struct rkt_install *install_out, struct rkt_error *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

    if (len < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read /proc/self/exe");
    path[len] = '\0';
    return rkt_install_from(path, install_out, err);
}

bool rkt_install_program(const struct rkt_install *install, const char *name, char path[PATH_MAX])
{
    return find_in(install->program_dir, "", name, X_OK, path) ||
           find_in(install->prefix, RKT_LIBEXEC_DIR, name, X_OK, path) ||
           find_in(install->prefix, BIN_DIR, name, X_OK, path);
}

bool rkt_install_library(const struct rkt_install *install, const char *name, char path[PATH_MAX])
{
    for (size_t i = 0; i < sizeof(LIB_DIRS) / sizeof(LIB_DIRS[0]); i++) {
        if (find_in(install->prefix, LIB_DIRS[i], name, R_OK, path))
            return true;
    }
    return false;
}

bool rkt_install_share(const struct rkt_install *install, const char *name, char path[PATH_MAX])
{
    return find_in(install->prefix, SHARE_DIR, name, R_OK, path);
}
