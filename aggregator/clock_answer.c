/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock_answer.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/clock_burst.h"
#include "common/run_message.h"

struct child {
    bool is_queued;
    uint32_t burst; /* of its last request */
    struct rkt_event *exchanges;
    size_t count;
    size_t cap;
};

struct rkt_clock_answer {
    struct rkt_transport *transport;
    rkt_reference_fn clock;
    void *clock_ctx;
    int rank_count;
    struct child *children;

    /* ranks that asked, oldest first: a ring of rank_count places, each rank in it once at most */
    int *queue;
    size_t queue_first;
    size_t queue_count;
};

enum rkt_status rkt_clock_answer_create(struct rkt_transport *transport, rkt_reference_fn clock,
                                        void *clock_ctx, struct rkt_clock_answer **answer_out,
                                        struct rkt_error *err)
{
    struct rkt_clock_answer *answer = calloc(1, sizeof(*answer));
    int rank_count = rkt_transport_size(transport);

    if (answer) {
        answer->children = calloc((size_t)rank_count, sizeof(*answer->children));
        answer->queue = calloc((size_t)rank_count, sizeof(*answer->queue));
    }
    if (!answer || !answer->children || !answer->queue) {
        rkt_clock_answer_destroy(answer);
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %d ranks", rank_count);
    }
    answer->transport = transport;
    answer->clock = clock;
    answer->clock_ctx = clock_ctx;
    answer->rank_count = rank_count;
    *answer_out = answer;
    return RKT_OK;
}

void rkt_clock_answer_destroy(struct rkt_clock_answer *answer)
{
    if (!answer)
        return;
    for (int rank = 0; answer->children && rank < answer->rank_count; rank++)
        free(answer->children[rank].exchanges);
    free(answer->children);
    free(answer->queue);
    free(answer);
}

static uint64_t now_ns(const struct rkt_clock_answer *answer)
{
    return answer->clock(answer->clock_ctx);
}

static void say(struct rkt_clock_answer *answer, int rank, const struct rkt_clock_message *message,
                struct rkt_error *err)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];

    /* One that cannot be sent is a burst with an exchange less. */
    (void)rkt_transport_send(answer->transport, rank, RKT_TAG_CLOCK_DOWN, buf,
                             rkt_clock_message_encode(message, buf), err);
}

static void enqueue(struct rkt_clock_answer *answer, int rank, uint32_t burst)
{
    struct child *child = &answer->children[rank];

    child->burst = burst;
    if (child->is_queued)
        return;
    child->is_queued = true;
    answer->queue[(answer->queue_first + answer->queue_count++) % (size_t)answer->rank_count] =
        rank;
}

static int dequeue(struct rkt_clock_answer *answer)
{
    int rank = answer->queue[answer->queue_first];

    answer->queue_first = (answer->queue_first + 1) % (size_t)answer->rank_count;
    answer->queue_count--;
    answer->children[rank].is_queued = false;
    return rank;
}

static void keep(struct rkt_clock_answer *answer, int rank, const struct rkt_clock_message *done)
{
    struct child *child = &answer->children[rank];

    if (!rkt_array_reserve((void **)&child->exchanges, &child->cap, child->count + done->kept_count,
                           sizeof(*child->exchanges)))
        return;
    for (size_t i = 0; i < done->kept_count; i++) {
        struct rkt_event *event = &child->exchanges[child->count++];

        *event = (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE,
                                    .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                    .start_ns = done->kept[i].t1_ns,
                                    .end_ns = done->kept[i].t4_ns};
        event->clock_exchange.t2_ns = done->kept[i].t2_ns;
        event->clock_exchange.t3_ns = done->kept[i].t3_ns;
        event->clock_exchange.burst = done->burst;
        event->clock_exchange.peer_source = done->seq;
    }
}

