/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/send.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/sidecar/spool.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/descriptor.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/pack.h"
#include "common/run_message.h"

/* The last eighth of a spool is for what is never dropped while there is room. */
#define SPOOL_RESERVE 8u

struct waiting_frame {
    struct waiting_frame *next;
    size_t frame_bytes;
    bool is_kept; /* on disk, too */
    uint8_t bytes[];
};

struct rkt_send_queue {
    struct rkt_transport *transport;
    int target;
    uint64_t memory_bytes;
    uint64_t spool_bytes;
    struct rkt_spool *spool; /* NULL: none */
    char *kept_path;         /* BASE-a.rkt; NULL: none */
    uint8_t *run_frame;      /* that it begins with; NULL: not known yet */
    size_t run_frame_bytes;
    bool is_keeping;        /* what is in memory is in that file, too */
    int kept_fd;            /* -1: nothing is */
    off_t kept_start_bytes; /* its RUN frame */
    off_t kept_bytes;
    struct rkt_error keep_error;

    /* in memory: those that are sent and wait for their ACK, then those that are not sent */
    struct waiting_frame *first;
    struct waiting_frame *first_unsent;
    struct waiting_frame *last;
    uint64_t held_bytes;

    uint32_t unacked_count;
    bool is_paused;
    bool is_abandoned;
    struct rkt_send_counts counts;
};

/* ---- life ---- */

static bool add_spool(struct rkt_send_queue *queue, const struct rkt_send_config *config,
                      struct rkt_error *err)
{
    char *path;

    if (asprintf(&queue->kept_path, "%s-a.rkt", config->spool_base) < 0)
        queue->kept_path = NULL;
    if (!queue->kept_path || asprintf(&path, "%s-b.rkt", config->spool_base) < 0) {
        (void)rkt_fail(err, RKT_ERR_NOMEM, "no memory for a spool");
        return false;
    }
    queue->spool_bytes = config->spool_bytes;
    (void)rkt_spool_create(path, config->spool_bytes, &queue->spool, err);
    free(path);
    return queue->spool;
}

enum rkt_status rkt_send_queue_create(struct rkt_transport *transport,
                                      const struct rkt_send_config *config,
                                      struct rkt_send_queue **queue_out, struct rkt_error *err)
{
    struct rkt_send_queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the send queue");
    queue->transport = transport;
    queue->kept_fd = -1;
    queue->memory_bytes = config->memory_bytes;
    if (config->spool_base && !add_spool(queue, config, err)) {
        rkt_send_queue_destroy(queue);
        return RKT_ERR_NOMEM;
    }
    *queue_out = queue;
    return RKT_OK;
}

static void drop_first(struct rkt_send_queue *queue)
{
    struct waiting_frame *frame = queue->first;

    queue->first = frame->next;
    if (queue->first_unsent == frame)
        queue->first_unsent = frame->next;
    if (!queue->first)
        queue->last = NULL;
    queue->held_bytes -= frame->frame_bytes;
    free(frame);
}

/* Nothing in it is no file. */
static void close_kept(struct rkt_send_queue *queue, bool is_needed)
{
    if (!queue->kept_path || queue->kept_fd < 0)
        return;
    close(queue->kept_fd);
    queue->kept_fd = -1;
    if (!is_needed || queue->kept_bytes == queue->kept_start_bytes)
        (void)unlink(queue->kept_path);
    queue->kept_bytes = queue->kept_start_bytes = 0;
}

void rkt_send_queue_destroy(struct rkt_send_queue *queue)
{
    if (!queue)
        return;
    close_kept(queue, queue->first || queue->is_abandoned);
    while (queue->first)
        drop_first(queue);
    rkt_spool_destroy(queue->spool);
    free(queue->kept_path);
    free(queue->run_frame);
    free(queue);
}

/* ---- the run ---- */

static enum rkt_status keep_run_frame(struct rkt_send_queue *queue, struct rkt_bytes frame,
                                      struct rkt_error *err)
{
    uint8_t *copy = malloc(frame.len_bytes);

    if (!copy)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a RUN frame");
    memcpy(copy, frame.at, frame.len_bytes);
    free(queue->run_frame);
    queue->run_frame = copy;
    queue->run_frame_bytes = frame.len_bytes;
    return rkt_spool_set_head(queue->spool, frame.at, frame.len_bytes, err);
}

enum rkt_status rkt_send_queue_set_run(struct rkt_send_queue *queue, uint64_t run_id,
                                       struct rkt_error *err)
{
    const struct rkt_run_info run = {.producer = RKT_PRODUCER_CAPTURE,
                                     .reference_clock = RKT_CLOCK_MONOTONIC_RAW,
                                     .run_id = run_id};
    struct rkt_frame_head head = {.kind = RKT_FRAME_RUN, .source = RKT_FRAME_SOURCE_NONE};
    struct rkt_packer *packer;
    struct rkt_bytes frame;
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    size_t raw_bytes;
    enum rkt_status status;

