/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sidecar/clock_pairs.h"

#include "common/clock.h"

#define TRY_COUNT 5
#define OFF_LINE_NS 500
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

static struct rkt_event take_once(void)
{
    struct rkt_event pair = {.kind = RKT_EVENT_CLOCK_PAIR, .clock_id = RKT_CLOCK_MONOTONIC_RAW};

    pair.start_ns = rkt_now_raw_ns();
    pair.clock_pair.realtime_ns = rkt_now_real_ns();
    pair.clock_pair.monotonic_ns = rkt_clock_read_ns(CLOCK_MONOTONIC);
    pair.clock_pair.tsc_ticks = read_tsc();
    pair.end_ns = rkt_now_raw_ns();
    return pair;
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

/* How far `value` at `pair` is from the line through (a, b); all of one clock against RAW. */
static int64_t off_line_ns(const struct rkt_event pairs[2], const struct rkt_event *pair,
                           const uint64_t values[3])
{
    double run = (double)(pairs[1].start_ns - pairs[0].start_ns);
    double slope = (double)(int64_t)(values[1] - values[0]) / run;
    double ahead = (double)(pair->start_ns - pairs[1].start_ns) * slope;
    int64_t off = (int64_t)(values[2] - values[1]) - (int64_t)ahead;

    return off < 0 ? -off : off;
}

static bool is_off_line(const struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    const struct rkt_event *a = &pairs->kept[0], *b = &pairs->kept[1];
    const uint64_t real[3] = {a->clock_pair.realtime_ns, b->clock_pair.realtime_ns,
                              pair->clock_pair.realtime_ns};
    const uint64_t mono[3] = {a->clock_pair.monotonic_ns, b->clock_pair.monotonic_ns,
                              pair->clock_pair.monotonic_ns};

    if (a->start_ns >= b->start_ns)
        return true;
    return off_line_ns(pairs->kept, pair, real) > OFF_LINE_NS ||
           off_line_ns(pairs->kept, pair, mono) > OFF_LINE_NS;
}

static void keep(struct rkt_clock_pairs *pairs, const struct rkt_event *pair)
{
    if (pairs->kept_count == 2)
        pairs->kept[0] = pairs->kept[1];
    else
        pairs->kept_count++;
    pairs->kept[pairs->kept_count - 1] = *pair;
}

size_t rkt_clock_pairs_add(struct rkt_clock_pairs *pairs, const struct rkt_event *pair,
                           bool is_last, struct rkt_event out[2])
{
    size_t count = 0;
    bool is_off = pairs->kept_count < 2 || is_off_line(pairs, pair);
    bool is_kept = is_off || is_last || pair->start_ns - pairs->kept[1].start_ns > KEEP_EVERY_NS;

    if (is_off && pairs->kept_count == 2 && !pairs->last_was_kept) {
        keep(pairs, &pairs->last);
        out[count++] = pairs->last;
    }
    if (is_kept) {
        keep(pairs, pair);
        out[count++] = *pair;
    }
    pairs->last = *pair;
    pairs->last_was_kept = is_kept;
    return count;
}
