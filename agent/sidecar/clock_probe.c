/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_probe.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/clock_burst.h"
#include "common/log.h"
#include "common/run_message.h"

#define ANSWER_LIMIT_NS UINT64_C(2000000000)
#define SILENT_BURSTS_MAX 3u
#define REFERENCE_RANK 0

/* One whom this clock is measured against. Its rank is also its sidecar's source
 * (run_message.h). */
struct edge {
    int rank;
    struct rkt_clock_schedule schedule;
    uint32_t silent_count; /* bursts in a row without an answer */
    bool has_width;        /* some burst had an exchange */
};

struct rkt_clock_probe {
    struct rkt_clock_probe_config config;
    struct edge edges[2]; /* with a parent: it, and the reference */
    size_t edge_count;

    /* the burst under way or last */
    struct edge *edge;
    bool is_asking;  /* REQUEST is out */
    bool is_waiting; /* the burst is over, but for the answer to its first PING */
    uint64_t asked_ns;
    uint32_t burst;
    uint32_t exchange_count;
    struct rkt_clock_limits limits;
    struct rkt_event exchanges[RKT_BURST_EXCHANGES_MAX];
};

static uint64_t now_ns(const struct rkt_clock_probe *probe)
{
    return probe->config.clock(probe->config.clock_ctx);
}

enum rkt_status rkt_clock_probe_create(const struct rkt_clock_probe_config *config,
                                       struct rkt_clock_probe **probe_out, struct rkt_error *err)
{
    struct rkt_clock_probe *probe = calloc(1, sizeof(*probe));

    if (!probe)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clock probe");
    probe->config = *config;
    probe->edges[0].rank = REFERENCE_RANK;
    rkt_clock_schedule_init(&probe->edges[0].schedule, config->seed, RKT_CLOCK_PERIOD_NS);
    probe->edge_count = 1;
    probe->edge = &probe->edges[0];
    *probe_out = probe;
    return RKT_OK;
}

void rkt_clock_probe_destroy(struct rkt_clock_probe *probe)
{
    free(probe);
}

void rkt_clock_probe_set_parent(struct rkt_clock_probe *probe, int parent)
{
    probe->edges[0].rank = parent;
    probe->edges[1] = (struct edge){.rank = REFERENCE_RANK};
    rkt_clock_schedule_init(&probe->edges[1].schedule, ~probe->config.seed,
                            RKT_CLOCK_DIRECT_PERIOD_NS);
    probe->edge_count = 2;
}

void rkt_clock_probe_schedule(struct rkt_clock_probe *probe, uint32_t burst_count, uint64_t gap_ns,
                              bool repeats)
{
    for (size_t i = 0; i < probe->edge_count; i++)
        rkt_clock_schedule_start(&probe->edges[i].schedule, burst_count, gap_ns, repeats,
                                 now_ns(probe));
    probe->is_asking = false;
    probe->is_waiting = false;
}

bool rkt_clock_probe_is_idle(const struct rkt_clock_probe *probe)
{
    bool is_idle = !probe->is_asking && !probe->is_waiting;

    for (size_t i = 0; i < probe->edge_count; i++)
        is_idle = is_idle && rkt_clock_schedule_is_idle(&probe->edges[i].schedule);
    return is_idle;
}

static enum rkt_status say(struct rkt_clock_probe *probe, int to, struct rkt_clock_message *message,
                           struct rkt_error *err)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];

    message->burst = probe->burst;
    return rkt_transport_send(probe->config.transport, to, RKT_TAG_CLOCK_UP, buf,
                              rkt_clock_message_encode(message, buf), err);
}

/* The next message of this burst; others are late ones of earlier bursts. */
static enum rkt_status hear(struct rkt_clock_probe *probe, enum rkt_burst_type type,
                            struct rkt_clock_message *message_out)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival = {0};
    enum rkt_status status;

    status = rkt_transport_receive(probe->config.transport, RKT_TAG_CLOCK_DOWN, buf, sizeof(buf),
                                   &arrival, NULL);
    if (status != RKT_OK)
        return status;
    status = rkt_clock_message_decode(buf, arrival.len_bytes, message_out, NULL);
    if (status != RKT_OK || message_out->type != type || message_out->burst != probe->burst)
        return RKT_AGAIN;
    return RKT_OK;
}

static struct rkt_event *next_exchange(struct rkt_clock_probe *probe)
{
    return &probe->exchanges[probe->exchange_count];
}

static bool ping(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message message = {.type = RKT_BURST_PING, .seq = probe->exchange_count};
    struct rkt_event *event = next_exchange(probe);

    *event =
        (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE, .clock_id = RKT_CLOCK_MONOTONIC_RAW};
    event->clock_exchange.burst = probe->burst;
    event->clock_exchange.peer_source = (uint32_t)probe->edge->rank;
    event->start_ns = now_ns(probe);
    return say(probe, probe->edge->rank, &message, err) == RKT_OK;
}

/* True when the answer to the last PING is there; its end is now in any case. */
static bool take_pong(struct rkt_clock_probe *probe)
{
    struct rkt_event *event = next_exchange(probe);
    struct rkt_clock_message pong;
    enum rkt_status status = hear(probe, RKT_BURST_PONG, &pong);

    event->end_ns = now_ns(probe);
    if (status != RKT_OK || pong.seq != probe->exchange_count)
        return false;
    event->clock_exchange.t2_ns = pong.t2_ns;
    event->clock_exchange.t3_ns = pong.t3_ns;
    rkt_clock_limits_add(&probe->limits, event);
    probe->exchange_count++;
    return true;
}

