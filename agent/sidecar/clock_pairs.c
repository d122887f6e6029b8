/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_pairs.h"

#include <math.h>

#include "common/clock.h"

#define TRY_COUNT 5
#define KEEP_EVERY_NS UINT64_C(10000000000)

/* 0 where the machine has no such counter: pairs then hold no TSC. */
static uint64_t read_tsc(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

static uint64_t middle_of(uint64_t start_ns, uint64_t end_ns)
{
    return start_ns + (end_ns - start_ns) / 2;
}

struct rkt_event rkt_clock_pair_of(const struct rkt_clock_readings *readings)
{
    const uint64_t *raw_ns = readings->raw_ns;
    uint64_t middle_ns = middle_of(raw_ns[0], raw_ns[1]);
    uint64_t width_ns = raw_ns[1] - raw_ns[0];
    struct rkt_event pair = {.kind = RKT_EVENT_CLOCK_PAIR, .clock_id = RKT_CLOCK_MONOTONIC_RAW};

    if (width_ns < raw_ns[2] - raw_ns[1])
        width_ns = raw_ns[2] - raw_ns[1];
    pair.start_ns = middle_ns - width_ns / 2;
    pair.end_ns = pair.start_ns + width_ns;
    pair.clock_pair.realtime_ns = readings->realtime_ns;
    pair.clock_pair.monotonic_ns =
        readings->monotonic_ns - (middle_of(raw_ns[1], raw_ns[2]) - middle_ns);
    pair.clock_pair.tsc_ticks = readings->tsc_ticks;
    return pair;
}

static struct rkt_event take_once(void)
{
    struct rkt_clock_readings readings;

    readings.raw_ns[0] = rkt_now_raw_ns();
    readings.realtime_ns = rkt_now_real_ns();
    readings.raw_ns[1] = rkt_now_raw_ns();
    readings.monotonic_ns = rkt_clock_read_ns(CLOCK_MONOTONIC);
    readings.raw_ns[2] = rkt_now_raw_ns();
    readings.tsc_ticks = read_tsc();
    return rkt_clock_pair_of(&readings);
}

struct rkt_event rkt_clock_pair_take(void)
{
    struct rkt_event best = take_once();

    for (int i = 1; i < TRY_COUNT; i++) {
        struct rkt_event pair = take_once();

        if (pair.end_ns - pair.start_ns < best.end_ns - best.start_ns)
            best = pair;
    }
    return best;
}

static uint64_t middle_ns(const struct rkt_event *pair)
{
    return pair->start_ns + (pair->end_ns - pair->start_ns) / 2;
}

/* The slope from the pair kept last; `gained_ns`: by so much more. */
static double slope_to(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                       uint64_t from_ns, uint64_t to_ns, double gained_ns)
{
    int64_t run_ns = (int64_t)(middle_ns(pair) - middle_ns(&pairs->kept));
    int64_t rise_ns = (int64_t)(to_ns - from_ns) - run_ns;

    return ((double)rise_ns + gained_ns) / (double)run_ns;
}

static bool is_in(const struct rkt_clock_pairs *pairs, const struct rkt_pair_corridor *corridor,
                  const struct rkt_event *pair, uint64_t from_ns, uint64_t to_ns)
{
    double slope = slope_to(pairs, pair, from_ns, to_ns, 0);

    return slope >= corridor->low && slope <= corridor->high;
}

static bool fits(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    const struct rkt_event_clock_pair *from = &pairs->kept.clock_pair, *to = &pair->clock_pair;

    return is_in(pairs, &pairs->real, pair, from->realtime_ns, to->realtime_ns) &&
           is_in(pairs, &pairs->monotonic, pair, from->monotonic_ns, to->monotonic_ns);
}

static void narrow_one(const struct rkt_clock_pairs *pairs, struct rkt_pair_corridor *corridor,
                       const struct rkt_event *pair, uint64_t from_ns, uint64_t to_ns)
{
    corridor->low =
        fmax(corridor->low, slope_to(pairs, pair, from_ns, to_ns, -RKT_CLOCK_PAIR_LINE_NS));
    corridor->high =
        fmin(corridor->high, slope_to(pairs, pair, from_ns, to_ns, RKT_CLOCK_PAIR_LINE_NS));
}

static void narrow(struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    const struct rkt_event_clock_pair *from = &pairs->kept.clock_pair, *to = &pair->clock_pair;

    narrow_one(pairs, &pairs->real, pair, from->realtime_ns, to->realtime_ns);
    narrow_one(pairs, &pairs->monotonic, pair, from->monotonic_ns, to->monotonic_ns);
    pairs->last = *pair;
    pairs->has_last = true;
}

static void keep(struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    static const struct rkt_pair_corridor OPEN = {-(double)INFINITY, (double)INFINITY};

    pairs->kept = *pair;
    pairs->kept_count++;
    pairs->has_last = false;
    pairs->real = OPEN;
    pairs->monotonic = OPEN;
}

/* Whether the next pair is due without a bend. */
static bool is_due(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    uint64_t distance_ns =
        pairs->kept.start_ns - pairs->bend_ns + (uint64_t)RKT_CLOCK_PAIR_EVERY_NS;

    return pair->start_ns - pairs->kept.start_ns >
           (distance_ns < KEEP_EVERY_NS ? distance_ns : KEEP_EVERY_NS);
}

size_t rkt_clock_pairs_add(struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                           bool is_last, struct rkt_event out[2])
{
    size_t count = 0;

    if (pairs->kept_count > 0 && middle_ns(pair) <= middle_ns(&pairs->kept))
        return 0;
    if (pairs->has_last && !fits(pairs, pair)) {
        out[count++] = pairs->last;
        keep(pairs, &pairs->last);
        pairs->bend_ns = pairs->kept.start_ns;
    }
    /* two at once, so that there is a line */
    if (pairs->kept_count == 0)
        pairs->bend_ns = pair->start_ns;
    if (pairs->kept_count < 2 || is_last || is_due(pairs, pair)) {
        out[count++] = *pair;
        keep(pairs, pair);
    } else {
        narrow(pairs, pair);
    }
    return count;
}