static void keep_claim(struct rkt_clock_answer *answer, int rank,
                       const struct rkt_clock_message *claim)
{
    struct child *child = &answer->children[rank];
    struct rkt_event *event;

    if (claim->kept_count != 1 || !rkt_array_reserve((void **)&child->exchanges, &child->cap,
                                                     child->count + 1, sizeof(*child->exchanges)))
        return;
    event = &child->exchanges[child->count++];
    *event = (struct rkt_event){.kind = RKT_EVENT_CLOCK_TRUE,
                                .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                .start_ns = claim->kept[0].t1_ns,
                                .end_ns = claim->kept[0].t4_ns};
    event->clock_true.earliest_ns = claim->kept[0].t3_ns;
    event->clock_true.latest_ns = claim->kept[0].t2_ns;
}

/* A PING is answered whenever it comes: a late answer makes a wide exchange, never a wrong one. */
static void pong(struct rkt_clock_answer *answer, int rank, const struct rkt_clock_message *ping,
                 uint64_t came_ns, struct rkt_error *err)
{
    struct rkt_clock_message message = {.type = RKT_BURST_PONG,
                                        .burst = ping->burst,
                                        .seq = ping->seq,
                                        .t2_ns = came_ns,
                                        .t3_ns = now_ns(answer)};

    say(answer, rank, &message, err);
}

/* Take one message. RKT_AGAIN: none waits. RKT_END: the child `serving` is done. */
static enum rkt_status take(struct rkt_clock_answer *answer, int serving, struct rkt_error *err)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    struct rkt_clock_message message;
    struct rkt_arrival arrival = {0};
    enum rkt_status status =
        rkt_transport_receive(answer->transport, RKT_TAG_CLOCK_UP, buf, sizeof(buf), &arrival, err);
    uint64_t came_ns = now_ns(answer);

    if (status == RKT_AGAIN || status == RKT_ERR_MPI)
        return RKT_AGAIN;
    if (status != RKT_OK ||
        rkt_clock_message_decode(buf, arrival.len_bytes, &message, err) != RKT_OK)
        return RKT_OK;
    switch (message.type) {
    case RKT_BURST_PING:
        pong(answer, arrival.from, &message, came_ns, err);
        break;
    case RKT_BURST_REQUEST:
        enqueue(answer, arrival.from, message.burst);
        break;
    case RKT_BURST_DONE:
        keep(answer, arrival.from, &message);
        return arrival.from == serving ? RKT_END : RKT_OK;
    case RKT_BURST_CLAIM:
        keep_claim(answer, arrival.from, &message);
        break;
    default: /* of a later version */
        break;
    }
    return RKT_OK;
}

static void serve(struct rkt_clock_answer *answer, struct rkt_error *err)
{
    int rank = dequeue(answer);
    struct rkt_clock_message ready = {.type = RKT_BURST_READY,
                                      .burst = answer->children[rank].burst};
    uint64_t last_ns = now_ns(answer), limit_ns = last_ns + RKT_ANSWER_SPIN_NS;
    uint64_t patience_ns = RKT_ANSWER_SPIN_NS, at_ns;
    enum rkt_status status;
    bool has_heard = false;

    say(answer, rank, &ready, err);
    do {
        status = take(answer, rank, err);
        at_ns = now_ns(answer);
        if (status == RKT_OK && !has_heard)
            patience_ns = rkt_burst_patience_ns(at_ns - last_ns);
        if (status == RKT_OK) {
            has_heard = true;
            last_ns = at_ns;
        }
    } while (status != RKT_END && at_ns < limit_ns && at_ns - last_ns <= patience_ns);
}

bool rkt_clock_answer_step(struct rkt_clock_answer *answer, struct rkt_error *err)
{
    while (take(answer, -1, err) != RKT_AGAIN) {
    }
    if (answer->queue_count == 0)
        return false;
    serve(answer, err);
    return true;
}

const struct rkt_event *rkt_clock_answer_exchanges(const struct rkt_clock_answer *answer, int rank,
                                                   size_t *count_out)
{
    *count_out = answer->children[rank].count;
    return answer->children[rank].exchanges;
}
