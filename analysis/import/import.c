/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/import/import_paths.h"
#include "analysis/import/kineto.h"
#include "analysis/import/rank_of_file.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/source_writer.h"
#include "common/store_writer.h"

/* Earlier (September 2001) is no calendar time of a trace but a clock since boot. */
#define CALENDAR_NS_MIN INT64_C(1000000000000000000)

/* One file on its way into the store. */
struct trace {
    struct rkt_import_file *file;
    struct rkt_source_info info;
    bool is_aligned;
    int64_t offset_ns; /* trace time to calendar time */
};

struct import {
    const struct rkt_import_options *options;
    struct rkt_import_report *report;
    struct rkt_error *err;
    struct rkt_store_writer *store;
    struct trace *traces; /* those that were taken, by source number */
    size_t trace_count;
};

/* Frames to the store; those before the first events wait until the file has shown to be a trace. */
struct sink {
    struct rkt_store_writer *store;
    uint8_t *held;
    size_t held_bytes;
    bool is_open;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static enum rkt_status sink_open(struct sink *sink, struct rkt_error *err)
{
    size_t at = 0;
    enum rkt_status status = RKT_OK;

    sink->is_open = true;
    while (at < sink->held_bytes && status == RKT_OK) {
        struct rkt_frame_head head;
        size_t bytes;

        status = rkt_frame_head_decode(sink->held + at, sink->held_bytes - at, &head, err);
        if (status != RKT_OK)
            break;
        bytes = RKT_FRAME_HEAD_BYTES + head.packed_bytes;
        status = rkt_store_writer_append(sink->store, sink->held + at, bytes, err);
        at += bytes;
    }
    return status;
}

static enum rkt_status sink_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct sink *sink = ctx;
    struct rkt_frame_head head;
    enum rkt_status status = RKT_OK;
    uint8_t *held;

    if (sink->is_open)
        return rkt_store_writer_append(sink->store, frame, frame_bytes, err);
    if (rkt_frame_head_decode(frame, frame_bytes, &head, err) == RKT_OK &&
        head.kind == RKT_FRAME_EVENTS) {
        status = sink_open(sink, err);
        return status == RKT_OK ? rkt_store_writer_append(sink->store, frame, frame_bytes, err)
                                : status;
    }
    held = realloc(sink->held, sink->held_bytes + frame_bytes);
    if (!held)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame");
    sink->held = held;
    memcpy(sink->held + sink->held_bytes, frame, frame_bytes);
    sink->held_bytes += frame_bytes;
    return RKT_OK;
}

/* ---- one file ---- */

/* Why this file cannot be taken as a trace; NULL when it can. */
static const char *why_no_trace(const struct rkt_kineto_facts *facts)
{
    const struct rkt_json_stats *json = &facts->json;

    if (facts->is_kineto)
        return NULL;
    if (!json->has_events)
        return "is JSON, but no trace: it has no traceEvents; give what torch.profiler exports";
    if (json->event_count == 0 && json->damaged_count > 0)
        return "has no event that can be read";
    if (json->event_count > 0 && facts->skipped_count == json->event_count)
        return "is JSON, but no trace: nothing in it is an event with a ph, ts and dur";
    return NULL;
}

static void add_note(struct rkt_import_file *file, const char *text)
{
    size_t used = strlen(file->note);

    (void)snprintf(file->note + used, sizeof(file->note) - used, "%s%s", used > 0 ? "; " : "",
                   text);
}

static void note_damage(struct rkt_import_file *file, const struct rkt_text_damage *damage,
                        const struct rkt_json_stats *json)
{
    char text[256];

    if (damage->is_damaged) {
        (void)snprintf(text, sizeof(text), "damaged at byte %" PRIu64 ": %s; kept what came before",
                       damage->file_offset, damage->what);
        add_note(file, text);
    }
    if (json->is_cut && !damage->is_damaged)
        add_note(file, "cut: the file ends inside the trace");
    if (json->damaged_count > 0) {
        (void)snprintf(text, sizeof(text),
                       "%" PRIu64 " event%s (%" PRIu64
                       " bytes) could not be read, from byte %" PRIu64 " of the JSON on",
                       json->damaged_count, json->damaged_count == 1 ? "" : "s",
                       json->damaged_bytes, json->first_damage);
        add_note(file, text);
    }
    file->is_damaged = damage->is_damaged || json->is_cut || json->damaged_count > 0;
}