    if (!queue->spool)
        return RKT_OK;
    status = rkt_run_info_encode(&run, raw, sizeof(raw), &raw_bytes, err);
    if (status != RKT_OK)
        return status;
    packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    if (!packer)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a RUN frame");
    status = rkt_pack_frame(packer, &head, (struct rkt_bytes){raw, raw_bytes}, &frame, err);
    if (status == RKT_OK)
        status = keep_run_frame(queue, frame, err);
    rkt_packer_destroy(packer);
    return status;
}

/* ---- in ---- */

static bool is_spooling(const struct rkt_send_queue *queue)
{
    return queue->spool && rkt_spool_bytes(queue->spool) > 0;
}

static enum rkt_status push_to_spool(struct rkt_send_queue *queue, const uint8_t *frame,
                                     size_t frame_bytes, struct rkt_error *err)
{
    enum rkt_status status = rkt_spool_push(queue->spool, frame, frame_bytes, err);

    if (status != RKT_OK)
        return status;
    queue->counts.spooled_frames++;
    queue->counts.pushed_frames++;
    return RKT_OK;
}

/* Errors are kept for who asks: the frame is in memory all the same. */
static bool keep_bytes(struct rkt_send_queue *queue, const uint8_t *bytes, size_t count)
{
    if (pwrite(queue->kept_fd, bytes, count, queue->kept_bytes) == (ssize_t)count) {
        queue->kept_bytes += (off_t)count;
        return true;
    }
    (void)rkt_fail_errno(&queue->keep_error, RKT_ERR_IO, "cannot write %s", queue->kept_path);
    (void)!ftruncate(queue->kept_fd, queue->kept_bytes);
    return false;
}

