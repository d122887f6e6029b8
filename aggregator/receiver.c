/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/receiver.h"

#include <stdlib.h>

#include "common/bundle.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/run_message.h"
#include "common/store_writer.h"

/* Between two looks at clocks and control. */
#define FRAMES_PER_STEP 256u
#define BAD_FRAMES_SAID 10u

struct sender {
    uint32_t ack_count;     /* to be acknowledged */
    uint64_t bundled_count; /* frames that came in its bundles and are done with */
    bool owes_bundle_ack;
    bool is_ignored;
    uint32_t copy_count; /* on their way to rank 0: until they are there nothing is acknowledged */
    bool is_in_shard;    /* its frames go to the file of its leader */
    bool is_direct;      /* they did, and now come here */
};

struct rkt_receiver {
    struct rkt_transport *transport;
    const int *leaders; /* NULL: all is direct */
    rkt_copy_fn copy;
    void *copy_ctx;
    struct rkt_store_writer *store;
    struct rkt_source_streams *streams;
    struct sender *senders;
    int rank_count;
    uint8_t *buf; /* what came: a frame or a bundle */
    bool needs_sync;
    bool is_closed;
    bool has_failed;
    struct rkt_error failure;
    uint32_t said_count;
};

enum rkt_status rkt_receiver_create(const struct rkt_receiver_config *config,
                                    struct rkt_receiver **receiver_out, struct rkt_error *err)
{
    struct rkt_receiver *receiver = calloc(1, sizeof(*receiver));
    enum rkt_status status;

    if (!receiver)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the receiver");
    receiver->transport = config->transport;
    receiver->needs_sync = config->needs_sync;
    receiver->leaders = config->leaders;
    receiver->copy = config->copy;
    receiver->copy_ctx = config->copy_ctx;
    receiver->rank_count = rkt_transport_size(config->transport);
    receiver->streams = rkt_source_streams_create(receiver->rank_count);
    receiver->senders = calloc((size_t)receiver->rank_count, sizeof(*receiver->senders));
    receiver->buf = malloc(RKT_BUNDLE_BYTES_MAX);
    if (receiver->streams && receiver->senders && receiver->buf)
        status = rkt_store_writer_create(config->store_path, RKT_STORE_LIVE, config->run,
                                         &receiver->store, err);
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
    free(receiver->buf);
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
static bool store_frame(struct rkt_receiver *receiver, int rank, const uint8_t *frame,
                        size_t frame_bytes)
{
    struct rkt_error err = {0};
    enum rkt_status status;

    if (receiver->has_failed || receiver->is_closed || receiver->senders[rank].is_ignored)
        return false;
    switch (rkt_source_streams_check(receiver->streams, rank, frame, frame_bytes, &err)) {
    case RKT_STREAM_BAD:
        say_bad(receiver, rank, &err);
        return true;
    case RKT_STREAM_DUPLICATE:
        return true;
    case RKT_STREAM_TAKE:
        break;
    }
    status = rkt_store_writer_append(receiver->store, frame, frame_bytes, &err);
    if (status == RKT_ERR_IO)
        remember_failure(receiver, &err);
    else if (status != RKT_OK)
        say_bad(receiver, rank, &err);
    if (status == RKT_OK && receiver->copy &&
        receiver->copy(receiver->copy_ctx, rank, frame, frame_bytes))
        receiver->senders[rank].copy_count++;
    return status != RKT_ERR_IO;
}

/*
 * A rank whose leader has a file of its own, and is lost. Of what that wrote copies are here, with
 * numbers that may be ahead of what is not written anywhere yet.
 */
static void take_over(struct rkt_receiver *receiver, int rank)
{
    struct sender *sender = &receiver->senders[rank];

    if (!sender->is_in_shard || sender->is_direct)
        return;
    sender->is_direct = true;
    rkt_source_streams_restart(receiver->streams, rank);
}

/* False: nothing waits. */
static bool take_frame(struct rkt_receiver *receiver)
{
    struct rkt_arrival arrival = {0};
    struct rkt_error err = {0};
    enum rkt_status status =
        rkt_transport_receive(receiver->transport, RKT_TAG_FRAME, receiver->buf,
                              RKT_BUNDLE_FRAME_BYTES_MAX, &arrival, &err);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    take_over(receiver, arrival.from);
    if (status == RKT_OK && !store_frame(receiver, arrival.from, receiver->buf, arrival.len_bytes))
        return true;
    if (status != RKT_OK)
        say_bad(receiver, arrival.from, &err);
    receiver->senders[arrival.from].ack_count++;
    return true;
}

/* ---- bundles ---- */

static void refuse(struct rkt_receiver *receiver, int leader, const struct rkt_error *why)
{
    rkt_source_streams_refuse(receiver->streams, leader);
    say_bad(receiver, leader, why);
}

/* False: the leader has no business with it. */
static bool is_led_by(const struct rkt_receiver *receiver, uint32_t rank, int leader)
{
    return receiver->leaders && leader != 0 && rank < (uint32_t)receiver->rank_count &&
           receiver->leaders[rank] == leader;
}

static void store_bundle(struct rkt_receiver *receiver, int leader, struct rkt_bundle *bundle)
{
    struct sender *sender = &receiver->senders[leader];
    struct rkt_bundle_entry entry;
    struct rkt_error err = {0};

    while (rkt_bundle_next(bundle, &entry)) {
        if (!is_led_by(receiver, entry.from, leader)) {
            (void)rkt_fail(&err, RKT_ERR_FORMAT,
                           "it brings a frame of rank %u, which it does not lead", entry.from);
            refuse(receiver, leader, &err);
        } else if (!receiver->senders[entry.from].is_direct &&
                   !store_frame(receiver, (int)entry.from, entry.frame, entry.frame_bytes)) {
            return;
        }
        sender->bundled_count++;
    }
}

/* The bundle in buf. RKT_AGAIN: it came before. */
static enum rkt_status check_bundle(const struct rkt_receiver *receiver, int leader,
                                    size_t len_bytes, struct rkt_bundle *bundle_out,
                                    struct rkt_error *err)
{
    uint64_t want = receiver->senders[leader].bundled_count;
    enum rkt_status status = rkt_bundle_decode(receiver->buf, len_bytes, bundle_out, err);

