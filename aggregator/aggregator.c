/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/aggregator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/clock_answer.h"
#include "aggregator/clock_places.h"
#include "aggregator/finish.h"
#include "aggregator/receiver.h"
#include "aggregator/run_state.h"
#include "aggregator/shards.h"
#include "aggregator/window_orders.h"
#include "common/clock.h"
#include "common/clock_tree.h"
#include "common/log.h"
#include "common/run_message.h"

#define HEARTBEAT_NS UINT64_C(1000000000)
#define LEAVE_LIMIT_NS UINT64_C(2000000000)
/* To close their files, which a network's file system may flush then. Supervisors bear 15 s of
 * silence. */
#define SHARDS_LIMIT_NS UINT64_C(10000000000)
#define SHARDS_STOP_LIMIT_NS UINT64_C(150000000)

struct rkt_aggregator {
    struct rkt_aggregator_config config;
    int rank_count;
    enum rkt_aggregator_phase phase;
    struct rkt_receiver *receiver;
    struct rkt_clock_answer *clocks;
    struct rkt_run_state *state;
    struct rkt_window_orders *windows;
    struct rkt_peer_info *peers;
    struct rkt_clock_places *clock_places;
    int *leaders;              /* NULL: rank 0 leads all */
    struct rkt_shards *shards; /* NULL: there is one file */
    uint64_t run_id;

    uint64_t now_ns; /* of the step under way */
    uint64_t heartbeat_due_ns;
    uint64_t heartbeat_count;
    uint64_t leave_limit_ns;
    uint64_t shards_limit_ns;
    bool is_stopping;
    uint64_t stop_limit_ns;
    bool is_file_whole;
    bool has_said_failed; /* that the file cannot be written any more */
};

static uint64_t read_raw(void *ctx)
{
    (void)ctx;
    return rkt_now_raw_ns();
}

static bool copy_leaders(struct rkt_aggregator *aggregator)
{
    size_t bytes = (size_t)aggregator->rank_count * sizeof(*aggregator->leaders);

    if (!aggregator->config.leaders)
        return true;
    aggregator->leaders = malloc(bytes);
    if (aggregator->leaders)
        memcpy(aggregator->leaders, aggregator->config.leaders, bytes);
    return aggregator->leaders;
}

static enum rkt_status create_shards(struct rkt_aggregator *aggregator, struct rkt_error *err)
{
    const struct rkt_shards_config config = {.transport = aggregator->config.transport,
                                             .receiver = aggregator->receiver,
                                             .state = aggregator->state,
                                             .leaders = aggregator->leaders,
                                             .store_path = aggregator->config.store_path,
                                             .run_id = aggregator->run_id};

    return rkt_shards_create(&config, &aggregator->shards, err);
}

static enum rkt_status create_parts(struct rkt_aggregator *aggregator, uint64_t now_ns,
                                    struct rkt_error *err)
{
    const struct rkt_aggregator_config *config = &aggregator->config;
    const struct rkt_window_orders_config windows = {.rank_count = aggregator->rank_count,
                                                     .delay_ns = config->window_delay_ns,
                                                     .duration_ns = config->window_duration_ns};
    struct rkt_receiver_config receiver = {.transport = config->transport,
                                           .store_path = config->store_path,
                                           .run = config->run,
                                           .needs_sync = config->needs_sync};
    enum rkt_status status;

    if (!copy_leaders(aggregator))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a run of %d", aggregator->rank_count);
    aggregator->run_id = config->run->run_id;
    receiver.leaders = aggregator->leaders;
    aggregator->windows = rkt_window_orders_create(&windows);
    aggregator->state = rkt_run_state_create(aggregator->rank_count, now_ns);
    aggregator->peers = calloc((size_t)aggregator->rank_count, sizeof(*aggregator->peers));
    aggregator->clock_places = rkt_clock_places_create(
        aggregator->rank_count,
        config->clock_star_max > 0 ? config->clock_star_max : RKT_CLOCK_STAR_MAX, &config->node);
    if (!aggregator->state || !aggregator->peers || !aggregator->windows ||
        !aggregator->clock_places)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a run of %d", aggregator->rank_count);
    aggregator->peers[0].node = config->node;
    aggregator->peers[0].is_per_node = config->is_per_node;
    status = rkt_clock_answer_create(config->transport, read_raw, NULL, &aggregator->clocks, err);
    if (status == RKT_OK)
        status = rkt_receiver_create(&receiver, &aggregator->receiver, err);
    if (status == RKT_OK && config->is_sharded && aggregator->leaders)
        status = create_shards(aggregator, err);
    return status;
}

