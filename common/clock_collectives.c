/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_collectives.h"

#include <stdlib.h>

#include "common/checked.h"
#include "common/clock.h"
#include "common/clock_curve.h"

#define PPB INT64_C(1000000000)
/* Where nothing ties a clock to the reference. */
#define NO_UPPER INT64_MAX
#define NO_LOWER INT64_MIN
/* A round is a collective further along all paths, and shortest ones have few: where one more than this
 * still changes something, it goes in a circle. */
#define ROUNDS_MAX 512
/* A bound past this says nothing: 73 years. The difference of two fits in 64 bits. */
#define SANE_NS_MAX (INT64_C(1) << 61)
/* Of one clock. An hour has one in 0.2 s. */
#define KNOTS_MAX 16384u
/* Of these each is compared with each for the rate. */
#define RATE_KNOTS_MAX 256u

/* theta of a clock at one of its stamps, both counted from the clock's first stamp. */
struct stamp {
    int64_t at_ns;
    int64_t lower_ns;
    int64_t upper_ns;
    uint32_t collective;
    bool is_end;
};

/* When all who give had begun and nobody who takes had ended, in reference time. */
struct moment {
    int64_t lower_ns;
    int64_t upper_ns;
};

struct solver {
    const struct rkt_clock_parts *parts;
    struct rkt_arena *arena;
    struct stamp *stamps; /* by clock and time */
    size_t *first;        /* of each clock; one more at the end */
    int64_t *origin_ns;   /* of each clock: its first stamp */
    struct moment *moments;
    int64_t rho_ppb;
};

/* A bound moved on; one that is none stays none, and so does one that says nothing. */
static int64_t plus(int64_t bound_ns, int64_t ns, int64_t none)
{
    int64_t sum;

    if (bound_ns == none || !rkt_add_i64(bound_ns, ns, &sum) || sum > SANE_NS_MAX ||
        sum < -SANE_NS_MAX)
        return none;
    return sum;
}

/* How far two clocks may move apart: rounded up. */
static int64_t drift_ns(int64_t span_ns, int64_t rho_ppb)
{
    return (int64_t)((__int128)span_ns * rho_ppb / PPB) + 1;
}

static bool is_sound(const struct rkt_clock_part *part)
{
    return part->start_ns >= 0 && part->end_ns >= part->start_ns &&
           (uint64_t)part->end_ns <= RKT_TIME_MAX_NS;
}

/* ---- the graph ---- */

static int compare_stamps(const void *a, const void *b)
{
    const struct stamp *p = a, *q = b;

    if (p->at_ns != q->at_ns)
        return p->at_ns < q->at_ns ? -1 : 1;
    if (p->collective != q->collective)
        return p->collective < q->collective ? -1 : 1;
    return (p->is_end > q->is_end) - (p->is_end < q->is_end);
}

static void put_stamps(const struct solver *solver, const struct rkt_clock_part *part, size_t *next)
{
    struct stamp *stamps = solver->stamps;

    if (part->gives)
        stamps[next[part->clock]++] =
            (struct stamp){.at_ns = part->start_ns, .collective = part->collective};
    if (part->takes)
        stamps[next[part->clock]++] =
            (struct stamp){.at_ns = part->end_ns, .collective = part->collective, .is_end = true};
}

/* first[c + 1] is where the next stamp of clock c is put, and so in the end where c + 1 begins. */
static void order_stamps(struct solver *solver)
{
    const struct rkt_clock_parts *parts = solver->parts;
    size_t *first = solver->first;

    for (size_t i = 0; i < parts->count; i++) {
        const struct rkt_clock_part *part = &parts->items[i];

        if (is_sound(part) && part->clock + 2 <= parts->clock_count)
            first[part->clock + 2] += (size_t)part->gives + part->takes;
    }
    for (size_t c = 2; c <= parts->clock_count; c++)
        first[c] += first[c - 1];
    for (size_t i = 0; i < parts->count; i++) {
        if (is_sound(&parts->items[i]))
            put_stamps(solver, &parts->items[i], first + 1);
    }
    for (size_t c = 0; c < parts->clock_count; c++) {
        struct stamp *own = &solver->stamps[first[c]];
        size_t count = first[c + 1] - first[c];

        if (count == 0)
            continue;
        qsort(own, count, sizeof(*own), compare_stamps);
        solver->origin_ns[c] = own[0].at_ns;
        for (size_t i = 0; i < count; i++)
            own[i].at_ns -= solver->origin_ns[c];
    }
}

