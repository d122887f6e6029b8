/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's files, in order of time, into one source of the store. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/import/import_state.h"
#include "analysis/import/kineto.h"
#include "analysis/import/nsys.h"
#include "analysis/import/own_trace.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/source_writer.h"
#include "common/units.h"

/* Earlier (September 2001) is no calendar time of a trace but a clock since boot. */
#define CALENDAR_NS_MIN INT64_C(1000000000000000000)
/* Later (the year 2100) is none either: the writer counted in another unit. */
#define CALENDAR_NS_MAX INT64_C(4102444800000000000)

/* Frames to the store; those before the first events wait until a file has shown to be a trace. */
struct sink {
    struct rkt_import_store *store;
    uint8_t *held;
    size_t held_bytes;
    bool is_open;
};

/* A group on its way into the store. */
struct reading {
    struct rkt_import_state *import;
    struct rkt_import_group *group;
    struct sink sink;
    struct rkt_source_writer *writer;
    struct rkt_kineto *kineto;
    const struct rkt_import_item *last; /* that was taken */
    uint64_t last_ns;                   /* stamp at which it ended */
    int64_t base_ns;                    /* of the first file: all stamps are relative to it */
    bool is_damaged;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- frames ---- */

static enum rkt_status append(struct rkt_import_store *store, const uint8_t *frame, size_t bytes,
                              struct rkt_error *err)
{
    enum rkt_status status;

