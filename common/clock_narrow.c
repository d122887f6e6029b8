/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_narrow.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock.h"
#include "common/clock_curve.h"

#define PPB INT64_C(1000000000)
/* What reading an alignment between two knots may cut off. */
#define ROUNDING_NS 2
/* Collectives must take at least this part of a bound away. */
#define SHARE 8
/* For each gap between pins: both, two bends, and what the edges cross. */
#define TIMES_PER_GAP 12u
/* For each knot inside of one: itself, and what the edges cross on both sides. */
#define TIMES_PER_KNOT 5u

/* Two edges of what is known at a moment. */
struct edges {
    int64_t lower_ns;
    int64_t upper_ns;
};

/* One clock under work. */
struct narrower {
    const struct rkt_align_info *prior;
    struct rkt_clock_rates rates;
    struct rkt_clock_pin *pins; /* by time; those that are not narrow are the prior's */
    bool *is_narrow;            /* of each pin */
    size_t pin_count;
    int64_t *times; /* of the knots to be */
    size_t time_count;
};

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct edges prior_at(const struct narrower *at, int64_t local_ns)
{
    struct rkt_align_point point = rkt_align_at(at->prior, local_ns);

    return (struct edges){point.offset_ns - point.bound_ns, point.offset_ns + point.bound_ns};
}

/* ---- pins ---- */

static int64_t best_bound_ns(const struct rkt_align_info *align)
{
    int64_t best_ns = INT64_MAX;

    for (size_t i = 0; i < align->knot_count; i++)
        best_ns = min_ns(best_ns, align->knots[i].bound_ns);
    return best_ns;
}

static bool can_narrow(const struct rkt_align_info *prior)
{
    return prior->state == RKT_ALIGN_MEASURED && prior->knot_count > 0 &&
           (prior->flags & RKT_CLOCK_STEPPED) == 0;
}

static void add_pin(struct narrower *at, int64_t local_ns, struct edges known)
{
    struct edges prior = prior_at(at, local_ns);
    int64_t before_ns = prior.upper_ns - prior.lower_ns;
    int64_t after_ns = known.upper_ns - known.lower_ns;

    at->is_narrow[at->pin_count] =
        before_ns / 2 / RKT_CLOCK_NARROW_WIDE >= best_bound_ns(at->prior) &&
        after_ns <= before_ns - before_ns / SHARE;
    at->pins[at->pin_count++] = (struct rkt_clock_pin){local_ns, known.lower_ns, known.upper_ns};
}

static bool is_narrower(const struct narrower *at, size_t i)
{
    struct edges prior = prior_at(at, at->pins[i].at_ns);

    return at->pins[i].upper_ns < prior.upper_ns || at->pins[i].lower_ns > prior.lower_ns;
}

/* Narrow ones reach to where the prior is as narrow as they make it, so that no edge jumps; the
 * others are the prior's. */
static void spread_pins(struct narrower *at)
{
    for (size_t i = 1; i < at->pin_count; i++)
        at->is_narrow[i] = at->is_narrow[i] || (at->is_narrow[i - 1] && is_narrower(at, i));
    for (size_t i = at->pin_count; i-- > 1;)
        at->is_narrow[i - 1] = at->is_narrow[i - 1] || (at->is_narrow[i] && is_narrower(at, i - 1));
    for (size_t i = 0; i < at->pin_count; i++) {
        struct edges prior = prior_at(at, at->pins[i].at_ns);

        if (!at->is_narrow[i])
            at->pins[i] = (struct rkt_clock_pin){at->pins[i].at_ns, prior.lower_ns, prior.upper_ns};
    }
}

/* So far from a pin the rates allow again all that the prior does. */
static int64_t reach_ns(const struct narrower *at, int64_t local_ns)
{
    struct edges prior = prior_at(at, local_ns);
    int64_t apart_ppb = at->rates.max_ppb - at->rates.min_ppb + 1;
    __int128 reach = (__int128)(prior.upper_ns - prior.lower_ns + 1) * 2 * PPB / apart_ppb;

    return reach < (__int128)RKT_TIME_MAX_NS ? (int64_t)reach : (int64_t)RKT_TIME_MAX_NS;
}

