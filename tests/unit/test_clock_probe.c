/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the ping-pong over the loop transport. Time is the test's: each read of a clock
 * is a moment later, and lets the other side work where one side spins.
 */
#include "rkt_test.h"

#include <stdlib.h>

#include "agent/sidecar/clock_probe.h"
#include "aggregator/clock_answer.h"
#include "common/arena.h"
#include "common/clock_burst.h"
#include "common/run_message.h"
#include "common/transport_loop.h"

#define RANKS 3
#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)
#define READ_NS 400 /* what one read of a clock takes */

struct world;

struct side {
    struct world *world;
    int64_t offset_ns; /* its clock, against true time */
    struct rkt_clock_probe *probe;
    struct rkt_event *events;
    size_t event_count;
};

struct world {
    struct rkt_loop_hub *hub;
    uint64_t true_ns;
    struct side sides[RANKS];
    struct rkt_clock_answer *answer;
    struct rkt_clock_answer *parent; /* rank 1 answers too; NULL: it does not */
    bool is_nested;                  /* the other side is at work */
    bool answer_sleeps;              /* rank 0 does not get to its messages */
    uint64_t answer_gap_ns;          /* it does only each so often, for a moment */
    uint64_t answer_due_ns;
};

/* While one side waits in a loop of its own, the others get their turns from in here. */
static void let_others_work(struct world *world)
{
    if (world->is_nested)
        return;
    world->is_nested = true;
    rkt_loop_hub_tick(world->hub);
    if (world->answer && !world->answer_sleeps && world->true_ns >= world->answer_due_ns) {
        (void)rkt_clock_answer_step(world->answer, NULL);
        world->answer_due_ns = world->true_ns + world->answer_gap_ns;
    }
    if (world->parent)
        (void)rkt_clock_answer_step(world->parent, NULL);
    world->is_nested = false;
}

static uint64_t read_clock(void *ctx)
{
    struct side *side = ctx;

    side->world->true_ns += READ_NS;
    if (side != &side->world->sides[0])
        let_others_work(side->world);
    return side->world->true_ns + (uint64_t)side->offset_ns;
}

static enum rkt_status keep_event(void *ctx, const struct rkt_event *event, struct rkt_error *err)
{
    struct side *side = ctx;

    (void)err;
    if (side->event_count < 4096)
        side->events[side->event_count++] = *event;
    return RKT_OK;
}

static void make_probe(struct world *world, int rank)
{
    struct side *side = &world->sides[rank];
    struct rkt_clock_probe_config config = {
        .transport = rkt_loop_hub_transport(world->hub, rank),
        .seed = (uint64_t)rank,
        .clock = read_clock,
        .clock_ctx = side,
        .on_exchange = keep_event,
        .exchange_ctx = side,
    };
    struct rkt_error err = {0};

    side->events = calloc(4096, sizeof(*side->events));
    assert_rkt_ok(rkt_clock_probe_create(&config, &side->probe, &err), err);
}

static int make_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct rkt_error err = {0};

    world->true_ns = 1000 * S;
    assert_rkt_ok(rkt_loop_hub_create(RANKS, 3, &world->hub, &err), err);
    for (int rank = 0; rank < RANKS; rank++)
        world->sides[rank].world = world;
    world->sides[1].offset_ns = -(int64_t)(300 * S);
    world->sides[2].offset_ns = 77777777;
    make_probe(world, 1);
    make_probe(world, 2);
    assert_rkt_ok(rkt_clock_answer_create(rkt_loop_hub_transport(world->hub, 0), read_clock,
                                          &world->sides[0], &world->answer, &err),
                  err);
    *state = world;
    return 0;
}

static int drop_world(void **state)
{
    struct world *world = *state;

    for (int rank = 1; rank < RANKS; rank++) {
        rkt_clock_probe_destroy(world->sides[rank].probe);
        free(world->sides[rank].events);
    }
    rkt_clock_answer_destroy(world->answer);
    rkt_clock_answer_destroy(world->parent);
    rkt_loop_hub_destroy(world->hub);
    free(world);
    return 0;
}

