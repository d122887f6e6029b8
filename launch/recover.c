/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/recover.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sidecar/spool.h"
#include "common/array.h"
#include "common/pack.h"
#include "common/store_writer.h"

/* As rkt_shard_file_name makes them, and how much of the name the run alone decides. */
#define HEX4 "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"
#define SHARD_PATTERN "timeline-" HEX4 HEX4 HEX4 HEX4 "-*.rkt"
#define SHARD_RUN_BYTES (sizeof("timeline-0123456789abcdef-") - 1)

/* ---- files ---- */

static enum rkt_status add_file(struct rkt_recover_files *files, const char *path,
                                struct rkt_error *err)
{
    char *copy = strdup(path);

    if (!copy || !rkt_array_reserve((void **)&files->paths, &files->cap, files->count + 1,
                                    sizeof(*files->paths))) {
        free(copy);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a list of files");
    }
    files->paths[files->count++] = copy;
    return RKT_OK;
}

static enum rkt_status add_matches(struct rkt_recover_files *files, const char *folder,
                                   const char *pattern, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    char *text = NULL;
    glob_t found;

    if (asprintf(&text, "%s/%s", folder, pattern) < 0)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a pattern");
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread. Sorted: a spool's -a before its -b */
    if (glob(text, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && status == RKT_OK; i++) {
            struct stat st;

            /* whose first write failed holds nothing */
            if (stat(found.gl_pathv[i], &st) != 0 || st.st_size > 0)
                status = add_file(files, found.gl_pathv[i], err);
        }
        globfree(&found);
    }
    free(text);
    return status;
}

/* Where timeline.rkt is lost, what it named is still there. Of one run: two make no timeline. */
static enum rkt_status add_lone_shards(struct rkt_recover_files *files, const char *folder,
                                       struct rkt_error *err)
{
    size_t first = files->count;
    enum rkt_status status = add_matches(files, folder, SHARD_PATTERN, err);

    for (size_t i = first + 1; i < files->count && status == RKT_OK; i++) {
        /* sorted, and alike up to the rank */
        if (strncmp(files->paths[first], files->paths[i], strlen(folder) + 1 + SHARD_RUN_BYTES) !=
            0)
            status = rkt_fail(err, RKT_ERR_INVALID,
                              "%s holds no timeline.rkt, and files of several runs: name those of "
                              "one",
                              folder);
    }
    return status;
}

enum rkt_status rkt_recover_find(const char *path, struct rkt_recover_files *files,
                                 struct rkt_error *err)
{
    size_t before = files->count;
    struct stat st;
    enum rkt_status status;

    if (stat(path, &st) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot read %s", path);
    if (!S_ISDIR(st.st_mode))
        return add_file(files, path, err);
    status = add_matches(files, path, "timeline.rkt", err);
    if (status == RKT_OK && files->count == before)
        status = add_lone_shards(files, path, err);
    if (status == RKT_OK)
        status = add_matches(files, path, RKT_SPOOL_PREFIX "*-[ab].rkt", err);
    if (status == RKT_OK && files->count == before)
        return rkt_fail(err, RKT_ERR_IO, "%s holds neither timeline.rkt nor a spool", path);
    return status;
}

void rkt_recover_files_release(struct rkt_recover_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct rkt_recover_files){0};
}

/* ---- frames of spools ---- */

/*
 * A frame that a spool has. Source and seq alone do not tell: rank 0 gave numbers of its own to what it
 * said of a rank that it took for lost, and the rank went on counting.
 */
struct spooled {
    uint64_t key; /* source and seq */
    uint32_t payload_crc;
    bool is_written;
};

struct merge {
    struct rkt_store_reader **readers; /* [0] is the timeline */
    size_t reader_count;
    struct spooled *spooled; /* by key, each once */
    size_t spooled_count;
    size_t spooled_cap;
    struct rkt_packer *packer;
    struct rkt_store_writer *writer;
    bool is_of_spool; /* the file that is being copied */
    struct rkt_recover_counts counts;
};

static struct spooled spooled_of(const struct rkt_frame_head *head)
{
    return (struct spooled){.key = (uint64_t)head->source << 32 | head->seq,
                            .payload_crc = head->payload_crc};
}

static int compare_spooled(const void *a, const void *b)
{
    const struct spooled *x = a;
    const struct spooled *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->payload_crc > y->payload_crc) - (x->payload_crc < y->payload_crc);
}