/* Pins at which the prior holds stand before the first and behind the last. */
static void add_pins(struct narrower *at, const struct rkt_clock_solver *solver, size_t clock,
                     size_t picked_count)
{
    int64_t own_ns = solver->origin_ns[clock];
    int64_t moved_ns = solver->origin_ns[solver->parts->reference] - own_ns;
    int64_t first_ns = solver->picked[0]->at_ns + own_ns;
    int64_t last_ns = solver->picked[picked_count - 1]->at_ns + own_ns;
    int64_t before_ns = first_ns - reach_ns(at, first_ns);
    int64_t behind_ns = reach_ns(at, last_ns);

    if (first_ns > 0)
        add_pin(at, max_ns(before_ns, 0), prior_at(at, max_ns(before_ns, 0)));
    for (size_t i = 0; i < picked_count; i++) {
        const struct rkt_clock_stamp *stamp = solver->picked[i];

        add_pin(at, stamp->at_ns + own_ns,
                (struct edges){stamp->lower_ns + moved_ns, stamp->upper_ns + moved_ns});
    }
    if (behind_ns < (int64_t)RKT_TIME_MAX_NS - last_ns)
        add_pin(at, last_ns + behind_ns, prior_at(at, last_ns + behind_ns));
    spread_pins(at);
}

static bool is_active(const struct narrower *at, size_t gap)
{
    return at->is_narrow[gap] || at->is_narrow[gap + 1];
}

/* ---- the edges ---- */

/* What the pins beside a gap allow inside of it. */
static struct edges tube_at(const struct narrower *at, size_t gap, int64_t local_ns)
{
    const struct rkt_clock_pin *p = &at->pins[gap], *q = p + 1;
    int64_t after_ns = local_ns - p->at_ns, left_ns = q->at_ns - local_ns;

    return (struct edges){
        max_ns(p->lower_ns + rkt_clock_rise_least_ns(after_ns, at->rates.min_ppb),
               q->lower_ns - rkt_clock_rise_most_ns(left_ns, at->rates.max_ppb)),
        min_ns(p->upper_ns + rkt_clock_rise_most_ns(after_ns, at->rates.max_ppb),
               q->upper_ns - rkt_clock_rise_least_ns(left_ns, at->rates.min_ppb))};
}