enum rkt_status rkt_aggregator_create(const struct rkt_aggregator_config *config, uint64_t now_ns,
                                      struct rkt_aggregator **aggregator_out, struct rkt_error *err)
{
    struct rkt_aggregator *aggregator = calloc(1, sizeof(*aggregator));
    enum rkt_status status;

    if (!aggregator)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the aggregator");
    aggregator->config = *config;
    aggregator->rank_count = rkt_transport_size(config->transport);
    aggregator->heartbeat_due_ns = now_ns + HEARTBEAT_NS;
    status = create_parts(aggregator, now_ns, err);
    if (status != RKT_OK) {
        rkt_aggregator_destroy(aggregator);
        return status;
    }
    *aggregator_out = aggregator;
    return RKT_OK;
}

void rkt_aggregator_destroy(struct rkt_aggregator *aggregator)
{
    if (!aggregator)
        return;
    rkt_shards_destroy(aggregator->shards);
    rkt_receiver_destroy(aggregator->receiver);
    rkt_clock_answer_destroy(aggregator->clocks);
    rkt_run_state_destroy(aggregator->state);
    rkt_window_orders_destroy(aggregator->windows);
    free(aggregator->peers);
    rkt_clock_places_destroy(aggregator->clock_places);
    free(aggregator->leaders);
    free(aggregator);
}

/* ---- to the sidecars ---- */

static const struct rkt_run_message STORE_FAILED = {.type = RKT_RUN_STORE_FAILED};

static void say(struct rkt_aggregator *aggregator, int rank, const struct rkt_run_message *message)
{
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];

    /* What cannot be sent is as silence to that rank, which has its own limits. */
    (void)rkt_transport_send(aggregator->config.transport, rank, RKT_TAG_CONTROL_DOWN, buf,
                             rkt_run_message_encode(message, buf), NULL);
}

static void say_to_all(struct rkt_aggregator *aggregator, const struct rkt_run_message *message)
{
    for (int rank = 0; rank < aggregator->rank_count; rank++) {
        enum rkt_peer_state state = rkt_run_state_of(aggregator->state, rank);

        if (state == RKT_PEER_JOINED || state == RKT_PEER_FLUSHED)
            say(aggregator, rank, message);
    }
}

/* Whether it measures its clock all along, and against whom. */
static void place_clock(struct rkt_aggregator *aggregator, int rank,
                        struct rkt_run_message *message)
{
    struct rkt_clock_place place =
        rkt_clock_places_join(aggregator->clock_places, rank, &aggregator->peers[rank].node);

    if (place.is_leader)
        message->flags |= RKT_RUN_FLAG_CLOCK_LEADER;
    if (place.parent != 0) {
        message->flags |= RKT_RUN_FLAG_HAS_CLOCK_PARENT;
        message->clock_parent = (uint32_t)place.parent;
    }
    if (place.may_be_parent)
        message->flags |= RKT_RUN_FLAG_CLOCK_PARENT;
}

static void welcome(struct rkt_aggregator *aggregator, int rank,
                    const struct rkt_run_message *hello)
{
    struct rkt_peer_info *peer = &aggregator->peers[rank];
    struct rkt_run_message message = {.type = RKT_RUN_WELCOME,
                                      .flags = RKT_RUN_FLAG_HAS_RUN_ID,
                                      .value = aggregator->config.master_port,
                                      .run_id = aggregator->run_id};

    rkt_run_state_joined(aggregator->state, rank);
    peer->is_known = true;
    peer->is_per_node = (hello->flags & RKT_RUN_FLAG_PER_NODE) != 0;
    peer->job_rank = (hello->flags & RKT_RUN_FLAG_RANK_KNOWN) != 0 ? hello->value : -1;
    peer->node.time_namespace = hello->time_namespace;
    (void)snprintf(peer->node.host, sizeof(peer->node.host), "%s", hello->host);
    (void)snprintf(peer->node.boot_id, sizeof(peer->node.boot_id), "%s", hello->boot_id);
    place_clock(aggregator, rank, &message);
    if (aggregator->leaders && aggregator->leaders[rank] != 0) {
        message.flags |= RKT_RUN_FLAG_HAS_LEADER;
        message.leader = (uint32_t)aggregator->leaders[rank];
    }
    if (aggregator->shards)
        message.flags |= RKT_RUN_FLAG_SHARDED;
    (void)snprintf(message.host, sizeof(message.host), "%s", aggregator->config.master_host);
    if (aggregator->config.master_address)
        (void)snprintf(message.text, sizeof(message.text), "%s", aggregator->config.master_address);
    say(aggregator, rank, &message);
    if (aggregator->has_said_failed)
        say(aggregator, rank, &STORE_FAILED);
    rkt_window_orders_start(aggregator->windows, aggregator->now_ns);
}

