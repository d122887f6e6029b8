/* SPDX-License-Identifier: Apache-2.0 */
#include "common/transport_loop.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/message_queue.h"

/* What a wire holds for one receiver; few messages at a time, so a plain array does. */
struct parcel {
    uint64_t due_tick;
    int from;
    enum rkt_tag tag;
    size_t len_bytes;
    unsigned char *bytes;
};

struct endpoint {
    struct rkt_transport base; /* first: a transport is cast to its kind */
    struct rkt_loop_hub *hub;
    int rank;
    bool is_silent;
    struct parcel *wire;
    size_t wire_count;
    size_t wire_cap;
    struct rkt_message_queue inbox;
};

struct rkt_loop_hub {
    int rank_count;
    uint64_t tick;
    uint64_t random_state;
    struct rkt_loop_faults faults[RKT_TAG_COUNT];
    struct endpoint *endpoints;
};

/* xorshift64*: small, seeded, the same everywhere */
static uint64_t next_random(struct rkt_loop_hub *hub)
{
    uint64_t x = hub->random_state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    hub->random_state = x;
    return x * 0x2545f4914f6cdd1du;
}

static bool is_hit(struct rkt_loop_hub *hub, uint32_t per_10k)
{
    return per_10k > 0 && next_random(hub) % 10000 < per_10k;
}

static int loop_rank(struct rkt_transport *t)
{
    return ((struct endpoint *)t)->rank;
}

static int loop_size(struct rkt_transport *t)
{
    return ((struct endpoint *)t)->hub->rank_count;
}

/* Each rank is a node of its own. */
static uint64_t loop_node(struct rkt_transport *t, int rank)
{
    (void)t;
    return (uint64_t)rank;
}

/* Never before an earlier message of the same sender and tag. */
static uint64_t due_tick(const struct endpoint *to, int from, enum rkt_tag tag, uint64_t want_tick)
{
    for (size_t i = 0; i < to->wire_count; i++) {
        const struct parcel *parcel = &to->wire[i];

        if (parcel->from == from && parcel->tag == tag && parcel->due_tick > want_tick)
            want_tick = parcel->due_tick;
    }
    return want_tick;
}

