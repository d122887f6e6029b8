/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/store_beside.h"
#include "common/store_file.h"

/* ---- frames ---- */

void rkt_store_frames_count_damage(struct rkt_store_frames *frames, struct rkt_store_entry *entry)
{
    if (entry->is_counted)
        return;
    entry->is_counted = true;
    frames->health.damaged_frames++;
    frames->health.frame_count--;
}

enum rkt_status rkt_store_frames_judge(struct rkt_store_frames *frames,
                                       struct rkt_store_entry *entry, enum rkt_status status)
{
    if (status == RKT_OK || status == RKT_ERR_NOMEM)
        return status;
    entry->is_skipped = true;
    frames->health.skipped_bytes += entry->frame_bytes;
    rkt_store_frames_count_damage(frames, entry);
    return RKT_AGAIN;
}

enum rkt_status rkt_store_frames_load(struct rkt_store_frames *frames,
                                      struct rkt_store_entry *entry, struct rkt_bytes *raw_out,
                                      struct rkt_error *err)
{
    if (entry->is_skipped)
        return RKT_AGAIN;
    return rkt_store_frames_judge(frames, entry,
                                  rkt_store_fetch_raw(&frames->fetch, entry, raw_out, err));
}

/* ---- one file ---- */

/* A store of another major version is refused with both numbers, not scanned for ours. */
static enum rkt_status check_version(const struct rkt_store_file *file, struct rkt_error *err)
{
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head head;

    if (file->file_bytes < sizeof(bytes) ||
        rkt_store_file_read(file, 0, bytes, sizeof(bytes), NULL) != RKT_OK ||
        rkt_frame_head_decode(bytes, sizeof(bytes), &head, err) != RKT_ERR_VERSION)
        return RKT_OK;
    return RKT_ERR_VERSION;
}

static enum rkt_status scan_file(struct rkt_store_frames *frames, const struct rkt_store_file *file,
                                 struct rkt_error *err)
{
    size_t before = frames->entries.count;
    struct rkt_store_scan scan;
    enum rkt_status status = rkt_store_file_scan(file, &frames->entries, &scan, err);

    if (status != RKT_OK)
        return status;
    if (frames->entries.count == before && !scan.has_own_frames)
        return rkt_store_file_refuse(file, err);
    frames->health.damaged_frames += scan.damaged_frames;
    frames->health.skipped_bytes += file->file_bytes - scan.good_bytes;
    return RKT_OK;
}

/* The entries of a file behind those that are there. */
static enum rkt_status list_file(struct rkt_store_frames *frames, uint16_t number,
                                 bool *has_trailer_out, struct rkt_error *err)
{
    const struct rkt_store_file *file;
    enum rkt_status status = rkt_store_files_get(&frames->fetch.files, number, &file, err);

    if (status == RKT_OK)
        status = check_version(file, err);
    if (status != RKT_OK)
        return status;
    frames->health.file_bytes += file->file_bytes;
    if (rkt_store_fetch_index(&frames->fetch, number, &frames->entries, has_trailer_out))
        return RKT_OK;
    return scan_file(frames, file, err);
}

/* The first good RUN among the entries from `first` on. RKT_END: there is none. */
static enum rkt_status find_run(struct rkt_store_frames *frames, size_t first,
                                struct rkt_run_info *run_out, struct rkt_error *err)
{
    for (size_t i = first; i < frames->entries.count; i++) {
        struct rkt_store_entry *entry = &frames->entries.items[i];
        struct rkt_bytes raw = {NULL, 0};
        enum rkt_status status;

        if (entry->kind != RKT_FRAME_RUN)
            continue;
        status = rkt_store_frames_load(frames, entry, &raw, err);
        if (status == RKT_AGAIN)
            continue;
        if (status != RKT_OK)
            return status;
        if (rkt_run_info_decode(raw.at, raw.len_bytes, run_out, NULL) == RKT_OK)
            return RKT_OK;
        rkt_store_frames_count_damage(frames, entry);
    }
    return RKT_END;
}

/* ---- shards ---- */

/* Where the index file has lost its RUN, the first shard's takes its place. */
static enum rkt_status check_run(struct rkt_store_frames *frames, size_t first,
                                 struct rkt_error *err)
{
    struct rkt_run_info run;
    enum rkt_status status = find_run(frames, first, &run, err);

    if (status == RKT_END)
        return RKT_OK;
    if (status != RKT_OK)
        return status;
    if (!frames->has_run) {
        frames->run = run;
        frames->run.is_part = false;
        frames->has_run = true;
    }
    if (run.run_id == frames->run.run_id)
        return RKT_OK;
    return rkt_fail(err, RKT_ERR_INVALID,
                    "it is of another run: its id is %016" PRIx64 ", not %016" PRIx64, run.run_id,
                    frames->run.run_id);
}

/* What went in by a shard that is refused goes out again. */
static enum rkt_status read_shard(struct rkt_store_frames *frames, struct rkt_store_shard *shard,
                                  struct rkt_error *err)
{
    struct rkt_store_files *files = &frames->fetch.files;
    struct rkt_store_health before = frames->health;
    size_t first = frames->entries.count;
    enum rkt_status status = rkt_store_files_add(files, shard->info.file, err);

