/* SPDX-License-Identifier: Apache-2.0 */
/* Active on the leaders of groups only. */
#include "aggregator/relay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregator/bundler.h"
#include "aggregator/receiver.h"
#include "common/bundle.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/run_message.h"

#define OFFER_NS UINT64_C(1000000000)

enum relay_state {
    RELAY_PASSES_ON,
    RELAY_OFFERS, /* the shard is there, and rank 0 has not said yet whether it sees it */
    RELAY_WRITES,
    RELAY_HAS_CLOSED,
};

struct member {
    uint32_t ack_count; /* passing on: to be acknowledged */
};

struct rkt_relay {
    struct rkt_transport *transport;
    enum relay_state state;
    struct rkt_bundler *bundler;
    struct member *members; /* by rank, whether it is one or not */
    int rank_count;

    struct rkt_receiver *shard; /* NULL: passes on */
    char *shard_path;
    uint64_t offer_due_ns;
};

/* ---- life ---- */

/* Small ones that say what a source is. A hostile big one stays where it is. */
static bool copy_frame(void *ctx, int rank, const uint8_t *frame, size_t frame_bytes)
{
    struct rkt_relay *relay = ctx;
    struct rkt_frame_head head;

    return rkt_frame_head_decode(frame, frame_bytes, &head, NULL) == RKT_OK &&
           (head.kind == RKT_FRAME_SOURCE || head.kind == RKT_FRAME_END) &&
           frame_bytes <= RKT_FRAME_HEAD_BYTES + RKT_DESCRIPTOR_BYTES_MAX &&
           rkt_bundler_put(relay->bundler, rank, frame, frame_bytes);
}

/*
 * Before rank 0 looks for it: by NFS other hosts see what is written when it is flushed. By a
 * descriptor of its own, since a shard that was flushed itself would be at its end too, however
 * large it is then.
 */
static enum rkt_status flush_file(const char *path, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) != 0)
        status = rkt_fail_errno(err, RKT_ERR_IO, "cannot flush %s", path);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static enum rkt_status open_shard(struct rkt_relay *relay, const struct rkt_relay_config *config,
                                  struct rkt_error *err)
{
    struct rkt_receiver_config shard = {.transport = config->transport,
                                        .store_path = relay->shard_path,
                                        .run = config->shard_run,
                                        .needs_sync = config->needs_sync,
                                        .copy = copy_frame,
                                        .copy_ctx = relay};
    enum rkt_status status = rkt_receiver_create(&shard, &relay->shard, err);

    return status == RKT_OK ? flush_file(relay->shard_path, err) : status;
}

static void drop_shard(struct rkt_relay *relay)
{
    if (!relay->shard)
        return;
    rkt_receiver_destroy(relay->shard);
    relay->shard = NULL;
    (void)unlink(relay->shard_path);
}

static void pass_on_instead(struct rkt_relay *relay, const char *why)
{
    drop_shard(relay);
    relay->state = RELAY_PASSES_ON;
    rkt_log(RKT_LOG_WARN, "relay", "no file of this node's own: its records go to rank 0",
            "file=\"%s\" reason=\"%s\"", relay->shard_path, why);
}

enum rkt_status rkt_relay_create(const struct rkt_relay_config *config,
                                 struct rkt_relay **relay_out, struct rkt_error *err)
{
    struct rkt_relay *relay = calloc(1, sizeof(*relay));
    struct rkt_error why = {0};
    enum rkt_status status;

