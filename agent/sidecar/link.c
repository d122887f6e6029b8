/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/link.h"

#include <stdio.h>

static enum rkt_status say(struct rkt_link *link, const struct rkt_run_message *message,
                           struct rkt_error *err)
{
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    return rkt_transport_send(link->transport, 0, RKT_TAG_CONTROL_UP, buf,
                              rkt_run_message_encode(message, buf), err);
}

enum rkt_status rkt_link_init(struct rkt_link *link, struct rkt_transport *transport,
                              const struct rkt_link_self *self, uint64_t now_ns,
                              struct rkt_error *err)
{
    const struct rkt_node_id *node = self->node;
    struct rkt_run_message hello = {
        .type = RKT_RUN_HELLO,
        .value = self->job_rank,
        .time_namespace = node->time_namespace,
    };

    if (self->is_per_node)
        hello.flags |= RKT_RUN_FLAG_PER_NODE;
    if (self->job_rank >= 0)
        hello.flags |= RKT_RUN_FLAG_RANK_KNOWN;
    (void)snprintf(hello.host, sizeof(hello.host), "%s", node->host);
    (void)snprintf(hello.boot_id, sizeof(hello.boot_id), "%s", node->boot_id);
    *link = (struct rkt_link){.transport = transport,
                              .heard_ns = now_ns,
                              .stepped_ns = now_ns,
                              .heartbeat_due_ns = now_ns + RKT_LINK_HEARTBEAT_NS};
    return say(link, &hello, err);
}

enum rkt_status rkt_link_say(struct rkt_link *link, enum rkt_run_type type, int32_t value,
                             struct rkt_error *err)
{
    struct rkt_run_message message = {.type = (uint16_t)type, .value = value};

    return say(link, &message, err);
}

static enum rkt_status say_with_step(struct rkt_link *link, enum rkt_run_type type, uint32_t flags,
                                     struct rkt_error *err)
{
    struct rkt_run_message message = {.type = (uint16_t)type, .flags = flags, .step = link->step};

    if (link->has_step)
        message.flags |= RKT_RUN_FLAG_HAS_STEP;
    return say(link, &message, err);
}

enum rkt_status rkt_link_toggle(struct rkt_link *link, bool is_open, struct rkt_error *err)
{
    return say_with_step(link, RKT_RUN_TOGGLE, is_open ? RKT_RUN_FLAG_IS_OPEN : 0, err);
}

/* Its leader is told at once that we are there. */
static void take_welcome(struct rkt_link *link, const struct rkt_run_message *message,
                         uint64_t now_ns)
{
    if (!link->is_welcome && message->flags & RKT_RUN_FLAG_HAS_LEADER &&
        message->leader < (uint32_t)rkt_transport_size(link->transport)) {
        link->leader = (int)message->leader;
        link->leader_heard_ns = now_ns;
        link->heartbeat_due_ns = now_ns;
    }
    link->welcome = *message;
    link->is_welcome = true;
}

static void take(struct rkt_link *link, const struct rkt_run_message *message, uint64_t now_ns)
{
    switch (message->type) {
    case RKT_RUN_WELCOME:
        take_welcome(link, message, now_ns);
        break;
    case RKT_RUN_REFUSED:
        link->welcome = *message;
        link->is_refused = true;
        break;
    case RKT_RUN_ABORT:
        link->abort_rank = message->value;
        link->has_abort = true;
        break;
    case RKT_RUN_LEAVE:
        link->leave = *message;
        link->has_leave = true;
        break;
    case RKT_RUN_STORE_FAILED:
        link->has_store_failed = true;
        break;
    case RKT_RUN_WINDOW:
        link->window = *message;
        link->has_window = true;
        break;
    default: /* a heartbeat, or a type of a later version */
        break;
    }
}

/* False: nothing waits. A message that cannot be read is a sign of life all the same. */
static bool hear(struct rkt_link *link, uint64_t now_ns)
{
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_run_message message;
    struct rkt_arrival arrival = {0};
    struct rkt_error err = {0};
    enum rkt_status status;

    status = rkt_transport_receive(link->transport, RKT_TAG_CONTROL_DOWN, buf, sizeof(buf),
                                   &arrival, NULL);
    if (status == RKT_AGAIN || status == RKT_ERR_MPI)
        return false;
    if (status == RKT_OK)
        status = rkt_run_message_decode(buf, arrival.len_bytes, &message, &err);
    /* Rank 0 alone gives orders; of a leader we hear that it lives, and whether it writes. */
    if (arrival.from != 0) {
        if (arrival.from != link->leader)
            return true;
        link->leader_heard_ns = now_ns;
        link->has_store_failed |= status == RKT_OK && message.type == RKT_RUN_STORE_FAILED;
        return true;
    }
    link->heard_ns = now_ns;
    if (status == RKT_OK) {
        take(link, &message, now_ns);
    } else if (status == RKT_ERR_VERSION) {
        link->is_refused = true;
        (void)snprintf(link->welcome.text, sizeof(link->welcome.text), "%.127s", err.text);
    }
    return true;
}

/* To the dead each send costs a try to connect; one that only stalled hears us soon enough. */
static uint64_t heartbeat_gap_ns(const struct rkt_link *link, uint64_t now_ns)
{
    return rkt_link_is_silent(link, now_ns) ? RKT_LINK_SILENT_NS : RKT_LINK_HEARTBEAT_NS;
}

static void send_heartbeats(struct rkt_link *link, uint64_t now_ns)
{
    static const struct rkt_run_message heartbeat = {.type = RKT_RUN_HEARTBEAT};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    if (now_ns < link->heartbeat_due_ns)
        return;
    link->heartbeat_due_ns = now_ns + heartbeat_gap_ns(link, now_ns);
    (void)say_with_step(link, RKT_RUN_HEARTBEAT, 0, NULL);
    if (link->leader != 0)
        (void)rkt_transport_send(link->transport, link->leader, RKT_TAG_CONTROL_UP, buf,
                                 rkt_run_message_encode(&heartbeat, buf), NULL);
}

/*
 * Who stood still himself has heard nobody meanwhile: of a pause one heartbeat's length counts. Not
 * nothing, or one whose every step is slow would wait for the dead for ever.
 */
static void forgive_own_pause(struct rkt_link *link, uint64_t now_ns)
{
    uint64_t pause_ns = now_ns - link->stepped_ns;

    if (pause_ns > RKT_LINK_HEARTBEAT_NS) {
        link->heard_ns += pause_ns - RKT_LINK_HEARTBEAT_NS;
        link->leader_heard_ns += pause_ns - RKT_LINK_HEARTBEAT_NS;
    }
    link->stepped_ns = now_ns;
}

static void watch_leader(struct rkt_link *link, uint64_t now_ns)
{
    if (link->leader == 0 || now_ns - link->leader_heard_ns <= RKT_LINK_LEADER_SILENT_NS ||
        now_ns - link->heard_ns > RKT_LINK_LEADER_SILENT_NS)
        return;
    link->leader = 0;
    link->has_lost_leader = true;
}

bool rkt_link_step(struct rkt_link *link, uint64_t now_ns)
{
    bool was_busy = false;

    forgive_own_pause(link, now_ns);
    while (hear(link, now_ns))
        was_busy = true;
    if (!link->has_leave) {
        watch_leader(link, now_ns);
        send_heartbeats(link, now_ns);
    }
    return was_busy;
}

bool rkt_link_is_silent(const struct rkt_link *link, uint64_t now_ns)
{
    return now_ns > link->heard_ns && now_ns - link->heard_ns > RKT_LINK_SILENT_NS;
}
