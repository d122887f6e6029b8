/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_burst.h"

#include <stdlib.h>

/* Oscillators of servers differ by less; in ns per ms of burst. */
#define DRIFT_NS_PER_MS 50
#define CLOCK_STEP_NS 1
#define ENOUGH_PERCENT 115
/* A reading that took longer, as of a process off its core, says nothing that is worth while. */
#define CLAIM_NS_MAX 1000000000u

struct exchange {
    uint32_t burst;
    uint64_t t1_ns;
    uint64_t t4_ns;
    int64_t lower_ns; /* t3 - t4 */
    int64_t upper_ns; /* t2 - t1 */
};

/* False: stamps that no exchange can have. */
static bool read_exchange(const struct rkt_event *event, struct exchange *out)
{
    const struct rkt_event_clock_exchange *remote = &event->clock_exchange;
    int64_t upper = (int64_t)(remote->t2_ns - event->start_ns);
    int64_t lower = (int64_t)(remote->t3_ns - event->end_ns);

    if (event->kind != RKT_EVENT_CLOCK_EXCHANGE || event->start_ns == 0 || remote->t2_ns == 0 ||
        event->end_ns < event->start_ns || remote->t3_ns < remote->t2_ns ||
        event->end_ns > INT64_MAX)
        return false;
    if (upper < -RKT_CLOCK_OFFSET_NS_MAX || upper > RKT_CLOCK_OFFSET_NS_MAX ||
        lower < -RKT_CLOCK_OFFSET_NS_MAX || lower > upper)
        return false;
    *out = (struct exchange){.burst = remote->burst,
                             .t1_ns = event->start_ns,
                             .t4_ns = event->end_ns,
                             .lower_ns = lower,
                             .upper_ns = upper};
    return true;
}

bool rkt_clock_burst_keep(const struct rkt_event *exchanges, size_t exchange_count,
                          size_t *lower_out, size_t *upper_out)
{
    struct exchange lower = {0}, upper = {0}, at;
    bool has_any = false;

    for (size_t i = 0; i < exchange_count; i++) {
        if (!read_exchange(&exchanges[i], &at))
            continue;
        if (!has_any || at.lower_ns > lower.lower_ns) {
            lower = at;
            *lower_out = i;
        }
        if (!has_any || at.upper_ns < upper.upper_ns) {
            upper = at;
            *upper_out = i;
        }
        has_any = true;
    }
    return has_any;
}

void rkt_clock_limits_add(struct rkt_clock_limits *limits, const struct rkt_event *exchange)
{
    struct exchange at;

    if (!read_exchange(exchange, &at))
        return;
    if (!limits->is_set || at.lower_ns > limits->lower_ns)
        limits->lower_ns = at.lower_ns;
    if (!limits->is_set || at.upper_ns < limits->upper_ns)
        limits->upper_ns = at.upper_ns;
    limits->is_set = true;
}

int64_t rkt_clock_limits_width_ns(const struct rkt_clock_limits *limits)
{
    return limits->is_set ? limits->upper_ns - limits->lower_ns : INT64_MAX;
}

bool rkt_clock_limits_are_enough(const struct rkt_clock_limits *limits, size_t exchange_count,
                                 int64_t best_width_ns)
{
    int64_t width_ns = rkt_clock_limits_width_ns(limits);

    if (exchange_count >= RKT_BURST_EXCHANGES_MAX)
        return true;
    return exchange_count >= RKT_BURST_EXCHANGES_MIN &&
           width_ns <= best_width_ns / 100 * ENOUGH_PERCENT;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* How far the offset at `local_ns` may be from that at any moment of the exchange. */
static int64_t drift_ns(const struct exchange *at, uint64_t local_ns)
{
    uint64_t away = max_u64(local_ns > at->t1_ns ? local_ns - at->t1_ns : 0,
                            at->t4_ns > local_ns ? at->t4_ns - local_ns : 0);

    return (int64_t)(away / 1000000 + 1) * DRIFT_NS_PER_MS + CLOCK_STEP_NS;
}

/* False: empty, so a clock stepped in between. */
static bool make_burst(const struct exchange *exchanges, size_t count, struct rkt_clock_burst *out)
{
    const struct exchange *lower = &exchanges[0], *upper = &exchanges[0];
    uint64_t first, last;

    for (size_t i = 1; i < count; i++) {
        if (exchanges[i].lower_ns > lower->lower_ns)
            lower = &exchanges[i];
        if (exchanges[i].upper_ns < upper->upper_ns)
            upper = &exchanges[i];
    }
    first = min_u64(lower->t1_ns, upper->t1_ns);
    last = max_u64(lower->t4_ns, upper->t4_ns);
    out->local_ns = first + (last - first) / 2;
    out->lower_ns = lower->lower_ns - drift_ns(lower, out->local_ns);
    out->upper_ns = upper->upper_ns + drift_ns(upper, out->local_ns);
    return out->lower_ns <= out->upper_ns;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Bursts together; within one in order of time, so that the same exchange wins every tie. */
static int compare_exchanges(const void *left, const void *right)
{
    const struct exchange *a = left, *b = right;

    if (a->burst != b->burst)
        return compare_u64(a->burst, b->burst);
    return compare_u64(a->t1_ns, b->t1_ns);
}

static int compare_bursts(const void *left, const void *right)
{
    const struct rkt_clock_burst *a = left, *b = right;

    return compare_u64(a->local_ns, b->local_ns);
}

/* By time, one of each. */
static void sort_bursts(struct rkt_clock_bursts *bursts)
{
    size_t kept = 0;

    if (bursts->count > 1)
        qsort(bursts->items, bursts->count, sizeof(*bursts->items), compare_bursts);
    for (size_t i = 0; i < bursts->count; i++) {
        if (kept == 0 || bursts->items[i].local_ns != bursts->items[kept - 1].local_ns)
            bursts->items[kept++] = bursts->items[i];
    }
    bursts->count = kept;
}

static void make_all(struct exchange *exchanges, size_t count, struct rkt_clock_bursts *bursts)
{
    if (count > 1)
        qsort(exchanges, count, sizeof(*exchanges), compare_exchanges);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && exchanges[end].burst == exchanges[first].burst;)
            end++;
        if (make_burst(&exchanges[first], end - first, &bursts->items[bursts->count]))
            bursts->count++;
        else
            bursts->empty_count++;
    }
    sort_bursts(bursts);
}