/* One ping-pong; false when the burst's time is up, or the other side spins no more. */
static bool exchange(struct rkt_clock_probe *probe, uint64_t limit_ns, struct rkt_error *err)
{
    const struct rkt_event *event = next_exchange(probe);
    uint64_t patience_ns = RKT_BURST_SPIN_NS;

    if (probe->exchange_count > 0)
        patience_ns =
            rkt_burst_patience_ns(probe->exchanges[0].end_ns - probe->exchanges[0].start_ns);
    if (!ping(probe, err))
        return false;
    do {
        if (take_pong(probe))
            return event->end_ns - event->start_ns <= patience_ns;
    } while (event->end_ns < limit_ns && event->end_ns - event->start_ns <= patience_ns);
    return false;
}

static void keep_stamps(const struct rkt_event *event, struct rkt_clock_stamps *stamps)
{
    *stamps = (struct rkt_clock_stamps){.t1_ns = event->start_ns,
                                        .t2_ns = event->clock_exchange.t2_ns,
                                        .t3_ns = event->clock_exchange.t3_ns,
                                        .t4_ns = event->end_ns};
}

/* Tell rank 0 what decides; a parent, just that it need not spin any more. */
static void say_done(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message done = {.type = RKT_BURST_DONE, .seq = (uint32_t)probe->edge->rank};
    size_t lower = 0, upper = 0;

    if (probe->edge->rank != REFERENCE_RANK)
        (void)say(probe, probe->edge->rank, &done, err);
    if (rkt_clock_burst_keep(probe->exchanges, probe->exchange_count, &lower, &upper)) {
        keep_stamps(&probe->exchanges[lower], &done.kept[0]);
        keep_stamps(&probe->exchanges[upper], &done.kept[1]);
        done.kept_count = 2;
    }
    (void)say(probe, REFERENCE_RANK, &done, err);
}

static void end_burst(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    say_done(probe, err);
    probe->is_waiting = false;
    if (probe->exchange_count > 0) {
        probe->edge->has_width = true;
        probe->edge->silent_count = 0;
    }
    for (uint32_t i = 0; i < probe->exchange_count; i++)
        (void)probe->config.on_exchange(probe->config.exchange_ctx, &probe->exchanges[i], err);
    rkt_clock_schedule_burst(&probe->edge->schedule, rkt_clock_limits_width_ns(&probe->limits),
                             probe->exchange_count, now_ns(probe));
}

/*
 * Where other processes take all cores, the other side may not get its turn within a burst. A late
 * answer makes a wide exchange: better than none, so it is waited for as long as there is no other.
 */
static void run_burst(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    uint64_t limit_ns = now_ns(probe) + RKT_BURST_SPIN_NS;

    probe->is_asking = false;
    probe->exchange_count = 0;
    probe->limits = (struct rkt_clock_limits){0};
    while (!rkt_clock_schedule_is_enough(&probe->edge->schedule, &probe->limits,
                                         probe->exchange_count) &&
           exchange(probe, limit_ns, err)) {
    }
    if (probe->exchange_count > 0 || probe->edge->has_width)
        end_burst(probe, err);
    else
        probe->is_waiting = true;
}

/* NULL: none is. A parent comes first; there are pauses between its bursts. */
static struct edge *due_edge(struct rkt_clock_probe *probe)
{
    uint64_t at_ns = now_ns(probe);

    for (size_t i = 0; i < probe->edge_count; i++) {
        if (rkt_clock_schedule_is_due(&probe->edges[i].schedule, at_ns))
            return &probe->edges[i];
    }
    return NULL;
}

/* Nobody answered. A parent that is gone does not come back. */
static void end_silent_burst(struct rkt_clock_probe *probe)
{
    struct edge *edge = probe->edge;

    probe->is_asking = false;
    probe->exchange_count = 0;
    rkt_clock_schedule_burst(&edge->schedule, INT64_MAX, 0, now_ns(probe));
    if (++edge->silent_count < SILENT_BURSTS_MAX || edge->rank == REFERENCE_RANK)
        return;
    rkt_log(RKT_LOG_WARN, "sidecar", "the clock's parent is silent: rank 0 takes its place",
            "parent=%d", edge->rank);
    *edge = (struct edge){.rank = REFERENCE_RANK, .schedule = edge->schedule};
    probe->edge_count = 1;
}

static bool ask(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message request = {.type = RKT_BURST_REQUEST};

    struct edge *edge = due_edge(probe);

    if (!edge)
        return false;
    probe->edge = edge;
    probe->burst++;
    if (say(probe, edge->rank, &request, err) != RKT_OK)
        return false;
    probe->is_asking = true;
    probe->asked_ns = now_ns(probe);
    return true;
}

bool rkt_clock_probe_step(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message ready;
    bool is_late;

    if (!probe->is_asking && !probe->is_waiting)
        return ask(probe, err);
    is_late = now_ns(probe) - probe->asked_ns > ANSWER_LIMIT_NS;
    if (probe->is_waiting) {
        if (take_pong(probe) || is_late)
            end_burst(probe, err);
    } else if (hear(probe, RKT_BURST_READY, &ready) == RKT_OK) {
        run_burst(probe, err);
    } else if (is_late) {
        end_silent_burst(probe);
    }
    return true;
}