static void note_facts(struct rkt_import_file *file, const struct rkt_kineto_facts *facts)
{
    char text[128];

    file->world_size = facts->world_size;
    file->json_bytes = facts->json.json_bytes;
    file->event_count = facts->event_count;
    file->skipped_count = facts->skipped_count;
    file->left_out_count = facts->left_out_count;
    file->damaged_count = facts->json.damaged_count;
    if (facts->event_count == 0)
        add_note(file, "no events in it: this rank is empty");
    else if (facts->gpu_count == 0)
        add_note(file, "no GPU work in it");
    if (facts->skipped_count > 0) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " slices without a usable ts and dur",
                       facts->skipped_count);
        add_note(file, text);
    }
    if (facts->json.repaired_count > 0) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " events with characters that JSON forbids",
                       facts->json.repaired_count);
        add_note(file, text);
    }
}

static void take_rank(struct trace *trace, const struct rkt_kineto_facts *facts)
{
    struct rkt_import_file *file = trace->file;

    trace->info.rank_known = true;
    if (facts->has_rank) {
        trace->info.rank = facts->rank;
        file->rank_source = facts->rank_source;
    } else if (rkt_rank_of_file(file->path, &trace->info.rank)) {
        file->rank_source = "file name";
    } else {
        trace->info.rank_known = false;
        file->rank_source = "order";
    }
}

static void take_facts(struct trace *trace, const struct rkt_kineto_facts *facts)
{
    struct rkt_source_info *info = &trace->info;

    take_rank(trace, facts);
    info->world_size = facts->world_size;
    info->pid = facts->pid;
    info->base_ns = facts->has_base ? facts->base_ns : 0;
    memcpy(info->program, facts->program, sizeof(info->program));
    memcpy(info->host, facts->host, sizeof(info->host));
    trace->offset_ns = info->base_ns;
    trace->is_aligned = facts->first_ns <= INT64_MAX && info->base_ns >= 0 &&
                        (int64_t)facts->first_ns >= CALENDAR_NS_MIN - info->base_ns;
}

/* The file's frames; *reason_out is set where it is no trace. */
static enum rkt_status read_into(struct rkt_text_source *source, struct trace *trace,
                                 struct sink *sink, const char **reason_out, struct rkt_error *err)
{
    struct rkt_kineto_facts facts;
    struct rkt_end_info end = {0};
    struct rkt_source_writer *writer = NULL;
    enum rkt_status status = rkt_source_writer_create(&trace->info, sink_frame, sink, &writer, err);

    if (status == RKT_OK)
        status = rkt_kineto_read(source, 0, writer, &facts, err);
    if (status == RKT_OK)
        *reason_out = why_no_trace(&facts);
    if (status != RKT_OK || *reason_out)
        goto out;
    note_facts(trace->file, &facts);
    note_damage(trace->file, rkt_text_source_damage(source), &facts.json);
    take_facts(trace, &facts);
    status = sink->is_open ? RKT_OK : sink_open(sink, err);
    if (status == RKT_OK)
        status = rkt_source_writer_update(writer, &trace->info, err);
    end.cut_short = trace->file->is_damaged;
    if (status == RKT_OK)
        status = rkt_source_writer_end(writer, &end, err);
out:
    rkt_source_writer_destroy(writer);
    return status;
}

/* A file that is no trace: an error, or skipped if a folder brought it along. */
static enum rkt_status refuse(struct import *import, const struct rkt_import_path *path,
                              struct rkt_import_file *file, const struct rkt_text_damage *damage,
                              const char *reason)
{
    if (damage->is_damaged)
        (void)snprintf(file->note, sizeof(file->note),
                       "damaged at byte %" PRIu64 ": %s; nothing before it could be read",
                       damage->file_offset, damage->what);
    else
        (void)snprintf(file->note, sizeof(file->note), "%s", reason);
    file->is_skipped = true;
    file->is_damaged = damage->is_damaged;
    if (path->from_folder)
        return RKT_OK;
    return rkt_fail(import->err, RKT_ERR_FORMAT, "%s: %s", path->path, file->note);
}

static enum rkt_status import_file(struct import *import, const struct rkt_import_path *path,
                                   struct rkt_import_file *file)
{
    struct trace *trace = &import->traces[import->trace_count];
    struct sink sink = {.store = import->store};
    struct rkt_text_source *source = NULL;
    struct rkt_error inner = {0};
    const char *reason = NULL;
    enum rkt_status status;

