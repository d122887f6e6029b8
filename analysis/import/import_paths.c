/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/import_paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/array.h"

static enum rkt_status add_path(struct rkt_import_paths *paths, char *path, bool from_folder,
                                struct rkt_error *err)
{
    if (!path || !rkt_array_reserve((void **)&paths->items, &paths->cap, paths->count + 1,
                                    sizeof(*paths->items))) {
        free(path);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    }
    paths->items[paths->count++] = (struct rkt_import_path){path, from_folder};
    if (paths->count > RKT_IMPORT_FILES_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "more than %u files", RKT_IMPORT_FILES_MAX);
    return RKT_OK;
}

static bool ends_with(const char *name, const char *end)
{
    size_t name_bytes = strlen(name);
    size_t end_bytes = strlen(end);

    return name_bytes > end_bytes && strcasecmp(name + name_bytes - end_bytes, end) == 0;
}

static int is_trace_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (ends_with(entry->d_name, ".json") || ends_with(entry->d_name, ".json.gz"));
}

static enum rkt_status add_folder(struct rkt_import_paths *paths, const char *folder,
                                  struct rkt_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_trace_name, versionsort);
    enum rkt_status status = RKT_OK;

    if (count < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot read the folder", folder);
    if (count == 0)
        status = rkt_fail(err, RKT_ERR_FORMAT, "%s: no *.json or *.json.gz in this folder", folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;

        if (status == RKT_OK) {
            if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
                path = NULL;
            status = add_path(paths, path, true, err);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum rkt_status rkt_import_paths_init(const char *const *names, size_t count,
                                      struct rkt_import_paths *paths_out, struct rkt_error *err)
{
    struct rkt_import_paths paths = {0};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++) {
        struct stat info;

        if (stat(names[i], &info) != 0)
            status = rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot open", names[i]);
        else if (S_ISDIR(info.st_mode))
            status = add_folder(&paths, names[i], err);
        else
            status = add_path(&paths, strdup(names[i]), false, err);
    }
    if (status != RKT_OK) {
        rkt_import_paths_release(&paths);
        return status;
    }
    *paths_out = paths;
    return RKT_OK;
}

void rkt_import_paths_release(struct rkt_import_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->items[i].path);
    free(paths->items);
    memset(paths, 0, sizeof(*paths));
}
