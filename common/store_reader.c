/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/codec.h"
#include "common/store_fetch.h"
#include "common/store_file.h"
#include "common/store_index.h"
#include "common/store_sources.h"

/* All knots of all sources together */
#define ALIGN_BYTES_MAX ((size_t)256 << 20)

struct rkt_store_reader {
    struct rkt_store_fetch fetch;
    struct rkt_run_info run;
    struct rkt_store_health health;

    struct rkt_store_entries entries; /* by source, then by offset */
    struct rkt_store_range *ranges;   /* of entries, one per source */
    struct rkt_store_source *sources; /* as ranges */
    size_t source_count;

    struct rkt_arena arena; /* knots */
    struct rkt_decoder *decoder;
};

/* ---- frames ---- */

static void count_damage(struct rkt_store_reader *reader, struct rkt_store_entry *entry)
{
    if (entry->is_counted)
        return;
    entry->is_counted = true;
    reader->health.damaged_frames++;
    reader->health.frame_count--;
}

/* A frame that cannot be read is skipped from now on, and counted. */
static enum rkt_status skip_damaged(struct rkt_store_reader *reader, struct rkt_store_entry *entry,
                                    enum rkt_status status)
{
    if (status == RKT_OK || status == RKT_ERR_NOMEM)
        return status;
    entry->is_skipped = true;
    reader->health.skipped_bytes += entry->frame_bytes;
    count_damage(reader, entry);
    return RKT_AGAIN;
}

/*
 * The raw payload of a frame. RKT_AGAIN: it cannot be had, which is counted; go on with the
 * next. Another status: the reader cannot go on.
 */
static enum rkt_status load(struct rkt_store_reader *reader, struct rkt_store_entry *entry,
                            struct rkt_bytes *raw_out, struct rkt_error *err)
{
    if (entry->is_skipped)
        return RKT_AGAIN;
    return skip_damaged(reader, entry, rkt_store_fetch_raw(&reader->fetch, entry, raw_out, err));
}

/* ---- open: which frames there are ---- */

/* A store of another major version is refused with both numbers, not scanned for ours. */
static enum rkt_status check_version(const struct rkt_store_reader *reader, struct rkt_error *err)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    if (reader->fetch.file.file_bytes < sizeof(bytes) ||
        rkt_store_file_read(&reader->fetch.file, 0, bytes, sizeof(bytes), NULL) != RKT_OK ||
        rkt_frame_head_decode(bytes, sizeof(bytes), &head, err) != RKT_ERR_VERSION)
        return RKT_OK;
    return RKT_ERR_VERSION;
}

static enum rkt_status find_frames(struct rkt_store_reader *reader, struct rkt_error *err)
{
    struct rkt_store_scan scan;
    enum rkt_status status = check_version(reader, err);

    if (status != RKT_OK ||
        rkt_store_fetch_index(&reader->fetch, &reader->entries, &reader->health.has_trailer))
        return status;
    status = rkt_store_file_scan(&reader->fetch.file, &reader->entries, &scan, err);
    if (status != RKT_OK)
        return status;
    if (reader->entries.count == 0 && !scan.has_own_frames)
        return rkt_store_file_refuse(&reader->fetch.file, err);
    reader->health.damaged_frames = scan.damaged_frames;
    reader->health.skipped_bytes = reader->fetch.file.file_bytes - scan.good_bytes;
    return RKT_OK;
}

/* ---- open: descriptors ---- */

static bool decode_descriptor(struct rkt_store_reader *reader, struct rkt_store_source *source,
                              uint8_t kind, struct rkt_bytes raw)
{
    switch (kind) {
    case RKT_FRAME_SOURCE:
        return rkt_source_info_decode(raw.at, raw.len_bytes, &source->info, NULL) == RKT_OK;
    case RKT_FRAME_END:
        source->has_end = rkt_end_info_decode(raw.at, raw.len_bytes, &source->end, NULL) == RKT_OK;
        return source->has_end;
    default:
        source->has_align = rkt_align_info_decode(raw.at, raw.len_bytes, &reader->arena,
                                                  &source->align, NULL) == RKT_OK;
        return source->has_align;
    }
}