void rkt_aggregator_refuse_all(struct rkt_transport *transport, const struct rkt_error *err)
{
    struct rkt_run_message message = {.type = RKT_RUN_REFUSED, .flags = RKT_RUN_FLAG_CLEAN};
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    size_t len;

    (void)snprintf(message.text, sizeof(message.text), "%.127s", err->text);
    len = rkt_run_message_encode(&message, buf);
    for (int rank = 0; rank < rkt_transport_size(transport); rank++)
        (void)rkt_transport_send(transport, rank, RKT_TAG_CONTROL_DOWN, buf, len, NULL);
}

static void refuse(struct rkt_aggregator *aggregator, int rank, const struct rkt_error *err)
{
    struct rkt_run_message message = {.type = RKT_RUN_REFUSED};

    (void)snprintf(message.text, sizeof(message.text), "%.127s", err->text);
    rkt_log(RKT_LOG_WARN, "aggregator", "a sidecar was refused", "from=%d reason=\"%s\"", rank,
            err->text);
    say(aggregator, rank, &message);
}

static void job_failed(struct rkt_aggregator *aggregator, int rank, int32_t code)
{
    struct rkt_run_message message = {.type = RKT_RUN_ABORT, .value = rank};

    if (!rkt_run_state_failed(aggregator->state, rank, code))
        return;
    rkt_log(RKT_LOG_WARN, "aggregator", "the job failed on a rank", "from=%d code=%d abort=%d",
            rank, (int)code, aggregator->config.is_abort_on_failure);
    if (aggregator->config.is_abort_on_failure)
        say_to_all(aggregator, &message);
}

static void order_window(struct rkt_aggregator *aggregator)
{
    struct rkt_run_message message = {.type = RKT_RUN_WINDOW};
    struct rkt_window_order order;

    if (!rkt_window_orders_next(aggregator->windows, aggregator->now_ns, &order))
        return;
    if (order.is_open)
        message.flags |= RKT_RUN_FLAG_IS_OPEN;
    if (order.has_step)
        message.flags |= RKT_RUN_FLAG_HAS_STEP;
    message.step = order.from_step;
    rkt_log(RKT_LOG_INFO, "aggregator", "the capture window changes", "open=%d from_step=%lld",
            order.is_open, order.has_step ? (long long)order.from_step : -1LL);
    say_to_all(aggregator, &message);
}

/* ---- from the sidecars ---- */

static void note_step(struct rkt_aggregator *aggregator, int rank,
                      const struct rkt_run_message *message)
{
    if (message->flags & RKT_RUN_FLAG_HAS_STEP)
        rkt_window_orders_step(aggregator->windows, rank, message->step, aggregator->now_ns);
    else
        rkt_window_orders_no_step(aggregator->windows, rank);
}

static void take(struct rkt_aggregator *aggregator, int rank, const struct rkt_run_message *message)
{
    switch (message->type) {
    case RKT_RUN_HELLO:
        welcome(aggregator, rank, message);
        break;
    case RKT_RUN_HEARTBEAT:
        note_step(aggregator, rank, message);
        break;
    case RKT_RUN_TOGGLE:
        rkt_log(RKT_LOG_DEBUG, "aggregator", "a toggle of the capture window", "from=%d", rank);
        note_step(aggregator, rank, message);
        rkt_window_orders_toggle(aggregator->windows, rank, message->flags & RKT_RUN_FLAG_IS_OPEN,
                                 aggregator->now_ns);
        break;
    case RKT_RUN_JOB_FAILED:
        job_failed(aggregator, rank, message->value);
        break;
    case RKT_RUN_FLUSHED:
        rkt_run_state_flushed(aggregator->state, rank);
        break;
    case RKT_RUN_SHARD_READY:
        if (aggregator->shards)
            rkt_shards_ready(aggregator->shards, rank, aggregator->peers[rank].node.host,
                             aggregator->now_ns);
        break;
    case RKT_RUN_SHARD_CLOSED:
        if (aggregator->shards)
            rkt_shards_closed(aggregator->shards, rank, message->value == 0);
        break;
    default: /* a type of a later version */
        break;
    }
}

