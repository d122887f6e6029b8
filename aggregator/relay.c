/* SPDX-License-Identifier: Apache-2.0 */
/* Active on the leaders of groups only. */
#include "aggregator/relay.h"

#include <stdint.h>
#include <stdlib.h>

#include "aggregator/bundler.h"
#include "common/bundle.h"
#include "common/run_message.h"

struct member {
    uint32_t ack_count; /* to be acknowledged */
};

struct rkt_relay {
    struct rkt_transport *transport;
    struct rkt_bundler *bundler;
    struct member *members; /* by rank, whether it is one or not */
    int rank_count;
};

enum rkt_status rkt_relay_create(struct rkt_transport *transport, struct rkt_relay **relay_out,
                                 struct rkt_error *err)
{
    struct rkt_relay *relay = calloc(1, sizeof(*relay));
    enum rkt_status status;

    if (!relay)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a relay");
    relay->transport = transport;
    relay->rank_count = rkt_transport_size(transport);
    relay->members = calloc((size_t)relay->rank_count, sizeof(*relay->members));
    if (relay->members)
        status = rkt_bundler_create(transport, &relay->bundler, err);
    else
        status = rkt_fail(err, RKT_ERR_NOMEM, "no memory for a relay");
    if (status != RKT_OK) {
        rkt_relay_destroy(relay);
        return status;
    }
    *relay_out = relay;
    return RKT_OK;
}

void rkt_relay_destroy(struct rkt_relay *relay)
{
    if (!relay)
        return;
    rkt_bundler_destroy(relay->bundler);
    free(relay->members);
    free(relay);
}

/* Only who speaks is answered: to the dead each send would cost a try to connect. */
static bool answer_heartbeat(struct rkt_relay *relay)
{
    static const struct rkt_run_message heartbeat = {.type = RKT_RUN_HEARTBEAT};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival = {0};
    enum rkt_status status = rkt_transport_receive(relay->transport, RKT_TAG_CONTROL_UP, buf,
                                                   sizeof(buf), &arrival, NULL);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    (void)rkt_transport_send(relay->transport, arrival.from, RKT_TAG_CONTROL_DOWN, buf,
                             rkt_run_message_encode(&heartbeat, buf), NULL);
    return true;
}

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

static void frame_is_written(void *ctx, int from)
{
    struct rkt_relay *relay = ctx;

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

bool rkt_relay_step(struct rkt_relay *relay)
{
    bool was_busy = false;

    while (answer_heartbeat(relay)) {
    }
    while (take_frame(relay))
        was_busy = true;
    if (rkt_bundler_step(relay->bundler, frame_is_written, relay)) {
        acknowledge(relay);
        was_busy = true;
    }
    return was_busy;
}