/* The last good frame of `kind` counts. */
static enum rkt_status load_descriptor(struct rkt_store_reader *reader, size_t position,
                                       uint8_t kind, struct rkt_error *err)
{
    struct rkt_store_range range = reader->ranges[position];

    for (size_t i = range.first + range.count; i-- > range.first;) {
        struct rkt_store_entry *entry = &reader->entries.items[i];
        struct rkt_bytes raw = {NULL, 0};
        enum rkt_status status;

        if (entry->kind != kind)
            continue;
        status = load(reader, entry, &raw, err);
        if (status == RKT_AGAIN)
            continue;
        if (status != RKT_OK)
            return status;
        if (decode_descriptor(reader, &reader->sources[position], kind, raw))
            return RKT_OK;
        entry->is_skipped = true;
        count_damage(reader, entry);
    }
    return RKT_OK;
}

static enum rkt_status load_sources(struct rkt_store_reader *reader, struct rkt_error *err)
{
    static const uint8_t KINDS[] = {RKT_FRAME_SOURCE, RKT_FRAME_END, RKT_FRAME_ALIGN};

    reader->sources = calloc(reader->source_count + 1, sizeof(*reader->sources));
    if (!reader->sources)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu sources", reader->source_count);
    for (size_t position = 0; position < reader->source_count; position++) {
        struct rkt_store_source *source = &reader->sources[position];

        for (size_t k = 0; k < sizeof(KINDS); k++) {
            enum rkt_status status = load_descriptor(reader, position, KINDS[k], err);

            if (status != RKT_OK)
                return status;
        }
        source->info.source = reader->ranges[position].source; /* the frame heads' word counts */
        source->align.source = reader->ranges[position].source;
    }
    return RKT_OK;
}

/* The first good one counts; a store that lost it is readable all the same. */
static enum rkt_status load_run(struct rkt_store_reader *reader, struct rkt_store_entry *runs,
                                size_t run_count, struct rkt_error *err)
{
    for (size_t i = 0; i < run_count; i++) {
        struct rkt_bytes raw = {NULL, 0};
        enum rkt_status status = load(reader, &runs[i], &raw, err);

        if (status == RKT_AGAIN)
            continue;
        if (status != RKT_OK)
            return status;
        if (rkt_run_info_decode(raw.at, raw.len_bytes, &reader->run, NULL) == RKT_OK)
            return RKT_OK;
        count_damage(reader, &runs[i]);
    }
    return RKT_OK;
}

static enum rkt_status group_frames(struct rkt_store_reader *reader, struct rkt_error *err)
{
    struct rkt_store_groups groups;
    enum rkt_status status = rkt_store_group(&reader->fetch.file, &reader->entries, &groups, err);

    if (status != RKT_OK)
        return status;
    reader->ranges = groups.ranges;
    reader->source_count = groups.range_count;
    reader->health.frame_count = reader->entries.count;
    reader->health.unknown_frames += groups.unknown_frames;
    reader->health.seq_gap_count = groups.seq_gap_count;
    status = load_run(reader, groups.runs, groups.run_count, err);
    free(groups.runs);
    return status == RKT_OK ? load_sources(reader, err) : status;
}

enum rkt_status rkt_store_reader_open(const char *path, struct rkt_store_reader **reader_out,
                                      struct rkt_error *err)
{
    struct rkt_store_reader *reader = calloc(1, sizeof(*reader));
    enum rkt_status status;

    if (!reader)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    rkt_arena_init(&reader->arena, ALIGN_BYTES_MAX);
    status = rkt_store_fetch_init(&reader->fetch, path, err);
    reader->decoder = rkt_decoder_create();
    if (status == RKT_OK && !reader->decoder)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    reader->health.file_bytes = reader->fetch.file.file_bytes;
    if (status == RKT_OK)
        status = find_frames(reader, err);
    if (status == RKT_OK)
        status = group_frames(reader, err);
    if (status != RKT_OK) {
        rkt_store_reader_close(reader);
        return status;
    }
    *reader_out = reader;
    return RKT_OK;
}

void rkt_store_reader_close(struct rkt_store_reader *reader)
{
    if (!reader)
        return;
    rkt_store_fetch_release(&reader->fetch);
    free(reader->entries.items);
    free(reader->ranges);
    free(reader->sources);
    rkt_arena_release(&reader->arena);
    rkt_decoder_destroy(reader->decoder);
    free(reader);
}

/* ---- what it says ---- */

const struct rkt_run_info *rkt_store_reader_run(const struct rkt_store_reader *reader)
{
    return &reader->run;
}

const struct rkt_store_health *rkt_store_reader_health(const struct rkt_store_reader *reader)
{
    return &reader->health;
}

size_t rkt_store_reader_source_count(const struct rkt_store_reader *reader)
{
    return reader->source_count;
}

