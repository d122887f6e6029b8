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
    return middle_of(pair->start_ns, pair->end_ns);
}

typedef uint64_t (*clock_fn)(const struct rkt_event *pair);

static uint64_t realtime_of(const struct rkt_event *pair)
{
    return pair->clock_pair.realtime_ns;
}

static uint64_t monotonic_of(const struct rkt_event *pair)
{
    return pair->clock_pair.monotonic_ns;
}

static double run_ns(const struct rkt_event *from, const struct rkt_event *to)
{
    return (double)(int64_t)(middle_ns(to) - middle_ns(from));
}

/* What the clock gains on RAW. */
static double gain_ns(const struct rkt_event *from, const struct rkt_event *to, clock_fn clock)
{
    int64_t raw_ns = (int64_t)(middle_ns(to) - middle_ns(from));

    return (double)((int64_t)(clock(to) - clock(from)) - raw_ns);
}

/* The i-th reading on the way from the pair kept last, which is the 0th, over those left out to
 * `end`. */
static const struct rkt_event *reading(const struct rkt_clock_pairs *pairs, size_t i,
                                       const struct rkt_event *end)
{
    return i == 0 ? &pairs->kept : i <= pairs->left_out_count ? &pairs->left_out[i - 1] : end;
}

/* How far those left out are off the line from the pair kept last to `end`. */
static double off_ns(const struct rkt_clock_pairs *pairs, const struct rkt_event *end,
                     clock_fn clock)
{
    double rate = gain_ns(&pairs->kept, end, clock) / run_ns(&pairs->kept, end);
    double most_ns = 0;

    for (size_t i = 0; i < pairs->left_out_count; i++) {
        const struct rkt_event *at = &pairs->left_out[i];

        most_ns =
            fmax(most_ns, fabs(gain_ns(&pairs->kept, at, clock) - rate * run_ns(&pairs->kept, at)));
    }
    return most_ns;
}

/* By how much the gain from one reading to the next differs from that of the gap beside it. */
static double bent_ns(const struct rkt_clock_pairs *pairs, const struct rkt_event *end,
                      clock_fn clock)
{
    double most_ns = 0;

    for (size_t i = 1; i <= pairs->left_out_count; i++) {
        const struct rkt_event *at = reading(pairs, i, end);
        const struct rkt_event *before = reading(pairs, i - 1, end);
        const struct rkt_event *behind = reading(pairs, i + 1, end);
        double rate = gain_ns(before, at, clock) / run_ns(before, at) -
                      gain_ns(at, behind, clock) / run_ns(at, behind);

        most_ns = fmax(most_ns, fabs(rate) * fmax(run_ns(before, at), run_ns(at, behind)));
    }
    return most_ns;
}

static bool fits(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    return off_ns(pairs, pair, realtime_of) <= RKT_CLOCK_PAIR_LINE_NS &&
           off_ns(pairs, pair, monotonic_of) <= RKT_CLOCK_PAIR_LINE_NS;
}

static bool is_late(const struct rkt_event *before, const struct rkt_event *pair)
{
    return pair->start_ns - before->start_ns > (uint64_t)RKT_CLOCK_PAIR_GAP_NS;
}

/* As it is stored, with what those show that were left out since the one before. */
static struct rkt_event keep(struct rkt_clock_pairs *pairs, struct rkt_event pair)
{
    if (pairs->left_out_count > 0) {
        double real_ns = off_ns(pairs, &pair, realtime_of) + bent_ns(pairs, &pair, realtime_of);
        double monotonic_ns =
            off_ns(pairs, &pair, monotonic_of) + bent_ns(pairs, &pair, monotonic_of);

        pair.clock_pair.line_us = (uint32_t)((pair.start_ns - pairs->kept.start_ns) / 1000u);
        pair.clock_pair.line_ns = (uint32_t)ceil(fmax(real_ns, monotonic_ns));
    }
    pairs->kept = pair;
    pairs->kept_count++;
    pairs->left_out_count = 0;
    return pair;
}

/* The reading before, which was left out so far: a new line begins there. */
static struct rkt_event keep_last(struct rkt_clock_pairs *pairs)
{
    struct rkt_event pair = keep(pairs, pairs->left_out[--pairs->left_out_count]);

    pairs->bend_ns = pair.start_ns;
    return pair;
}

/* Whether the next pair is due without a bend. */
static bool is_due(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    uint64_t distance_ns =
        pairs->kept.start_ns - pairs->bend_ns + (uint64_t)RKT_CLOCK_PAIR_EVERY_NS;

    return pair->start_ns - pairs->kept.start_ns >
               (distance_ns < KEEP_EVERY_NS ? distance_ns : KEEP_EVERY_NS) ||
           pairs->left_out_count == RKT_CLOCK_PAIRS_LEFT_OUT_MAX;
}

size_t rkt_clock_pairs_add(struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                           bool is_last, struct rkt_event out[2])
{
    const struct rkt_event *before = reading(pairs, pairs->left_out_count, NULL);
    bool is_first = pairs->kept_count == 0;
    bool is_lost = !is_first && is_late(before, pair);

    size_t count = 0;

    if (!is_first && middle_ns(pair) <= middle_ns(before))
        return 0;
    if (pairs->left_out_count > 0 && (is_lost || !fits(pairs, pair)))
        out[count++] = keep_last(pairs);
    if (is_first || is_lost)
        pairs->bend_ns = pair->start_ns;
    /* two at once, so that there is a line */
    if (pairs->kept_count < 2 || is_last || is_lost || is_due(pairs, pair))
        out[count++] = keep(pairs, *pair);
    else
        pairs->left_out[pairs->left_out_count++] = *pair;
    return count;
}