    if (status != RKT_OK || bundle_out->head.first == want)
        return status;
    if (bundle_out->head.first < want)
        return RKT_AGAIN;
    return rkt_fail(err, RKT_ERR_FORMAT, "a bundle from frame %llu on; frame %llu is not there yet",
                    (unsigned long long)bundle_out->head.first, (unsigned long long)want);
}

/* How many frames it had; 0: nothing waits. One that is refused counts as a frame. */
static uint32_t take_bundle(struct rkt_receiver *receiver)
{
    struct rkt_arrival arrival = {0};
    struct rkt_bundle bundle = {0};
    struct rkt_error err = {0};
    enum rkt_status status = rkt_transport_receive(
        receiver->transport, RKT_TAG_BUNDLE, receiver->buf, RKT_BUNDLE_BYTES_MAX, &arrival, &err);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return 0;
    if (status == RKT_OK)
        status = check_bundle(receiver, arrival.from, arrival.len_bytes, &bundle, &err);
    if (status == RKT_OK)
        store_bundle(receiver, arrival.from, &bundle);
    else if (status != RKT_AGAIN)
        refuse(receiver, arrival.from, &err);
    receiver->senders[arrival.from].owes_bundle_ack |= status >= RKT_OK;
    return bundle.head.frame_count > 0 ? bundle.head.frame_count : 1;
}

/* ---- credits ---- */

static void acknowledge_bundles(struct rkt_receiver *receiver, int rank)
{
    struct sender *sender = &receiver->senders[rank];
    uint8_t buf[RKT_BUNDLE_ACK_BYTES];

    rkt_bundle_ack_encode(sender->bundled_count, buf);
    if (rkt_transport_send(receiver->transport, rank, RKT_TAG_BUNDLE_ACK, buf, sizeof(buf), NULL) ==
        RKT_OK)
        sender->owes_bundle_ack = false;
}

static void acknowledge_frames(struct rkt_receiver *receiver, int rank)
{
    struct sender *sender = &receiver->senders[rank];
    uint8_t buf[RKT_ACK_BYTES];

    rkt_ack_encode(sender->ack_count, buf);
    if (rkt_transport_send(receiver->transport, rank, RKT_TAG_ACK, buf, sizeof(buf), NULL) ==
        RKT_OK)
        sender->ack_count = 0;
}

static void acknowledge(struct rkt_receiver *receiver, rkt_heard_fn heard, void *heard_ctx)
{
    for (int rank = 0; rank < receiver->rank_count; rank++) {
        const struct sender *sender = &receiver->senders[rank];

        if (sender->ack_count == 0 && !sender->owes_bundle_ack)
            continue;
        heard(heard_ctx, rank);
        if (sender->ack_count > 0 && sender->copy_count == 0)
            acknowledge_frames(receiver, rank);
        if (sender->owes_bundle_ack)
            acknowledge_bundles(receiver, rank);
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
    uint32_t count = 0, took = 1;

    for (; count < FRAMES_PER_STEP && took > 0; count += took)
        took = take_frame(receiver) + take_bundle(receiver);
    if (count > 0 && is_durable(receiver))
        acknowledge(receiver, heard, heard_ctx);
    return count > 0;
}

void rkt_receiver_copied(struct rkt_receiver *receiver, int rank)
{
    struct sender *sender = &receiver->senders[rank];

    sender->copy_count--;
    if (sender->copy_count == 0 && sender->ack_count > 0 && !receiver->has_failed)
        acknowledge_frames(receiver, rank);
}

void rkt_receiver_ignore(struct rkt_receiver *receiver, int rank)
{
    receiver->senders[rank].is_ignored = true;
}

/* What failed once fails for good. */
static enum rkt_status fail_again(const struct rkt_receiver *receiver, struct rkt_error *err)
{
    if (receiver->has_failed && err)
        *err = receiver->failure;
    return receiver->has_failed ? receiver->failure.status : RKT_OK;
}

static enum rkt_status pass_on(struct rkt_receiver *receiver, const struct rkt_error *why,
                               struct rkt_error *err)
{
    if (why->status == RKT_ERR_IO)
        remember_failure(receiver, why);
    if (err)
        *err = *why;
    return why->status;
}

enum rkt_status rkt_receiver_append(struct rkt_receiver *receiver, enum rkt_frame_kind kind,
                                    uint32_t source, const uint8_t *raw, size_t raw_bytes,
                                    struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status = fail_again(receiver, err);

    if (status == RKT_OK && rkt_store_writer_append_payload(receiver->store, (uint8_t)kind, source,
                                                            raw, raw_bytes, &why) != RKT_OK)
        status = pass_on(receiver, &why, err);
    return status;
}

enum rkt_status rkt_receiver_add_shard(struct rkt_receiver *receiver,
                                       const struct rkt_shard_info *shard, struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status = fail_again(receiver, err);

    if (status != RKT_OK)
        return status;
    status = rkt_store_writer_append_shard(receiver->store, shard, &why);
    if (status == RKT_OK && receiver->needs_sync)
        status = rkt_store_writer_sync(receiver->store, &why);
    if (status != RKT_OK)
        return pass_on(receiver, &why, err);
    for (int rank = 0; receiver->leaders && rank < receiver->rank_count; rank++) {
        if (receiver->leaders[rank] != (int)shard->rank)
            continue;
        receiver->senders[rank].is_in_shard = true;
        rkt_source_streams_expect_some(receiver->streams, rank);
    }
    return RKT_OK;
}

enum rkt_status rkt_receiver_close(struct rkt_receiver *receiver, struct rkt_error *err)
{
    struct rkt_error why = {0};
    enum rkt_status status = fail_again(receiver, err);

    receiver->is_closed = true;
    if (status == RKT_OK && rkt_store_writer_close(receiver->store, &why) != RKT_OK)
        status = pass_on(receiver, &why, err);
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

uint64_t rkt_receiver_bundled_frames(const struct rkt_receiver *receiver)
{
    uint64_t count = 0;

    for (int rank = 0; rank < receiver->rank_count; rank++)
        count += receiver->senders[rank].bundled_count;
    return count;
}

uint64_t rkt_receiver_bytes(const struct rkt_receiver *receiver)
{
    return rkt_store_writer_bytes(receiver->store);
}
