/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_tube.h"

#define PPB INT64_C(1000000000)
/* What reading an alignment between two knots may cut off. */
#define ROUNDING_NS 2
/* A pin, and two bends behind it. */
#define KNOTS_PER_PIN 3u

struct tube {
    const struct rkt_clock_pin *pins;
    size_t count;
    struct rkt_clock_rates rates;
    struct rkt_align_knot *knots;
    size_t knot_count;
};

int64_t rkt_clock_rise_most_ns(int64_t span_ns, int64_t rate_ppb)
{
    return (int64_t)((__int128)span_ns * rate_ppb / PPB) + 1;
}

int64_t rkt_clock_rise_least_ns(int64_t span_ns, int64_t rate_ppb)
{
    return (int64_t)((__int128)span_ns * rate_ppb / PPB) - 1;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How far the bends are outside of straight lines at most, between pins that are `gap_ns` apart. */
static int64_t bulge_ns(const struct tube *tube, int64_t gap_ns)
{
    return rkt_clock_rise_most_ns(gap_ns / 2 + 1,
                                  (tube->rates.max_ppb - tube->rates.min_ppb + 1) / 2);
}

static bool is_flat(const struct tube *tube, size_t gap)
{
    return bulge_ns(tube, tube->pins[gap + 1].at_ns - tube->pins[gap].at_ns) <=
           RKT_CLOCK_TUBE_FLAT_NS;
}

static void put_knot(struct tube *tube, int64_t at_ns, int64_t lower_ns, int64_t upper_ns,
                     int64_t more_ns)
{
    int64_t width_ns = upper_ns - lower_ns;
    int64_t bound_ns = width_ns - width_ns / 2 + more_ns + ROUNDING_NS;

    tube->knots[tube->knot_count++] =
        (struct rkt_align_knot){.local_ns = (uint64_t)at_ns,
                                .offset_ns = lower_ns + width_ns / 2,
                                .bound_ns = bound_ns,
                                .likely_ns = bound_ns}; /* nothing is known of what is likely */
}

static void put_pin(struct tube *tube, size_t i)
{
    const struct rkt_clock_pin *pin = &tube->pins[i];
    int64_t more_ns = 0;

    if (i > 0 && is_flat(tube, i - 1))
        more_ns = bulge_ns(tube, pin->at_ns - tube->pins[i - 1].at_ns);
    if (i + 1 < tube->count && is_flat(tube, i))
        more_ns = max_ns(more_ns, bulge_ns(tube, tube->pins[i + 1].at_ns - pin->at_ns));
    put_knot(tube, pin->at_ns, pin->lower_ns, pin->upper_ns, more_ns);
}

static void put_bend(struct tube *tube, size_t gap, int64_t after_ns)
{
    const struct rkt_clock_pin *p = &tube->pins[gap], *q = p + 1;
    int64_t left_ns = q->at_ns - p->at_ns - after_ns;
    const struct rkt_clock_rates *rates = &tube->rates;
    int64_t upper_ns = min_ns(p->upper_ns + rkt_clock_rise_most_ns(after_ns, rates->max_ppb),
                              q->upper_ns - rkt_clock_rise_least_ns(left_ns, rates->min_ppb));
    int64_t lower_ns = max_ns(p->lower_ns + rkt_clock_rise_least_ns(after_ns, rates->min_ppb),
                              q->lower_ns - rkt_clock_rise_most_ns(left_ns, rates->max_ppb));

    if (after_ns > 0 && left_ns > 0)
        put_knot(tube, p->at_ns + after_ns, lower_ns, upper_ns, 0);
}

/* Where two lines meet that are `apart_ns` apart at first and come nearer by max - min. */
static int64_t meet_ns(const struct tube *tube, int64_t gap_ns, __int128 apart)
{
    __int128 after = apart / (tube->rates.max_ppb - tube->rates.min_ppb);

    return after < 0 ? 0 : after > gap_ns ? gap_ns : (int64_t)after;
}

static void put_bends(struct tube *tube, size_t gap)
{
    const struct rkt_clock_pin *p = &tube->pins[gap], *q = p + 1;
    int64_t gap_ns = q->at_ns - p->at_ns;
    int64_t upper_ns = meet_ns(tube, gap_ns,
                               (__int128)(q->upper_ns - p->upper_ns) * PPB -
                                   (__int128)tube->rates.min_ppb * gap_ns);
    int64_t lower_ns = meet_ns(tube, gap_ns,
                               (__int128)(p->lower_ns - q->lower_ns) * PPB +
                                   (__int128)tube->rates.max_ppb * gap_ns);

    put_bend(tube, gap, min_ns(upper_ns, lower_ns));
    if (upper_ns != lower_ns)
        put_bend(tube, gap, max_ns(upper_ns, lower_ns));
}

enum rkt_status rkt_clock_tube_knots(const struct rkt_clock_pins *pins, struct rkt_arena *arena,
                                     struct rkt_align_knot **knots_out, size_t *knot_count_out,
                                     struct rkt_error *err)
{
    struct tube tube = {.pins = pins->items, .count = pins->count, .rates = pins->rates};
    size_t count = pins->count;

    tube.knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, KNOTS_PER_PIN * count);
    if (!tube.knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", KNOTS_PER_PIN * count);
    for (size_t i = 0; i < count; i++) {
        put_pin(&tube, i);
        if (i + 1 < count && !is_flat(&tube, i))
            put_bends(&tube, i);
    }
    *knots_out = tube.knots;
    *knot_count_out = tube.knot_count;
    return RKT_OK;
}
