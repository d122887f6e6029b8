/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_beside.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void count_file(struct rkt_store_beside *beside, int folder_fd, const char *name)
{
    struct stat st;

    if (fstatat(folder_fd, name, &st, 0) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    if (fnmatch(RKT_SPOOL_PREFIX "*-[ab].rkt", name, 0) == 0) {
        beside->spool_count++;
        beside->spool_bytes += (uint64_t)st.st_size;
    } else if (fnmatch("timeline-*-*.rkt", name, 0) == 0) {
        beside->shard_count++;
    }
}

static DIR *open_folder_of(const char *path, const char *slash)
{
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *dir = folder ? opendir(folder) : NULL;

    free(folder);
    return dir;
}

struct rkt_store_beside rkt_store_beside_look(const char *path)
{
    struct rkt_store_beside beside = {0};
    const char *slash = strrchr(path, '/');
    const struct dirent *entry;
    DIR *dir;

    if (strcmp(slash ? slash + 1 : path, RKT_STORE_NAME) != 0)
        return beside;
    dir = open_folder_of(path, slash);
    if (!dir)
        return beside;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): only threads that share `dir` would disturb each other */
    while ((entry = readdir(dir)))
        count_file(&beside, dirfd(dir), entry->d_name);
    closedir(dir);
    return beside;
}
