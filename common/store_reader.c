/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/store_frames.h"

/* All knots of all sources together */
#define ALIGN_BYTES_MAX ((size_t)256 << 20)

struct rkt_store_reader {
    struct rkt_store_frames frames;
    struct rkt_store_source *sources; /* as frames.ranges */
    struct rkt_arena arena;           /* knots */
    struct rkt_decoder *decoder;
    struct rkt_batch_spans spans; /* of one source: */
    const struct rkt_store_range *spans_of;
};

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
    struct rkt_store_range range = reader->frames.ranges[position];

    for (size_t i = range.first + range.count; i-- > range.first;) {
        struct rkt_store_entry *entry = &reader->frames.entries.items[i];
        struct rkt_bytes raw = {NULL, 0};
        enum rkt_status status;

        if (entry->kind != kind)
            continue;
        status = rkt_store_frames_load(&reader->frames, entry, &raw, err);
        if (status == RKT_AGAIN)
            continue;
        if (status != RKT_OK)
            return status;
        if (decode_descriptor(reader, &reader->sources[position], kind, raw))
            return RKT_OK;
        entry->is_skipped = true;
        rkt_store_frames_count_damage(&reader->frames, entry);
    }
    return RKT_OK;
}

static bool has_events(const struct rkt_store_reader *reader, size_t position)
{
    struct rkt_store_range range = reader->frames.ranges[position];

    for (size_t i = range.first; i < range.first + range.count; i++) {
        if (rkt_frame_is_of_events(reader->frames.entries.items[i].kind))
            return true;
    }
    return false;
}

static enum rkt_status load_sources(struct rkt_store_reader *reader, struct rkt_error *err)
{
    static const uint8_t KINDS[] = {RKT_FRAME_SOURCE, RKT_FRAME_END, RKT_FRAME_ALIGN};

    size_t count = reader->frames.source_count;

    reader->sources = calloc(count + 1, sizeof(*reader->sources));
    if (!reader->sources)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu sources", count);
    for (size_t position = 0; position < count; position++) {
        struct rkt_store_source *source = &reader->sources[position];

        for (size_t k = 0; k < sizeof(KINDS); k++) {
            enum rkt_status status = load_descriptor(reader, position, KINDS[k], err);

            if (status != RKT_OK)
                return status;
        }
        source->has_events = has_events(reader, position);
        /* the frame heads' word counts */
        source->info.source = reader->frames.ranges[position].source;
        source->align.source = reader->frames.ranges[position].source;
    }
    return RKT_OK;
}

enum rkt_status rkt_store_reader_open(const char *path, struct rkt_store_reader **reader_out,
                                      struct rkt_error *err)
{
    struct rkt_store_reader *reader = calloc(1, sizeof(*reader));
    enum rkt_status status;

    if (!reader)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    rkt_arena_init(&reader->arena, ALIGN_BYTES_MAX);
    status = rkt_store_frames_open(&reader->frames, path, err);
    reader->decoder = rkt_decoder_create();
    if (status == RKT_OK && !reader->decoder)
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    if (status == RKT_OK)
        status = load_sources(reader, err);
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
    rkt_store_frames_release(&reader->frames);
    free(reader->sources);
    rkt_arena_release(&reader->arena);
    rkt_decoder_destroy(reader->decoder);
    free(reader->spans.items);
    free(reader);
}

void rkt_store_reader_rest(struct rkt_store_reader *reader)
{
    rkt_store_files_rest(&reader->frames.fetch.files);
}

/* ---- what it says ---- */

const struct rkt_run_info *rkt_store_reader_run(const struct rkt_store_reader *reader)
{
    return &reader->frames.run;
}

const struct rkt_store_health *rkt_store_reader_health(const struct rkt_store_reader *reader)
{
    return &reader->frames.health;
}

size_t rkt_store_reader_shard_count(const struct rkt_store_reader *reader)
{
    return reader->frames.shard_count;
}

const struct rkt_store_shard *rkt_store_reader_shard(const struct rkt_store_reader *reader,
                                                     size_t position)
{
    return position < reader->frames.shard_count ? &reader->frames.shards[position] : NULL;
}

const char *rkt_store_reader_path(const struct rkt_store_reader *reader, size_t file)
{
    const struct rkt_store_files *files = &reader->frames.fetch.files;

    return file < files->count ? files->items[file].path : NULL;
}

size_t rkt_store_reader_source_count(const struct rkt_store_reader *reader)
{
    return reader->frames.source_count;
}

