/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/receiver.h"

#include <stdlib.h>

#include "common/frame.h"
#include "common/log.h"
#include "common/run_message.h"
#include "common/store_writer.h"

#define FRAME_BYTES_MAX ((size_t)RKT_FRAME_HEAD_BYTES + RKT_FRAME_PACKED_BYTES_MAX)
/* Between two looks at clocks and control. */
#define FRAMES_PER_STEP 256u
#define BAD_FRAMES_SAID 10u

struct sender {
    uint32_t ack_count; /* to be acknowledged */
    bool is_ignored;
};

struct rkt_receiver {
    struct rkt_transport *transport;
    struct rkt_store_writer *store;
    struct rkt_source_streams *streams;
    struct sender *senders;
    int rank_count;
    uint8_t *frame;
    bool needs_sync;
    bool is_closed;
    bool has_failed;
    struct rkt_error failure;
    uint32_t said_count;
};

enum rkt_status rkt_receiver_create(struct rkt_transport *transport, const char *store_path,
                                    const struct rkt_run_info *run, bool needs_sync,
                                    struct rkt_receiver **receiver_out, struct rkt_error *err)
{
    struct rkt_receiver *receiver = calloc(1, sizeof(*receiver));
    enum rkt_status status;

    if (!receiver)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the receiver");
    receiver->transport = transport;
    receiver->needs_sync = needs_sync;
    receiver->rank_count = rkt_transport_size(transport);
    receiver->streams = rkt_source_streams_create(receiver->rank_count);
    receiver->senders = calloc((size_t)receiver->rank_count, sizeof(*receiver->senders));
    receiver->frame = malloc(FRAME_BYTES_MAX);
    if (receiver->streams && receiver->senders && receiver->frame)
        status = rkt_store_writer_create(store_path, RKT_STORE_LIVE, run, &receiver->store, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory to receive from %d ranks",
                          receiver->rank_count);
    if (status != RKT_OK) {
        rkt_receiver_destroy(receiver);
        return status;
    }
    *receiver_out = receiver;
    return RKT_OK;
}

void rkt_receiver_destroy(struct rkt_receiver *receiver)
{
    if (!receiver)
        return;
    rkt_store_writer_destroy(receiver->store);
    rkt_source_streams_destroy(receiver->streams);
    free(receiver->senders);
    free(receiver->frame);
    free(receiver);
}

static void say_bad(struct rkt_receiver *receiver, int rank, const struct rkt_error *err)
{
    if (receiver->said_count++ < BAD_FRAMES_SAID)
        rkt_log(RKT_LOG_WARN, "aggregator", "a frame was refused", "from=%d reason=\"%s\"", rank,
                err->text);
}

static void remember_failure(struct rkt_receiver *receiver, const struct rkt_error *err)
{
    if (receiver->has_failed)
        return;
    receiver->has_failed = true;
    receiver->failure = *err;
    rkt_log(RKT_LOG_ERROR, "aggregator", "the file cannot be written any more", "reason=\"%s\"",
            err->text);
}

/* False: the frame may be good, and is not in the file: its sender keeps it. */
static bool store_frame(struct rkt_receiver *receiver, int rank, size_t frame_bytes)
{
    struct rkt_error err = {0};
    enum rkt_status status;

    if (receiver->has_failed || receiver->is_closed || receiver->senders[rank].is_ignored)
        return false;
    switch (rkt_source_streams_check(receiver->streams, rank, receiver->frame, frame_bytes, &err)) {
    case RKT_STREAM_BAD:
        say_bad(receiver, rank, &err);
        return true;
    case RKT_STREAM_DUPLICATE:
        return true;
    case RKT_STREAM_TAKE:
        break;
    }
    status = rkt_store_writer_append(receiver->store, receiver->frame, frame_bytes, &err);
    if (status == RKT_ERR_IO)
        remember_failure(receiver, &err);
    else if (status != RKT_OK)
        say_bad(receiver, rank, &err);
    return status != RKT_ERR_IO;
}

/* False: nothing waits. */
static bool take_frame(struct rkt_receiver *receiver)
{
    struct rkt_arrival arrival = {0};
    struct rkt_error err = {0};
    enum rkt_status status = rkt_transport_receive(
        receiver->transport, RKT_TAG_FRAME, receiver->frame, FRAME_BYTES_MAX, &arrival, &err);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    if (status == RKT_OK && !store_frame(receiver, arrival.from, arrival.len_bytes))
        return true;
    if (status != RKT_OK)
        say_bad(receiver, arrival.from, &err);
    receiver->senders[arrival.from].ack_count++;
    return true;
}

static void acknowledge(struct rkt_receiver *receiver, rkt_heard_fn heard, void *heard_ctx)
{
    uint8_t buf[RKT_ACK_BYTES];

    for (int rank = 0; rank < receiver->rank_count; rank++) {
        struct sender *sender = &receiver->senders[rank];

        if (sender->ack_count == 0)
            continue;
        heard(heard_ctx, rank);
        rkt_ack_encode(sender->ack_count, buf);
        if (rkt_transport_send(receiver->transport, rank, RKT_TAG_ACK, buf, sizeof(buf), NULL) ==
            RKT_OK)
            sender->ack_count = 0;
    }
}

/* False: what came may not be acknowledged, as a power loss may take it. */
static bool is_durable(struct rkt_receiver *receiver)
{
    struct rkt_error err = {0};

    if (!receiver->needs_sync)
        return true;
    if (!receiver->has_failed && !receiver->is_closed &&
        rkt_store_writer_sync(receiver->store, &err) != RKT_OK)
        remember_failure(receiver, &err);
    return !receiver->has_failed;
}

bool rkt_receiver_step(struct rkt_receiver *receiver, rkt_heard_fn heard, void *heard_ctx)
{
    uint32_t count = 0;

    while (count < FRAMES_PER_STEP && take_frame(receiver))
        count++;
    if (count > 0 && is_durable(receiver))
        acknowledge(receiver, heard, heard_ctx);
    return count > 0;
}

void rkt_receiver_ignore(struct rkt_receiver *receiver, int rank)
{
    receiver->senders[rank].is_ignored = true;
}

enum rkt_status rkt_receiver_append(struct rkt_receiver *receiver, enum rkt_frame_kind kind,
                                    uint32_t source, const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status;

    if (receiver->has_failed) {
        if (err)
            *err = receiver->failure;
        return receiver->failure.status;
    }
    status = rkt_store_writer_append_payload(receiver->store, (uint8_t)kind, source, raw, raw_bytes,
                                             &why);
    if (status == RKT_ERR_IO)
        remember_failure(receiver, &why);
    if (status != RKT_OK && err)
        *err = why;
    return status;
}

enum rkt_status rkt_receiver_close(struct rkt_receiver *receiver, struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status;

    receiver->is_closed = true;
    if (receiver->has_failed) {
        if (err)
            *err = receiver->failure;
        return receiver->failure.status;
    }
    status = rkt_store_writer_close(receiver->store, &why);
    if (status == RKT_ERR_IO)
        remember_failure(receiver, &why);
    if (status != RKT_OK && err)
        *err = why;
    return status;
}

bool rkt_receiver_has_failed(const struct rkt_receiver *receiver)
{
    return receiver->has_failed;
}

const struct rkt_source_streams *rkt_receiver_streams(const struct rkt_receiver *receiver)
{
    return receiver->streams;
}

uint64_t rkt_receiver_bytes(const struct rkt_receiver *receiver)
{
    return rkt_store_writer_bytes(receiver->store);
}