    if (!store->writer)
        return RKT_OK;
    pthread_mutex_lock(&store->lock);
    status = rkt_store_writer_append(store->writer, frame, bytes, err);
    pthread_mutex_unlock(&store->lock);
    return status;
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
        status = append(sink->store, sink->held + at, bytes, err);
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
        return append(sink->store, frame, frame_bytes, err);
    if (rkt_frame_head_decode(frame, frame_bytes, &head, err) == RKT_OK &&
        rkt_frame_is_of_events(head.kind)) {
        status = sink_open(sink, err);
        return status == RKT_OK ? append(sink->store, frame, frame_bytes, err) : status;
    }
    held = realloc(sink->held, sink->held_bytes + frame_bytes);
    if (!held)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame");
    sink->held = held;
    memcpy(sink->held + sink->held_bytes, frame, frame_bytes);
    sink->held_bytes += frame_bytes;
    return RKT_OK;
}

/* ---- what is said of a file ---- */

/* Why this file cannot be taken as a trace; NULL when it can. */
static const char *why_no_trace(const struct rkt_trace_facts *facts)
{
    const struct rkt_json_stats *json = &facts->json;

    if (facts->is_trace)
        return NULL;
    if (!json->has_events)
        return "is JSON, but no trace: it has no traceEvents; give what torch.profiler exports";
    if (json->event_count == 0 && json->damaged_count > 0)
        return "has no event that can be read";
    if (json->event_count > 0 && facts->fates[RKT_FATE_STORED] + facts->fates[RKT_FATE_METADATA] +
                                         facts->fates[RKT_FATE_FLOW] ==
                                     0)
        return "is JSON, but no trace: nothing in it is an event with a ph, ts and dur";
    return NULL;
}

static void note_damage(struct rkt_import_file *file, const struct rkt_text_damage *damage,
                        const struct rkt_json_stats *json)
{
    if (damage->is_damaged)
        rkt_import_add_note(file, "damaged at byte %" PRIu64 ": %s; kept what came before",
                            damage->file_offset, damage->what);
    if (json->is_cut && !damage->is_damaged)
        rkt_import_add_note(file, "cut: the file ends inside the trace");
    if (json->damaged_count > 0)
        rkt_import_add_note(file,
                            "%" PRIu64 " event%s (%" PRIu64
                            " bytes) could not be read, from byte %" PRIu64 " of the JSON on",
                            json->damaged_count, json->damaged_count == 1 ? "" : "s",
                            json->damaged_bytes, json->first_damage);
    file->is_damaged = damage->is_damaged || json->is_cut || json->damaged_count > 0;
    memcpy(file->places, json->places, sizeof(file->places));
    file->place_count = json->place_count;
}

static void note_fates(struct rkt_import_file *file)
{
    for (int fate = 0; fate < RKT_FATE_DAMAGED; fate++) {
        if (rkt_fate_is_rejected((enum rkt_fate)fate) && file->fates[fate] > 0)
            rkt_import_add_note(file, "%" PRIu64 " %s", file->fates[fate],
                                rkt_fate_text((enum rkt_fate)fate));
    }
}

static void note_facts(struct rkt_import_file *file, const struct rkt_trace_facts *facts)
{
    const struct rkt_json_stats *json = &facts->json;

    file->world_size = facts->world_size;
    file->json_bytes = json->json_bytes;
    file->read_count = facts->read_count;
    memcpy(file->fates, facts->fates, sizeof(file->fates));
    (void)snprintf(file->host, sizeof(file->host), "%s", facts->host);
    if (facts->fates[RKT_FATE_STORED] == 0)
        rkt_import_add_note(file, "no events in it: this rank is empty");
    else if (facts->gpu_count == 0)
        rkt_import_add_note(file, "no GPU work in it");
    note_fates(file);
    if (json->is_lines)
        rkt_import_add_note(file, "one event a line, with no list around them: read as one");
    if (json->repaired_count > 0)
        rkt_import_add_note(file, "%" PRIu64 " events with characters that JSON forbids",
                            json->repaired_count);
    if (facts->is_unpadded)
        rkt_import_add_note(file,
                            "times have unpadded fractions (1 us 5 ns as 1.5), as some builds of "
                            "PyTorch wrote them: they are wrong by up to 1 us%s%s%s",
                            facts->version[0] ? " (" : "", facts->version,
                            facts->version[0] ? ")" : "");
}

/* ---- what is known of the group ---- */

static void take_rank(struct reading *reading, struct rkt_import_item *item,
                      const struct rkt_trace_facts *facts)
{
    struct rkt_source_info *info = &reading->group->info;
    struct rkt_import_file *file = item->file;
    bool is_given = item->peek.has_rank && strcmp(item->peek.rank_source, "--rank") == 0;

    if (facts->has_rank && !is_given) {
        info->rank = facts->rank;
        file->rank_source = facts->rank_source;
    } else if (item->peek.has_rank) {
        info->rank = item->peek.rank;
        file->rank_source = item->peek.rank_source;
    } else {
        file->rank_source = "order";
        return;
    }
    info->rank_known = true;
    file->rank = info->rank;
}

/* A file whose times are those of a calendar can be put on one clock with others. */
static void take_calendar(struct reading *reading, struct rkt_import_item *item,
                          const struct rkt_trace_facts *facts)
{
    int64_t first_ns;
    bool has_time = facts->first_ns <= INT64_MAX && reading->base_ns >= 0;

    if (has_time && !rkt_add_i64((int64_t)facts->first_ns, reading->base_ns, &first_ns))
        first_ns = INT64_MAX;
    reading->group->is_aligned =
        has_time && first_ns >= CALENDAR_NS_MIN && first_ns < CALENDAR_NS_MAX;
    if (has_time && first_ns >= CALENDAR_NS_MAX)
        rkt_import_add_note(item->file,
                            "its times lie past the year 2100: ts is in microseconds, and this "
                            "file's seems to be in another unit");
}

static void take_first_facts(struct reading *reading, struct rkt_import_item *item,
                             const struct rkt_trace_facts *facts)
{
    struct rkt_import_group *group = reading->group;
    struct rkt_source_info *info = &group->info;

    take_rank(reading, item, facts);
    reading->base_ns = facts->has_base ? facts->base_ns : 0;
    info->pid = facts->pid;
    info->base_ns = reading->base_ns;
    memcpy(info->program, facts->program, sizeof(info->program));
    memcpy(info->host, facts->host, sizeof(info->host));
    if (!info->host[0] &&
        rkt_host_of_file(item->path->path, facts->pid, info->host, sizeof(info->host)))
        memcpy(item->file->host, info->host, sizeof(info->host));
    (void)snprintf(info->file, sizeof(info->file), "%s", base_name(item->path->path));
    group->offset_ns = info->base_ns;
    take_calendar(reading, item, facts);
}

static int64_t with_base(const struct reading *reading, uint64_t stamp_ns)
{
    int64_t sum_ns;

    return rkt_add_i64((int64_t)stamp_ns, reading->base_ns, &sum_ns) ? sum_ns : INT64_MAX;
}

static void take_times(const struct reading *reading, struct rkt_import_file *file,
                       const struct rkt_trace_facts *facts)
{
    file->is_aligned = reading->group->is_aligned;
    if (facts->first_ns > INT64_MAX)
        return;
    file->first_ns = with_base(reading, facts->first_ns);
    file->last_ns = with_base(reading, facts->last_ns);
}

/* ---- windows ---- */

static enum rkt_status add_edge(struct reading *reading, enum rkt_window_edge edge,
                                uint64_t stamp_ns, struct rkt_error *err)
{
    struct rkt_event event = {.kind = RKT_EVENT_WINDOW,
                              .clock_id = RKT_CLOCK_TRACE,
                              .type = (uint8_t)edge,
                              .start_ns = stamp_ns,
                              .end_ns = stamp_ns,
                              .window = {UINT64_MAX}};

    return rkt_source_writer_add(reading->writer, &event, err);
}

/* A second file of the rank: it must come behind the first, and the gap between them is no idle
 * time. */
static enum rkt_status join_window(struct reading *reading, const struct rkt_import_item *item,
                                   const struct rkt_trace_facts *facts, struct rkt_error *err)
{
    char text[32];
    enum rkt_status status;

    if (facts->first_ns > INT64_MAX)
        return RKT_OK;
    if (facts->first_ns < reading->last_ns)
        return rkt_fail(
            err, RKT_ERR_INVALID,
            "two traces of rank %u overlap by %s: %s and %s: give one per rank, or say "
            "which rank each is by --rank FILE=N",
            reading->group->info.rank,
            rkt_format_duration((int64_t)(reading->last_ns - facts->first_ns), text, sizeof(text)),
            reading->last->path->path, item->path->path);
    rkt_import_add_note(
        item->file, "another window of rank %u%s, %s behind %s", reading->group->info.rank,
        facts->pid != reading->group->info.pid ? ", of another process" : "",
        rkt_format_duration((int64_t)(facts->first_ns - reading->last_ns), text, sizeof(text)),
        base_name(reading->last->path->path));
    status = add_edge(reading, RKT_WINDOW_CLOSED, reading->last_ns, err);
    return status == RKT_OK ? add_edge(reading, RKT_WINDOW_OPENED, facts->first_ns, err) : status;
}

static enum rkt_status take_facts(struct reading *reading, struct rkt_import_item *item,
                                  const struct rkt_trace_facts *facts, struct rkt_error *err)
{
    struct rkt_import_group *group = reading->group;
    enum rkt_status status = RKT_OK;

    note_facts(item->file, facts);
    if (!reading->last) {
        take_first_facts(reading, item, facts);
    } else {
        item->file->rank = group->info.rank;
        item->file->rank_source = item->peek.rank_source;
        status = join_window(reading, item, facts, err);
    }
    if (facts->world_size > group->info.world_size)
        group->info.world_size = facts->world_size;
    take_times(reading, item->file, facts);
    if (facts->last_ns > reading->last_ns)
        reading->last_ns = facts->last_ns;
    group->is_taken = true;
    reading->last = item;
    return status;
}

/* ---- reading ---- */

/* A file that is no trace: an error, or skipped if a folder brought it along. */
static enum rkt_status refuse(const struct rkt_import_item *item,
                              const struct rkt_text_damage *damage, const char *reason,
                              struct rkt_error *err)
{
    struct rkt_import_file *file = item->file;