static bool take_control(struct rkt_aggregator *aggregator)
{
    uint8_t buf[RKT_RUN_MESSAGE_BYTES_MAX];
    struct rkt_run_message message;
    struct rkt_arrival arrival = {0};
    struct rkt_error err = {0};
    enum rkt_status status = rkt_transport_receive(aggregator->config.transport, RKT_TAG_CONTROL_UP,
                                                   buf, sizeof(buf), &arrival, &err);

    if (status != RKT_OK && status != RKT_ERR_RANGE)
        return false;
    rkt_run_state_heard(aggregator->state, arrival.from, aggregator->now_ns);
    if (status == RKT_OK)
        status = rkt_run_message_decode(buf, arrival.len_bytes, &message, &err);
    if (status == RKT_OK)
        take(aggregator, arrival.from, &message);
    else if (status == RKT_ERR_VERSION)
        refuse(aggregator, arrival.from, &err);
    return true;
}

static void heard_frame(void *ctx, int rank)
{
    struct rkt_aggregator *aggregator = ctx;

    rkt_run_state_heard(aggregator->state, rank, aggregator->now_ns);
}

/* Then the sidecars keep what they have, and send no more. */
static void pass_failure_on(struct rkt_aggregator *aggregator)
{
    if (aggregator->has_said_failed || !rkt_receiver_has_failed(aggregator->receiver))
        return;
    aggregator->has_said_failed = true;
    say_to_all(aggregator, &STORE_FAILED);
}

/* ---- the end ---- */

static void log_totals(const struct rkt_aggregator *aggregator)
{
    struct rkt_stream_counts total = {0}, counts;

    for (int rank = 0; rank < aggregator->rank_count; rank++) {
        rkt_source_streams_counts(rkt_receiver_streams(aggregator->receiver), rank, &counts);
        total.frame_count += counts.frame_count;
        total.bad_count += counts.bad_count;
        total.duplicate_count += counts.duplicate_count;
        total.gap_count += counts.gap_count;
    }
    rkt_log(RKT_LOG_INFO, "aggregator", "the file is closed",
            "frames=%llu bundled=%llu bytes=%llu bad=%llu twice=%llu missing=%llu lost_ranks=%d "
            "whole=%d",
            (unsigned long long)total.frame_count,
            (unsigned long long)rkt_receiver_bundled_frames(aggregator->receiver),
            (unsigned long long)rkt_receiver_bytes(aggregator->receiver),
            (unsigned long long)total.bad_count, (unsigned long long)total.duplicate_count,
            (unsigned long long)total.gap_count, rkt_run_state_lost_count(aggregator->state),
            aggregator->is_file_whole);
    if (aggregator->shards)
        rkt_log(RKT_LOG_INFO, "aggregator", "leaders wrote files of their own", "files=%d whole=%d",
                rkt_shards_count(aggregator->shards), rkt_shards_whole_count(aggregator->shards));
}

static void close_file(struct rkt_aggregator *aggregator)
{
    const struct rkt_finish finish = {.receiver = aggregator->receiver,
                                      .state = aggregator->state,
                                      .clocks = aggregator->clocks,
                                      .peers = aggregator->peers,
                                      .rank_count = aggregator->rank_count};
    struct rkt_error err = {0};
    enum rkt_status status;

    for (int rank = 0; rank < aggregator->rank_count; rank++) {
        if (rkt_run_state_of(aggregator->state, rank) == RKT_PEER_LOST) {
            rkt_receiver_ignore(aggregator->receiver, rank);
            rkt_log(RKT_LOG_WARN, "aggregator", "a rank was lost: its sidecar went silent",
                    "from=%d", rank);
        }
    }
    status = rkt_finish_write(&finish, &err);
    if (status == RKT_OK)
        status = rkt_receiver_close(aggregator->receiver, &err);
    aggregator->is_file_whole = status == RKT_OK;
    if (status != RKT_OK && !rkt_receiver_has_failed(aggregator->receiver))
        rkt_log(RKT_LOG_ERROR, "aggregator", "the file has no index; it is readable all the same",
                "reason=\"%s\"", err.text);
    aggregator->phase = RKT_AGGREGATOR_CLOSED;
    log_totals(aggregator);
}

/* The files of leaders first: what they still bring of their sources is here before the end. */
static void begin_closing(struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    aggregator->phase = RKT_AGGREGATOR_CLOSING;
    aggregator->shards_limit_ns = now_ns + SHARDS_LIMIT_NS;
    if (aggregator->shards)
        rkt_shards_close(aggregator->shards);
}

