/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/import_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/import/import.h"
#include "common/array.h"
#include "common/strtab.h"

#define MAGIC_BYTES 16u

static enum rkt_status add_path(struct rkt_import_paths *paths, const char *path, bool from_folder,
                                const struct stat *info, struct rkt_error *err)
{
    char *copy = strdup(path);

    if (!copy || !rkt_array_reserve((void **)&paths->items, &paths->cap, paths->count + 1,
                                    sizeof(*paths->items))) {
        free(copy);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    }
    paths->items[paths->count++] = (struct rkt_import_path){

        .path = copy,
        .from_folder = from_folder,
        .is_regular = S_ISREG(info->st_mode),
        .bytes = (uint64_t)info->st_size};
    if (paths->count > RKT_IMPORT_FILES_MAX)
        return rkt_fail(err, RKT_ERR_INVALID, "more than %u files", RKT_IMPORT_FILES_MAX);
    return RKT_OK;
}

/* ---- folders ---- */

static bool begins_with(const unsigned char *text, size_t len, const char *magic, size_t bytes)
{
    return len >= bytes && memcmp(text, magic, bytes) == 0;
}

/* May it be a trace, by its first bytes? An empty file may: it was meant to be one. */
static bool looks_like_trace(const char *path, const char *name)
{
    unsigned char text[MAGIC_BYTES];
    size_t at = 0;
    ssize_t len;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    len = read(fd, text, sizeof(text));
    close(fd);
    if (len <= 0)
        return len == 0 && strstr(name, ".json");
    if (begins_with(text, (size_t)len, "\x1f\x8b", 2) ||
        begins_with(text, (size_t)len, "\x28\xb5\x2f\xfd", 4) ||
        begins_with(text, (size_t)len, "SQLite format 3", 15))
        return true;
    if (begins_with(text, (size_t)len, "\xef\xbb\xbf", 3))
        at = 3;
    while (at < (size_t)len && strchr(" \t\r\n", text[at]))
        at++;
    if (at < (size_t)len && (text[at] == '{' || text[at] == '['))
        return true;
    return strstr(name, ".json"); /* broken, perhaps: that is to be said */
}

static int is_not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum rkt_status add_folder(struct rkt_import_paths *paths, const char *folder,
                                  unsigned levels, struct rkt_error *err);

/* An entry of a folder: a file, when folders are not looked for, or a folder. */
static enum rkt_status add_entry(struct rkt_import_paths *paths, const char *folder,
                                 const char *name, bool wants_folder, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    struct stat info;
    char *path;

    if (asprintf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    if (stat(path, &info) != 0)
        status = RKT_OK; /* a link that leads nowhere */
    else if (wants_folder && S_ISDIR(info.st_mode))
        status = add_folder(paths, path, 0, err);
    else if (!wants_folder && S_ISREG(info.st_mode) && looks_like_trace(path, name))
        status = add_path(paths, path, true, &info, err);
    free(path);
    return status;
}

/* The traces of a folder; where it has none, those down to `levels` below it. */
static enum rkt_status add_folder(struct rkt_import_paths *paths, const char *folder,
                                  unsigned levels, struct rkt_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_not_hidden, versionsort);
    size_t before = paths->count;
    enum rkt_status status = RKT_OK;

    if (count < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot read the folder", folder);
    for (unsigned pass = 0; pass <= levels && paths->count == before; pass++) {
        for (int i = 0; i < count && status == RKT_OK; i++)
            status = add_entry(paths, folder, entries[i]->d_name, pass > 0, err);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}

/* ---- names, patterns, lists ---- */

static enum rkt_status add_name(struct rkt_import_paths *paths, const char *name,
                                struct rkt_error *err)
{
    size_t before = paths->count;
    struct stat info;
    enum rkt_status status;

    if (stat(name, &info) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot open", name);
    if (!S_ISDIR(info.st_mode))
        return add_path(paths, name, false, &info, err);
    status = add_folder(paths, name, 1, err);
    if (status == RKT_OK && paths->count == before)
        status =
            rkt_fail(err, RKT_ERR_FORMAT,
                     "%s: no file in this folder, or right below it, begins as a trace does", name);
    return status;
}

static enum rkt_status add_pattern(struct rkt_import_paths *paths, const char *pattern,
                                   struct rkt_error *err)
{
    glob_t found;
    enum rkt_status status = RKT_OK;

    /* NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started */
    if (glob(pattern, GLOB_BRACE | GLOB_TILDE, NULL, &found) != 0)
        return rkt_fail(err, RKT_ERR_IO, "%s: no file has such a name", pattern);
    for (size_t i = 0; i < found.gl_pathc && status == RKT_OK; i++)
        status = add_name(paths, found.gl_pathv[i], err);
    globfree(&found);
    return status;
}

static enum rkt_status add_any(struct rkt_import_paths *paths, const char *name,
                               struct rkt_error *err)
{
    struct stat info;

    if (stat(name, &info) != 0 && errno == ENOENT && strpbrk(name, "*?[{"))
        return add_pattern(paths, name, err);
    return add_name(paths, name, err);
}

/* A file with one name per line; empty lines and those that begin with # are nothing. */
static enum rkt_status add_list(struct rkt_import_paths *paths, const char *list,
                                struct rkt_error *err)
{
    FILE *file = fopen(list, "re");
    enum rkt_status status = RKT_OK;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;

    if (!file)
        return rkt_fail_errno(err, RKT_ERR_IO, "%s: cannot open the list of files", list);
    while (status == RKT_OK && (len = getline(&line, &cap, file)) >= 0) {
        while (len > 0 && strchr("\r\n \t", line[len - 1]))
            line[--len] = '\0';
        if (len > 0 && line[0] != '#')
            status = add_any(paths, line, err);
    }
    free(line);
    fclose(file);
    return status;
}

/* A name that came before is left out. */
static enum rkt_status drop_repeats(struct rkt_import_paths *paths, struct rkt_error *err)
{
    struct rkt_strtab *seen = rkt_strtab_create();
    size_t kept = 0;

    if (!seen)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    for (size_t i = 0; i < paths->count; i++) {
        char *path = paths->items[i].path;
        uint32_t known = rkt_strtab_count(seen);

        if (rkt_strtab_intern(seen, path, strlen(path)) < known)
            free(path);
        else
            paths->items[kept++] = paths->items[i];
    }
    paths->count = kept;
    rkt_strtab_destroy(seen);
    return RKT_OK;
}

enum rkt_status rkt_import_paths_init(const char *const *names, size_t count,
                                      struct rkt_import_paths *paths_out, struct rkt_error *err)
{
    struct rkt_import_paths paths = {0};
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < count && status == RKT_OK; i++)
        status = names[i][0] == '@' ? add_list(&paths, names[i] + 1, err)
                                    : add_any(&paths, names[i], err);
    if (status == RKT_OK)
        status = drop_repeats(&paths, err);
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
