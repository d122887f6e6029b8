/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/window_orders.h"

#include <stdlib.h>

#define NEVER UINT64_MAX
#define NS_PER_S 1e9
/* A rate is taken over at least so long, and waited for so long. */
#define RATE_SPAN_NS UINT64_C(500000000)
#define RATE_WAIT_NS UINT64_C(2500000000)
/* A rank that does not get to an order's step stands still: the next order need not wait. */
#define EFFECT_WAIT_NS UINT64_C(10000000000)
/* What is older says nothing of where a rank is. */
#define STEP_AGE_MAX_NS UINT64_C(5000000000)

struct sample {
    uint64_t step;
    uint64_t at_ns;
};

struct progress {
    bool has_step;
    bool has_rate;
    struct sample first; /* of the span that the rate is taken over */
    struct sample last;
    double steps_per_ns;
};

struct rank {
    struct progress progress;
    uint64_t toggle_count; /* as of the last toggle that came from it */
};

struct rkt_window_orders {
    struct rkt_window_orders_config config;
    bool has_started;
    uint64_t open_at_ns; /* timed wishes; NEVER: none */
    uint64_t close_at_ns;

    uint64_t toggle_count; /* those that are one counted once */
    uint64_t toggled_ns;   /* the first of the last that are one */
    bool has_wish;
    bool wish_is_open;
    uint64_t wished_ns;

    bool has_order; /* the last one given */
    struct rkt_window_order order;
    uint64_t ordered_ns;

    struct rank ranks[];
};

struct rkt_window_orders *rkt_window_orders_create(const struct rkt_window_orders_config *config)
{
    struct rkt_window_orders *orders =
        calloc(1, sizeof(*orders) + (size_t)config->rank_count * sizeof(orders->ranks[0]));

    if (!orders)
        return NULL;
    orders->config = *config;
    orders->open_at_ns = NEVER;
    orders->close_at_ns = NEVER;
    return orders;
}

void rkt_window_orders_destroy(struct rkt_window_orders *orders)
{
    free(orders);
}

static uint64_t later(uint64_t time_ns, uint64_t by_ns)
{
    return by_ns < NEVER - time_ns ? time_ns + by_ns : NEVER;
}

void rkt_window_orders_start(struct rkt_window_orders *orders, uint64_t now_ns)
{
    uint64_t open_ns = later(now_ns, orders->config.delay_ns);

    if (orders->has_started)
        return;
    orders->has_started = true;
    if (orders->config.delay_ns > 0)
        orders->open_at_ns = open_ns;
    if (orders->config.duration_ns > 0)
        orders->close_at_ns = later(open_ns, orders->config.duration_ns);
}

void rkt_window_orders_step(struct rkt_window_orders *orders, int rank, uint64_t step,
                            uint64_t now_ns)
{
    struct progress *progress = &orders->ranks[rank].progress;
    struct sample sample = {.step = step, .at_ns = now_ns};
    uint64_t span_ns = now_ns - progress->first.at_ns;

    if (!progress->has_step || step < progress->last.step) {
        *progress = (struct progress){.has_step = true, .first = sample, .last = sample};
        return;
    }
    progress->last = sample;
    if (span_ns < RATE_SPAN_NS)
        return;
    progress->has_rate = true;
    progress->steps_per_ns = (double)(step - progress->first.step) / (double)span_ns;
    progress->first = sample;
}

void rkt_window_orders_no_step(struct rkt_window_orders *orders, int rank)
{
    orders->ranks[rank].progress = (struct progress){0};
}

static void wish(struct rkt_window_orders *orders, bool is_open, uint64_t now_ns)
{
    orders->has_wish = true;
    orders->wish_is_open = is_open;
    orders->wished_ns = now_ns;
}

/* Of the signal that made the last toggle: soon after it, or the first from this rank since. */
static bool is_of_last_toggle(const struct rkt_window_orders *orders, const struct rank *from,
                              uint64_t now_ns)
{
    uint64_t age_ns = now_ns - orders->toggled_ns;

    if (orders->toggle_count == 0)
        return false;
    return age_ns < RKT_WINDOW_MERGE_NS ||
           (age_ns < RKT_WINDOW_LATE_NS && from->toggle_count < orders->toggle_count);
}