const struct rkt_store_source *rkt_store_reader_source(const struct rkt_store_reader *reader,
                                                       size_t position)
{
    return position < reader->frames.source_count ? &reader->sources[position] : NULL;
}

enum rkt_status rkt_store_reader_set_align(struct rkt_store_reader *reader, size_t position,
                                           const struct rkt_align_info *align,
                                           struct rkt_error *err)
{
    struct rkt_store_source *source = &reader->sources[position];
    struct rkt_align_knot *knots =
        RKT_ARENA_ARRAY(&reader->arena, struct rkt_align_knot, align->knot_count + 1);

    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align->knot_count);
    if (align->knot_count > 0)
        memcpy(knots, align->knots, align->knot_count * sizeof(*knots));
    source->align = *align;
    source->align.source = source->info.source;
    source->align.knots = knots;
    source->has_align = true;
    return RKT_OK;
}

uint64_t rkt_store_reader_source_bytes(const struct rkt_store_reader *reader, size_t position)
{
    uint64_t sum_bytes = 0;

    if (position < reader->frames.source_count) {
        const struct rkt_store_range *range = &reader->frames.ranges[position];

        for (size_t i = range->first; i < range->first + range->count; i++)
            sum_bytes += reader->frames.entries.items[i].frame_bytes;
    }
    return sum_bytes;
}

/* ---- walk ---- */

struct walk {
    struct rkt_store_reader *reader;
    struct rkt_strtab *tab;
    const struct rkt_store_part *part;
    uint64_t counts[RKT_EVENT_KIND_COUNT];
};

static enum rkt_status walk_names(struct walk *walk, struct rkt_store_entry *entry,
                                  struct rkt_bytes raw, struct rkt_error *err)
{
    enum rkt_status status = rkt_decode_strings(raw, walk->tab, err);

    if (status == RKT_ERR_NOMEM)
        return status;
    if (status != RKT_OK)
        rkt_store_frames_count_damage(&walk->reader->frames,
                                      entry); /* not skipped: its other names are good */
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
        rkt_store_frames_count_damage(&walk->reader->frames, entry);
        return RKT_OK;
    }
    if (batch.count == 0) { /* of a kind that this version does not know */
        entry->is_skipped = true;
        walk->reader->frames.health.unknown_frames++;
        return RKT_OK;
    }
    if (batch.unknown_count && !entry->is_counted) {
        entry->is_counted = true;
        walk->reader->frames.health.unknown_keys += batch.unknown_count;
    }
    walk->counts[batch.events[0].kind] += batch.count;
    return walk->part->fn(walk->part->ctx, batch.events, batch.count, err);
}