static void add_time(struct narrower *at, int64_t local_ns)
{
    at->times[at->time_count++] = local_ns;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void sort_times(struct narrower *at)
{
    size_t kept = 0;

    qsort(at->times, at->time_count, sizeof(*at->times), compare_times);
    for (size_t i = 0; i < at->time_count; i++) {
        if (kept == 0 || at->times[i] != at->times[kept - 1])
            at->times[kept++] = at->times[i];
    }
    at->time_count = kept;
}

/* Where a line that begins `first_ns` above another, and ends `last_ns` above it, crosses it. */
static void add_crossing(struct narrower *at, int64_t from_ns, int64_t to_ns, int64_t first_ns,
                         int64_t last_ns)
{
    if ((first_ns < 0) != (last_ns < 0))
        add_time(at, from_ns + (int64_t)((__int128)(to_ns - from_ns) * first_ns /
                                         ((__int128)first_ns - last_ns)));
}

/* Of two neighbouring times inside a gap, between which all edges are straight. */
static void add_crossings(struct narrower *at, size_t gap, int64_t from_ns, int64_t to_ns)
{
    struct edges tube[] = {tube_at(at, gap, from_ns), tube_at(at, gap, to_ns)};
    struct edges prior[] = {prior_at(at, from_ns), prior_at(at, to_ns)};

    add_crossing(at, from_ns, to_ns, tube[0].upper_ns - prior[0].upper_ns,
                 tube[1].upper_ns - prior[1].upper_ns);
    add_crossing(at, from_ns, to_ns, tube[0].lower_ns - prior[0].lower_ns,
                 tube[1].lower_ns - prior[1].lower_ns);
}

/* Where the two lines of an edge meet that come `apart` nearer to each other all along. */
static void add_bend(struct narrower *at, size_t gap, __int128 apart)
{
    const struct rkt_clock_pin *p = &at->pins[gap], *q = p + 1;
    int64_t apart_ppb = at->rates.max_ppb - at->rates.min_ppb;
    __int128 after = apart_ppb > 0 ? apart / apart_ppb : 0;

    if (after > 0 && after < q->at_ns - p->at_ns)
        add_time(at, p->at_ns + (int64_t)after);
}

static void add_bends(struct narrower *at, size_t gap)
{
    const struct rkt_clock_pin *p = &at->pins[gap], *q = p + 1;
    int64_t gap_ns = q->at_ns - p->at_ns;

    add_bend(at, gap,
             (__int128)(q->upper_ns - p->upper_ns) * PPB - (__int128)at->rates.min_ppb * gap_ns);
    add_bend(at, gap,
             (__int128)(p->lower_ns - q->lower_ns) * PPB + (__int128)at->rates.max_ppb * gap_ns);
}

/* The last pin at or before a time; pin_count: none is. */
static size_t find_pin(const struct narrower *at, int64_t local_ns)
{
    size_t low = 0, high = at->pin_count;

    if (local_ns < at->pins[0].at_ns)
        return at->pin_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (at->pins[middle].at_ns <= local_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A pin of the prior, beside which an edge may jump after all: that takes one ns. */
static void add_gap(struct narrower *at, size_t gap)
{
    const struct rkt_clock_pin *p = &at->pins[gap], *q = p + 1;

    add_time(at, p->at_ns);
    add_time(at, q->at_ns);
    add_time(at, at->is_narrow[gap] ? p->at_ns : min_ns(p->at_ns + 1, q->at_ns));
    add_time(at, at->is_narrow[gap + 1] ? q->at_ns : max_ns(q->at_ns - 1, p->at_ns));
    add_bends(at, gap);
}

/* Everywhere where an edge may bend. */
static void find_times(struct narrower *at)
{
    size_t straight_count;

    for (size_t i = 0; i < at->prior->knot_count; i++)
        add_time(at, (int64_t)at->prior->knots[i].local_ns);
    for (size_t gap = 0; gap + 1 < at->pin_count; gap++) {
        if (is_active(at, gap))
            add_gap(at, gap);
    }
    sort_times(at);
    straight_count = at->time_count;
    for (size_t i = 0; i + 1 < straight_count; i++) {
        size_t gap = find_pin(at, at->times[i]);

        if (gap + 1 < at->pin_count && is_active(at, gap))
            add_crossings(at, gap, at->times[i], at->times[i + 1]);
    }
    sort_times(at);
}

/* ---- knots ---- */

/* What the pins allow at a time; false: nothing but the prior. */
static bool pins_at(const struct narrower *at, int64_t local_ns, struct edges *edges_out)
{
    size_t i = find_pin(at, local_ns);

    if (i == at->pin_count)
        return false;
    if (at->pins[i].at_ns == local_ns) {
        *edges_out = (struct edges){at->pins[i].lower_ns, at->pins[i].upper_ns};
        return at->is_narrow[i];
    }
    if (i + 1 == at->pin_count || !is_active(at, i))
        return false;
    *edges_out = tube_at(at, i, local_ns);
    return true;
}

static struct rkt_align_knot knot_at(const struct narrower *at, int64_t local_ns)
{
    struct rkt_align_point point = rkt_align_at(at->prior, local_ns);
    struct rkt_align_knot knot = {(uint64_t)local_ns, point.offset_ns, point.bound_ns,
                                  point.likely_ns};
    struct edges known, likely;

    if (!pins_at(at, local_ns, &known))
        return knot;
    known.lower_ns = max_ns(known.lower_ns, point.offset_ns - point.bound_ns);
    known.upper_ns =
        max_ns(known.lower_ns, min_ns(known.upper_ns, point.offset_ns + point.bound_ns));
    likely.lower_ns = max_ns(known.lower_ns, point.offset_ns - point.likely_ns);
    likely.upper_ns = min_ns(known.upper_ns, point.offset_ns + point.likely_ns);
    knot.offset_ns = known.lower_ns + (known.upper_ns - known.lower_ns) / 2;
    knot.bound_ns = (known.upper_ns - known.lower_ns + 1) / 2 + ROUNDING_NS;
    knot.likely_ns = max_ns(knot.offset_ns - likely.lower_ns, likely.upper_ns - knot.offset_ns);
    if (likely.lower_ns > likely.upper_ns || knot.likely_ns > knot.bound_ns)
        knot.likely_ns = knot.bound_ns;
    return knot;
}

static enum rkt_status make_knots(struct narrower *at, struct rkt_arena *arena,
                                  struct rkt_align_info *align, struct rkt_error *err)
{
    size_t cap = TIMES_PER_GAP * at->pin_count + TIMES_PER_KNOT * at->prior->knot_count;
    struct rkt_align_knot *knots;

    at->times = RKT_ARENA_ARRAY(arena, int64_t, cap);
    if (!at->times)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", cap);
    find_times(at);
    knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, at->time_count);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", at->time_count);
    for (size_t i = 0; i < at->time_count; i++)
        knots[i] = knot_at(at, at->times[i]);
    align->knots = knots;
    align->knot_count = at->time_count;
    align->flags |= RKT_CLOCK_NARROWED;
    return RKT_OK;
}

static void measure(const struct narrower *at, struct rkt_clock_narrowed *narrowed)
{
    for (size_t i = 0; i < at->pin_count; i++) {
        const struct rkt_clock_pin *pin = &at->pins[i];
        struct edges prior = prior_at(at, pin->at_ns);

        if (!at->is_narrow[i])
            continue;
        narrowed->before_ns =
            max_ns(narrowed->before_ns, (prior.upper_ns - prior.lower_ns + 1) / 2);
        narrowed->after_ns = max_ns(narrowed->after_ns, (pin->upper_ns - pin->lower_ns + 1) / 2);
    }
}

static enum rkt_status narrow_clock(const struct rkt_clock_solver *solver, size_t clock,
                                    struct rkt_clock_narrowed *narrowed, struct rkt_error *err)
{
    struct narrower at = {.prior = &solver->parts->priors[clock], .rates = solver->rates[clock]};
    size_t picked_count;

    if (!can_narrow(at.prior) || !rkt_clock_solver_is_bounded(solver, clock))
        return RKT_OK;
    picked_count = rkt_clock_solver_pick(solver, clock);
    at.pins = RKT_ARENA_ARRAY(solver->arena, struct rkt_clock_pin, picked_count + 2);
    at.is_narrow = RKT_ARENA_ARRAY(solver->arena, bool, picked_count + 2);
    if (!at.pins || !at.is_narrow)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu pins", picked_count);
    add_pins(&at, solver, clock, picked_count);
    measure(&at, narrowed);
    if (narrowed->before_ns == 0)
        return RKT_OK;
    return make_knots(&at, solver->arena, &narrowed->align, err);
}

bool rkt_clock_narrow_may(const struct rkt_align_info *prior, int64_t start_ns, int64_t end_ns)
{
    int64_t worst_ns;

    if (!can_narrow(prior))
        return false;
    worst_ns = rkt_align_worst(prior, start_ns, end_ns).bound_ns;
    return worst_ns > RKT_CLOCK_NARROW_LEAST_NS &&
           worst_ns / RKT_CLOCK_NARROW_WIDE >= best_bound_ns(prior);
}

enum rkt_status rkt_clock_narrow(const struct rkt_clock_parts *parts, struct rkt_arena *arena,
                                 struct rkt_clock_narrowing *narrowing_out, struct rkt_error *err)
{
    struct rkt_clock_solver solver;
    struct rkt_clock_narrowing narrowing = {.count = parts->clock_count};
    enum rkt_status status = rkt_clock_solver_init(&solver, parts, 0, arena, err);

    if (status != RKT_OK || !solver.first || !solver.moments || !solver.rates)
        return status;
    narrowing.items = RKT_ARENA_ARRAY(arena, struct rkt_clock_narrowed, parts->clock_count);
    if (!narrowing.items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clocks", parts->clock_count);
    for (size_t c = 0; c < parts->clock_count; c++)
        narrowing.items[c].align = parts->priors[c];
    narrowing.is_contradictory = !rkt_clock_solver_solve(&solver);
    for (size_t c = 0; c < parts->clock_count && status == RKT_OK && !narrowing.is_contradictory;
         c++)
        status = narrow_clock(&solver, c, &narrowing.items[c], err);
    if (status == RKT_OK)
        *narrowing_out = narrowing;
    return status;
}