void rkt_window_orders_toggle(struct rkt_window_orders *orders, int rank, bool is_open,
                              uint64_t now_ns)
{
    struct rank *from = &orders->ranks[rank];
    bool is_repeated = is_of_last_toggle(orders, from, now_ns);

    orders->toggle_count += !is_repeated;
    from->toggle_count = orders->toggle_count;
    if (is_repeated)
        return;
    orders->toggled_ns = now_ns;
    if (orders->has_wish)
        is_open = orders->wish_is_open;
    else if (orders->has_order)
        is_open = orders->order.is_open;
    wish(orders, !is_open, now_ns);
}

static void take_timed_wishes(struct rkt_window_orders *orders, uint64_t now_ns)
{
    if (now_ns >= orders->open_at_ns) {
        orders->open_at_ns = NEVER;
        wish(orders, true, now_ns);
    } else if (now_ns >= orders->close_at_ns && !orders->has_wish) {
        orders->close_at_ns = NEVER;
        wish(orders, false, now_ns);
    }
}

/* A rank of which nothing has come for long, and one whose job is over, hold nothing up. */
static bool counts(const struct progress *progress, uint64_t now_ns)
{
    return progress->has_step && now_ns - progress->last.at_ns <= STEP_AGE_MAX_NS;
}

static bool is_order_in_effect(const struct rkt_window_orders *orders, uint64_t now_ns)
{
    if (!orders->has_order || !orders->order.has_step ||
        now_ns - orders->ordered_ns > EFFECT_WAIT_NS)
        return true;
    for (int rank = 0; rank < orders->config.rank_count; rank++) {
        if (counts(&orders->ranks[rank].progress, now_ns) &&
            orders->ranks[rank].progress.last.step < orders->order.from_step)
            return false;
    }
    return true;
}

static bool are_rates_known(const struct rkt_window_orders *orders, uint64_t now_ns)
{
    for (int rank = 0; rank < orders->config.rank_count; rank++) {
        if (counts(&orders->ranks[rank].progress, now_ns) && !orders->ranks[rank].progress.has_rate)
            return false;
    }
    return true;
}

/* The first step that this rank cannot have begun when the order is there. */
static uint64_t first_ahead(const struct progress *progress, uint64_t now_ns)
{
    double reach_ns = (double)(now_ns - progress->last.at_ns + RKT_WINDOW_REACH_NS);
    uint64_t steps = (uint64_t)(progress->steps_per_ns * reach_ns);

    return progress->last.step + steps + 2; /* one for what is cut off, one for the next */
}

static struct rkt_window_order make_order(const struct rkt_window_orders *orders, uint64_t now_ns)
{
    struct rkt_window_order order = {.is_open = orders->wish_is_open};

    for (int rank = 0; rank < orders->config.rank_count; rank++) {
        const struct progress *progress = &orders->ranks[rank].progress;
        uint64_t ahead;

        if (!counts(progress, now_ns))
            continue;
        ahead = first_ahead(progress, now_ns) + order.is_open; /* its warm-up lies ahead, too */
        order.has_step = true;
        order.from_step = ahead > order.from_step ? ahead : order.from_step;
    }
    return order;
}

bool rkt_window_orders_next(struct rkt_window_orders *orders, uint64_t now_ns,
                            struct rkt_window_order *order_out)
{
    take_timed_wishes(orders, now_ns);
    if (!orders->has_wish || !is_order_in_effect(orders, now_ns) ||
        (!are_rates_known(orders, now_ns) && now_ns - orders->wished_ns < RATE_WAIT_NS))
        return false;
    orders->has_wish = false;
    orders->has_order = true;
    orders->order = make_order(orders, now_ns);
    orders->ordered_ns = now_ns;
    *order_out = orders->order;
    return true;
}
