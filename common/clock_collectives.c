/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_collectives.h"

#include "common/clock_curve.h"

static enum rkt_status make_knots(const struct rkt_clock_solver *solver, size_t clock,
                                  size_t picked_count, struct rkt_align_info *align,
                                  struct rkt_error *err)
{
    int64_t own_ns = solver->origin_ns[clock];
    int64_t moved_ns = solver->origin_ns[solver->parts->reference] - own_ns;
    struct rkt_clock_pin *items =
        RKT_ARENA_ARRAY(solver->arena, struct rkt_clock_pin, picked_count);
    struct rkt_clock_pins pins = {items, picked_count, solver->rates[clock]};
    struct rkt_align_knot *knots = NULL;
    enum rkt_status status;

    if (!items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu knots", picked_count);
    for (size_t i = 0; i < picked_count; i++) {
        const struct rkt_clock_stamp *stamp = solver->picked[i];

        items[i] = (struct rkt_clock_pin){stamp->at_ns + own_ns, stamp->lower_ns + moved_ns,
                                          stamp->upper_ns + moved_ns};
    }
    status = rkt_clock_tube_knots(&pins, solver->arena, &knots, &align->knot_count, err);
    align->knots = knots;
    return status;
}

static enum rkt_status tie_clock(struct rkt_clock_solver *solver, size_t clock,
                                 struct rkt_clock_tie *tie, struct rkt_error *err)
{
    const struct rkt_clock_rates *rates = &solver->rates[clock];
    int64_t middle_ppb = rates->min_ppb + (rates->max_ppb - rates->min_ppb) / 2;
    struct rkt_clock_rates constant;
    size_t picked_count;

    if (!rkt_clock_solver_is_bounded(solver, clock))
        return RKT_OK;
    picked_count = rkt_clock_solver_pick(solver, clock);
    constant = rkt_clock_solver_constant_rate(solver, picked_count);
    tie->has_rate = rkt_clock_solver_has_rate(solver, picked_count);
    tie->rate_min_ppb = constant.min_ppb;
    tie->rate_max_ppb = constant.max_ppb;
    tie->is_tied = true;
    tie->align = (struct rkt_align_info){.state = RKT_ALIGN_COLLECTIVES,
                                         .first_rate_ppb = (int32_t)middle_ppb,
                                         .last_rate_ppb = (int32_t)middle_ppb,
                                         .growth_ppb = (uint32_t)(rates->max_ppb - middle_ppb + 1),
                                         .rho_ppb = (uint32_t)solver->rho_ppb};
    return make_knots(solver, clock, picked_count, &tie->align, err);
}

static void count_collectives(const struct rkt_clock_parts *parts, struct rkt_clock_tie *ties)
{
    for (size_t i = 0; i < parts->count; i++)
        ties[parts->items[i].clock].collective_count += rkt_clock_part_is_sound(&parts->items[i]);
}

static enum rkt_status make_ties(struct rkt_clock_solver *solver, struct rkt_clock_ties *ties,
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
    struct rkt_clock_solver solver;
    struct rkt_clock_ties ties = {.count = parts->clock_count};
    enum rkt_status status = rkt_clock_solver_init(&solver, parts, rho_ppb, arena, err);

    if (status != RKT_OK || !solver.first || !solver.moments || !solver.rates)
        return status;
    ties.items = RKT_ARENA_ARRAY(arena, struct rkt_clock_tie, parts->clock_count + 1);
    if (!ties.items)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for %zu clocks", parts->clock_count);
    (void)rkt_clock_solver_solve(&solver);
    ties.flags = solver.flags;
    ties.rho_ppb = (uint32_t)solver.rho_ppb;
    ties.wander_ppb = (uint32_t)solver.wander_ppb;
    count_collectives(parts, ties.items);
    status = make_ties(&solver, &ties, err);
    if (status == RKT_OK)
        *ties_out = ties;
    return status;
}