static bool open_kept(struct rkt_send_queue *queue)
{
    queue->kept_fd =
        open(queue->kept_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (queue->kept_fd < 0) {
        (void)rkt_fail_errno(&queue->keep_error, RKT_ERR_IO, "cannot make %s", queue->kept_path);
        return false;
    }
    if (queue->run_frame)
        (void)keep_bytes(queue, queue->run_frame, queue->run_frame_bytes);
    queue->kept_start_bytes = queue->kept_bytes;
    return true;
}

static void keep_frame(struct rkt_send_queue *queue, struct waiting_frame *frame)
{
    if (queue->kept_fd >= 0 || open_kept(queue))
        frame->is_kept = keep_bytes(queue, frame->bytes, frame->frame_bytes);
}

static enum rkt_status push_to_memory(struct rkt_send_queue *queue, const uint8_t *frame,
                                      size_t frame_bytes, struct rkt_error *err)
{
    struct waiting_frame *waiting = NULL;
    size_t total;

    if (rkt_add_size(sizeof(*waiting), frame_bytes, &total))
        waiting = malloc(total);
    if (!waiting)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a frame of %zu bytes", frame_bytes);
    waiting->next = NULL;
    waiting->frame_bytes = frame_bytes;
    waiting->is_kept = false;
    memcpy(waiting->bytes, frame, frame_bytes);
    if (queue->last)
        queue->last->next = waiting;
    else
        queue->first = waiting;
    if (!queue->first_unsent)
        queue->first_unsent = waiting;
    queue->last = waiting;
    queue->held_bytes += frame_bytes;
    queue->counts.pushed_frames++;
    if (queue->is_keeping)
        keep_frame(queue, waiting);
    return RKT_OK;
}

enum rkt_status rkt_send_queue_push(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                    struct rkt_error *err)
{
    struct rkt_send_queue *queue = ctx;
    bool can_spool = queue->spool && !rkt_spool_is_broken(queue->spool);
    uint64_t limit_bytes = can_spool ? queue->memory_bytes : 2 * queue->memory_bytes;

    if (queue->is_abandoned)
        return RKT_AGAIN;
    if (is_spooling(queue) || (can_spool && queue->held_bytes + frame_bytes > limit_bytes))
        return push_to_spool(queue, frame, frame_bytes, err);
    if (queue->held_bytes > limit_bytes)
        return RKT_AGAIN;
    return push_to_memory(queue, frame, frame_bytes, err);
}

/* ---- out ---- */

static void forget_oldest(struct rkt_send_queue *queue)
{
    if (queue->first == queue->first_unsent) {
        rkt_spool_acked(queue->spool);
        return;
    }
    drop_first(queue);
    if (!queue->first)
        close_kept(queue, false);
}

void rkt_send_queue_aim(struct rkt_send_queue *queue, int target)
{
    if (target == queue->target)
        return;
    queue->target = target;
    queue->unacked_count = 0;
    queue->first_unsent = queue->first;
    if (queue->spool)
        rkt_spool_rewind(queue->spool);
}

/* One acknowledgement; an impossible one (more than is out) gives no more than is out. */
static enum rkt_status take_ack(struct rkt_send_queue *queue, struct rkt_error *err)
{
    uint8_t buf[RKT_ACK_BYTES];
    struct rkt_arrival arrival = {0};
    uint32_t count = 0;
    enum rkt_status status =
        rkt_transport_receive(queue->transport, RKT_TAG_ACK, buf, sizeof(buf), &arrival, err);

    if (status == RKT_OK)
        status = rkt_ack_decode(buf, arrival.len_bytes, &count, err);
    if (status != RKT_OK || arrival.from != queue->target)
        return status;
    if (count > queue->unacked_count)
        count = queue->unacked_count;
    queue->unacked_count -= count;
    queue->counts.acked_frames += count;
    rkt_log(RKT_LOG_DEBUG, "send", "acknowledged", "frames=%llu",
            (unsigned long long)queue->counts.acked_frames);
    for (uint32_t i = 0; i < count && !queue->is_abandoned; i++)
        forget_oldest(queue);
    return RKT_OK;
}

/* In the order of the acknowledgements: the first `frames` of these are in rank 0's file. */
static void log_sent(const uint8_t *bytes, size_t frame_bytes)
{
    struct rkt_frame_head head;

    if (rkt_log_is_on("send", RKT_LOG_DEBUG) &&
        rkt_frame_head_decode(bytes, frame_bytes, &head, NULL) == RKT_OK)
        rkt_log(RKT_LOG_DEBUG, "send", "sent", "source=%u seq=%u bytes=%zu", head.source, head.seq,
                frame_bytes);
}

static enum rkt_status send_next(struct rkt_send_queue *queue, struct rkt_error *err)
{
    const uint8_t *bytes = queue->first_unsent ? queue->first_unsent->bytes : NULL;
    size_t frame_bytes = queue->first_unsent ? queue->first_unsent->frame_bytes : 0;
    enum rkt_status status = RKT_OK;

    if (!bytes)
        status = rkt_spool_first(queue->spool, &bytes, &frame_bytes, err);
    if (status == RKT_OK)
        status = rkt_transport_send(queue->transport, queue->target, RKT_TAG_FRAME, bytes,
                                    frame_bytes, err);
    if (status != RKT_OK)
        return status;
    log_sent(bytes, frame_bytes);
    queue->unacked_count++;
    queue->counts.sent_bytes += frame_bytes;
    if (queue->first_unsent)
        queue->first_unsent = queue->first_unsent->next;
    else
        rkt_spool_sent(queue->spool);
    return RKT_OK;
}

static bool has_unsent(const struct rkt_send_queue *queue)
{
    return queue->first_unsent || (queue->spool && rkt_spool_has_unsent(queue->spool));
}

bool rkt_send_queue_step(struct rkt_send_queue *queue, struct rkt_error *err)
{
    bool was_busy = false;

    while (take_ack(queue, err) == RKT_OK)
        was_busy = true;
    while (!queue->is_abandoned && !queue->is_paused && has_unsent(queue) &&
           queue->unacked_count < RKT_SEND_CREDITS && send_next(queue, err) == RKT_OK)
        was_busy = true;
    return was_busy;
}

bool rkt_send_queue_is_full(const struct rkt_send_queue *queue)
{
    if (queue->is_abandoned)
        return true;
    if (!queue->spool || rkt_spool_is_broken(queue->spool))
        return queue->held_bytes > queue->memory_bytes || is_spooling(queue);
    return rkt_spool_bytes(queue->spool) > queue->spool_bytes - queue->spool_bytes / SPOOL_RESERVE;
}

bool rkt_send_queue_is_empty(const struct rkt_send_queue *queue)
{
    return queue->is_abandoned || (!has_unsent(queue) && queue->unacked_count == 0);
}

void rkt_send_queue_counts(const struct rkt_send_queue *queue, struct rkt_send_counts *counts_out)
{
    *counts_out = queue->counts;
}

/* ---- the end ---- */

void rkt_send_queue_pause(struct rkt_send_queue *queue)
{
    queue->is_paused = true;
}

enum rkt_status rkt_send_queue_keep(struct rkt_send_queue *queue, const char **path_out,
                                    struct rkt_error *err)
{
    if (!queue->spool)
        return rkt_fail(err, RKT_ERR_INVALID, "there is no spool");
    for (struct waiting_frame *frame = queue->first; frame && !queue->is_keeping;
         frame = frame->next)
        keep_frame(queue, frame);
    queue->is_keeping = true;
    *path_out = queue->first ? queue->kept_path : rkt_spool_path(queue->spool);
    if (queue->keep_error.status != RKT_OK) {
        if (err)
            *err = queue->keep_error;
        return queue->keep_error.status;
    }
    return queue->first || is_spooling(queue) ? RKT_OK : RKT_END;
}

void rkt_send_queue_abandon(struct rkt_send_queue *queue)
{
    while (queue->first) {
        if (queue->first == queue->first_unsent && !queue->first->is_kept)
            queue->counts.dropped_frames++;
        drop_first(queue);
    }
    queue->is_abandoned = true;
}
