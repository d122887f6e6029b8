/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_solver.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/clock_curve.h"

#define PPB INT64_C(1000000000)
/* Where nothing ties a clock to the reference. */
#define NO_UPPER INT64_MAX
#define NO_LOWER INT64_MIN
/* A round is a collective further along all paths, and shortest ones have few: where one more than
 * this still changes something, it goes in a circle. */
#define ROUNDS_MAX 512
/* A bound past this says nothing: 73 years. The difference of two fits in 64 bits. */
#define SANE_NS_MAX (INT64_C(1) << 61)
/* Of one clock. An hour has one in 0.2 s. */
#define KNOTS_MAX 16384u
/* Of these each is compared with each for the rate. */
#define RATE_KNOTS_MAX 256u
/* Rates narrow bounds and these rates again, less each time. */
#define RATE_ROUNDS 6
/* The wander is so many times what is seen of it. */
#define WANDER_CHANGES 4

/* A bound moved on; one that is none stays none, and so does one that says nothing. */
static int64_t plus(int64_t bound_ns, int64_t ns, int64_t none)
{
    int64_t sum;

    if (bound_ns == none || !rkt_add_i64(bound_ns, ns, &sum) || sum > SANE_NS_MAX ||
        sum < -SANE_NS_MAX)
        return none;
    return sum;
}

bool rkt_clock_part_is_sound(const struct rkt_clock_part *part)
{
    return part->start_ns >= 0 && part->end_ns >= part->start_ns &&
           (uint64_t)part->end_ns <= RKT_TIME_MAX_NS;
}

/* ---- the graph ---- */

static int compare_stamps(const void *a, const void *b)
{
    const struct rkt_clock_stamp *p = a, *q = b;

    if (p->at_ns != q->at_ns)
        return p->at_ns < q->at_ns ? -1 : 1;
    if (p->collective != q->collective)
        return p->collective < q->collective ? -1 : 1;
    return (p->is_end > q->is_end) - (p->is_end < q->is_end);
}

static void put_stamps(const struct rkt_clock_solver *solver, const struct rkt_clock_part *part,
                       size_t *next)
{
    struct rkt_clock_stamp *stamps = solver->stamps;

    if (part->gives)
        stamps[next[part->clock]++] =
            (struct rkt_clock_stamp){.at_ns = part->start_ns, .collective = part->collective};
    if (part->takes)
        stamps[next[part->clock]++] = (struct rkt_clock_stamp){
            .at_ns = part->end_ns, .collective = part->collective, .is_end = true};
}

/* first[c + 1] is where the next stamp of clock c is put, and so in the end where c + 1 begins. */
static void order_stamps(struct rkt_clock_solver *solver)
{
    const struct rkt_clock_parts *parts = solver->parts;
    size_t *first = solver->first;

    for (size_t i = 0; i < parts->count; i++) {
        const struct rkt_clock_part *part = &parts->items[i];

        if (rkt_clock_part_is_sound(part) && part->clock + 2 <= parts->clock_count)
            first[part->clock + 2] += (size_t)part->gives + part->takes;
    }
    for (size_t c = 2; c <= parts->clock_count; c++)
        first[c] += first[c - 1];
    for (size_t i = 0; i < parts->count; i++) {
        if (rkt_clock_part_is_sound(&parts->items[i]))
            put_stamps(solver, &parts->items[i], first + 1);
    }
    for (size_t c = 0; c < parts->clock_count; c++) {
        struct rkt_clock_stamp *own = &solver->stamps[first[c]];
        size_t count = first[c + 1] - first[c];

        if (count == 0)
            continue;
        qsort(own, count, sizeof(*own), compare_stamps);
        solver->origin_ns[c] = own[0].at_ns;
        for (size_t i = 0; i < count; i++)
            own[i].at_ns -= solver->origin_ns[c];
    }
}

/* Its count of stamps. */
size_t rkt_clock_solver_stamp_count(const struct rkt_clock_solver *solver, size_t clock)
{
    return solver->first[clock + 1] - solver->first[clock];
}

static enum rkt_status make_room(struct rkt_clock_solver *solver, struct rkt_error *err)
{
    size_t clock_count = solver->parts->clock_count, most = 0;

    for (size_t c = 0; c < clock_count; c++)
        most = rkt_clock_solver_stamp_count(solver, c) > most
                   ? rkt_clock_solver_stamp_count(solver, c)
                   : most;
    solver->rates = RKT_ARENA_ARRAY(solver->arena, struct rkt_clock_rates, clock_count + 1);
    solver->picked = RKT_ARENA_ARRAY(solver->arena, const struct rkt_clock_stamp *, most + 1);
    if (!solver->rates || !solver->picked)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clocks", clock_count);
    return RKT_OK;
}

