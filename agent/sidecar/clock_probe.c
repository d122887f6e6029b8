/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_probe.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/clock_fit.h"
#include "common/run_message.h"

#define REPEAT_NS UINT64_C(10000000000)
#define RETRY_NS UINT64_C(100000000)
#define RETRY_COUNT_MAX 3u
#define ANSWER_LIMIT_NS UINT64_C(2000000000)
#define WIDE_FACTOR 3

struct rkt_clock_probe {
    struct rkt_clock_probe_config config;
    uint64_t random_state;

    /* the schedule */
    uint32_t left_count;
    uint64_t gap_ns;
    bool repeats;
    uint64_t due_ns;
    uint32_t retry_count;

    /* the burst under way or last */
    bool is_asking;  /* REQUEST is out */
    bool is_waiting; /* the burst is over, but for the answer to its first PING */
    uint64_t asked_ns;
    bool has_width; /* of a burst with an exchange: best_width_ns */
    uint32_t burst;
    int64_t best_width_ns;
    size_t exchange_count;
    struct rkt_event exchanges[RKT_BURST_EXCHANGES];
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
    probe->random_state = config->seed;
    probe->best_width_ns = INT64_MAX / WIDE_FACTOR; /* nothing is much wider */
    *probe_out = probe;
    return RKT_OK;
}

void rkt_clock_probe_destroy(struct rkt_clock_probe *probe)
{
    free(probe);
}

void rkt_clock_probe_schedule(struct rkt_clock_probe *probe, uint32_t burst_count, uint64_t gap_ns,
                              bool repeats)
{
    probe->left_count = burst_count;
    probe->gap_ns = gap_ns;
    probe->repeats = repeats;
    probe->retry_count = 0;
    probe->due_ns = now_ns(probe);
    probe->is_asking = false;
    probe->is_waiting = false;
}

bool rkt_clock_probe_is_idle(const struct rkt_clock_probe *probe)
{
    return probe->left_count == 0 && !probe->is_asking && !probe->is_waiting;
}

/* Ten seconds ± 20 %: the ranks shall not come all at once, nor in step with the job. */
static uint64_t repeat_gap_ns(struct rkt_clock_probe *probe)
{
    probe->random_state = probe->random_state * 6364136223846793005u + 1442695040888963407u;
    return REPEAT_NS * 8 / 10 + (probe->random_state >> 33) % (REPEAT_NS * 4 / 10);
}

static enum rkt_status say(struct rkt_clock_probe *probe, struct rkt_clock_message *message,
                           struct rkt_error *err)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];

    message->burst = probe->burst;
    return rkt_transport_send(probe->config.transport, 0, RKT_TAG_CLOCK_UP, buf,
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
    struct rkt_clock_message message = {.type = RKT_BURST_PING,
                                        .seq = (uint32_t)probe->exchange_count};
    struct rkt_event *event = next_exchange(probe);

    *event =
        (struct rkt_event){.kind = RKT_EVENT_CLOCK_EXCHANGE, .clock_id = RKT_CLOCK_MONOTONIC_RAW};
    event->clock_exchange.burst = probe->burst;
    event->clock_exchange.peer_source = probe->config.peer_source;
    event->start_ns = now_ns(probe);
    return say(probe, &message, err) == RKT_OK;
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
    probe->exchange_count++;
    return true;
}

/* One ping-pong; false when the burst's time is up. */
static bool exchange(struct rkt_clock_probe *probe, uint64_t limit_ns, struct rkt_error *err)
{
    const struct rkt_event *event = next_exchange(probe);

    if (!ping(probe, err))
        return false;
    do {
        if (take_pong(probe))
            return true;
    } while (event->end_ns < limit_ns);
    return false;
}

static void keep_stamps(const struct rkt_event *event, struct rkt_clock_stamps *stamps)
{
    *stamps = (struct rkt_clock_stamps){.t1_ns = event->start_ns,
                                        .t2_ns = event->clock_exchange.t2_ns,
                                        .t3_ns = event->clock_exchange.t3_ns,
                                        .t4_ns = event->end_ns};
}

/* Tell rank 0 what decides; returns the burst's width, or INT64_MAX where nothing does. */
static int64_t say_done(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message done = {.type = RKT_BURST_DONE};
    size_t lower = 0, upper = 0;
    int64_t width = INT64_MAX;

    if (rkt_clock_keep(probe->exchanges, probe->exchange_count, &lower, &upper)) {
        const struct rkt_event *low = &probe->exchanges[lower], *high = &probe->exchanges[upper];

        keep_stamps(low, &done.kept[0]);
        keep_stamps(high, &done.kept[1]);
        done.kept_count = 2;
        width = (int64_t)(high->clock_exchange.t2_ns - high->start_ns) -
                (int64_t)(low->clock_exchange.t3_ns - low->end_ns);
    }
    (void)say(probe, &done, err);
    return width;
}

/* When the next burst is due, by how this one went. */
static void plan_next(struct rkt_clock_probe *probe, int64_t width_ns)
{
    bool is_poor = probe->exchange_count < RKT_BURST_EXCHANGES_MIN ||
                   width_ns > probe->best_width_ns * WIDE_FACTOR;

    if (width_ns < probe->best_width_ns)
        probe->best_width_ns = width_ns;
    if (is_poor && probe->retry_count < RETRY_COUNT_MAX) {
        probe->retry_count++;
        probe->due_ns = now_ns(probe) + RETRY_NS;
        return;
    }
    probe->retry_count = 0;
    if (probe->left_count > 0)
        probe->left_count--;
    probe->due_ns = now_ns(probe) + (probe->left_count > 0 ? probe->gap_ns : repeat_gap_ns(probe));
}

static void end_burst(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    int64_t width_ns = say_done(probe, err);

    probe->is_waiting = false;
    probe->has_width |= probe->exchange_count > 0;
    for (size_t i = 0; i < probe->exchange_count; i++)
        (void)probe->config.on_exchange(probe->config.exchange_ctx, &probe->exchanges[i], err);
    plan_next(probe, width_ns);
}

/*
 * Where other processes take all cores, rank 0 may not get its turn within a burst. A late answer
 * makes a wide exchange: better than none, so it is waited for as long as there is no other.
 */
static void run_burst(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    uint64_t limit_ns = now_ns(probe) + RKT_BURST_SPIN_NS;

    probe->is_asking = false;
    probe->exchange_count = 0;
    while (probe->exchange_count < RKT_BURST_EXCHANGES && exchange(probe, limit_ns, err)) {
    }
    if (probe->exchange_count > 0 || probe->has_width)
        end_burst(probe, err);
    else
        probe->is_waiting = true;
}

static bool ask(struct rkt_clock_probe *probe, struct rkt_error *err)
{
    struct rkt_clock_message request = {.type = RKT_BURST_REQUEST};

    if ((probe->left_count == 0 && !probe->repeats) || now_ns(probe) < probe->due_ns)
        return false;
    probe->burst++;
    if (say(probe, &request, err) != RKT_OK)
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
        probe->is_asking = false;
        probe->exchange_count = 0;
        plan_next(probe, INT64_MAX);
    }
    return true;
}