    if (!relay)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a relay");
    relay->transport = config->transport;
    relay->rank_count = rkt_transport_size(config->transport);
    relay->members = calloc((size_t)relay->rank_count, sizeof(*relay->members));
    if (config->shard_path)
        relay->shard_path = strdup(config->shard_path);
    if (relay->members && (relay->shard_path || !config->shard_path))
        status = rkt_bundler_create(config->transport, &relay->bundler, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for a relay");
    if (status != RKT_OK) {
        rkt_relay_destroy(relay);
        return status;
    }
    if (relay->shard_path) {
        relay->state = RELAY_OFFERS;
        if (open_shard(relay, config, &why) != RKT_OK)
            pass_on_instead(relay, why.text);
    }
    *relay_out = relay;
    return RKT_OK;
}

void rkt_relay_destroy(struct rkt_relay *relay)
{
    if (!relay)
        return;
    if (relay->state == RELAY_OFFERS)
        drop_shard(relay);
    rkt_receiver_destroy(relay->shard);
    rkt_bundler_destroy(relay->bundler);
    free(relay->shard_path);
    free(relay->members);
    free(relay);
}

/* ---- control ---- */

static void say(struct rkt_relay *relay, int rank, enum rkt_tag tag, enum rkt_run_type type,
                int32_t value)
{
    const struct rkt_run_message message = {.type = (uint16_t)type, .value = value};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    (void)rkt_transport_send(relay->transport, rank, tag, buf,
                             rkt_run_message_encode(&message, buf), NULL);
}

/* Only who speaks is answered: to the dead each send would cost a try to connect. */
static bool answer_heartbeat(struct rkt_relay *relay)
{
    bool has_failed = relay->shard && rkt_receiver_has_failed(relay->shard);
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival = {0};
    enum rkt_status status = rkt_transport_receive(relay->transport, RKT_TAG_CONTROL_UP, buf,
                                                   sizeof(buf), &arrival, NULL);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    say(relay, arrival.from, RKT_TAG_CONTROL_DOWN,
        has_failed ? RKT_RUN_STORE_FAILED : RKT_RUN_HEARTBEAT, 0);
    return true;
}

static void close_shard(struct rkt_relay *relay)
{
    struct rkt_error err = {0};

    if (relay->state == RELAY_WRITES && rkt_receiver_close(relay->shard, &err) != RKT_OK)
        rkt_log(RKT_LOG_ERROR, "relay", "the file of this node has no end", "reason=\"%s\"",
                err.text);
    relay->state = RELAY_HAS_CLOSED;
    say(relay, 0, RKT_TAG_CONTROL_UP, RKT_RUN_SHARD_CLOSED, rkt_receiver_has_failed(relay->shard));
}

static void obey(struct rkt_relay *relay, enum rkt_run_type type)
{
    if (type == RKT_RUN_SHARD_TAKEN && relay->state == RELAY_OFFERS)
        relay->state = RELAY_WRITES;
    else if (type == RKT_RUN_SHARD_REFUSED && relay->state == RELAY_OFFERS)
        pass_on_instead(relay, "rank 0 does not see it");
    else if (type == RKT_RUN_SHARD_CLOSE && relay->state >= RELAY_WRITES)
        close_shard(relay);
}

static bool take_order(struct rkt_relay *relay)
{
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival = {0};
    struct rkt_run_message message;
    enum rkt_status status = rkt_transport_receive(relay->transport, RKT_TAG_LEADER_DOWN, buf,
                                                   sizeof(buf), &arrival, NULL);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    if (status == RKT_OK && arrival.from == 0 &&
        rkt_run_message_decode(buf, arrival.len_bytes, &message, NULL) == RKT_OK)
        obey(relay, (enum rkt_run_type)message.type);
    return true;
}

/* Again and again: rank 0 looks for it for some seconds, and may not be there yet. */
static void offer_shard(struct rkt_relay *relay, uint64_t now_ns)
{
    if (relay->state != RELAY_OFFERS || now_ns < relay->offer_due_ns)
        return;
    relay->offer_due_ns = now_ns + OFFER_NS;
    say(relay, 0, RKT_TAG_CONTROL_UP, RKT_RUN_SHARD_READY, 0);
}

/* ---- frames ---- */

/* False: nothing waits, or there is no room for it. */
static bool take_frame(struct rkt_relay *relay)
{
    uint8_t *room = rkt_bundler_room(relay->bundler);
    struct rkt_arrival arrival = {0};
    enum rkt_status status;

    if (!room)
        return false;
    status = rkt_transport_receive(relay->transport, RKT_TAG_FRAME, room,
                                   RKT_BUNDLE_FRAME_BYTES_MAX, &arrival, NULL);
    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    /* Of one that is too long nothing goes on, and rank 0 says so when its turn comes. */
    if (status == RKT_ERR_RANGE)
        arrival.len_bytes = 0;
    rkt_bundler_add(relay->bundler, arrival.from, arrival.len_bytes);
    return true;
}

static void ignore_rank(void *ctx, int rank)
{
    (void)ctx;
    (void)rank;
}

static bool take_frames(struct rkt_relay *relay)
{
    bool was_busy = false;

    switch (relay->state) {
    case RELAY_PASSES_ON:
        while (take_frame(relay))
            was_busy = true;
        break;
    case RELAY_WRITES:
    case RELAY_HAS_CLOSED:
        if (rkt_bundler_room(relay->bundler))
            was_busy = rkt_receiver_step(relay->shard, ignore_rank, NULL);
        break;
    case RELAY_OFFERS:
        break;
    }
    return was_busy;
}

static void frame_is_written(void *ctx, int from)
{
    struct rkt_relay *relay = ctx;

    if (relay->shard)
        rkt_receiver_copied(relay->shard, from);
    else
        relay->members[from].ack_count++;
}

static void acknowledge(struct rkt_relay *relay)
{
    uint8_t buf[RKT_ACK_BYTES];

    for (int rank = 0; rank < relay->rank_count; rank++) {
        struct member *member = &relay->members[rank];

        if (member->ack_count == 0)
            continue;
        rkt_ack_encode(member->ack_count, buf);
        if (rkt_transport_send(relay->transport, rank, RKT_TAG_ACK, buf, sizeof(buf), NULL) ==
            RKT_OK)
            member->ack_count = 0;
    }
}

bool rkt_relay_step(struct rkt_relay *relay, uint64_t now_ns)
{
    bool was_busy;

    while (answer_heartbeat(relay)) {
    }
    while (take_order(relay)) {
    }
    offer_shard(relay, now_ns);
    was_busy = take_frames(relay);
    if (rkt_bundler_step(relay->bundler, frame_is_written, relay)) {
        acknowledge(relay);
        was_busy = true;
    }
    return was_busy;
}