enum rkt_status rkt_clock_solver_init(struct rkt_clock_solver *solver,
                                      const struct rkt_clock_parts *parts, uint32_t rho_ppb,
                                      struct rkt_arena *arena, struct rkt_error *err)
{
    *solver = (struct rkt_clock_solver){.parts = parts,
                                        .arena = arena,
                                        .rho_ppb = rho_ppb ? rho_ppb : RKT_COLLECTIVES_RHO_PPB,
                                        .flags = rho_ppb ? RKT_CLOCK_RHO_GIVEN : 0};
    if (parts->reference >= parts->clock_count)
        return rkt_fail(err, RKT_ERR_INVALID, "clock %u of %zu is the reference", parts->reference,
                        parts->clock_count);
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].clock >= parts->clock_count ||
            parts->items[i].collective >= parts->collective_count)
            return rkt_fail(err, RKT_ERR_INVALID, "part %zu of %zu is of clock %u, collective %u",
                            i, parts->count, parts->items[i].clock, parts->items[i].collective);
    }
    solver->stamps = RKT_ARENA_ARRAY(solver->arena, struct rkt_clock_stamp, 2 * parts->count + 1);
    solver->first = RKT_ARENA_ARRAY(solver->arena, size_t, parts->clock_count + 2);
    solver->origin_ns = RKT_ARENA_ARRAY(solver->arena, int64_t, parts->clock_count + 1);
    solver->moments =
        RKT_ARENA_ARRAY(solver->arena, struct rkt_clock_moment, parts->collective_count + 1);
    if (!solver->stamps || !solver->first || !solver->origin_ns || !solver->moments)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for the clocks of %zu parts", parts->count);
    order_stamps(solver);
    return make_room(solver, err);
}

/* ---- shortest paths ---- */

static const struct rkt_align_info *prior_of(const struct rkt_clock_solver *solver, size_t clock)
{
    const struct rkt_clock_parts *parts = solver->parts;

    return parts->priors && parts->priors[clock].knot_count > 0 ? &parts->priors[clock] : NULL;
}

static void remember(const struct rkt_clock_solver *solver, size_t clock,
                     struct rkt_clock_stamp *stamp)
{
    const struct rkt_align_info *prior = prior_of(solver, clock);
    int64_t moved_ns = solver->origin_ns[solver->parts->reference] - solver->origin_ns[clock];
    struct rkt_align_point point;
    int64_t offset_ns;

    if (!prior)
        return;
    point = rkt_align_at(prior, solver->origin_ns[clock] + stamp->at_ns);
    if (!rkt_add_i64(point.offset_ns, -moved_ns, &offset_ns))
        return; /* no offset of clocks */
    stamp->lower_ns = plus(offset_ns, -point.bound_ns, NO_LOWER);
    stamp->upper_ns = plus(offset_ns, point.bound_ns, NO_UPPER);
}

/* Only the reference is known, which is 0, and priors. */
static void forget(struct rkt_clock_solver *solver)
{
    for (size_t c = 0; c < solver->parts->clock_count; c++) {
        bool is_reference = c == solver->parts->reference;

        for (size_t i = solver->first[c]; i < solver->first[c + 1]; i++) {
            solver->stamps[i].lower_ns = is_reference ? 0 : NO_LOWER;
            solver->stamps[i].upper_ns = is_reference ? 0 : NO_UPPER;
            if (!is_reference)
                remember(solver, c, &solver->stamps[i]);
        }
    }
    for (size_t k = 0; k < solver->parts->collective_count; k++)
        solver->moments[k] = (struct rkt_clock_moment){NO_LOWER, NO_UPPER};
}