static enum rkt_status solver_init(struct solver *solver, struct rkt_error *err)
{
    const struct rkt_clock_parts *parts = solver->parts;

    if (parts->reference >= parts->clock_count)
        return rkt_fail(err, RKT_ERR_INVALID, "clock %u of %zu is the reference", parts->reference,
                        parts->clock_count);
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].clock >= parts->clock_count ||
            parts->items[i].collective >= parts->collective_count)
            return rkt_fail(err, RKT_ERR_INVALID, "part %zu of %zu is of clock %u, collective %u",
                            i, parts->count, parts->items[i].clock, parts->items[i].collective);
    }
    solver->stamps = RKT_ARENA_ARRAY(solver->arena, struct stamp, 2 * parts->count + 1);
    solver->first = RKT_ARENA_ARRAY(solver->arena, size_t, parts->clock_count + 2);
    solver->origin_ns = RKT_ARENA_ARRAY(solver->arena, int64_t, parts->clock_count + 1);
    solver->moments = RKT_ARENA_ARRAY(solver->arena, struct moment, parts->collective_count + 1);
    if (!solver->stamps || !solver->first || !solver->origin_ns || !solver->moments)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu parts", parts->count);
    order_stamps(solver);
    return RKT_OK;
}

/* ---- shortest paths ---- */

/* Only the reference is known: it is 0. */
static void forget(struct solver *solver)
{
    for (size_t c = 0; c < solver->parts->clock_count; c++) {
        bool is_reference = c == solver->parts->reference;

        for (size_t i = solver->first[c]; i < solver->first[c + 1]; i++) {
            solver->stamps[i].lower_ns = is_reference ? 0 : NO_LOWER;
            solver->stamps[i].upper_ns = is_reference ? 0 : NO_UPPER;
        }
    }
    for (size_t k = 0; k < solver->parts->collective_count; k++)
        solver->moments[k] = (struct moment){NO_LOWER, NO_UPPER};
}

/* What the stamps say of the moments. */
static void meet(struct solver *solver, size_t stamp_count)
{
    for (size_t i = 0; i < stamp_count; i++) {
        const struct stamp *stamp = &solver->stamps[i];
        struct moment *moment = &solver->moments[stamp->collective];
        int64_t upper_ns = plus(stamp->upper_ns, stamp->at_ns, NO_UPPER);
        int64_t lower_ns = plus(stamp->lower_ns, stamp->at_ns, NO_LOWER);

        if (stamp->is_end && upper_ns < moment->upper_ns)
            moment->upper_ns = upper_ns;
        if (!stamp->is_end && lower_ns > moment->lower_ns)
            moment->lower_ns = lower_ns;
    }
}

static bool lower_to(int64_t *upper_ns, int64_t ns)
{
    bool is_less = ns < *upper_ns;

    *upper_ns = is_less ? ns : *upper_ns;
    return is_less;
}

static bool raise_to(int64_t *lower_ns, int64_t ns)
{
    bool is_more = ns > *lower_ns;

    *lower_ns = is_more ? ns : *lower_ns;
    return is_more;
}

/* What the moments say of the stamps. True: something that was not known. */
static bool part(struct solver *solver, size_t stamp_count)
{
    bool has_changed = false;

    for (size_t i = 0; i < stamp_count; i++) {
        struct stamp *stamp = &solver->stamps[i];
        const struct moment *moment = &solver->moments[stamp->collective];

        if (stamp->is_end)
            has_changed |=
                raise_to(&stamp->lower_ns, plus(moment->lower_ns, -stamp->at_ns, NO_LOWER));
        else
            has_changed |=
                lower_to(&stamp->upper_ns, plus(moment->upper_ns, -stamp->at_ns, NO_UPPER));
    }
    return has_changed;
}

/* What a stamp says of its neighbour in time. */
static void spread_to(struct stamp *stamp, const struct stamp *neighbour, int64_t rho_ppb)
{
    int64_t span_ns = stamp->at_ns - neighbour->at_ns;
    int64_t apart_ns = drift_ns(span_ns < 0 ? -span_ns : span_ns, rho_ppb);

    lower_to(&stamp->upper_ns, plus(neighbour->upper_ns, apart_ns, NO_UPPER));
    raise_to(&stamp->lower_ns, plus(neighbour->lower_ns, -apart_ns, NO_LOWER));
}