static bool are_shards_done(const struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    return !aggregator->shards || rkt_shards_are_closed(aggregator->shards) ||
           now_ns >= aggregator->shards_limit_ns ||
           (aggregator->is_stopping && now_ns >= aggregator->stop_limit_ns + SHARDS_STOP_LIMIT_NS);
}

static void step_phase(struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    switch (aggregator->phase) {
    case RKT_AGGREGATOR_OPEN:
        if (rkt_run_state_is_over(aggregator->state, now_ns) ||
            (aggregator->is_stopping && now_ns >= aggregator->stop_limit_ns))
            begin_closing(aggregator, now_ns);
        break;
    case RKT_AGGREGATOR_CLOSING:
        if (are_shards_done(aggregator, now_ns))
            close_file(aggregator);
        break;
    case RKT_AGGREGATOR_LEAVING:
        if (!rkt_transport_progress(aggregator->config.transport) ||
            now_ns >= aggregator->leave_limit_ns)
            aggregator->phase = RKT_AGGREGATOR_DONE;
        break;
    case RKT_AGGREGATOR_CLOSED:
    case RKT_AGGREGATOR_DONE:
        break;
    }
}

/* To the dead each send costs a try to connect: the silent get one heartbeat in ten. */
static void send_heartbeats(struct rkt_aggregator *aggregator)
{
    static const struct rkt_run_message heartbeat = {.type = RKT_RUN_HEARTBEAT};
    bool is_for_all = aggregator->heartbeat_count++ % 10 == 0;

    for (int rank = 0; rank < aggregator->rank_count; rank++) {
        enum rkt_peer_state state = rkt_run_state_of(aggregator->state, rank);

        if ((state == RKT_PEER_JOINED || state == RKT_PEER_FLUSHED) &&
            (is_for_all || !rkt_run_state_is_silent(aggregator->state, rank, aggregator->now_ns)))
            say(aggregator, rank, &heartbeat);
    }
}

bool rkt_aggregator_step(struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    bool is_busy;

    /* Who stood still himself has heard nobody meanwhile: as in link.c. */
    if (aggregator->now_ns > 0 && now_ns - aggregator->now_ns > HEARTBEAT_NS)
        rkt_run_state_forgive(aggregator->state, now_ns - aggregator->now_ns - HEARTBEAT_NS);
    aggregator->now_ns = now_ns;
    while (take_control(aggregator)) {
    }
    order_window(aggregator);
    if (aggregator->shards)
        rkt_shards_step(aggregator->shards, now_ns);
    is_busy = rkt_receiver_step(aggregator->receiver, heard_frame, aggregator);
    pass_failure_on(aggregator);
    is_busy |= rkt_clock_answer_step(aggregator->clocks, NULL);
    if (now_ns >= aggregator->heartbeat_due_ns && aggregator->phase < RKT_AGGREGATOR_LEAVING) {
        aggregator->heartbeat_due_ns = now_ns + HEARTBEAT_NS;
        send_heartbeats(aggregator);
    }
    /* Frames that were there with the last FLUSHED are taken first. */
    if (!is_busy)
        step_phase(aggregator, now_ns);
    return is_busy;
}

void rkt_aggregator_stop(struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    if (aggregator->is_stopping)
        return;
    aggregator->is_stopping = true;
    aggregator->stop_limit_ns = now_ns + RKT_AGGREGATOR_STOP_NS;
}

void rkt_aggregator_release(struct rkt_aggregator *aggregator, uint64_t now_ns)
{
    struct rkt_run_message message = {.type = RKT_RUN_LEAVE};
    bool is_clean = rkt_run_state_lost_count(aggregator->state) == 0 && !aggregator->is_stopping;

    if (aggregator->phase != RKT_AGGREGATOR_CLOSED)
        return;
    if (is_clean)
        message.flags |= RKT_RUN_FLAG_CLEAN;
    (void)rkt_run_state_first_failed(aggregator->state, &message.value);
    say_to_all(aggregator, &message);
    aggregator->phase = RKT_AGGREGATOR_LEAVING;
    aggregator->leave_limit_ns = now_ns + LEAVE_LIMIT_NS;
}

enum rkt_aggregator_phase rkt_aggregator_phase_of(const struct rkt_aggregator *aggregator)
{
    return aggregator->phase;
}

uint64_t rkt_aggregator_bundled_frames(const struct rkt_aggregator *aggregator)
{
    return rkt_receiver_bundled_frames(aggregator->receiver);
}

bool rkt_aggregator_is_file_whole(const struct rkt_aggregator *aggregator)
{
    return aggregator->is_file_whole;
}