/* What the stamps say of the moments. */
static void meet(struct rkt_clock_solver *solver, size_t stamp_count)
{
    for (size_t i = 0; i < stamp_count; i++) {
        const struct rkt_clock_stamp *stamp = &solver->stamps[i];
        struct rkt_clock_moment *moment = &solver->moments[stamp->collective];
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
static bool part(struct rkt_clock_solver *solver, size_t stamp_count)
{
    bool has_changed = false;

    for (size_t i = 0; i < stamp_count; i++) {
        struct rkt_clock_stamp *stamp = &solver->stamps[i];
        const struct rkt_clock_moment *moment = &solver->moments[stamp->collective];

        if (stamp->is_end)
            has_changed |=
                raise_to(&stamp->lower_ns, plus(moment->lower_ns, -stamp->at_ns, NO_LOWER));
        else
            has_changed |=
                lower_to(&stamp->upper_ns, plus(moment->upper_ns, -stamp->at_ns, NO_UPPER));
    }
    return has_changed;
}

/* What a stamp says of the one behind it. */
static void spread_on(const struct rkt_clock_stamp *from, struct rkt_clock_stamp *to,
                      const struct rkt_clock_rates *rates)
{
    int64_t span_ns = to->at_ns - from->at_ns;

    lower_to(&to->upper_ns,
             plus(from->upper_ns, rkt_clock_rise_most_ns(span_ns, rates->max_ppb), NO_UPPER));
    raise_to(&to->lower_ns,
             plus(from->lower_ns, rkt_clock_rise_least_ns(span_ns, rates->min_ppb), NO_LOWER));
}

/* And of the one before it. */
static void spread_back(const struct rkt_clock_stamp *from, struct rkt_clock_stamp *to,
                        const struct rkt_clock_rates *rates)
{
    int64_t span_ns = from->at_ns - to->at_ns;

    lower_to(&to->upper_ns,
             plus(from->upper_ns, -rkt_clock_rise_least_ns(span_ns, rates->min_ppb), NO_UPPER));
    raise_to(&to->lower_ns,
             plus(from->lower_ns, -rkt_clock_rise_most_ns(span_ns, rates->max_ppb), NO_LOWER));
}

static bool has_stepped(const struct rkt_clock_solver *solver, size_t clock)
{
    const struct rkt_align_info *prior = prior_of(solver, clock);

    return prior && (prior->flags & RKT_CLOCK_STEPPED) != 0;
}

static void spread(struct rkt_clock_solver *solver)
{
    for (size_t c = 0; c < solver->parts->clock_count; c++) {
        struct rkt_clock_stamp *stamps = &solver->stamps[solver->first[c]];
        size_t count = rkt_clock_solver_stamp_count(solver, c);

        if (has_stepped(solver, c))
            continue;
        for (size_t i = 1; i < count; i++)
            spread_on(&stamps[i - 1], &stamps[i], &solver->rates[c]);
        for (size_t i = count; i-- > 1;)
            spread_back(&stamps[i], &stamps[i - 1], &solver->rates[c]);
    }
}

static bool is_contradictory(const struct rkt_clock_solver *solver, size_t stamp_count)
{
    for (size_t i = 0; i < stamp_count; i++) {
        if (solver->stamps[i].lower_ns > solver->stamps[i].upper_ns)
            return true;
    }
    return false;
}

/* From what is known on. False: no clocks that keep to the rates can have made these stamps. */
static bool relax(struct rkt_clock_solver *solver)
{
    size_t stamp_count = solver->first[solver->parts->clock_count];

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

/* By rho alone; false as above. */
static bool relax_by_rho(struct rkt_clock_solver *solver)
{
    forget(solver);
    for (size_t c = 0; c < solver->parts->clock_count; c++)
        solver->rates[c] = (struct rkt_clock_rates){-solver->rho_ppb, solver->rho_ppb};
    return relax(solver);
}

/* Of collectives alone one bound is all; alignments of broken files may say what is no offset at
 * some stamps. */
bool rkt_clock_solver_is_bounded(const struct rkt_clock_solver *solver, size_t clock)
{
    for (size_t i = solver->first[clock]; i < solver->first[clock + 1]; i++) {
        if (solver->stamps[i].lower_ns == NO_LOWER || solver->stamps[i].upper_ns == NO_UPPER)
            return false;
    }
    return rkt_clock_solver_stamp_count(solver, clock) > 0;
}

/* ---- rates ---- */

/* The narrowest stamp of each of at most KNOTS_MAX stretches of equal length. */
size_t rkt_clock_solver_pick(const struct rkt_clock_solver *solver, size_t clock)
{
    const struct rkt_clock_stamp *stamps = &solver->stamps[solver->first[clock]];
    const struct rkt_clock_stamp **picked = solver->picked;
    size_t count = rkt_clock_solver_stamp_count(solver, clock);
    int64_t span_ns = stamps[count - 1].at_ns;
    int64_t stretch_ns = span_ns / (int64_t)(count < KNOTS_MAX ? count : KNOTS_MAX) + 1;
    size_t picked_count = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rkt_clock_stamp *last = picked_count > 0 ? picked[picked_count - 1] : NULL;

        if (!last || last->at_ns / stretch_ns != stamps[i].at_ns / stretch_ns)
            picked[picked_count++] = &stamps[i];
        else if (stamps[i].upper_ns - stamps[i].lower_ns < last->upper_ns - last->lower_ns)
            picked[picked_count - 1] = &stamps[i];
    }
    return picked_count;
}

static int64_t rate_ppb(int64_t ns, int64_t span_ns)
{
    __int128 rate = (__int128)ns * PPB / span_ns;

    return rate > SANE_NS_MAX ? SANE_NS_MAX : rate < -SANE_NS_MAX ? -SANE_NS_MAX : (int64_t)rate;
}

/* Of `count` picked stamps: whatever the rate, if it is one all along, it moved the offset by it
 * times the time. */
struct rkt_clock_rates rkt_clock_solver_constant_rate(const struct rkt_clock_solver *solver,
                                                      size_t count)
{
    struct rkt_clock_rates rates = {-solver->rho_ppb, solver->rho_ppb};
    const struct rkt_clock_stamp *const *picked = solver->picked;
    size_t stride = count / RATE_KNOTS_MAX + 1;

    for (size_t i = 0; i < count; i += stride) {
        for (size_t k = i + stride; k < count; k += stride) {
            int64_t span_ns = picked[k]->at_ns - picked[i]->at_ns;
            int64_t least_ns = picked[k]->lower_ns - picked[i]->upper_ns;
            int64_t most_ns = picked[k]->upper_ns - picked[i]->lower_ns;

            raise_to(&rates.min_ppb, rate_ppb(least_ns, span_ns) - 1);
            lower_to(&rates.max_ppb, rate_ppb(most_ns, span_ns) + 1);
        }
    }
    return rates;
}

bool rkt_clock_solver_has_rate(const struct rkt_clock_solver *solver, size_t picked_count)
{
    return picked_count > 0 && solver->picked[picked_count - 1]->at_ns - solver->picked[0]->at_ns >=
                                   RKT_COLLECTIVES_DRIFT_SPAN_NS;
}

/*
 * By what the stamps and the wander allow; *has_changed_out: by a sixteenth at least, of some
 * clock. False: no such rates can have made these stamps.
 */
static bool narrow_rates(struct rkt_clock_solver *solver, bool *has_changed_out)
{
    *has_changed_out = false;
    solver->change_ppb = 0;
    for (size_t c = 0; c < solver->parts->clock_count; c++) {
        struct rkt_clock_rates *rates = &solver->rates[c];
        int64_t before_ppb = rates->max_ppb - rates->min_ppb;
        struct rkt_clock_rates constant;
        size_t picked_count;

        if (c == solver->parts->reference || has_stepped(solver, c) ||
            !rkt_clock_solver_is_bounded(solver, c))
            continue;
        picked_count = rkt_clock_solver_pick(solver, c);
        if (!rkt_clock_solver_has_rate(solver, picked_count))
            continue;
        constant = rkt_clock_solver_constant_rate(solver, picked_count);
        raise_to(&solver->change_ppb, constant.min_ppb - constant.max_ppb);
        raise_to(&rates->min_ppb, constant.min_ppb - solver->wander_ppb);
        lower_to(&rates->max_ppb, constant.max_ppb + solver->wander_ppb);
        *has_changed_out |= rates->max_ppb - rates->min_ppb < before_ppb - before_ppb / 16;
        if (rates->min_ppb > rates->max_ppb)
            return false;
    }
    return true;
}

/* From what rho allows on; false: contradicted, or more is seen of the wander than it should be. */
static bool relax_by_wander(struct rkt_clock_solver *solver)
{
    bool has_changed = true;

    for (size_t i = 0; i < RATE_ROUNDS && has_changed; i++) {
        if (!narrow_rates(solver, &has_changed) ||
            WANDER_CHANGES * solver->change_ppb > solver->wander_ppb)
            return false;
        spread(solver);
        if (is_contradictory(solver, solver->first[solver->parts->clock_count]) || !relax(solver))
            return false;
    }
    return true;
}

bool rkt_clock_solver_solve(struct rkt_clock_solver *solver)
{
    while (!relax_by_rho(solver)) {
        if (2 * solver->rho_ppb > RKT_COLLECTIVES_RHO_MAX_PPB) {
            solver->flags |= RKT_CLOCK_CONTRADICTORY;
            return false;
        }
        solver->rho_ppb *= 2;
        solver->flags |= RKT_CLOCK_RHO_WIDENED;
    }
    solver->wander_ppb = RKT_COLLECTIVES_WANDER_PPB;
    while (solver->wander_ppb > 0 && !relax_by_wander(solver)) {
        do {
            solver->wander_ppb *= 2;
        } while (solver->wander_ppb < WANDER_CHANGES * solver->change_ppb);
        if (solver->wander_ppb >= 2 * solver->rho_ppb)
            solver->wander_ppb = 0;
        (void)relax_by_rho(solver); /* which was possible */
    }
    return true;
}
