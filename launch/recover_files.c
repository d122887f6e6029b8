/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/recover_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/store_beside.h"

static enum rkt_recover_kind kind_of(const char *name)
{
    switch (rkt_run_file_of(name)) {
    case RKT_RUN_FILE_SHARD:
        return RKT_RECOVER_SHARD;
    case RKT_RUN_FILE_SPOOL:
        return RKT_RECOVER_SPOOL;
    case RKT_RUN_FILE_OTHER:
        break;
    }
    return RKT_RECOVER_TIMELINE;
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static enum rkt_status add_file(struct rkt_recover_files *files, const char *path, bool is_named,
                                struct rkt_error *err)
{
    char *copy = strdup(path);

    if (!copy || !rkt_array_reserve((void **)&files->items, &files->cap, files->count + 1,
                                    sizeof(*files->items))) {
        free(copy);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    }
    files->items[files->count++] = (struct rkt_recover_file){.kind = kind_of(name_in(copy)),
                                                             .order = files->argument_count,
                                                             .is_named = is_named,
                                                             .path = copy};
    return RKT_OK;
}

static enum rkt_status add_from_folder(struct rkt_recover_files *files, const char *folder,
                                       const char *name, struct rkt_error *err)
{
    bool is_timeline = strcmp(name, RKT_STORE_NAME) == 0;
    enum rkt_status status = RKT_OK;
    struct stat st;
    char *path;

    if (!is_timeline && kind_of(name) == RKT_RECOVER_TIMELINE)
        return RKT_OK;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
    /* a spool whose first write failed holds nothing */
    if (stat(path, &st) != 0 || st.st_size > 0)
        status = add_file(files, path, is_timeline, err);
    free(path);
    return status;
}

static enum rkt_status add_folder(struct rkt_recover_files *files, const char *folder,
                                  struct rkt_error *err)
{
    size_t before = files->count;
    enum rkt_status status = RKT_OK;
    struct dirent *entry;
    DIR *dir = opendir(folder);

    if (!dir)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", folder);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while (status == RKT_OK && (entry = readdir(dir)))
        status = add_from_folder(files, folder, entry->d_name, err);
    (void)closedir(dir);
    if (status == RKT_OK && files->count == before)
        return rkt_fail(err, RKT_ERR_IO, "%s holds neither timeline.rkt nor a spool", folder);
    return status;
}

enum rkt_status rkt_recover_files_add(struct rkt_recover_files *files, const char *path,
                                      struct rkt_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", path);
    files->argument_count++;
    return S_ISDIR(st.st_mode) ? add_folder(files, path, err) : add_file(files, path, true, err);
}

static int compare_files(const void *a, const void *b)
{
    const struct rkt_recover_file *x = a;
    const struct rkt_recover_file *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->is_named != y->is_named)
        return x->is_named ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return strcmp(x->path, y->path); /* a spool's -a before its -b */
}

void rkt_recover_files_sort(struct rkt_recover_files *files)
{
    if (files->count > 0)
        qsort(files->items, files->count, sizeof(*files->items), compare_files);
}

void rkt_recover_files_release(struct rkt_recover_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    *files = (struct rkt_recover_files){0};
}