/* Rounds of a millisecond, as the loop of a sidecar that polls. */
static void run_for(struct world *world, uint64_t duration_ns)
{
    uint64_t end_ns = world->true_ns + duration_ns;

    while (world->true_ns < end_ns) {
        for (int rank = 1; rank < RANKS; rank++)
            (void)rkt_clock_probe_step(world->sides[rank].probe, NULL);
        let_others_work(world);
        world->true_ns += MS;
    }
}

static struct rkt_clock_bursts bursts_with(uint32_t peer, const struct rkt_event *events,
                                           size_t count, struct rkt_arena *arena)
{
    struct rkt_clock_bursts bursts;
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_bursts_make(events, count, peer, arena, &bursts, &err), err);
    return bursts;
}

static struct rkt_clock_bursts bursts_of(const struct rkt_event *events, size_t count,
                                         struct rkt_arena *arena)
{
    return bursts_with(0, events, count, arena);
}

static void check_bursts(const struct rkt_clock_bursts *bursts, int64_t offset_ns)
{
    for (size_t k = 0; k < bursts->count; k++) {
        assert_true(bursts->items[k].lower_ns <= -offset_ns);
        assert_true(bursts->items[k].upper_ns >= -offset_ns);
        assert_in_range(bursts->items[k].upper_ns - bursts->items[k].lower_ns, 1, 40000);
    }
}

static void bursts_find_the_offset_within_their_bound(void **state)
{
    struct world *world = *state;
    struct rkt_arena arena;

    rkt_arena_init(&arena, 16u << 20);
    for (int rank = 1; rank < RANKS; rank++)
        rkt_clock_probe_schedule(world->sides[rank].probe, 3, 300 * MS, false);
    run_for(world, 2 * S);
    for (int rank = 1; rank < RANKS; rank++) {
        const struct side *side = &world->sides[rank];
        struct rkt_clock_bursts bursts = bursts_of(side->events, side->event_count, &arena);

        assert_true(rkt_clock_probe_is_idle(side->probe));
        assert_in_range(side->event_count, 3 * RKT_BURST_EXCHANGES_MIN,
                        3 * RKT_BURST_EXCHANGES_MAX);
        assert_int_equal(bursts.count, 3);
        check_bursts(&bursts, side->offset_ns);
    }
    rkt_arena_release(&arena);
}

static void rank_0_keeps_what_gives_the_same_bursts(void **state)
{
    struct world *world = *state;
    struct rkt_arena arena;
    struct rkt_clock_bursts here, there;
    size_t count = 0;
    const struct rkt_event *kept;

    rkt_arena_init(&arena, 16u << 20);
    rkt_clock_probe_schedule(world->sides[1].probe, 3, 300 * MS, false);
    run_for(world, 2 * S);
    kept = rkt_clock_answer_exchanges(world->answer, 1, &count);
    assert_int_equal(count, 6);
    here = bursts_of(kept, count, &arena);
    there = bursts_of(world->sides[1].events, world->sides[1].event_count, &arena);
    assert_int_equal(here.count, 3);
    assert_int_equal(here.count, there.count);
    assert_memory_equal(here.items, there.items, here.count * sizeof(*here.items));
    (void)rkt_clock_answer_exchanges(world->answer, 2, &count);
    assert_int_equal(count, 0);
    rkt_arena_release(&arena);
}

