/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_fit.h"

#include <stdint.h>
#include <stdlib.h>

/* Oscillators of servers differ by less; in ns per ms of burst. */
#define DRIFT_NS_PER_MS 50
#define CLOCK_STEP_NS 1
/* Wider than that times the best burst: the machine was busy. */
#define WIDE_FACTOR 4
/* No two machines' clocks are further apart (a century); also keeps sums inside int64. */
#define OFFSET_NS_MAX (INT64_MAX / 4)

struct exchange {
    uint32_t peer;
    uint32_t burst;
    uint64_t t1_ns;
    uint64_t t4_ns;
    int64_t lower_ns; /* t3 - t4 */
    int64_t upper_ns; /* t2 - t1 */
};

struct burst {
    uint64_t local_ns;
    int64_t lower_ns;
    int64_t upper_ns;
};

/* False: stamps that no exchange can have. */
static bool read_exchange(const struct rkt_event *event, struct exchange *out)
{
    const struct rkt_event_clock_exchange *remote = &event->clock_exchange;
    int64_t upper = (int64_t)(remote->t2_ns - event->start_ns);
    int64_t lower = (int64_t)(remote->t3_ns - event->end_ns);

    if (event->kind != RKT_EVENT_CLOCK_EXCHANGE || event->end_ns < event->start_ns ||
        remote->t3_ns < remote->t2_ns || event->end_ns > INT64_MAX)
        return false;
    if (upper < -OFFSET_NS_MAX || upper > OFFSET_NS_MAX || lower < -OFFSET_NS_MAX || lower > upper)
        return false;
    *out = (struct exchange){.peer = remote->peer_source,
                             .burst = remote->burst,
                             .t1_ns = event->start_ns,
                             .t4_ns = event->end_ns,
                             .lower_ns = lower,
                             .upper_ns = upper};
    return true;
}

bool rkt_clock_keep(const struct rkt_event *exchanges, size_t exchange_count, size_t *lower_out,
                    size_t *upper_out)
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
static bool make_burst(const struct exchange *exchanges, size_t count, struct burst *out)
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

    if (a->peer != b->peer)
        return compare_u64(a->peer, b->peer);
    if (a->burst != b->burst)
        return compare_u64(a->burst, b->burst);
    return compare_u64(a->t1_ns, b->t1_ns);
}

static int compare_bursts(const void *left, const void *right)
{
    const struct burst *a = left, *b = right;

    return compare_u64(a->local_ns, b->local_ns);
}

/* `bursts` has room for one per exchange. */
static size_t make_bursts(struct exchange *exchanges, size_t count, struct burst *bursts,
                          size_t *rejected_count)
{
    size_t burst_count = 0;
    size_t first = 0;

    qsort(exchanges, count, sizeof(*exchanges), compare_exchanges);
    for (size_t i = 1; i <= count; i++) {
        if (i < count && exchanges[i].peer == exchanges[first].peer &&
            exchanges[i].burst == exchanges[first].burst)
            continue;
        if (make_burst(&exchanges[first], i - first, &bursts[burst_count]))
            burst_count++;
        else
            ++*rejected_count;
        first = i;
    }
    qsort(bursts, burst_count, sizeof(*bursts), compare_bursts);
    return burst_count;
}

static int64_t width_ns(const struct burst *burst)
{
    return burst->upper_ns - burst->lower_ns;
}

static int64_t middle_ns(const struct burst *burst)
{
    return burst->lower_ns + width_ns(burst) / 2;
}

/* The line between two bursts' middles, at a time between them. */
static int64_t line_at(const struct burst *from, const struct burst *to, uint64_t local_ns)
{
    double share = to->local_ns == from->local_ns ? 0.0
                                                  : (double)(local_ns - from->local_ns) /
                                                        (double)(to->local_ns - from->local_ns);

    return middle_ns(from) + (int64_t)((double)(middle_ns(to) - middle_ns(from)) * share);
}

/* Index of the next burst at or after `at` that is not wide; `count` when there is none. */
static size_t next_narrow(const struct burst *bursts, size_t count, size_t at, int64_t wide_ns)
{
    while (at < count && width_ns(&bursts[at]) > wide_ns)
        at++;
    return at;
}

/* Leave out wide bursts that say nothing new; returns how many stay. */
static size_t drop_wide(struct burst *bursts, size_t count)
{
    int64_t best_ns = INT64_MAX;
    size_t kept = 0, next = 0;

    for (size_t i = 0; i < count; i++) {
        if (width_ns(&bursts[i]) < best_ns)
            best_ns = width_ns(&bursts[i]);
    }
    if (best_ns > OFFSET_NS_MAX / WIDE_FACTOR)
        return count;
    for (size_t i = 0; i < count; i++) {
        struct burst burst = bursts[i];

        if (next <= i)
            next = next_narrow(bursts, count, i, best_ns * WIDE_FACTOR);
        if (next != i && next < count && kept > 0) {
            int64_t line = line_at(&bursts[kept - 1], &bursts[next], burst.local_ns);

            if (line >= burst.lower_ns && line <= burst.upper_ns)
                continue;
        }
        bursts[kept++] = burst;
    }
    return kept;
}

static void make_knots(const struct burst *bursts, size_t count, struct rkt_align_knot *knots)
{
    for (size_t i = 0; i < count; i++) {
        int64_t half = width_ns(&bursts[i]) / 2;

        knots[i] = (struct rkt_align_knot){.local_ns = bursts[i].local_ns,
                                           .offset_ns = bursts[i].lower_ns + half,
                                           .bound_ns = width_ns(&bursts[i]) - half};
    }
}

enum rkt_status rkt_clock_fit(const struct rkt_event *exchanges, size_t exchange_count,
                              struct rkt_arena *arena, struct rkt_align_info *align_out,
                              size_t *rejected_count_out, struct rkt_error *err)
{
    struct exchange *sound = RKT_ARENA_ARRAY(arena, struct exchange, exchange_count);
    struct burst *bursts = RKT_ARENA_ARRAY(arena, struct burst, exchange_count);
    struct rkt_align_knot *knots;
    size_t sound_count = 0, burst_count, rejected_count = 0;

    if (!sound || !bursts)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clock exchanges", exchange_count);
    for (size_t i = 0; i < exchange_count; i++) {
        if (read_exchange(&exchanges[i], &sound[sound_count]))
            sound_count++;
    }
    burst_count = sound_count > 0 ? make_bursts(sound, sound_count, bursts, &rejected_count) : 0;
    burst_count = drop_wide(bursts, burst_count);
    knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, burst_count);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", burst_count);
    make_knots(bursts, burst_count, knots);
    align_out->state = burst_count > 0 ? RKT_ALIGN_MEASURED : RKT_ALIGN_UNALIGNED;
    align_out->knots = knots;
    align_out->knot_count = burst_count;
    if (rejected_count_out)
        *rejected_count_out = rejected_count;
    return RKT_OK;
}