    if (damage->is_damaged)
        rkt_import_add_note(file,
                            "damaged at byte %" PRIu64 ": %s; nothing before it could be read",
                            damage->file_offset, damage->what);
    else
        rkt_import_add_note(file, "%s", reason);
    file->is_skipped = true;
    file->is_damaged = damage->is_damaged;
    if (item->path->from_folder)
        return RKT_OK;
    return rkt_fail(err, RKT_ERR_FORMAT, "%s: %s", item->path->path, file->note);
}

/* How much later than they say the stamps of this file are on the first one's base. */
static int64_t shift_of(const struct reading *reading, const struct rkt_import_item *item)
{
    int64_t shift_ns = 0;

    if (reading->last && __builtin_sub_overflow(item->peek.base_ns, reading->base_ns, &shift_ns))
        return 0;
    return shift_ns;
}

static enum rkt_status read_text(struct reading *reading, struct rkt_import_item *item,
                                 struct rkt_text_source *source, struct rkt_error *err)
{
    struct rkt_trace_facts facts;
    struct rkt_error inner = {0};
    const char *reason = NULL;
    enum rkt_status status =
        item->is_own
            ? rkt_own_trace_read(source, item->part, reading->writer, &facts, &inner)
            : rkt_kineto_read(reading->kineto, source, shift_of(reading, item), &facts, &inner);