/* From a sidecar that is being served, too: its burst goes on. */
static void rank_0_keeps_claims_of_true_time(void **state)
{
    static const struct rkt_clock_message CLAIM = {
        .type = RKT_BURST_CLAIM, .kept_count = 1, .kept = {{1000, 9900, 9800, 1080}}};
    struct world *world = *state;
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    size_t len = rkt_clock_message_encode(&CLAIM, buf), count = 0, claim_count = 0;
    const struct rkt_event *kept;

    rkt_clock_probe_schedule(world->sides[1].probe, 1, 0, false);
    (void)rkt_clock_probe_step(world->sides[1].probe, NULL); /* asks */
    for (int i = 0; i < 2; i++)
        assert_int_equal(rkt_transport_send(rkt_loop_hub_transport(world->hub, 1), 0,
                                            RKT_TAG_CLOCK_UP, buf, len, NULL),
                         RKT_OK);
    run_for(world, 2 * S);
    assert_true(rkt_clock_probe_is_idle(world->sides[1].probe));
    assert_in_range(world->sides[1].event_count, RKT_BURST_EXCHANGES_MIN, RKT_BURST_EXCHANGES_MAX);
    kept = rkt_clock_answer_exchanges(world->answer, 1, &count);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        if (kept[i].kind != RKT_EVENT_CLOCK_TRUE)
            continue;
        claim_count++;
        assert_int_equal(kept[i].start_ns, 1000);
        assert_int_equal(kept[i].end_ns, 1080);
        assert_int_equal(kept[i].clock_true.earliest_ns, 9800);
        assert_int_equal(kept[i].clock_true.latest_ns, 9900);
    }
    assert_int_equal(claim_count, 2);
}

static void repeated_bursts_come_about_every_ten_seconds(void **state)
{
    struct world *world = *state;
    uint32_t last_burst = 0;
    size_t bursts = 0;

    rkt_clock_probe_schedule(world->sides[1].probe, 1, 0, true);
    run_for(world, 100 * S);
    for (size_t i = 0; i < world->sides[1].event_count; i++) {
        const struct rkt_event *event = &world->sides[1].events[i];

        bursts += event->clock_exchange.burst != last_burst;
        last_burst = event->clock_exchange.burst;
    }
    assert_in_range(bursts, 8, 14);
    assert_true(rkt_clock_probe_is_idle(world->sides[1].probe));
}

static void unanswered_request_is_given_up_and_tried_again(void **state)
{
    struct world *world = *state;

    world->answer_sleeps = true;
    rkt_clock_probe_schedule(world->sides[1].probe, 1, 0, false);
    run_for(world, 3 * S);
    assert_int_equal(world->sides[1].event_count, 0);
    assert_false(rkt_clock_probe_is_idle(world->sides[1].probe));
    world->answer_sleeps = false;
    run_for(world, 3 * S);
    assert_true(rkt_clock_probe_is_idle(world->sides[1].probe));
    assert_in_range(world->sides[1].event_count, RKT_BURST_EXCHANGES_MIN, RKT_BURST_EXCHANGES_MAX);
}

static void rank_0_on_a_busy_host_gives_a_wide_bound_not_none(void **state)
{
    struct world *world = *state;
    struct side *side = &world->sides[1];
    struct rkt_arena arena;
    struct rkt_clock_bursts bursts;

    rkt_arena_init(&arena, 16u << 20);
    world->answer_gap_ns = UINT64_C(10) * RKT_BURST_SPIN_NS;
    rkt_clock_probe_schedule(side->probe, 3, 10 * MS, false);
    run_for(world, 10 * S);
    assert_true(rkt_clock_probe_is_idle(side->probe));
    bursts = bursts_of(side->events, side->event_count, &arena);
    assert_int_equal(bursts.count, 1);
    assert_true(bursts.items[0].lower_ns <= -side->offset_ns);
    assert_true(bursts.items[0].upper_ns >= -side->offset_ns);
    rkt_arena_release(&arena);
}

/* A child that says one thing after the other, READS_APART reads of rank 0's clock apart, and then
 * no more. */
#define READS_APART 20
struct scripted_child {
    struct rkt_loop_hub *hub;
    uint64_t now_ns;
    int reads;
    const uint16_t *types;
    int type_count;
};