const struct rkt_store_source *rkt_store_reader_source(const struct rkt_store_reader *reader,
                                                       size_t position)
{
    return position < reader->source_count ? &reader->sources[position] : NULL;
}

/* ---- walk ---- */

struct walk {
    struct rkt_store_reader *reader;
    struct rkt_strtab *tab;
    rkt_events_fn fn;
    void *ctx;
    uint64_t counts[RKT_EVENT_KIND_COUNT];
};

static enum rkt_status walk_names(struct walk *walk, struct rkt_store_entry *entry,
                                  struct rkt_bytes raw, struct rkt_error *err)
{
    enum rkt_status status = rkt_decode_strings(raw, walk->tab, err);

    if (status == RKT_ERR_NOMEM)
        return status;
    if (status != RKT_OK)
        count_damage(walk->reader, entry); /* not skipped: its other names are good */
    return RKT_OK;
}

static enum rkt_status walk_events(struct walk *walk, struct rkt_store_entry *entry,
                                   struct rkt_bytes raw, struct rkt_error *err)
{
    struct rkt_batch batch;
    enum rkt_status status = rkt_decode_events(walk->reader->decoder, raw, &batch, err);

    if (status == RKT_ERR_NOMEM)
        return status;
    if (status != RKT_OK) {
        entry->is_skipped = true;
        count_damage(walk->reader, entry);
        return RKT_OK;
    }
    if (batch.count == 0) { /* of a kind that this version does not know */
        entry->is_skipped = true;
        walk->reader->health.unknown_frames++;
        return RKT_OK;
    }
    if (batch.unknown_count && !entry->is_counted) {
        entry->is_counted = true;
        walk->reader->health.unknown_keys += batch.unknown_count;
    }
    walk->counts[batch.events[0].kind] += batch.count;
    return walk->fn(walk->ctx, batch.events, batch.count, err);
}

static enum rkt_status walk_frame(struct walk *walk, struct rkt_store_entry *entry,
                                  struct rkt_error *err)
{
    bool has_names = entry->kind == RKT_FRAME_STRINGS && walk->tab;
    struct rkt_bytes raw;
    enum rkt_status status;

    if (!has_names && !rkt_frame_is_of_events(entry->kind))
        return RKT_OK;
    status = load(walk->reader, entry, &raw, err);
    if (status != RKT_OK)
        return status == RKT_AGAIN ? RKT_OK : status;
    if (has_names)
        return walk_names(walk, entry, raw, err);
    return walk_events(walk, entry, raw, err);
}

static int compare_ranges(const void *key, const void *item)
{
    const struct rkt_store_range *a = key;
    const struct rkt_store_range *b = item;

    return (a->source > b->source) - (a->source < b->source);
}

static const struct rkt_store_range *find_range(const struct rkt_store_reader *reader,
                                                uint32_t source)
{
    struct rkt_store_range key = {.source = source};

    if (reader->source_count == 0)
        return NULL;
    return bsearch(&key, reader->ranges, reader->source_count, sizeof(key), compare_ranges);
}

enum rkt_status rkt_store_reader_walk(struct rkt_store_reader *reader, uint32_t source,
                                      struct rkt_strtab *tab, rkt_events_fn fn, void *ctx,
                                      struct rkt_error *err)
{
    struct walk walk = {.reader = reader, .tab = tab, .fn = fn, .ctx = ctx};
    const struct rkt_store_range *range = find_range(reader, source);

    if (!range)
        return rkt_fail(err, RKT_ERR_INVALID, "%s has no source %u", reader->fetch.file.path,
                        source);
    for (size_t i = range->first; i < range->first + range->count; i++) {
        enum rkt_status status = walk_frame(&walk, &reader->entries.items[i], err);

        if (status != RKT_OK)
            return status;
    }
    memcpy(reader->sources[range - reader->ranges].event_counts, walk.counts, sizeof(walk.counts));
    return RKT_OK;
}

enum rkt_status rkt_store_reader_each_frame(struct rkt_store_reader *reader, rkt_frame_fn fn,
                                            void *ctx, struct rkt_error *err)
{
    for (size_t i = 0; i < reader->entries.count; i++) {
        struct rkt_store_entry *entry = &reader->entries.items[i];
        struct rkt_frame_head head;
        enum rkt_status status;

        if (entry->is_skipped)
            continue;
        status =
            skip_damaged(reader, entry, rkt_store_fetch_frame(&reader->fetch, entry, &head, err));
        if (status == RKT_AGAIN)
            continue;
        if (status == RKT_OK)
            status = fn(ctx, reader->fetch.frame, entry->frame_bytes, err);
        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}