static enum rkt_status note_spooled(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                    struct rkt_error *err)
{
    struct merge *merge = ctx;
    struct rkt_frame_head head;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status != RKT_OK)
        return status;
    if (!rkt_array_reserve((void **)&merge->spooled, &merge->spooled_cap, merge->spooled_count + 1,
                           sizeof(*merge->spooled)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu frames", merge->spooled_count);
    merge->spooled[merge->spooled_count++] = spooled_of(&head);
    return RKT_OK;
}

static enum rkt_status note_all_spooled(struct merge *merge, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t kept = 0;

    for (size_t i = 1; i < merge->reader_count && status == RKT_OK; i++) {
        status = rkt_store_reader_each_frame(merge->readers[i], note_spooled, merge, err);
        rkt_store_reader_rest(merge->readers[i]);
    }
    if (merge->spooled_count == 0)
        return status;
    qsort(merge->spooled, merge->spooled_count, sizeof(*merge->spooled), compare_spooled);
    for (size_t i = 1; i < merge->spooled_count; i++) {
        if (compare_spooled(&merge->spooled[i], &merge->spooled[kept]) != 0)
            merge->spooled[++kept] = merge->spooled[i];
    }
    merge->spooled_count = kept + 1;
    return status;
}

static struct spooled *find_spooled(const struct merge *merge, const struct rkt_frame_head *head)
{
    struct spooled wanted = spooled_of(head);

    if (merge->spooled_count == 0)
        return NULL;
    return bsearch(&wanted, merge->spooled, merge->spooled_count, sizeof(wanted), compare_spooled);
}

static bool has_own_end(const struct merge *merge, uint32_t source)
{
    for (size_t i = 1; i < merge->reader_count; i++) {
        for (size_t s = 0; s < rkt_store_reader_source_count(merge->readers[i]); s++) {
            const struct rkt_store_source *one = rkt_store_reader_source(merge->readers[i], s);

            if (one->info.source == source && one->has_end)
                return true;
        }
    }
    return false;
}

/* Rank 0's END for a rank that it had lost, whose own END is in a spool. */
static bool is_overruled(const struct merge *merge, const struct rkt_frame_head *head,
                         const uint8_t *frame)
{
    struct rkt_end_info end;
    struct rkt_bytes raw;

    return head->kind == RKT_FRAME_END &&
           rkt_unpack_payload(merge->packer, head, frame + RKT_FRAME_HEAD_BYTES, &raw, NULL) ==
               RKT_OK &&
           rkt_end_info_decode(raw.at, raw.len_bytes, &end, NULL) == RKT_OK &&
           end.reason == RKT_END_LOST && has_own_end(merge, head->source);
}

static enum rkt_status copy_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                  struct rkt_error *err)
{
    struct merge *merge = ctx;
    struct rkt_frame_head head;
    struct spooled *spooled;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status != RKT_OK)
        return status;
    if (!merge->is_of_spool && is_overruled(merge, &head, frame))
        return RKT_OK;
    spooled = find_spooled(merge, &head);
    if (spooled && spooled->is_written)
        return RKT_OK;
    if (spooled)
        spooled->is_written = true;
    merge->counts.frame_count++;
    merge->counts.spool_frame_count += merge->is_of_spool;
    return rkt_store_writer_append(merge->writer, frame, frame_bytes, err);
}

/* ---- all of it ---- */

static bool is_same_file(const char *path, const struct stat *other)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_ino == other->st_ino && st.st_dev == other->st_dev;
}

static enum rkt_status check_output(const struct merge *merge, const char *output,
                                    struct rkt_error *err)
{
    struct stat st;

    if (stat(output, &st) != 0)
        return RKT_OK;
    for (size_t i = 0; i < merge->reader_count; i++) {
        const char *path;

        for (size_t file = 0; (path = rkt_store_reader_path(merge->readers[i], file)); file++) {
            if (is_same_file(path, &st))
                return rkt_fail(err, RKT_ERR_INVALID, "%s is to be recovered: give another file",
                                output);
        }
    }
    return RKT_OK;
}

static bool is_part(const struct merge *merge, size_t i)
{
    return rkt_store_reader_run(merge->readers[i])->is_part;
}

/* Of several parts the run is whole again, or as whole as it can be. */
static struct rkt_run_info output_run(const struct merge *merge)
{
    struct rkt_run_info run = *rkt_store_reader_run(merge->readers[0]);

    run.is_part = run.is_part && !(merge->reader_count > 1 && is_part(merge, 1));
    return run;
}

static void count_health(struct merge *merge, size_t i)
{
    const struct rkt_store_health *health = rkt_store_reader_health(merge->readers[i]);

    merge->counts.damaged_count += health->damaged_frames;
    if (!merge->is_of_spool) /* spools have holes */
        merge->counts.skipped_bytes += health->skipped_bytes;
    merge->counts.unread_shard_count += health->unread_shard_count;
}

static enum rkt_status write_output(struct merge *merge, const char *output, struct rkt_error *err)
{
    struct rkt_run_info run = output_run(merge);
    enum rkt_status status =
        rkt_store_writer_create(output, RKT_STORE_ATOMIC, &run, &merge->writer, err);

    if (status != RKT_OK)
        return status;
    for (size_t i = 0; i < merge->reader_count && status == RKT_OK; i++) {
        merge->is_of_spool = i > 0 && !is_part(merge, i);
        status = rkt_store_reader_each_frame(merge->readers[i], copy_frame, merge, err);
        rkt_store_reader_rest(merge->readers[i]);
        count_health(merge, i);
    }
    if (status == RKT_OK)
        status = rkt_store_writer_close(merge->writer, err);
    rkt_store_writer_destroy(merge->writer);
    return status;
}

static enum rkt_status open_readers(struct merge *merge, const struct rkt_recover_files *files,
                                    struct rkt_error *err)
{
    merge->readers = calloc(files->count, sizeof(struct rkt_store_reader *));
    merge->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (!merge->readers || !merge->packer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", files->count);
    while (merge->reader_count < files->count) {
        struct rkt_store_reader **reader = &merge->readers[merge->reader_count];
        enum rkt_status status =
            rkt_store_reader_open(files->paths[merge->reader_count], reader, err);

        if (status != RKT_OK)
            return status;
        rkt_store_reader_rest(*reader);
        merge->reader_count++;
    }
    return RKT_OK;
}

enum rkt_status rkt_recover(const struct rkt_recover_files *files, const char *output,
                            struct rkt_recover_counts *counts_out, struct rkt_error *err)
{
    struct merge merge = {0};
    enum rkt_status status = open_readers(&merge, files, err);

    if (status == RKT_OK)
        status = check_output(&merge, output, err);
    if (status == RKT_OK)
        status = note_all_spooled(&merge, err);
    if (status == RKT_OK)
        status = write_output(&merge, output, err);
    for (size_t i = 0; i < merge.reader_count; i++)
        rkt_store_reader_close(merge.readers[i]);
    free(merge.readers);
    free(merge.spooled);
    rkt_packer_destroy(merge.packer);
    if (status == RKT_OK)
        *counts_out = merge.counts;
    return status;
}