static void spread(struct solver *solver)
{
    for (size_t c = 0; c < solver->parts->clock_count; c++) {
        struct stamp *stamps = &solver->stamps[solver->first[c]];
        size_t count = solver->first[c + 1] - solver->first[c];

        for (size_t i = 1; i < count; i++)
            spread_to(&stamps[i], &stamps[i - 1], solver->rho_ppb);
        for (size_t i = count; i-- > 1;)
            spread_to(&stamps[i - 1], &stamps[i], solver->rho_ppb);
    }
}

static bool is_contradictory(const struct solver *solver, size_t stamp_count)
{
    for (size_t i = 0; i < stamp_count; i++) {
        if (solver->stamps[i].lower_ns > solver->stamps[i].upper_ns)
            return true;
    }
    return false;
}

/* False: no clocks that keep to rho can have made these stamps. */
static bool relax(struct solver *solver)
{
    size_t stamp_count = solver->first[solver->parts->clock_count];

    forget(solver);
    for (size_t round = 0; round < ROUNDS_MAX; round++) {
        meet(solver, stamp_count);
        if (!part(solver, stamp_count))
            return true;
        spread(solver);
        if (is_contradictory(solver, stamp_count))
            return false;
    }
    return false;
}

/* ---- what is told of a clock ---- */

/* The narrowest stamp of each of at most KNOTS_MAX stretches of equal length. */
static size_t pick(const struct stamp *stamps, size_t count, const struct stamp **picked)
{
    int64_t span_ns = stamps[count - 1].at_ns;
    int64_t stretch_ns = span_ns / (int64_t)(count < KNOTS_MAX ? count : KNOTS_MAX) + 1;
    size_t picked_count = 0;

    for (size_t i = 0; i < count; i++) {
        const struct stamp *last = picked_count > 0 ? picked[picked_count - 1] : NULL;

        if (!last || last->at_ns / stretch_ns != stamps[i].at_ns / stretch_ns)
            picked[picked_count++] = &stamps[i];
        else if (stamps[i].upper_ns - stamps[i].lower_ns < last->upper_ns - last->lower_ns)
            picked[picked_count - 1] = &stamps[i];
    }
    return picked_count;
}

/*
 * Bounds open by rho from each knot and are read as linear in between: of two that are `gap` apart
 * the truth may be rho x gap/2 outside of the line, which both knots carry.
 */
static int64_t gap_beside(const struct stamp *const *picked, size_t count, size_t i)
{
    int64_t before_ns = i > 0 ? picked[i]->at_ns - picked[i - 1]->at_ns : 0;
    int64_t after_ns = i + 1 < count ? picked[i + 1]->at_ns - picked[i]->at_ns : 0;

    return before_ns > after_ns ? before_ns : after_ns;
}

static void set_knots(const struct solver *solver, size_t clock, const struct stamp *const *picked,
                      size_t count, struct rkt_align_knot *knots)
{
    int64_t own_ns = solver->origin_ns[clock];
    int64_t moved_ns = solver->origin_ns[solver->parts->reference] - own_ns;

    for (size_t i = 0; i < count; i++) {
        int64_t width_ns = picked[i]->upper_ns - picked[i]->lower_ns;
        int64_t bound_ns = width_ns - width_ns / 2 +
                           drift_ns((gap_beside(picked, count, i) + 1) / 2, solver->rho_ppb);

        knots[i] = (struct rkt_align_knot){
            .local_ns = (uint64_t)(picked[i]->at_ns + own_ns),
            .offset_ns = picked[i]->lower_ns + width_ns / 2 + moved_ns,
            .bound_ns = bound_ns,
            .likely_ns = bound_ns, /* nothing is known of what is likely */
        };
    }
}

static int64_t rate_ppb(int64_t ns, int64_t span_ns)
{
    __int128 rate = (__int128)ns * PPB / span_ns;

    return rate > SANE_NS_MAX ? SANE_NS_MAX : rate < -SANE_NS_MAX ? -SANE_NS_MAX : (int64_t)rate;
}

/* Whatever the rate, if it is one all along: the offset changed by it times the time between. */
static void set_rate(const struct stamp *const *picked, size_t count, int64_t rho_ppb,
                     struct rkt_clock_tie *tie)
{
    size_t stride = count / RATE_KNOTS_MAX + 1;

