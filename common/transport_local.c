/* SPDX-License-Identifier: Apache-2.0 */
/* The whole run is one process: what it sends is what it receives. */
#include "common/transport.h"

#include <stdlib.h>

#include "common/message_queue.h"

/* More than that waits in the sender, which counts what it has to drop. */
#define HELD_BYTES_MAX ((size_t)16 << 20)

struct local_transport {
    struct rkt_transport base; /* first: a transport is cast to its kind */
    struct rkt_message_queue queue;
};

static int local_rank(struct rkt_transport *t)
{
    (void)t;
    return 0;
}

static int local_size(struct rkt_transport *t)
{
    (void)t;
    return 1;
}

static uint64_t local_node(struct rkt_transport *t, int rank)
{
    (void)t;
    return (uint64_t)rank;
}

static enum rkt_status local_send(struct rkt_transport *t, int to, enum rkt_tag tag,
                                  const void *data, size_t len_bytes, struct rkt_error *err)
{
    struct local_transport *local = (struct local_transport *)t;

    if (to != 0)
        return rkt_fail(err, RKT_ERR_INVALID, "rank %d in a run of one", to);
    if (rkt_tag_is_of_frames(tag) && local->queue.held_bytes > 0 &&
        local->queue.held_bytes + len_bytes > HELD_BYTES_MAX)
        return RKT_AGAIN;
    return rkt_message_queue_push(&local->queue, 0, tag, data, len_bytes, err);
}

static enum rkt_status local_receive(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                                     size_t buf_bytes, struct rkt_arrival *arrival_out,
                                     struct rkt_error *err)
{
    struct local_transport *local = (struct local_transport *)t;

    return rkt_message_queue_pop(&local->queue, tag, buf, buf_bytes, arrival_out, err);
}

static bool local_progress(struct rkt_transport *t)
{
    (void)t;
    return false;
}

static void local_destroy(struct rkt_transport *t, bool is_clean)
{
    struct local_transport *local = (struct local_transport *)t;

    (void)is_clean;
    rkt_message_queue_release(&local->queue);
    free(local);
}

static const struct rkt_transport_ops LOCAL_OPS = {
    .rank = local_rank,
    .size = local_size,
    .node = local_node,
    .send = local_send,
    .receive = local_receive,
    .progress = local_progress,
    .destroy = local_destroy,
};

enum rkt_status rkt_transport_local_create(struct rkt_transport **out, struct rkt_error *err)
{
    struct local_transport *local = calloc(1, sizeof(*local));

    if (!local)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the local transport");
    local->base.ops = &LOCAL_OPS;
    rkt_message_queue_init(&local->queue);
    *out = &local->base;
    return RKT_OK;
}