static int compare_spans(const void *a, const void *b)
{
    const struct rkt_batch_span *x = a;
    const struct rkt_batch_span *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

/* NULL: not known, or of another frame with that number. */
static const struct rkt_batch_span *find_span(const struct rkt_store_reader *reader,
                                              const struct rkt_store_entry *entry)
{
    struct rkt_batch_span key = {.seq = entry->seq};
    const struct rkt_batch_span *span = NULL;

    if (reader->spans.count > 0)
        span = bsearch(&key, reader->spans.items, reader->spans.count, sizeof(key), compare_spans);
    return span && span->frame_bytes == entry->frame_bytes ? span : NULL;
}

/* Counts the events of a batch that nobody wants, by its span. */
static bool is_passed_over(struct walk *walk, const struct rkt_store_entry *entry)
{
    const struct rkt_batch_span *span =
        walk->part->wanted && !entry->is_skipped ? find_span(walk->reader, entry) : NULL;

    if (!span || span->kind >= RKT_EVENT_KIND_COUNT || walk->part->wanted(walk->part->ctx, span))
        return false;
    walk->counts[span->kind] += span->event_count;
    return true;
}

static enum rkt_status walk_frame(struct walk *walk, struct rkt_store_entry *entry,
                                  struct rkt_error *err)
{
    bool has_names = entry->kind == RKT_FRAME_STRINGS && walk->tab;
    bool has_events = rkt_frame_is_of_events(entry->kind);
    struct rkt_bytes raw;
    enum rkt_status status;

    if ((!has_names && !has_events) || (has_events && is_passed_over(walk, entry)))
        return RKT_OK;
    status = rkt_store_frames_load(&walk->reader->frames, entry, &raw, err);
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

    if (reader->frames.source_count == 0)
        return NULL;
    return bsearch(&key, reader->frames.ranges, reader->frames.source_count, sizeof(key),
                   compare_ranges);
}

static enum rkt_status fail_source(const struct rkt_store_reader *reader, uint32_t source,
                                   struct rkt_error *err)
{
    return rkt_fail(err, RKT_ERR_INVALID, "%s has no source %u",
                    reader->frames.fetch.files.items[0].path, source);
}

/* A SPANS frame that is damaged tells nothing: its batches are read. */
static enum rkt_status load_spans(struct rkt_store_reader *reader,
                                  const struct rkt_store_range *range, struct rkt_error *err)
{
    reader->spans_of = NULL;
    reader->spans.count = 0;
    for (size_t i = range->first; i < range->first + range->count; i++) {
        struct rkt_store_entry *entry = &reader->frames.entries.items[i];
        enum rkt_status status = RKT_AGAIN;
        struct rkt_bytes raw;

        if (entry->kind == RKT_FRAME_SPANS)
            status = rkt_store_frames_load(&reader->frames, entry, &raw, err);
        if (status == RKT_OK)
            status = rkt_store_frames_judge(&reader->frames, entry,
                                            rkt_batch_spans_decode(raw, &reader->spans, err));
        if (status != RKT_OK && status != RKT_AGAIN)
            return status;
    }
    if (reader->spans.count > 1)
        qsort(reader->spans.items, reader->spans.count, sizeof(*reader->spans.items),
              compare_spans);
    reader->spans_of = range;
    return RKT_OK;
}

enum rkt_status rkt_store_reader_spans(struct rkt_store_reader *reader, uint32_t source,
                                       const struct rkt_batch_span **spans_out, size_t *count_out,
                                       struct rkt_error *err)
{
    const struct rkt_store_range *range = find_range(reader, source);
    enum rkt_status status = RKT_OK;

    if (!range)
        return fail_source(reader, source, err);
    if (reader->spans_of != range)
        status = load_spans(reader, range, err);
    *spans_out = reader->spans.items;
    *count_out = reader->spans.count;
    return status;
}

enum rkt_status rkt_store_reader_walk_part(struct rkt_store_reader *reader, uint32_t source,
                                           struct rkt_strtab *tab,
                                           const struct rkt_store_part *part, struct rkt_error *err)
{
    struct walk walk = {.reader = reader, .tab = tab, .part = part};
    const struct rkt_store_range *range = find_range(reader, source);

    if (!range)
        return fail_source(reader, source, err);
    if (part->wanted && reader->spans_of != range) {
        enum rkt_status status = load_spans(reader, range, err);

        if (status != RKT_OK)
            return status;
    }
    for (size_t i = range->first; i < range->first + range->count; i++) {
        enum rkt_status status = walk_frame(&walk, &reader->frames.entries.items[i], err);

        if (status != RKT_OK)
            return status;
    }
    memcpy(reader->sources[range - reader->frames.ranges].event_counts, walk.counts,
           sizeof(walk.counts));
    return RKT_OK;
}

enum rkt_status rkt_store_reader_walk(struct rkt_store_reader *reader, uint32_t source,
                                      struct rkt_strtab *tab, rkt_events_fn fn, void *ctx,
                                      struct rkt_error *err)
{
    const struct rkt_store_part all = {.fn = fn, .ctx = ctx};

    return rkt_store_reader_walk_part(reader, source, tab, &all, err);
}

uint64_t rkt_store_reader_read_bytes(const struct rkt_store_reader *reader)
{
    return reader->frames.fetch.read_bytes;
}

enum rkt_status rkt_store_reader_each_frame(struct rkt_store_reader *reader, rkt_frame_fn fn,
                                            void *ctx, struct rkt_error *err)
{
    struct rkt_store_frames *frames = &reader->frames;

    for (size_t i = 0; i < frames->entries.count; i++) {
        struct rkt_store_entry *entry = &frames->entries.items[i];
        struct rkt_frame_head head;
        enum rkt_status status;

        if (entry->is_skipped)
            continue;
        status = rkt_store_frames_judge(frames, entry,
                                        rkt_store_fetch_frame(&frames->fetch, entry, &head, err));
        if (status == RKT_AGAIN)
            continue;
        if (status == RKT_OK)
            status = fn(ctx, frames->fetch.frame, entry->frame_bytes, err);
        if (status != RKT_OK)
            return status;
    }
    return RKT_OK;
}