    if (status != RKT_OK)
        return status;
    status = list_file(frames, (uint16_t)(files->count - 1), &shard->has_trailer, err);
    if (status == RKT_OK)
        status = check_run(frames, first, err);
    if (status == RKT_OK) {
        shard->is_read = true;
        shard->file_bytes = files->items[files->count - 1].file_bytes;
        frames->health.has_trailer &= shard->has_trailer;
        return RKT_OK;
    }
    rkt_store_files_drop(files);
    shard->has_trailer = false;
    frames->entries.count = first;
    frames->health = before;
    return status;
}

static enum rkt_status add_shard(struct rkt_store_frames *frames, const struct rkt_shard_info *info,
                                 struct rkt_error *err)
{
    struct rkt_store_shard *shard;
    struct rkt_error why = {0};
    enum rkt_status status;

    if (!rkt_array_reserve((void **)&frames->shards, &frames->shard_cap, frames->shard_count + 1,
                           sizeof(*frames->shards)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu shards", frames->shard_count);
    shard = &frames->shards[frames->shard_count++];
    *shard = (struct rkt_store_shard){.info = *info};
    status = read_shard(frames, shard, &why);
    if (status == RKT_ERR_NOMEM) {
        if (err)
            *err = why;
        return status;
    }
    if (status != RKT_OK) {
        (void)snprintf(shard->problem, sizeof(shard->problem), "%s", why.text);
        frames->health.unread_shard_count++;
    }
    return RKT_OK;
}

/* RKT_AGAIN: what the SHARD frame names cannot be known, which is counted. */
static enum rkt_status load_shard_info(struct rkt_store_frames *frames,
                                       struct rkt_store_entry *entry,
                                       struct rkt_shard_info *info_out, struct rkt_error *err)
{
    struct rkt_bytes raw = {NULL, 0};
    enum rkt_status status = rkt_store_frames_load(frames, entry, &raw, err);

    if (status != RKT_OK)
        return status;
    if (rkt_shard_info_decode(raw.at, raw.len_bytes, info_out, NULL) == RKT_OK)
        return RKT_OK;
    rkt_store_frames_count_damage(frames, entry);
    return RKT_AGAIN;
}

/* Those that file 0 names, in its order; its entries are the first `count`. */
static enum rkt_status add_shards(struct rkt_store_frames *frames, size_t count,
                                  struct rkt_error *err)
{
    for (size_t i = 0; i < count; i++) {
        struct rkt_store_entry *entry = &frames->entries.items[i]; /* they move with each shard */
        enum rkt_status status = RKT_AGAIN;
        struct rkt_shard_info info;

        if (entry->kind != RKT_FRAME_SHARD)
            continue;
        frames->health.shard_count++;
        if (frames->shard_count < RKT_STORE_SHARD_COUNT_MAX)
            status = load_shard_info(frames, entry, &info, err);
        if (status == RKT_OK)
            status = add_shard(frames, &info, err);
        else if (status == RKT_AGAIN)
            frames->health.unread_shard_count++;
        if (status != RKT_OK && status != RKT_AGAIN)
            return status;
    }
    return RKT_OK;
}

/* ---- all ---- */

static enum rkt_status group(struct rkt_store_frames *frames, struct rkt_error *err)
{
    struct rkt_store_groups groups;
    enum rkt_status status = rkt_store_group(&frames->fetch.files, &frames->entries, &groups, err);

    if (status != RKT_OK)
        return status;
    frames->ranges = groups.ranges;
    frames->source_count = groups.range_count;
    frames->health.frame_count = frames->entries.count - groups.copy_count;
    frames->health.unknown_frames += groups.unknown_frames;
    frames->health.seq_gap_count = groups.seq_gap_count;
    return RKT_OK;
}

static void look_beside(struct rkt_store_frames *frames)
{
    struct rkt_store_beside beside = rkt_store_beside_look(frames->fetch.files.items[0].path);

    frames->health.spool_count = beside.spool_count;
    frames->health.spool_bytes = beside.spool_bytes;
}

enum rkt_status rkt_store_frames_open(struct rkt_store_frames *frames, const char *path,
                                      struct rkt_error *err)
{
    enum rkt_status status;

    *frames = (struct rkt_store_frames){.has_run = false};
    status = rkt_store_fetch_init(&frames->fetch, path, err);
    if (status == RKT_OK)
        status = list_file(frames, 0, &frames->health.has_trailer, err);
    if (status != RKT_OK)
        return status;
    look_beside(frames);
    status = find_run(frames, 0, &frames->run, err);
    frames->has_run = status == RKT_OK;
    if (status == RKT_OK || status == RKT_END)
        status = add_shards(frames, frames->entries.count, err);
    return status == RKT_OK ? group(frames, err) : status;
}

void rkt_store_frames_release(struct rkt_store_frames *frames)
{
    rkt_store_fetch_release(&frames->fetch);
    free(frames->shards);
    free(frames->entries.items);
    free(frames->ranges);
    *frames = (struct rkt_store_frames){.has_run = false};
}