    tie->has_rate = picked[count - 1]->at_ns - picked[0]->at_ns >= RKT_COLLECTIVES_DRIFT_SPAN_NS;
    tie->rate_min_ppb = -rho_ppb;
    tie->rate_max_ppb = rho_ppb;
    for (size_t i = 0; i < count && tie->has_rate; i += stride) {
        for (size_t k = i + stride; k < count; k += stride) {
            int64_t span_ns = picked[k]->at_ns - picked[i]->at_ns;
            int64_t least_ns = picked[k]->lower_ns - picked[i]->upper_ns;
            int64_t most_ns = picked[k]->upper_ns - picked[i]->lower_ns;

            raise_to(&tie->rate_min_ppb, rate_ppb(least_ns, span_ns) - 1);
            lower_to(&tie->rate_max_ppb, rate_ppb(most_ns, span_ns) + 1);
        }
    }
}

static enum rkt_status tie_clock(struct solver *solver, size_t clock, struct rkt_clock_tie *tie,
                                 struct rkt_error *err)
{
    const struct stamp *stamps = &solver->stamps[solver->first[clock]];
    size_t count = solver->first[clock + 1] - solver->first[clock];
    const struct stamp **picked;
    struct rkt_align_knot *knots;
    size_t knot_count;

    if (count == 0 || stamps[0].lower_ns == NO_LOWER || stamps[0].upper_ns == NO_UPPER)
        return RKT_OK;
    picked = RKT_ARENA_ARRAY(solver->arena, const struct stamp *, count);
    if (!picked)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", count);
    knot_count = pick(stamps, count, picked);
    knots = RKT_ARENA_ARRAY(solver->arena, struct rkt_align_knot, knot_count);
    if (!knots)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", knot_count);
    set_knots(solver, clock, picked, knot_count, knots);
    set_rate(picked, knot_count, solver->rho_ppb, tie);
    tie->is_tied = true;
    tie->align = (struct rkt_align_info){.state = RKT_ALIGN_COLLECTIVES,
                                         .knots = knots,
                                         .knot_count = knot_count,
                                         .growth_ppb = (uint32_t)solver->rho_ppb,
                                         .rho_ppb = (uint32_t)solver->rho_ppb};
    return RKT_OK;
}

static void count_collectives(const struct rkt_clock_parts *parts, struct rkt_clock_tie *ties)
{
    for (size_t i = 0; i < parts->count; i++)
        ties[parts->items[i].clock].collective_count += is_sound(&parts->items[i]);
}

static enum rkt_status make_ties(struct solver *solver, struct rkt_clock_ties *ties,
                                 struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (size_t c = 0; c < ties->count && status == RKT_OK; c++) {
        struct rkt_clock_tie *tie = &ties->items[c];

        if (c == solver->parts->reference) {
            tie->is_tied = true;
            tie->align.state = RKT_ALIGN_REFERENCE;
        } else if (!(ties->flags & RKT_CLOCK_CONTRADICTORY)) {
            status = tie_clock(solver, c, tie, err);
            tie->align.flags = ties->flags;
        }
    }
    return status;
}

enum rkt_status rkt_clock_collectives_solve(const struct rkt_clock_parts *parts, uint32_t rho_ppb,
                                            struct rkt_arena *arena,
                                            struct rkt_clock_ties *ties_out, struct rkt_error *err)
{
    struct solver solver = {
        .parts = parts, .arena = arena, .rho_ppb = rho_ppb ? rho_ppb : RKT_COLLECTIVES_RHO_PPB};
    struct rkt_clock_ties ties = {.count = parts->clock_count,
                                  .flags = rho_ppb ? RKT_CLOCK_RHO_GIVEN : 0};
    enum rkt_status status = solver_init(&solver, err);

    if (status != RKT_OK || !solver.first)
        return status;
    ties.items = RKT_ARENA_ARRAY(arena, struct rkt_clock_tie, parts->clock_count + 1);
    if (!ties.items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clocks", parts->clock_count);
    while (!relax(&solver)) {
        if (2 * solver.rho_ppb > RKT_COLLECTIVES_RHO_MAX_PPB) {
            ties.flags |= RKT_CLOCK_CONTRADICTORY;
            break;
        }
        solver.rho_ppb *= 2;
        ties.flags |= RKT_CLOCK_RHO_WIDENED;
    }
    ties.rho_ppb = (uint32_t)solver.rho_ppb;
    count_collectives(parts, ties.items);
    status = make_ties(&solver, &ties, err);
    if (status == RKT_OK)
        *ties_out = ties;
    return status;
}
