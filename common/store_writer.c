/* SPDX-License-Identifier: Apache-2.0 */
#include "common/store_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/codec_write.h"
#include "common/pack.h"
#include "common/store_index.h"

/* Partial files of one process and path that may stand beside each other. */
#define PARTIAL_NAMES_MAX 100u

struct rkt_store_writer {
    char *path;
    char *partial_path; /* ATOMIC, until the rename; else NULL */
    int fd;
    uint64_t file_bytes; /* whole frames */
    struct rkt_packer *packer;
    struct rkt_codec_buf index_raw;

    uint32_t *next_seqs; /* by source */
    size_t next_seq_count;
    size_t next_seq_cap;

    /* frames since the last INDEX frame */
    struct rkt_store_entry *entries;
    size_t entry_count;
    uint64_t first_offset;

    uint64_t index_offset; /* of the last INDEX frame; 0: none yet */
    uint32_t index_count;
    uint32_t shard_count;
    uint64_t frame_count; /* INDEX frames not counted */
    bool is_synced;       /* once was, and so it will be closed */

    bool has_failed;
    struct rkt_error failure;
};

/* After a failed write nothing is written any more. */
static enum rkt_status fail_again(const struct rkt_store_writer *writer, struct rkt_error *err)
{
    if (err)
        *err = writer->failure;
    return writer->failure.status;
}

static enum rkt_status fail_write(struct rkt_store_writer *writer, int reason,
                                  struct rkt_error *err)
{
    writer->has_failed = true;
    /* So that the file ends with a whole frame; where that fails too, readers skip the rest. */
    (void)!ftruncate(writer->fd, (off_t)writer->file_bytes);
    errno = reason;
    rkt_fail_errno(&writer->failure, RKT_ERR_IO, "%s: cannot write after %llu bytes; %s",
                   writer->path, (unsigned long long)writer->file_bytes,
                   writer->partial_path ? "it is left as it was before"
                                        : "what was written before is kept");
    return fail_again(writer, err);
}

