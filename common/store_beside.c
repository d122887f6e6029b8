/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_beside.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/frame.h"

#define HEX4 "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"

enum rkt_run_file rkt_run_file_of(const char *name)
{
    if (fnmatch("timeline-" HEX4 HEX4 HEX4 HEX4 "-*.rkt", name, 0) == 0)
        return RKT_RUN_FILE_SHARD;
    return fnmatch(RKT_SPOOL_PREFIX "*-[ab].rkt", name, 0) == 0 ? RKT_RUN_FILE_SPOOL
                                                                : RKT_RUN_FILE_OTHER;
}

/* Of a spool, behind the RUN frame that it may begin with. */
static uint64_t spooled_bytes(int folder_fd, const char *name, uint64_t file_bytes)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;
    uint64_t run_bytes = 0;

    if (fd < 0)
        return file_bytes;
    if (pread(fd, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
        rkt_frame_head_decode(bytes, sizeof(bytes), &head, NULL) == RKT_OK &&
        head.kind == RKT_FRAME_RUN)
        run_bytes = RKT_FRAME_HEAD_BYTES + (uint64_t)head.packed_bytes;
    close(fd);
    return file_bytes > run_bytes ? file_bytes - run_bytes : 0;
}

static void count_file(struct rkt_store_beside *beside, int folder_fd, const char *name)
{
    enum rkt_run_file kind = rkt_run_file_of(name);
    struct stat st;

    if (fstatat(folder_fd, name, &st, 0) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    if (kind == RKT_RUN_FILE_SPOOL) {
        uint64_t bytes = spooled_bytes(folder_fd, name, (uint64_t)st.st_size);

        beside->spool_count += bytes > 0;
        beside->spool_bytes += bytes;
    }
    beside->shard_count += kind == RKT_RUN_FILE_SHARD;
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
