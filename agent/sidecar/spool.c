/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"

struct rkt_spool {
    char *path;
    int fd; /* -1: not made yet */
    bool is_broken;
    uint64_t limit_bytes;
    uint8_t *head; /* NULL: none */
    size_t head_bytes;

    /* sizes of the frames that are not acknowledged: a queue in an array */
    size_t *sizes;
    size_t size_cap;
    size_t first_kept; /* index of the oldest */
    size_t first_unsent;
    size_t size_count;

    uint64_t start_offset; /* in the file: behind the head */
    uint64_t kept_offset;
    uint64_t next_offset;
    uint64_t end_offset;
    uint64_t punched_offset;

    uint8_t *frame; /* room for the first */
    size_t frame_cap;
    bool has_frame;
};

enum rkt_status rkt_spool_create(const char *path, uint64_t limit_bytes,
                                 struct rkt_spool **spool_out, struct rkt_error *err)
{
    struct rkt_spool *spool = calloc(1, sizeof(*spool));

    if (spool)
        spool->path = strdup(path);
    if (!spool || !spool->path) {
        free(spool);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a spool");
    }
    spool->fd = -1;
    spool->limit_bytes = limit_bytes;
    *spool_out = spool;
    return RKT_OK;
}

void rkt_spool_destroy(struct rkt_spool *spool)
{
    if (!spool)
        return;
    if (spool->fd >= 0) {
        close(spool->fd);
        if (rkt_spool_bytes(spool) == 0)
            (void)unlink(spool->path);
    }
    free(spool->path);
    free(spool->head);
    free(spool->sizes);
    free(spool->frame);
    free(spool);
}

uint64_t rkt_spool_bytes(const struct rkt_spool *spool)
{
    return spool->end_offset - spool->kept_offset;
}

bool rkt_spool_has_unsent(const struct rkt_spool *spool)
{
    return spool->first_unsent < spool->size_count;
}

bool rkt_spool_is_full(const struct rkt_spool *spool)
{
    return spool->is_broken || rkt_spool_bytes(spool) >= spool->limit_bytes;
}

bool rkt_spool_is_broken(const struct rkt_spool *spool)
{
    return spool->is_broken;
}

const char *rkt_spool_path(const struct rkt_spool *spool)
{
    return spool->path;
}

static enum rkt_status break_off(struct rkt_spool *spool, const char *what, struct rkt_error *err)
{
    spool->is_broken = true;
    return rkt_fail_errno(err, RKT_ERR_IO, "cannot %s %s", what, spool->path);
}

/* All of it or nothing: what does not go in whole is cut off again. */
static enum rkt_status write_whole(struct rkt_spool *spool, const uint8_t *bytes, size_t count,
                                   struct rkt_error *err)
{
    size_t done = 0;

    while (done < count) {
        ssize_t got =
            pwrite(spool->fd, bytes + done, count - done, (off_t)(spool->end_offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            enum rkt_status status = break_off(spool, "write", err);

            (void)!ftruncate(spool->fd, (off_t)spool->end_offset);
            return status;
        }
        done += (size_t)got;
    }
    return RKT_OK;
}

static void start_at(struct rkt_spool *spool, uint64_t offset)
{
    spool->start_offset = offset;
    spool->kept_offset = spool->next_offset = spool->end_offset = spool->punched_offset = offset;
}

static enum rkt_status make_file(struct rkt_spool *spool, struct rkt_error *err)
{
    enum rkt_status status;

    spool->fd = open(spool->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spool->fd < 0)
        return break_off(spool, "make", err);
    status = write_whole(spool, spool->head, spool->head_bytes, err);
    if (status == RKT_OK)
        start_at(spool, spool->head_bytes);
    return status;
}

enum rkt_status rkt_spool_set_head(struct rkt_spool *spool, const uint8_t *head, size_t head_bytes,
                                   struct rkt_error *err)
{
    uint8_t *copy = malloc(head_bytes);

    if (!copy)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the head of a spool");
    memcpy(copy, head, head_bytes);
    free(spool->head);
    spool->head = copy;
    spool->head_bytes = head_bytes;
    return RKT_OK;
}

/* The acknowledged part of the array and of the file goes when it is worth it. */
static void give_back(struct rkt_spool *spool)
{
    if (spool->first_kept == spool->size_count) {
        spool->first_kept = spool->first_unsent = spool->size_count = 0;
        if (ftruncate(spool->fd, (off_t)spool->start_offset) == 0)
            start_at(spool, spool->start_offset);
        return;
    }
    if (spool->kept_offset - spool->punched_offset >= RKT_SPOOL_PUNCH_BYTES &&
        fallocate(spool->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)spool->punched_offset,
                  (off_t)(spool->kept_offset - spool->punched_offset)) == 0)
        spool->punched_offset = spool->kept_offset;
    if (spool->first_kept > spool->size_count / 2) {
        memmove(spool->sizes, spool->sizes + spool->first_kept,
                (spool->size_count - spool->first_kept) * sizeof(*spool->sizes));
        spool->first_unsent -= spool->first_kept;
        spool->size_count -= spool->first_kept;
        spool->first_kept = 0;
    }
}

enum rkt_status rkt_spool_push(struct rkt_spool *spool, const uint8_t *frame, size_t frame_bytes,
                               struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (rkt_spool_is_full(spool))
        return RKT_AGAIN;
    if (spool->fd < 0)
        status = make_file(spool, err);
    if (status != RKT_OK)
        return status;
    if (!rkt_array_reserve((void **)&spool->sizes, &spool->size_cap, spool->size_count + 1,
                           sizeof(*spool->sizes)))
        return RKT_AGAIN;
    status = write_whole(spool, frame, frame_bytes, err);
    if (status != RKT_OK)
        return status;
    spool->sizes[spool->size_count++] = frame_bytes;
    spool->end_offset += frame_bytes;
    return RKT_OK;
}

enum rkt_status rkt_spool_first(struct rkt_spool *spool, const uint8_t **frame_out,
                                size_t *frame_bytes_out, struct rkt_error *err)
{
    size_t frame_bytes;

    if (!rkt_spool_has_unsent(spool))
        return RKT_AGAIN;
    frame_bytes = spool->sizes[spool->first_unsent];
    if (!rkt_array_reserve((void **)&spool->frame, &spool->frame_cap, frame_bytes, 1))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame of %zu bytes", frame_bytes);
    for (size_t done = 0; !spool->has_frame && done < frame_bytes;) {
        ssize_t got = pread(spool->fd, spool->frame + done, frame_bytes - done,
                            (off_t)(spool->next_offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return break_off(spool, "read", err);
        done += (size_t)got;
    }
    spool->has_frame = true;
    *frame_out = spool->frame;
    *frame_bytes_out = frame_bytes;
    return RKT_OK;
}

void rkt_spool_sent(struct rkt_spool *spool)
{
    spool->has_frame = false;
    spool->next_offset += spool->sizes[spool->first_unsent++];
}

void rkt_spool_rewind(struct rkt_spool *spool)
{
    spool->has_frame = false;
    spool->first_unsent = spool->first_kept;
    spool->next_offset = spool->kept_offset;
}

void rkt_spool_acked(struct rkt_spool *spool)
{
    spool->kept_offset += spool->sizes[spool->first_kept++];
    give_back(spool);
}