static enum rkt_status write_all(struct rkt_store_writer *writer, const uint8_t *bytes,
                                 size_t len_bytes, struct rkt_error *err)
{
    size_t done = 0;

    while (done < len_bytes) {
        ssize_t got = write(writer->fd, bytes + done, len_bytes - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail_write(writer, got < 0 ? errno : ENOSPC, err);
        done += (size_t)got;
    }
    writer->file_bytes += len_bytes;
    return RKT_OK;
}

static enum rkt_status write_index(struct rkt_store_writer *writer, struct rkt_error *err)
{
    struct rkt_store_index index = {writer->index_offset, writer->first_offset, writer->entries,
                                    writer->entry_count};
    struct rkt_frame_head head = {
        .kind = RKT_FRAME_INDEX, .source = RKT_FRAME_SOURCE_NONE, .seq = writer->index_count};
    uint64_t offset = writer->file_bytes;
    struct rkt_bytes frame;
    enum rkt_status status = rkt_store_index_encode(&index, &writer->index_raw, err);

    if (status == RKT_OK)
        status = rkt_pack_frame(
            writer->packer, &head,
            (struct rkt_bytes){writer->index_raw.bytes, writer->index_raw.len_bytes}, &frame, err);
    if (status == RKT_OK)
        status = write_all(writer, frame.at, frame.len_bytes, err);
    if (status != RKT_OK)
        return status;
    writer->index_offset = offset;
    writer->index_count++;
    writer->entry_count = 0;
    writer->first_offset = writer->file_bytes;
    return RKT_OK;
}

static enum rkt_status write_trailer(struct rkt_store_writer *writer, struct rkt_error *err)
{
    struct rkt_store_trailer trailer = {
        .index_offset = writer->index_offset,
        .frame_count = writer->frame_count,
        .file_bytes = writer->file_bytes + RKT_STORE_TRAILER_BYTES,
        .index_count = writer->index_count,
    };
    uint8_t bytes[RKT_STORE_TRAILER_BYTES];

    rkt_store_trailer_encode(&trailer, bytes);
    return write_all(writer, bytes, sizeof(bytes), err);
}

/*
 * Before each frame: room for what is remembered of it. Before it is packed, too: the packer's
 * buffer holds one frame at a time.
 */
static enum rkt_status prepare(struct rkt_store_writer *writer, struct rkt_error *err)
{
    if (writer->has_failed)
        return fail_again(writer, err);
    if (writer->entry_count == RKT_STORE_INDEX_FRAMES_MAX)
        return write_index(writer, err);
    return RKT_OK;
}

/* The next seq of a source, 0 for a new one; NULL when memory is out. */
static uint32_t *seq_of(struct rkt_store_writer *writer, uint32_t source)
{
    if (!rkt_array_reserve((void **)&writer->next_seqs, &writer->next_seq_cap, (size_t)source + 1,
                           sizeof(*writer->next_seqs)))
        return NULL;
    while (writer->next_seq_count <= source)
        writer->next_seqs[writer->next_seq_count++] = 0;
    return &writer->next_seqs[source];
}

/* A frame that was checked, after prepare. */
static enum rkt_status write_frame(struct rkt_store_writer *writer,
                                   const struct rkt_frame_head *head, struct rkt_bytes frame,
                                   struct rkt_error *err)
{
    uint32_t *next_seq = NULL;
    uint64_t offset = writer->file_bytes;
    enum rkt_status status;

    if (head->source != RKT_FRAME_SOURCE_NONE) {
        next_seq = seq_of(writer, head->source);
        if (!next_seq)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for source %u", head->source);
    }
    status = write_all(writer, frame.at, frame.len_bytes, err);
    if (status != RKT_OK)
        return status;
    writer->entries[writer->entry_count++] = (struct rkt_store_entry){
        .offset = offset,
        .source = head->source,
        .seq = head->seq,
        .frame_bytes = (uint32_t)frame.len_bytes,
        .kind = head->kind,
    };
    writer->frame_count++;
    if (next_seq && (int32_t)(head->seq - *next_seq) >= 0)
        *next_seq = head->seq + 1;
    return RKT_OK;
}

static enum rkt_status write_payload(struct rkt_store_writer *writer, struct rkt_frame_head *head,
                                     struct rkt_bytes raw, struct rkt_error *err)
{
    struct rkt_bytes frame;
    enum rkt_status status = prepare(writer, err);

    if (status == RKT_OK)
        status = rkt_pack_frame(writer->packer, head, raw, &frame, err);
    return status == RKT_OK ? write_frame(writer, head, frame, err) : status;
}

static enum rkt_status write_run(struct rkt_store_writer *writer, const struct rkt_run_info *run,
                                 struct rkt_error *err)
{
    struct rkt_frame_head head = {.kind = RKT_FRAME_RUN, .source = RKT_FRAME_SOURCE_NONE};
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes;
    enum rkt_status status = rkt_run_info_encode(run, raw, sizeof(raw), &raw_bytes, err);

    if (status != RKT_OK)
        return status;
    return write_payload(writer, &head, (struct rkt_bytes){raw, raw_bytes}, err);
}

/* Else somebody gave it another name, or removed it, before it was locked. */
static bool is_named(const char *path, const struct stat *st)
{
    struct stat named;

    return stat(path, &named) == 0 && named.st_dev == st->st_dev && named.st_ino == st->st_ino;
}

/* Of two that open the same file one gets it, and the other knows. */
static enum rkt_status claim(const struct rkt_store_writer *writer, bool is_new,
                             struct rkt_error *err)
{
    bool is_locked = flock(writer->fd, LOCK_EX | LOCK_NB) == 0;
    bool is_taken = !is_locked && errno == EWOULDBLOCK;
    struct stat st;

    if (fstat(writer->fd, &st) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot look at %s", writer->path);
    if (!S_ISREG(st.st_mode))
        return RKT_OK; /* a device or a pipe holds nothing that could be lost */
    if (is_taken || !is_named(writer->path, &st))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%s is being written by another run: give another output", writer->path);
    /* Where the file system has no locks, only who made the file knows that it is alone. */
    if (st.st_size > 0 || (!is_locked && !is_new))
        return rkt_fail(err, RKT_ERR_INVALID,
                        "%s exists already: remove it, or give another output", writer->path);
    return RKT_OK;
}

static enum rkt_status open_live(struct rkt_store_writer *writer, struct rkt_error *err)
{
    bool is_new;

    writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    is_new = writer->fd >= 0;
    if (!is_new && errno == EEXIST)
        writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot create %s", writer->path);
    return claim(writer, is_new, err);
}

static enum rkt_status open_partial(struct rkt_store_writer *writer, struct rkt_error *err)
{
    for (unsigned i = 0; i < PARTIAL_NAMES_MAX; i++) {
        char *name;

        if (asprintf(&name, "%s.partial-%ld-%u", writer->path, (long)getpid(), i) < 0)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
        writer->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0) {
            writer->partial_path = name;
            return RKT_OK;
        }
        free(name);
        if (errno != EEXIST)
            break;
    }
    return rkt_fail_errno(err, RKT_ERR_IO,
                          "cannot create a file beside %s (is its folder there, and writable?)",
                          writer->path);
}

/* By a name of its own, until the rename: which may replace a file, and nothing else. */
static enum rkt_status open_atomic(struct rkt_store_writer *writer, struct rkt_error *err)
{
    struct stat st;

    if (stat(writer->path, &st) == 0 && !S_ISREG(st.st_mode))
        return rkt_fail(err, RKT_ERR_INVALID, "%s is no regular file: give another output",
                        writer->path);
    return open_partial(writer, err);
}

static enum rkt_status set_up(struct rkt_store_writer *writer, enum rkt_store_mode mode,
                              const struct rkt_run_info *run, struct rkt_error *err)
{
    enum rkt_status status;

    writer->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    writer->entries = calloc(RKT_STORE_INDEX_FRAMES_MAX, sizeof(*writer->entries));
    if (!writer->path || !writer->packer || !writer->entries)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    status = mode == RKT_STORE_LIVE ? open_live(writer, err) : open_atomic(writer, err);
    return status == RKT_OK ? write_run(writer, run, err) : status;
}

enum rkt_status rkt_store_writer_create(const char *path, enum rkt_store_mode mode,
                                        const struct rkt_run_info *run,
                                        struct rkt_store_writer **writer_out, struct rkt_error *err)
{
    struct rkt_store_writer *writer = calloc(1, sizeof(*writer));
    enum rkt_status status;

    if (!writer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a store");
    writer->fd = -1;
    writer->path = strdup(path);
    rkt_codec_buf_init(&writer->index_raw);
    status = set_up(writer, mode, run, err);
    if (status != RKT_OK) {
        rkt_store_writer_destroy(writer);
        return status;
    }
    *writer_out = writer;
    return RKT_OK;
}

static enum rkt_status check_kind_and_source(uint8_t kind, uint32_t source, struct rkt_error *err)
{
    if (rkt_frame_is_of_store(kind))
        return rkt_fail(err, RKT_ERR_INVALID, "a frame of kind %u is the store's own", kind);
    if (source >= RKT_STORE_SOURCE_COUNT_MAX)
        return rkt_fail(err, RKT_ERR_RANGE, "source %u; a store holds sources 0 to %u", source,
                        RKT_STORE_SOURCE_COUNT_MAX - 1);
    return RKT_OK;
}

enum rkt_status rkt_store_writer_append(struct rkt_store_writer *writer, const uint8_t *frame,
                                        size_t frame_bytes, struct rkt_error *err)
{
    struct rkt_frame_head head;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status == RKT_AGAIN)
        return rkt_fail(err, RKT_ERR_FORMAT, "a frame of %zu bytes", frame_bytes);
    if (status != RKT_OK)
        return status;
    if (frame_bytes != (size_t)RKT_FRAME_HEAD_BYTES + head.packed_bytes)
        return rkt_fail(err, RKT_ERR_FORMAT, "frame %u of source %u: %zu bytes, its head says %u",
                        head.seq, head.source, frame_bytes,
                        RKT_FRAME_HEAD_BYTES + head.packed_bytes);
    status = check_kind_and_source(head.kind, head.source, err);
    if (status == RKT_OK)
        status = rkt_frame_payload_check(&head, frame + RKT_FRAME_HEAD_BYTES, err);
    if (status == RKT_OK)
        status = prepare(writer, err);
    if (status != RKT_OK)
        return status;
    return write_frame(writer, &head, (struct rkt_bytes){frame, frame_bytes}, err);
}

enum rkt_status rkt_store_writer_append_payload(struct rkt_store_writer *writer, uint8_t kind,
                                                uint32_t source, const uint8_t *raw,
                                                size_t raw_bytes, struct rkt_error *err)
{
    struct rkt_frame_head head = {.kind = kind, .source = source};
    enum rkt_status status = check_kind_and_source(kind, source, err);
    uint32_t *next_seq;

    if (status != RKT_OK)
        return status;
    next_seq = seq_of(writer, source);
    if (!next_seq)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for source %u", source);
    head.seq = *next_seq;
    return write_payload(writer, &head, (struct rkt_bytes){raw, raw_bytes}, err);
}

enum rkt_status rkt_store_writer_append_align(struct rkt_store_writer *writer, uint32_t source,
                                              const struct rkt_align_info *align,
                                              struct rkt_error *err)
{
    struct rkt_align_info own = *align;
    size_t cap = rkt_align_bytes_max(align->knot_count), len = 0;
    uint8_t *raw = malloc(cap);
    enum rkt_status status;

    if (!raw)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", align->knot_count);
    own.source = source;
    status = rkt_align_info_encode(&own, raw, cap, &len, err);
    if (status == RKT_OK)
        status = rkt_store_writer_append_payload(writer, RKT_FRAME_ALIGN, source, raw, len, err);
    free(raw);
    return status;
}

enum rkt_status rkt_store_writer_append_shard(struct rkt_store_writer *writer,
                                              const struct rkt_shard_info *shard,
                                              struct rkt_error *err)
{
    struct rkt_frame_head head = {
        .kind = RKT_FRAME_SHARD, .source = RKT_FRAME_SOURCE_NONE, .seq = writer->shard_count};
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes;
    enum rkt_status status = rkt_shard_info_encode(shard, raw, sizeof(raw), &raw_bytes, err);

    if (status == RKT_OK)
        status = write_payload(writer, &head, (struct rkt_bytes){raw, raw_bytes}, err);
    if (status == RKT_OK)
        writer->shard_count++;
    return status;
}

/* The folder too, so that the new name survives a power loss; some file systems refuse. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(folder);
}

enum rkt_status rkt_store_writer_sync(struct rkt_store_writer *writer, struct rkt_error *err)
{
    if (writer->has_failed)
        return fail_again(writer, err);
    if (fdatasync(writer->fd) != 0)
        return fail_write(writer, errno, err);
    if (!writer->is_synced)
        sync_folder(writer->path);
    writer->is_synced = true;
    return RKT_OK;
}

static enum rkt_status close_file(struct rkt_store_writer *writer, struct rkt_error *err)
{
    int fd = writer->fd;

    if ((writer->partial_path || writer->is_synced) && fsync(fd) != 0)
        return fail_write(writer, errno, err);
    writer->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot close %s", writer->path);
    if (!writer->partial_path)
        return RKT_OK;
    if (rename(writer->partial_path, writer->path) != 0)
        return rkt_fail_errno(err, RKT_ERR_IO, "cannot give the store its name %s", writer->path);
    free(writer->partial_path);
    writer->partial_path = NULL;
    sync_folder(writer->path);
    return RKT_OK;
}

enum rkt_status rkt_store_writer_close(struct rkt_store_writer *writer, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (writer->has_failed)
        status = fail_again(writer, err);
    if (status == RKT_OK && writer->entry_count > 0)
        status = write_index(writer, err);
    if (status == RKT_OK)
        status = write_trailer(writer, err);
    if (status == RKT_OK)
        status = close_file(writer, err);
    if (!writer->has_failed) {
        writer->has_failed = true;
        rkt_fail(&writer->failure, RKT_ERR_INVALID, "%s is closed", writer->path);
    }
    return status;
}

void rkt_store_writer_destroy(struct rkt_store_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    if (writer->partial_path)
        unlink(writer->partial_path);
    free(writer->partial_path);
    free(writer->path);
    rkt_packer_destroy(writer->packer);
    rkt_codec_buf_release(&writer->index_raw);
    free(writer->next_seqs);
    free(writer->entries);
    free(writer);
}

uint64_t rkt_store_writer_bytes(const struct rkt_store_writer *writer)
{
    return writer->file_bytes;
}
