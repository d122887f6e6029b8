/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/import/import_state.h"
#include "analysis/import/nsys.h"
#include "analysis/import/own_trace.h"
#include "common/clock.h"

#define THREADS_MAX 256u

void rkt_import_add_note(struct rkt_import_file *file, const char *format, ...)
{
    size_t used = strlen(file->note);
    va_list args;

    (void)snprintf(file->note + used, sizeof(file->note) - used, "%s", used > 0 ? "; " : "");
    used = strlen(file->note);
    va_start(args, format);
    (void)vsnprintf(file->note + used, sizeof(file->note) - used, format, args);
    va_end(args);
}

/* ---- threads ---- */

/* Takes the next group until none is left, or one failed. */
struct crew {
    struct rkt_import_state *import;
    _Atomic size_t next;
    _Atomic bool has_failed;
    pthread_mutex_t lock; /* of the error */
    enum rkt_status status;
    struct rkt_error error; /* the first of all */
};

static void note_failure(struct crew *crew, enum rkt_status status, const struct rkt_error *error)
{
    pthread_mutex_lock(&crew->lock);
    if (crew->status == RKT_OK) {
        crew->status = status;
        crew->error = *error;
    }
    pthread_mutex_unlock(&crew->lock);
    atomic_store_explicit(&crew->has_failed, true, memory_order_relaxed);
}

static void *read_groups(void *arg)
{
    struct crew *crew = arg;
    struct rkt_import_state *import = crew->import;

    while (!atomic_load_explicit(&crew->has_failed, memory_order_relaxed)) {
        size_t i = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
        struct rkt_error error = {0};
        enum rkt_status status;

        if (i >= import->group_count)
            break;
        status = rkt_import_read_group(import, &import->groups[i], &error);
        if (status != RKT_OK)
            note_failure(crew, status, &error);
    }
    return NULL;
}

static size_t thread_count(const struct rkt_import_state *import)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = import->options->thread_count;

    if (count == 0)
        count = cores > 0 ? (size_t)cores : 1;
    if (count > import->group_count)
        count = import->group_count;
    return count < THREADS_MAX ? count : THREADS_MAX;
}

/* This thread reads too, so that one which cannot be started is not missed. */
static enum rkt_status read_all(struct rkt_import_state *import, struct rkt_error *err)
{
    struct crew crew = {.import = import, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[THREADS_MAX];
    size_t wanted = thread_count(import);
    size_t started = 0;

    while (started + 1 < wanted && pthread_create(&threads[started], NULL, read_groups, &crew) == 0)
        started++;
    (void)read_groups(&crew);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&crew.lock);
    if (crew.status != RKT_OK && err)
        *err = crew.error;
    return crew.status;
}

/* ---- all files ---- */

static bool has_trace(const struct rkt_import_state *import)
{
    for (size_t i = 0; i < import->group_count; i++) {
        if (import->groups[i].is_taken)
            return true;
    }
    return false;
}

static enum rkt_status import_all(struct rkt_import_state *import, struct rkt_error *err)
{
    enum rkt_status status = rkt_import_plan(import, err);

    if (status == RKT_OK)
        status = read_all(import, err);
    if (status == RKT_OK && !has_trace(import))
        status = rkt_fail(err, RKT_ERR_FORMAT, "%s: none of its %zu files is a trace",
                          import->options->paths[0], import->item_count);
    if (status == RKT_OK)
        status = rkt_import_settle_ranks(import, err);
    if (status == RKT_OK)
        rkt_import_warn(import);
    return status;
}