static enum rkt_status put_on_wire(struct endpoint *to, int from, enum rkt_tag tag,
                                   const void *data, size_t len_bytes, struct rkt_error *err)
{
    struct rkt_loop_hub *hub = to->hub;
    const struct rkt_loop_faults *faults = &hub->faults[tag];
    struct parcel parcel = {.from = from, .tag = tag, .len_bytes = len_bytes};
    uint64_t delay = next_random(hub) % (faults->delay_ticks_max + 1u);

    parcel.bytes = malloc(len_bytes > 0 ? len_bytes : 1);
    if (!parcel.bytes || !rkt_array_reserve((void **)&to->wire, &to->wire_cap, to->wire_count + 1,
                                            sizeof(*to->wire))) {
        free(parcel.bytes);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a message of %zu bytes", len_bytes);
    }
    if (len_bytes > 0)
        memcpy(parcel.bytes, data, len_bytes);
    if (len_bytes > 0 && is_hit(hub, faults->corrupt_per_10k)) {
        uint64_t bit = next_random(hub) % (len_bytes * 8);

        parcel.bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    parcel.due_tick = due_tick(to, from, tag, hub->tick + delay);
    to->wire[to->wire_count++] = parcel;
    return RKT_OK;
}

static enum rkt_status loop_send(struct rkt_transport *t, int to, enum rkt_tag tag,
                                 const void *data, size_t len_bytes, struct rkt_error *err)
{
    struct endpoint *sender = (struct endpoint *)t;
    struct rkt_loop_hub *hub = sender->hub;
    const struct rkt_loop_faults *faults = &hub->faults[tag];
    enum rkt_status status;

    if (to < 0 || to >= hub->rank_count)
        return rkt_fail(err, RKT_ERR_INVALID, "rank %d in a run of %d", to, hub->rank_count);
    if (sender->is_silent || hub->endpoints[to].is_silent || is_hit(hub, faults->drop_per_10k))
        return RKT_OK;
    status = put_on_wire(&hub->endpoints[to], sender->rank, tag, data, len_bytes, err);
    if (status == RKT_OK && is_hit(hub, faults->duplicate_per_10k))
        status = put_on_wire(&hub->endpoints[to], sender->rank, tag, data, len_bytes, err);
    return status;
}

static void deliver(struct endpoint *to)
{
    size_t kept = 0;

    for (size_t i = 0; i < to->wire_count; i++) {
        struct parcel *parcel = &to->wire[i];

        if (parcel->due_tick > to->hub->tick) {
            to->wire[kept++] = *parcel;
            continue;
        }
        /* Out of memory here is a lost message, which is what this transport is for. */
        (void)rkt_message_queue_push(&to->inbox, parcel->from, parcel->tag, parcel->bytes,
                                     parcel->len_bytes, NULL);
        free(parcel->bytes);
    }
    to->wire_count = kept;
}

static enum rkt_status loop_receive(struct rkt_transport *t, enum rkt_tag tag, void *buf,
                                    size_t buf_bytes, struct rkt_arrival *arrival_out,
                                    struct rkt_error *err)
{
    struct endpoint *endpoint = (struct endpoint *)t;

    if (endpoint->is_silent)
        return RKT_AGAIN;
    deliver(endpoint);
    return rkt_message_queue_pop(&endpoint->inbox, tag, buf, buf_bytes, arrival_out, err);
}

static bool loop_progress(struct rkt_transport *t)
{
    (void)t;
    return false;
}

static void loop_destroy(struct rkt_transport *t, bool is_clean)
{
    (void)t;
    (void)is_clean;
}

static const struct rkt_transport_ops LOOP_OPS = {
    .rank = loop_rank,
    .size = loop_size,
    .node = loop_node,
    .send = loop_send,
    .receive = loop_receive,
    .progress = loop_progress,
    .destroy = loop_destroy,
};

enum rkt_status rkt_loop_hub_create(int rank_count, uint64_t seed, struct rkt_loop_hub **hub_out,
                                    struct rkt_error *err)
{
    struct rkt_loop_hub *hub;

    if (rank_count < 1)
        return rkt_fail(err, RKT_ERR_INVALID, "a hub of %d ranks", rank_count);
    hub = calloc(1, sizeof(*hub));
    if (hub)
        hub->endpoints = calloc((size_t)rank_count, sizeof(*hub->endpoints));
    if (!hub || !hub->endpoints) {
        free(hub);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a hub of %d ranks", rank_count);
    }
    hub->rank_count = rank_count;
    hub->random_state = seed ? seed : 1; /* 0 is the generator's one fixed point */
    for (int rank = 0; rank < rank_count; rank++) {
        struct endpoint *endpoint = &hub->endpoints[rank];

        endpoint->base.ops = &LOOP_OPS;
        endpoint->hub = hub;
        endpoint->rank = rank;
        rkt_message_queue_init(&endpoint->inbox);
    }
    *hub_out = hub;
    return RKT_OK;
}

void rkt_loop_hub_destroy(struct rkt_loop_hub *hub)
{
    if (!hub)
        return;
    for (int rank = 0; rank < hub->rank_count; rank++) {
        struct endpoint *endpoint = &hub->endpoints[rank];

        for (size_t i = 0; i < endpoint->wire_count; i++)
            free(endpoint->wire[i].bytes);
        free(endpoint->wire);
        rkt_message_queue_release(&endpoint->inbox);
    }
    free(hub->endpoints);
    free(hub);
}

struct rkt_transport *rkt_loop_hub_transport(struct rkt_loop_hub *hub, int rank)
{
    return &hub->endpoints[rank].base;
}

void rkt_loop_hub_set_faults(struct rkt_loop_hub *hub, enum rkt_tag tag,
                             const struct rkt_loop_faults *faults)
{
    hub->faults[tag] = *faults;
}

void rkt_loop_hub_silence(struct rkt_loop_hub *hub, int rank)
{
    hub->endpoints[rank].is_silent = true;
}

void rkt_loop_hub_tick(struct rkt_loop_hub *hub)
{
    hub->tick++;
}