    (void)snprintf(file->path, sizeof(file->path), "%s", path->path);
    trace->file = file;
    trace->info = (struct rkt_source_info){.source = (uint32_t)import->trace_count,
                                           .producer = RKT_PRODUCER_KINETO,
                                           .role = RKT_ROLE_RANK,
                                           .gpu_clock = RKT_CLOCK_TRACE};
    (void)snprintf(trace->info.file, sizeof(trace->info.file), "%s", base_name(path->path));
    status = rkt_text_source_open(path->path, &source, import->err);
    if (status != RKT_OK)
        return status;
    status = read_into(source, trace, &sink, &reason, &inner);
    if (status == RKT_ERR_FORMAT && !sink.is_open)
        reason = inner.text;
    if (reason)
        status = refuse(import, path, file, rkt_text_source_damage(source), reason);
    else if (status == RKT_OK)
        import->trace_count++;
    else if (status == RKT_ERR_IO && import->err)
        *import->err = inner; /* names its file already */
    else
        status = rkt_fail(import->err, status, "%s: %s", path->path, inner.text);
    rkt_text_source_close(source);
    free(sink.held);
    return status;
}

/* ---- all files ---- */

static const struct trace *trace_of_rank(const struct import *import, uint32_t rank)
{
    for (size_t i = 0; i < import->trace_count; i++) {
        if (import->traces[i].info.rank_known && import->traces[i].info.rank == rank)
            return &import->traces[i];
    }
    return NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct trace *const *p = a;
    const struct trace *const *q = b;

    return ((*p)->info.rank > (*q)->info.rank) - ((*p)->info.rank < (*q)->info.rank);
}

static enum rkt_status check_ranks(struct import *import)
{
    const struct trace **sorted = calloc(import->trace_count + 1, sizeof(const struct trace *));
    enum rkt_status status = RKT_OK;
    size_t count = 0;

    if (!sorted)
        return rkt_fail(import->err, RKT_ERR_NOMEM, "no memory for a list of ranks");
    for (size_t i = 0; i < import->trace_count; i++) {
        if (import->traces[i].info.rank_known)
            sorted[count++] = &import->traces[i];
    }
    qsort(sorted, count, sizeof(const struct trace *), by_rank);
    for (size_t i = 1; i < count && status == RKT_OK; i++) {
        if (sorted[i]->info.rank == sorted[i - 1]->info.rank)
            status = rkt_fail(import->err, RKT_ERR_INVALID,
                              "two files of rank %u: %s (by %s) and %s (by %s): give one per rank",
                              sorted[i]->info.rank, sorted[i - 1]->file->path,
                              sorted[i - 1]->file->rank_source, sorted[i]->file->path,
                              sorted[i]->file->rank_source);
    }
    free(sorted);
    return status;
}

static enum rkt_status append_source(struct import *import, const struct rkt_source_info *info)
{
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t bytes = 0;
    enum rkt_status status = rkt_source_info_encode(info, raw, sizeof(raw), &bytes, import->err);

    return status == RKT_OK ? rkt_store_writer_append_payload(import->store, RKT_FRAME_SOURCE,
                                                              info->source, raw, bytes, import->err)
                            : status;
}

/* Files that say no rank get the lowest ones that are free, in the order given. */
static enum rkt_status give_ranks(struct import *import)
{
    enum rkt_status status = RKT_OK;
    uint32_t next = 0;

    for (size_t i = 0; i < import->trace_count && status == RKT_OK; i++) {
        struct trace *trace = &import->traces[i];

        if (trace->info.rank_known) {
            trace->file->rank = trace->info.rank;
            continue;
        }
        while (trace_of_rank(import, next))
            next++;
        trace->info.rank = next;
        trace->info.rank_known = true;
        trace->file->rank = next;
        add_note(trace->file, "the file says no rank: taken from the order of the files");
        status = append_source(import, &trace->info);
    }
    return status;
}

static enum rkt_status append_align(struct import *import, const struct trace *trace)
{
    struct rkt_align_knot knot = {.local_ns = 0, .offset_ns = trace->offset_ns};
    struct rkt_align_info align = {.source = trace->info.source, .knots = &knot, .knot_count = 1};
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t bytes = 0;
    enum rkt_status status;