enum rkt_status rkt_clock_bursts_make(const struct rkt_event *exchanges, size_t exchange_count,
                                      uint32_t peer_source, struct rkt_arena *arena,
                                      struct rkt_clock_bursts *bursts_out, struct rkt_error *err)
{
    struct exchange *sound = RKT_ARENA_ARRAY(arena, struct exchange, exchange_count + 1);
    struct rkt_clock_bursts bursts = {
        .items = RKT_ARENA_ARRAY(arena, struct rkt_clock_burst, exchange_count + 1)};
    size_t sound_count = 0;

    if (!sound || !bursts.items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clock exchanges", exchange_count);
    for (size_t i = 0; i < exchange_count; i++) {
        if (exchanges[i].kind != RKT_EVENT_CLOCK_EXCHANGE ||
            exchanges[i].clock_exchange.peer_source != peer_source)
            continue;
        if (read_exchange(&exchanges[i], &sound[sound_count]))
            sound_count++;
        else
            bursts.senseless_count++;
    }
    make_all(sound, sound_count, &bursts);
    *bursts_out = bursts;
    return RKT_OK;
}

/* ---- claims of true time ---- */

static bool read_claim(const struct rkt_event *event, struct rkt_clock_burst *out)
{
    const struct rkt_event_clock_true *truth = &event->clock_true;
    uint64_t bracket_ns = event->end_ns - event->start_ns;
    int64_t drift_ns = (int64_t)(bracket_ns / 1000000 * DRIFT_NS_PER_MS) + 1 + CLOCK_STEP_NS;

    if (event->start_ns == 0 || event->end_ns < event->start_ns || bracket_ns > CLAIM_NS_MAX ||
        truth->latest_ns < truth->earliest_ns || event->end_ns > RKT_CLOCK_OFFSET_NS_MAX ||
        truth->latest_ns > RKT_CLOCK_OFFSET_NS_MAX)
        return false;
    *out = (struct rkt_clock_burst){
        .local_ns = event->start_ns + bracket_ns / 2,
        .lower_ns = (int64_t)truth->earliest_ns - (int64_t)event->end_ns - drift_ns,
        .upper_ns = (int64_t)truth->latest_ns - (int64_t)event->start_ns + drift_ns};
    return true;
}

enum rkt_status rkt_clock_claims_make(const struct rkt_event *claims, size_t claim_count,
                                      struct rkt_arena *arena, struct rkt_clock_bursts *bursts_out,
                                      struct rkt_error *err)
{
    struct rkt_clock_bursts bursts = {
        .items = RKT_ARENA_ARRAY(arena, struct rkt_clock_burst, claim_count + 1),
        .are_claims = true};

    if (!bursts.items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu claims of true time", claim_count);
    for (size_t i = 0; i < claim_count; i++) {
        if (claims[i].kind != RKT_EVENT_CLOCK_TRUE)
            continue;
        if (read_claim(&claims[i], &bursts.items[bursts.count]))
            bursts.count++;
        else
            bursts.senseless_count++;
    }
    sort_bursts(&bursts);
    *bursts_out = bursts;
    return RKT_OK;
}