static void send_up(struct scripted_child *child, uint16_t type)
{
    const struct rkt_clock_message message = {
        .type = type, .burst = 1, .kept_count = type == RKT_BURST_CLAIM};
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_transport_send(rkt_loop_hub_transport(child->hub, 1), 0, RKT_TAG_CLOCK_UP,
                                     buf, rkt_clock_message_encode(&message, buf), &err),
                  err);
    rkt_loop_hub_tick(child->hub);
}

static uint64_t read_and_go_on(void *ctx)
{
    struct scripted_child *child = ctx;
    int spoken = child->reads++ / READS_APART;

    if (child->reads % READS_APART == 0 && spoken < child->type_count)
        send_up(child, child->types[spoken]);
    return child->now_ns += READ_NS;
}

/* One step of rank 0, which that child has asked. */
static void serve_child(struct scripted_child *child)
{
    struct rkt_clock_answer *answer;
    struct rkt_error err = {0};

    child->now_ns = 1000 * S;
    assert_rkt_ok(rkt_clock_answer_create(rkt_loop_hub_transport(child->hub, 0), read_and_go_on,
                                          child, &answer, &err),
                  err);
    send_up(child, RKT_BURST_REQUEST);
    assert_true(rkt_clock_answer_step(answer, NULL));
    rkt_clock_answer_destroy(answer);
}

static void rank_0_spins_no_longer_for_a_child_that_went_silent(void **state)
{
    static const uint16_t PINGS[] = {RKT_BURST_PING};
    struct world *world = *state;
    struct scripted_child child = {.hub = world->hub, .types = PINGS, .type_count = 1};

    serve_child(&child);
    assert_true(child.reads > READS_APART);
    assert_in_range(child.now_ns - 1000 * S, 300000, 400000);
}

static void rank_0_spins_for_two_milliseconds_at_most(void **state)
{
    static uint16_t pings[300]; /* for longer than that */
    struct world *world = *state;
    struct scripted_child child = {.hub = world->hub, .types = pings, .type_count = 300};

    for (int i = 0; i < child.type_count; i++)
        pings[i] = RKT_BURST_PING;
    serve_child(&child);
    assert_in_range(child.now_ns - 1000 * S, 1900000, 2000000 + 10 * READ_NS);
}

/* Rank 0 spins on behind each, and ends with the last; but for that it would spin 300 us longer. */
static void a_burst_ends_when_its_child_says_so_and_not_with_a_claim(void **state)
{
    static const uint16_t TYPES[] = {RKT_BURST_CLAIM, RKT_BURST_PING, RKT_BURST_CLAIM,
                                     RKT_BURST_REQUEST, RKT_BURST_DONE};
    enum {
        COUNT = sizeof(TYPES) / sizeof(TYPES[0])
    };
    struct world *world = *state;
    struct scripted_child child = {.hub = world->hub, .types = TYPES, .type_count = COUNT};

    serve_child(&child);
    assert_in_range(child.reads, COUNT * READS_APART, COUNT * READS_APART + 5);
}

static void silent_rank_0_ends_the_schedule_after_its_retries(void **state)
{
    struct world *world = *state;

    world->answer_sleeps = true;
    rkt_clock_probe_schedule(world->sides[1].probe, 2, 10 * MS, false);
    run_for(world, 30 * S);
    assert_true(rkt_clock_probe_is_idle(world->sides[1].probe));
    assert_int_equal(world->sides[1].event_count, 0);
}

static void lost_messages_make_shorter_bursts_not_wrong_ones(void **state)
{
    struct world *world = *state;
    struct rkt_loop_faults faults = {
        .drop_per_10k = 300, .duplicate_per_10k = 300, .corrupt_per_10k = 0};
    struct rkt_arena arena;
    struct rkt_clock_bursts bursts;

    rkt_arena_init(&arena, 16u << 20);
    rkt_loop_hub_set_faults(world->hub, RKT_TAG_CLOCK_UP, &faults);
    rkt_loop_hub_set_faults(world->hub, RKT_TAG_CLOCK_DOWN, &faults);
    rkt_clock_probe_schedule(world->sides[1].probe, 10, 50 * MS, false);
    run_for(world, 60 * S);
    bursts = bursts_of(world->sides[1].events, world->sides[1].event_count, &arena);
    assert_in_range(bursts.count, 2, 60);
    check_bursts(&bursts, world->sides[1].offset_ns);
    rkt_arena_release(&arena);
}

