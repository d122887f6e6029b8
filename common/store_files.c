/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/descriptor.h"
#include "common/store_beside.h"

/* ---- descriptors ---- */

/* False: none of ours is open. */
static bool suspend_oldest(struct rkt_store_files *files)
{
    struct rkt_store_file *oldest = NULL;

    for (size_t i = 0; i < files->count; i++) {
        struct rkt_store_file *file = &files->items[i];

        if (file->fd >= 0 && (!oldest || file->used_at < oldest->used_at))
            oldest = file;
    }
    if (!oldest)
        return false;
    rkt_store_file_suspend(oldest);
    files->open_count--;
    return true;
}

void rkt_store_files_rest(struct rkt_store_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        rkt_store_file_suspend(&files->items[i]);
    files->open_count = 0;
}

typedef enum rkt_status (*open_fn)(void *ctx, struct rkt_error *err);

/* Opens by `open`, for which others of ours make room. */
static enum rkt_status open_within_limit(struct rkt_store_files *files, open_fn open, void *ctx,
                                         struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status;

    if (files->open_count >= RKT_STORE_OPEN_FILES_MAX)
        suspend_oldest(files);
    do
        status = open(ctx, &why);
    while (status != RKT_OK && (why.sys_errno == EMFILE || why.sys_errno == ENFILE) &&
           suspend_oldest(files));
    if (status == RKT_OK)
        files->open_count++;
    else if (err)
        *err = why;
    return status;
}

static enum rkt_status resume(void *ctx, struct rkt_error *err)
{
    return rkt_store_file_resume(ctx, err);
}

enum rkt_status rkt_store_files_get(struct rkt_store_files *files, uint16_t number,
                                    const struct rkt_store_file **file_out, struct rkt_error *err)
{
    struct rkt_store_file *file = &files->items[number];

    if (file->fd < 0) {
        enum rkt_status status = open_within_limit(files, resume, file, err);

        if (status != RKT_OK)
            return status;
    }
    file->used_at = ++files->use_count;
    *file_out = file;
    return RKT_OK;
}

/* ---- names ---- */

struct opening {
    const char *path;
    struct rkt_store_file file;
};

static enum rkt_status open_path(void *ctx, struct rkt_error *err)
{
    struct opening *opening = ctx;

    return rkt_store_file_open(opening->path, &opening->file, err);
}

static enum rkt_status add_path(struct rkt_store_files *files, const char *path,
                                struct rkt_error *err)
{
    struct opening opening = {.path = path};
    enum rkt_status status;

    if (!rkt_array_reserve((void **)&files->items, &files->cap, files->count + 1,
                           sizeof(*files->items)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", files->count);
    status = open_within_limit(files, open_path, &opening, err);
    if (status != RKT_OK)
        return status;
    opening.file.number = (uint16_t)files->count;
    opening.file.used_at = ++files->use_count;
    files->items[files->count++] = opening.file;
    return RKT_OK;
}

/* Where the timeline is lost, what else its run left is not. */
static enum rkt_status open_first(struct rkt_store_files *files, const char *path,
                                  struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status = add_path(files, path, &why);
    struct rkt_store_beside beside = {0};

    if (why.sys_errno == ENOENT)
        beside = rkt_store_beside_look(path);
    if (beside.shard_count + beside.spool_count > 0)
        return rkt_fail(err, RKT_ERR_IO,
                        "%s is not there, but %u shards and %u spools of its folder are: "
                        "'ranktrace recover' makes a timeline of them",
                        path, beside.shard_count, beside.spool_count);
    if (err)
        *err = why;
    return status;
}

enum rkt_status rkt_store_files_open(struct rkt_store_files *files, const char *path,
                                     struct rkt_error *err)
{
    enum rkt_status status;
    char *inner = NULL;
    struct stat st;

    *files = (struct rkt_store_files){0};
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
        asprintf(&inner, "%s/%s", path, RKT_STORE_NAME) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
    status = open_first(files, inner ? inner : path, err);
    free(inner);
    return status;
}

/* The path of `name` in the folder of the file `beside`; NULL when memory is out. free(). */
static char *path_beside(const char *beside, const char *name)
{
    const char *slash = strrchr(beside, '/');
    char *path;

    if (asprintf(&path, "%.*s%s", slash ? (int)(slash - beside) + 1 : 0, beside, name) < 0)
        return NULL;
    return path;
}

/* `beside` is free()d. */
static enum rkt_status add_beside(struct rkt_store_files *files, char *beside, const char *name,
                                  struct rkt_error *err)
{
    char *path = beside ? path_beside(beside, name) : NULL;
    enum rkt_status status =
        path ? add_path(files, path, err) : rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");

    free(path);
    free(beside);
    return status;
}

static bool is_known(const struct rkt_store_files *files, const struct rkt_store_file *file)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct rkt_store_file *other = &files->items[i];

        if (other != file && other->device == file->device && other->inode == file->inode)
            return true;
    }
    return false;
}

enum rkt_status rkt_store_files_add(struct rkt_store_files *files, const char *name,
                                    struct rkt_error *err)
{
    struct rkt_error why = {0};
    char *target;
    enum rkt_status status;

    if (!rkt_shard_file_is_plain(name))
        return rkt_fail(err, RKT_ERR_INVALID, "its name leads out of the folder: it is not read");
    status = add_beside(files, strdup(files->items[0].path), name, &why);
    target = why.sys_errno == ENOENT ? realpath(files->items[0].path, NULL) : NULL;
    if (target && add_beside(files, target, name, NULL) == RKT_OK)
        status = RKT_OK;
    if (status != RKT_OK) {
        if (err)
            *err = why;
        return status;
    }
    if (!is_known(files, &files->items[files->count - 1]))
        return RKT_OK;
    rkt_store_files_drop(files);
    return rkt_fail(err, RKT_ERR_INVALID, "it is named twice: it was read already");
}

/* ---- life cycle ---- */

void rkt_store_files_drop(struct rkt_store_files *files)
{
    struct rkt_store_file *file = &files->items[--files->count];

    files->open_count -= file->fd >= 0;
    rkt_store_file_close(file);
}

void rkt_store_files_release(struct rkt_store_files *files)
{
    while (files->count > 0)
        rkt_store_files_drop(files);
    free(files->items);
    *files = (struct rkt_store_files){0};
}