/* Before anything is read: the output must be new, or be allowed to go, and be no input. */
static enum rkt_status check_output(const struct rkt_import_options *options,
                                    const struct rkt_import_paths *paths, struct rkt_error *err)
{
    struct stat out;

    if (!options->output || stat(options->output, &out) != 0)
        return RKT_OK;
    if (S_ISDIR(out.st_mode))
        return rkt_fail(err, RKT_ERR_INVALID, "%s: is a folder; name the file to write",
                        options->output);
    for (size_t i = 0; i < paths->count; i++) {
        struct stat in;

        if (stat(paths->items[i].path, &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return rkt_fail(err, RKT_ERR_INVALID, "%s: is to be written and is an input",
                            options->output);
    }
    if (!options->overwrite)
        return rkt_fail(err, RKT_ERR_INVALID, "%s: exists; --force overwrites it", options->output);
    return RKT_OK;
}

static struct rkt_run_info run_info(void)
{
    struct rkt_run_info run = {.producer = RKT_PRODUCER_KINETO,
                               .reference_clock = RKT_CLOCK_TRACE,
                               .start_realtime_ns = rkt_now_real_ns()};

    (void)snprintf(run.version, sizeof(run.version), "%s", RKT_VERSION);
    return run;
}

/* A file is one item; one that holds several processes or ranks is as many. */
static enum rkt_status count_parts(struct rkt_import_path *path, size_t *count_out,
                                   struct rkt_error *err)
{
    struct rkt_error inner = {0};
    enum rkt_status status;

    *count_out = 1;
    if (!path->is_regular)
        return RKT_OK;
    path->is_sqlite = rkt_nsys_is_sqlite(path->path);
    if (!path->is_sqlite) {
        size_t ranks = rkt_own_trace_count_parts(path->path);

        path->is_own = ranks > 0;
        *count_out = ranks > 0 ? ranks : 1;
        return RKT_OK;
    }
    status = rkt_nsys_count_parts(path->path, count_out, &inner);
    if (status == RKT_ERR_FORMAT && path->from_folder) {
        path->is_sqlite = false; /* read as JSON, it is skipped with what it looks like */
        return RKT_OK;
    }
    return status == RKT_OK ? RKT_OK : rkt_fail(err, status, "%s: %s", path->path, inner.text);
}

static void list_item(struct rkt_import_state *import, const struct rkt_import_path *path,
                      size_t part, size_t part_count)
{
    struct rkt_import_item *item = &import->items[import->item_count];
    struct rkt_import_file *file = &import->report->files[import->item_count++];

    item->path = path;
    item->file = file;
    item->is_sqlite = path->is_sqlite;
    item->is_own = path->is_own;
    item->part = (uint32_t)part;
    item->part_count = (uint32_t)part_count;
    (void)snprintf(file->path, sizeof(file->path), part_count > 1 ? "%s (%s %zu of %zu)" : "%s",
                   path->path, path->is_own ? "rank" : "process", part + 1, part_count);
}

/* How many items the files are, by file, and in all. */
static enum rkt_status count_items(struct rkt_import_state *import, struct rkt_import_paths *paths,
                                   size_t *counts, size_t *total_out, struct rkt_error *err)
{
    struct rkt_import_progress *progress = import->options->progress;
    uint64_t total_bytes = 0;

    for (size_t i = 0; i < paths->count; i++) {
        enum rkt_status status = count_parts(&paths->items[i], &counts[i], err);
        if (status != RKT_OK)
            return status;
        *total_out += counts[i];
        total_bytes += paths->items[i].bytes;
    }
    if (progress)
        atomic_store_explicit(&progress->total_bytes, total_bytes, memory_order_relaxed);
    return RKT_OK;
}

static enum rkt_status list_items(struct rkt_import_state *import, struct rkt_import_paths *paths,
                                  struct rkt_error *err)
{
    size_t *counts = calloc(paths->count + 1, sizeof(*counts));
    size_t total = 0;
    enum rkt_status status;

    if (!counts)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", paths->count);
    status = count_items(import, paths, counts, &total, err);
    if (status != RKT_OK) {
        free(counts);
        return status;
    }
    import->report->files = calloc(total + 1, sizeof(*import->report->files));
    import->items = calloc(total + 1, sizeof(*import->items));
    if (!import->report->files || !import->items) {
        free(counts);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", total);
    }
    for (size_t i = 0; i < paths->count; i++) {
        for (size_t part = 0; part < counts[i]; part++)
            list_item(import, &paths->items[i], part, counts[i]);
    }
    free(counts);
    import->report->file_count = import->item_count;
    return RKT_OK;
}

static enum rkt_status write_store(struct rkt_import_state *import, struct rkt_error *err)
{
    struct rkt_run_info run = run_info();
    struct rkt_import_store *store = &import->store;
    enum rkt_status status = RKT_OK;

    if (import->options->output)
        status = rkt_store_writer_create(import->options->output, RKT_STORE_ATOMIC, &run,
                                         &store->writer, err);
    if (status == RKT_OK)
        status = import_all(import, err);
    if (status == RKT_OK && store->writer)
        status = rkt_store_writer_close(store->writer, err);
    if (status == RKT_OK && store->writer)
        import->report->output_bytes = rkt_store_writer_bytes(store->writer);
    rkt_store_writer_destroy(store->writer);
    return status;
}

static int by_rank_and_time(const void *a, const void *b)
{
    const struct rkt_import_file *p = a;
    const struct rkt_import_file *q = b;

    if (p->is_skipped != q->is_skipped)
        return p->is_skipped - q->is_skipped;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    return (p->first_ns > q->first_ns) - (p->first_ns < q->first_ns);
}

static enum rkt_status import_paths(struct rkt_import_state *import, struct rkt_import_paths *paths,
                                    struct rkt_error *err)
{
    const struct rkt_import_options *options = import->options;
    enum rkt_status status = check_output(options, paths, err);

    if (status == RKT_OK)
        status = rkt_rank_names_init(&import->names, options->rank_regex, options->file_ranks,
                                     options->file_rank_count, err);
    if (status != RKT_OK)
        return status;
    pthread_mutex_init(&import->store.lock, NULL);
    status = rkt_rank_names_check(&import->names, paths, err);
    if (status == RKT_OK)
        status = list_items(import, paths, err);
    if (status == RKT_OK)
        status = write_store(import, err);
    rkt_import_plan_release(import);
    pthread_mutex_destroy(&import->store.lock);
    rkt_rank_names_release(&import->names);
    free(import->items);
    return status;
}

enum rkt_status rkt_import(const struct rkt_import_options *options,
                           struct rkt_import_report *report_out, struct rkt_error *err)
{
    struct rkt_import_report report = {0};
    struct rkt_import_state import = {.options = options, .report = &report};
    struct rkt_import_paths paths;
    enum rkt_status status;

    if (options->path_count == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "no trace is given");
    status = rkt_import_paths_init(options->paths, options->path_count, &paths, err);
    if (status != RKT_OK)
        return status;
    status = import_paths(&import, &paths, err);
    rkt_import_paths_release(&paths);
    if (status != RKT_OK) {
        rkt_import_report_release(&report);
        return status;
    }
    qsort(report.files, report.file_count, sizeof(*report.files), by_rank_and_time);
    *report_out = report;
    return RKT_OK;
}

void rkt_import_report_release(struct rkt_import_report *report)
{
    free(report->files);
    memset(report, 0, sizeof(*report));
}