/* Rank 2 measures against rank 1. */
static void make_parent(struct world *world)
{
    struct rkt_error err = {0};

    assert_rkt_ok(rkt_clock_answer_create(rkt_loop_hub_transport(world->hub, 1), read_clock,
                                          &world->sides[1], &world->parent, &err),
                  err);
}

/* What rank 0 was told makes the same bursts as what the child has. */
static void check_bursts_with(const struct world *world, uint32_t peer, size_t least, size_t most)
{
    const struct side *side = &world->sides[2];
    struct rkt_clock_bursts here, there;
    const struct rkt_event *kept;
    struct rkt_arena arena;
    size_t count = 0;

    rkt_arena_init(&arena, 16u << 20);
    kept = rkt_clock_answer_exchanges(world->answer, 2, &count);
    there = bursts_with(peer, kept, count, &arena);
    here = bursts_with(peer, side->events, side->event_count, &arena);
    assert_in_range(here.count, least, most);
    assert_int_equal(here.count, there.count);
    if (here.count > 0)
        assert_memory_equal(here.items, there.items, here.count * sizeof(*here.items));
    check_bursts(&here, side->offset_ns - world->sides[peer].offset_ns);
    rkt_arena_release(&arena);
}

static void child_measures_against_its_parent_and_rarely_against_rank_0(void **state)
{
    struct world *world = *state;
    size_t count = 0;

    make_parent(world);
    rkt_clock_probe_set_parent(world->sides[2].probe, 1);
    rkt_clock_probe_schedule(world->sides[2].probe, 3, 300 * MS, true);
    run_for(world, 200 * S);
    assert_true(rkt_clock_probe_is_idle(world->sides[2].probe));
    check_bursts_with(world, 1, 3 + 15, 3 + 26);
    check_bursts_with(world, 0, 3 + 1, 3 + 2);
    (void)rkt_clock_answer_exchanges(world->parent, 2, &count);
    assert_int_equal(count, 0); /* it is no business of the parent's */
}

static void rank_0_takes_the_place_of_a_parent_that_is_silent(void **state)
{
    struct world *world = *state;

    rkt_clock_probe_set_parent(world->sides[2].probe, 1);
    rkt_clock_probe_schedule(world->sides[2].probe, 3, 300 * MS, true);
    run_for(world, 100 * S);
    assert_true(rkt_clock_probe_is_idle(world->sides[2].probe));
    check_bursts_with(world, 1, 0, 0);
    check_bursts_with(world, 0, 3 + 5, 3 + 3 + 14);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_world, drop_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(bursts_find_the_offset_within_their_bound),
        CASE(rank_0_keeps_what_gives_the_same_bursts),
        CASE(rank_0_keeps_claims_of_true_time),
        CASE(repeated_bursts_come_about_every_ten_seconds),
        CASE(unanswered_request_is_given_up_and_tried_again),
        CASE(rank_0_on_a_busy_host_gives_a_wide_bound_not_none),
        CASE(rank_0_spins_no_longer_for_a_child_that_went_silent),
        CASE(rank_0_spins_for_two_milliseconds_at_most),
        CASE(a_burst_ends_when_its_child_says_so_and_not_with_a_claim),
        CASE(silent_rank_0_ends_the_schedule_after_its_retries),
        CASE(lost_messages_make_shorter_bursts_not_wrong_ones),
        CASE(child_measures_against_its_parent_and_rarely_against_rank_0),
        CASE(rank_0_takes_the_place_of_a_parent_that_is_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