    if (status == RKT_OK)
        reason = why_no_trace(&facts);
    else if (status == RKT_ERR_FORMAT)
        reason = inner.text;
    if (reason)
        return refuse(item, rkt_text_source_damage(source), reason, err);
    if (status == RKT_ERR_IO && err)
        *err = inner; /* names its file already */
    else if (status != RKT_OK)
        rkt_fail(err, status, "%s: %s", item->path->path, inner.text);
    if (status != RKT_OK)
        return status;
    note_damage(item->file, rkt_text_source_damage(source), &facts.json);
    reading->is_damaged |= item->file->is_damaged;
    return take_facts(reading, item, &facts, err);
}

static enum rkt_status read_sqlite(struct reading *reading, struct rkt_import_item *item,
                                   struct rkt_error *err)
{
    struct rkt_import_progress *progress = reading->import->options->progress;
    struct rkt_trace_facts facts;
    struct rkt_text_damage damage;
    struct rkt_error inner = {0};
    enum rkt_status status =
        rkt_nsys_read(item->path->path, item->part, reading->writer, &facts, &damage, &inner);

    if (progress)
        atomic_fetch_add_explicit(&progress->done_bytes, item->path->bytes / item->part_count,
                                  memory_order_relaxed);
    if (status != RKT_OK)
        return rkt_fail(err, status, "%s: %s", item->path->path, inner.text);
    item->file->is_damaged = damage.is_damaged;
    if (damage.is_damaged)
        rkt_import_add_note(item->file, "damaged: %s; kept what could be read", damage.what);
    reading->is_damaged |= damage.is_damaged;
    facts.json.json_bytes = item->path->bytes / item->part_count;
    return take_facts(reading, item, &facts, err);
}

static enum rkt_status read_item(struct reading *reading, struct rkt_import_item *item,
                                 struct rkt_error *err)
{
    struct rkt_import_progress *progress = reading->import->options->progress;
    struct rkt_text_source *source = NULL;
    enum rkt_status status;

    if (item->is_sqlite)
        return read_sqlite(reading, item, err);
    status = rkt_text_source_open(item->path->path, &source, err);
    if (status != RKT_OK)
        return status;
    if (progress && item->part == 0) /* of a file that each of its ranks reads, once */
        rkt_text_source_count_into(source, &progress->done_bytes);
    status = read_text(reading, item, source, err);
    rkt_text_source_close(source);
    return status;
}

static enum rkt_status end_group(struct reading *reading, struct rkt_error *err)
{
    struct rkt_end_info end = {.cut_short = reading->is_damaged};
    enum rkt_status status = rkt_kineto_end(reading->kineto, err);

    if (status == RKT_OK && !reading->sink.is_open)
        status = sink_open(&reading->sink, err);
    if (status == RKT_OK)
        status = rkt_source_writer_update(reading->writer, &reading->group->info, err);
    return status == RKT_OK ? rkt_source_writer_end(reading->writer, &end, err) : status;
}

enum rkt_status rkt_import_read_group(struct rkt_import_state *import,
                                      struct rkt_import_group *group, struct rkt_error *err)
{
    struct reading reading = {.import = import, .group = group, .sink = {.store = &import->store}};
    struct rkt_kineto_options options = {.keeps_python = import->options->keeps_python};
    enum rkt_status status;

    (void)snprintf(group->info.file, sizeof(group->info.file), "%s",
                   base_name(group->items[0]->path->path));
    status =
        rkt_source_writer_create(&group->info, sink_frame, &reading.sink, &reading.writer, err);
    if (status == RKT_OK)
        status = rkt_kineto_create(&options, reading.writer, &reading.kineto, err);
    for (size_t i = 0; i < group->count && status == RKT_OK; i++)
        status = read_item(&reading, group->items[i], err);
    if (status == RKT_OK && group->is_taken)
        status = end_group(&reading, err);
    rkt_kineto_destroy(reading.kineto);
    rkt_source_writer_destroy(reading.writer);
    free(reading.sink.held);
    return status;
}
