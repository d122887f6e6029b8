/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/send.h"

#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/run_message.h"

struct waiting_frame {
    struct waiting_frame *next;
    size_t frame_bytes;
    uint8_t bytes[];
};

struct rkt_send_queue {
    struct rkt_transport *transport;
    uint64_t limit_bytes;
    struct waiting_frame *first;
    struct waiting_frame *last;
    uint64_t held_bytes;
    uint32_t unacked_count;
    bool is_abandoned;
    struct rkt_send_counts counts;
};

enum rkt_status rkt_send_queue_create(struct rkt_transport *transport, uint64_t limit_bytes,
                                      struct rkt_send_queue **queue_out, struct rkt_error *err)
{
    struct rkt_send_queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the send queue");
    queue->transport = transport;
    queue->limit_bytes = limit_bytes;
    *queue_out = queue;
    return RKT_OK;
}

static void drop_first(struct rkt_send_queue *queue)
{
    struct waiting_frame *frame = queue->first;

    queue->first = frame->next;
    if (!queue->first)
        queue->last = NULL;
    queue->held_bytes -= frame->frame_bytes;
    free(frame);
}

void rkt_send_queue_destroy(struct rkt_send_queue *queue)
{
    if (!queue)
        return;
    while (queue->first)
        drop_first(queue);
    free(queue);
}

static enum rkt_status count_dropped(struct rkt_send_queue *queue, size_t frame_bytes)
{
    queue->counts.dropped_frames++;
    queue->counts.dropped_bytes += frame_bytes;
    return RKT_OK;
}

enum rkt_status rkt_send_queue_push(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                    struct rkt_error *err)
{
    struct rkt_send_queue *queue = ctx;
    struct waiting_frame *waiting = NULL;
    size_t total;

    (void)err;
    if (queue->is_abandoned || queue->held_bytes > 2 * queue->limit_bytes)
        return count_dropped(queue, frame_bytes);
    if (rkt_add_size(sizeof(*waiting), frame_bytes, &total))
        waiting = malloc(total);
    if (!waiting)
        return count_dropped(queue, frame_bytes);
    waiting->next = NULL;
    waiting->frame_bytes = frame_bytes;
    memcpy(waiting->bytes, frame, frame_bytes);
    if (queue->last)
        queue->last->next = waiting;
    else
        queue->first = waiting;
    queue->last = waiting;
    queue->held_bytes += frame_bytes;
    queue->counts.pushed_frames++;
    return RKT_OK;
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
    if (status != RKT_OK)
        return status;
    if (count > queue->unacked_count)
        count = queue->unacked_count;
    queue->unacked_count -= count;
    queue->counts.acked_frames += count;
    return RKT_OK;
}

static enum rkt_status send_first(struct rkt_send_queue *queue, struct rkt_error *err)
{
    const struct waiting_frame *frame = queue->first;
    enum rkt_status status = rkt_transport_send(queue->transport, 0, RKT_TAG_FRAME, frame->bytes,
                                                frame->frame_bytes, err);

    if (status != RKT_OK)
        return status;
    queue->unacked_count++;
    queue->counts.sent_bytes += frame->frame_bytes;
    drop_first(queue);
    return RKT_OK;
}

bool rkt_send_queue_step(struct rkt_send_queue *queue, struct rkt_error *err)
{
    bool was_busy = false;

    while (take_ack(queue, err) == RKT_OK)
        was_busy = true;
    while (queue->first && queue->unacked_count < RKT_SEND_CREDITS &&
           send_first(queue, err) == RKT_OK)
        was_busy = true;
    return was_busy;
}

bool rkt_send_queue_is_full(const struct rkt_send_queue *queue)
{
    return queue->is_abandoned || queue->held_bytes > queue->limit_bytes;
}

bool rkt_send_queue_is_empty(const struct rkt_send_queue *queue)
{
    return !queue->first && (queue->is_abandoned || queue->unacked_count == 0);
}

void rkt_send_queue_counts(const struct rkt_send_queue *queue, struct rkt_send_counts *counts_out)
{
    *counts_out = queue->counts;
}

void rkt_send_queue_abandon(struct rkt_send_queue *queue)
{
    while (queue->first) {
        (void)count_dropped(queue, queue->first->frame_bytes);
        drop_first(queue);
    }
    queue->is_abandoned = true;
}
