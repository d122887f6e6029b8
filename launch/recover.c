/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/recover.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/pack.h"
#include "common/store_reader.h"
#include "common/store_writer.h"

/* ---- frames of spools ---- */

/*
 * A frame that a spool has. Source and seq alone do not tell: rank 0 gave numbers of its own to
 * what it said of a rank that it took for lost, and the rank went on counting.
 */
struct spooled {
    uint64_t key; /* source and seq */
    uint32_t payload_crc;
    bool is_written;
};

struct read_file {
    dev_t device;
    ino_t inode;
};

struct merge {
    struct rkt_store_reader **readers; /* [0] is the timeline, where there is one */
    struct rkt_recover_file **files;   /* theirs */
    size_t reader_count;
    struct read_file *read; /* by the readers, shards too */
    size_t read_count;
    size_t read_cap;
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

/* ---- what is read ---- */

static bool is_read(const struct merge *merge, const struct stat *file)
{
    for (size_t i = 0; i < merge->read_count; i++) {
        if (merge->read[i].inode == file->st_ino && merge->read[i].device == file->st_dev)
            return true;
    }
    return false;
}

static enum rkt_status note_read(struct merge *merge, const char *path, struct rkt_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return RKT_OK;
    if (!rkt_array_reserve((void **)&merge->read, &merge->read_cap, merge->read_count + 1,
                           sizeof(*merge->read)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", merge->read_count);
    merge->read[merge->read_count++] = (struct read_file){.device = st.st_dev, .inode = st.st_ino};
    return RKT_OK;
}

static enum rkt_status note_reader(struct merge *merge, const struct rkt_store_reader *reader,
                                   struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    const char *path;

    for (size_t i = 0; status == RKT_OK && (path = rkt_store_reader_path(reader, i)); i++)
        status = note_read(merge, path, err);
    return status;
}

/* Nor may it be a file that was left out: who knows what can still be made of that. */
static enum rkt_status check_output(struct merge *merge, const struct rkt_recover_files *files,
                                    const char *output, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    struct stat st;

    for (size_t i = 0; i < files->count && status == RKT_OK; i++)
        status = note_read(merge, files->items[i].path, err);
    if (status == RKT_OK && stat(output, &st) == 0 && is_read(merge, &st))
        return rkt_fail(err, RKT_ERR_INVALID, "%s is to be recovered: give another file", output);
    return status;
}

/* Each once: a shard that its timeline names is read with that. */
static enum rkt_status open_file(struct merge *merge, struct rkt_recover_file *file,
                                 struct rkt_error *err)
{
    struct rkt_store_reader *reader;
    struct stat st;

    if (stat(file->path, &st) == 0 && is_read(merge, &st))
        return RKT_OK;
    if (rkt_store_reader_open(file->path, &reader, &file->why_left_out) != RKT_OK) {
        if (file->why_left_out.status != RKT_ERR_NOMEM)
            return RKT_OK;
        *err = file->why_left_out;
        return err->status;
    }
    rkt_store_reader_rest(reader);
    merge->files[merge->reader_count] = file;
    merge->readers[merge->reader_count++] = reader;
    return note_reader(merge, reader, err);
}

static enum rkt_status open_readers(struct merge *merge, struct rkt_recover_files *files,
                                    struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    merge->readers = calloc(files->count, sizeof(struct rkt_store_reader *));
    merge->files = calloc(files->count, sizeof(struct rkt_recover_file *));
    merge->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (!merge->readers || !merge->files || !merge->packer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu files", files->count);
    for (size_t i = 0; i < files->count && status == RKT_OK; i++)
        status = open_file(merge, &files->items[i], err);
    if (status == RKT_OK && merge->reader_count == 0) {
        *err = files->items[0].why_left_out;
        return err->status;
    }
    return status;
}

static uint64_t run_id_of(const struct merge *merge, size_t i)
{
    return rkt_store_reader_run(merge->readers[i])->run_id;
}

/*
 * Of another run than the first file that says of which it is. One that a folder had too is left
 * out; one that was named, or of which nothing better says which run is meant, is for the user to
 * decide.
 */
static enum rkt_status refuse_run(struct merge *merge, size_t first, size_t i,
                                  struct rkt_error *err)
{
    struct rkt_recover_file *file = merge->files[i];

    if (file->is_named || file->kind == merge->files[first]->kind)
        return rkt_fail(err, RKT_ERR_INVALID,
                        "files of several runs, %016" PRIx64 " and %016" PRIx64 ": %s and %s",
                        run_id_of(merge, i), run_id_of(merge, first), file->path,
                        merge->files[first]->path);
    (void)rkt_fail(&file->why_left_out, RKT_ERR_INVALID,
                   "it is of run %016" PRIx64 ", not of %016" PRIx64, run_id_of(merge, i),
                   run_id_of(merge, first));
    rkt_store_reader_close(merge->readers[i]);
    merge->readers[i] = NULL;
    return RKT_OK;
}

static enum rkt_status check_runs(struct merge *merge, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    size_t count = merge->reader_count;
    size_t first = 0;
    size_t kept = 0;

    while (first < count && run_id_of(merge, first) == 0)
        first++;
    for (size_t i = first + 1; i < count && status == RKT_OK; i++) {
        if (run_id_of(merge, i) != 0 && run_id_of(merge, i) != run_id_of(merge, first))
            status = refuse_run(merge, first, i, err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!merge->readers[i])
            continue;
        merge->files[kept] = merge->files[i];
        merge->readers[kept++] = merge->readers[i];
    }
    merge->reader_count = kept;
    return status;
}

/* ---- all of it ---- */

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

enum rkt_status rkt_recover(struct rkt_recover_files *files, const char *output,
                            struct rkt_recover_counts *counts_out, struct rkt_error *err)
{
    struct merge merge = {0};
    enum rkt_status status;

    rkt_recover_files_sort(files);
    status = open_readers(&merge, files, err);
    if (status == RKT_OK)
        status = check_output(&merge, files, output, err);
    if (status == RKT_OK)
        status = check_runs(&merge, err);
    if (status == RKT_OK)
        status = note_all_spooled(&merge, err);
    if (status == RKT_OK)
        status = write_output(&merge, output, err);
    for (size_t i = 0; i < merge.reader_count; i++)
        rkt_store_reader_close(merge.readers[i]);
    free(merge.readers);
    free(merge.files);
    free(merge.read);
    free(merge.spooled);
    rkt_packer_destroy(merge.packer);
    if (status == RKT_OK)
        *counts_out = merge.counts;
    return status;
}
