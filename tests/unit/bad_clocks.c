/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/bad_clocks.h"

#include "common/clock.h"

#define S UINT64_C(1000000000)
#define WAY_NS 8000

struct rkt_event bad_clock_exchange(size_t k, uint64_t ahead_ns, uint64_t peer_ahead_ns,
                                    uint32_t peer_source)
{
    uint64_t true_ns = (k + 1) * 10 * S;
    struct rkt_event event = {.kind = RKT_EVENT_CLOCK_EXCHANGE,
                              .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                              .start_ns = true_ns + ahead_ns,
                              .end_ns = true_ns + UINT64_C(2) * WAY_NS + ahead_ns};

    event.clock_exchange.t2_ns = event.clock_exchange.t3_ns = true_ns + WAY_NS + peer_ahead_ns;
    event.clock_exchange.peer_source = peer_source;
    event.clock_exchange.burst = (uint32_t)k + 1;
    return event;
}

void bad_clock_shift_answer(struct rkt_event *exchange, int64_t by_ns)
{
    exchange->clock_exchange.t2_ns += (uint64_t)by_ns;
    exchange->clock_exchange.t3_ns += (uint64_t)by_ns;
}

/* ---- what spoils it ---- */

static void zero_stamps(struct rkt_event *exchange, size_t k)
{
    (void)k;
    exchange->start_ns = 0;
    exchange->end_ns = 0;
    exchange->clock_exchange.t2_ns = 0;
    exchange->clock_exchange.t3_ns = 0;
}

static void zero_answers(struct rkt_event *exchange, size_t k)
{
    (void)k;
    exchange->clock_exchange.t2_ns = 0;
    exchange->clock_exchange.t3_ns = 0;
}

static void backward_here(struct rkt_event *exchange, size_t k)
{
    (void)k;
    exchange->end_ns = exchange->start_ns - 1;
}

static void backward_there(struct rkt_event *exchange, size_t k)
{
    (void)k;
    exchange->clock_exchange.t3_ns = exchange->clock_exchange.t2_ns - 1;
}

/* It took longer there than in all. */
static void slower_there(struct rkt_event *exchange, size_t k)
{
    (void)k;
    exchange->clock_exchange.t3_ns += 17000;
}

static void answered_by_two_in_turn(struct rkt_event *exchange, size_t k)
{
    bad_clock_shift_answer(exchange, k % 2 ? INT64_C(3000000000) : 0);
}

static void lies_all_along(struct rkt_event *exchange, size_t k)
{
    bad_clock_shift_answer(exchange, (int64_t)(k * 7919 % 61) * 50000000);
}

static void lies_twice(struct rkt_event *exchange, size_t k)
{
    bad_clock_shift_answer(exchange, k == 6 || k == 13 ? 40000000 : 0);
}

static void none(struct rkt_event *exchange, size_t k)
{
    (void)exchange;
    (void)k;
}

const struct bad_clock bad_clocks[BAD_CLOCK_COUNT] = {
    {"it never answers", none, 0, RKT_ALIGN_UNALIGNED, 0},
    {"no stamps", zero_stamps, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED, 0},
    {"no stamps there", zero_answers, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED, 0},
    {"backward stamps here", backward_here, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED, 0},
    {"backward stamps there", backward_there, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED, 0},
    {"longer there than in all", slower_there, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED, 0},
    {"two clocks answer in turn", answered_by_two_in_turn, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED,
     RKT_CLOCK_CONTRADICTORY | RKT_CLOCK_BAD_BURSTS},
    {"it lies all along", lies_all_along, BAD_CLOCK_BURSTS, RKT_ALIGN_UNALIGNED,
     RKT_CLOCK_CONTRADICTORY | RKT_CLOCK_BAD_BURSTS},
    {"it lies twice", lies_twice, BAD_CLOCK_BURSTS, RKT_ALIGN_MEASURED, RKT_CLOCK_BAD_BURSTS},
    {"one exchange", none, 1, RKT_ALIGN_MEASURED, 0},
};