    align.state = trace->is_aligned ? RKT_ALIGN_WALL_CLOCK : RKT_ALIGN_UNALIGNED;
    status = rkt_align_info_encode(&align, raw, sizeof(raw), &bytes, import->err);
    return status == RKT_OK ? rkt_store_writer_append_payload(import->store, RKT_FRAME_ALIGN,
                                                              align.source, raw, bytes, import->err)
                            : status;
}

static enum rkt_status align_all(struct import *import)
{
    enum rkt_status status = RKT_OK;
    size_t unaligned = 0;

    for (size_t i = 0; i < import->trace_count && status == RKT_OK; i++) {
        unaligned += !import->traces[i].is_aligned && import->traces[i].file->event_count > 0;
        status = append_align(import, &import->traces[i]);
    }
    if (unaligned > 0 && import->trace_count > 1)
        (void)snprintf(import->report->warning, sizeof(import->report->warning),
                       "%zu of %zu files give no calendar time: their ranks cannot be put on one "
                       "clock with the others",
                       unaligned, import->trace_count);
    return status;
}

static int by_rank_and_skipped(const void *a, const void *b)
{
    const struct rkt_import_file *p = a;
    const struct rkt_import_file *q = b;

    if (p->is_skipped != q->is_skipped)
        return p->is_skipped - q->is_skipped;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

static enum rkt_status import_all(struct import *import, const struct rkt_import_paths *paths)
{
    enum rkt_status status = RKT_OK;

    for (size_t i = 0; i < paths->count && status == RKT_OK; i++)
        status = import_file(import, &paths->items[i], &import->report->files[i]);
    if (status == RKT_OK && import->trace_count == 0)
        status = rkt_fail(import->err, RKT_ERR_FORMAT, "%s: none of its %zu files is a trace",
                          import->options->paths[0], paths->count);
    if (status == RKT_OK)
        status = check_ranks(import);
    if (status == RKT_OK)
        status = give_ranks(import);
    if (status == RKT_OK)
        status = align_all(import);
    return status;
}

/* Before anything is read: the output must be new, or be allowed to go, and be no input. */
static enum rkt_status check_output(const struct rkt_import_options *options,
                                    const struct rkt_import_paths *paths, struct rkt_error *err)
{
    struct stat out;

    if (stat(options->output, &out) != 0)
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

static enum rkt_status import_paths(struct import *import, const struct rkt_import_paths *paths)
{
    struct rkt_run_info run = run_info();
    enum rkt_status status = check_output(import->options, paths, import->err);

    if (status != RKT_OK)
        return status;
    import->report->files = calloc(paths->count, sizeof(*import->report->files));
    import->traces = calloc(paths->count, sizeof(*import->traces));
    if (!import->report->files || !import->traces)
        return rkt_fail(import->err, RKT_ERR_NOMEM, "no memory for %zu files", paths->count);
    import->report->file_count = paths->count;
    status = rkt_store_writer_create(import->options->output, RKT_STORE_ATOMIC, &run,
                                     &import->store, import->err);
    if (status == RKT_OK)
        status = import_all(import, paths);
    if (status == RKT_OK)
        status = rkt_store_writer_close(import->store, import->err);
    if (status == RKT_OK)
        import->report->output_bytes = rkt_store_writer_bytes(import->store);
    rkt_store_writer_destroy(import->store);
    return status;
}

enum rkt_status rkt_import(const struct rkt_import_options *options,
                           struct rkt_import_report *report_out, struct rkt_error *err)
{
    struct rkt_import_report report = {0};
    struct import import = {.options = options, .report = &report, .err = err};
    struct rkt_import_paths paths;
    enum rkt_status status;

    if (options->path_count == 0)
        return rkt_fail(err, RKT_ERR_INVALID, "no trace is given");
    status = rkt_import_paths_init(options->paths, options->path_count, &paths, err);
    if (status != RKT_OK)
        return status;
    status = import_paths(&import, &paths);
    rkt_import_paths_release(&paths);
    free(import.traces);
    if (status != RKT_OK) {
        rkt_import_report_release(&report);
        return status;
    }
    qsort(report.files, report.file_count, sizeof(*report.files), by_rank_and_skipped);
    *report_out = report;
    return RKT_OK;
}

void rkt_import_report_release(struct rkt_import_report *report)
{
    free(report->files);
    memset(report, 0, sizeof(*report));
}
