/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_curve.h"

#include <math.h>

#include "common/clock_screen.h"
#include "common/clock_smooth.h"

#define NS_PER_S 1e9
#define SILENT_NS INT64_C(60000000000)
#define RHO_LEAST_PPB 300.0
#define RHO_CHANGES 4.0
#define RATE_SIGMAS 4.0
#define KAPPA_ALL_PERMILLE 1000u

/* A segment under work; all relative to `base`, in ns, by burst. */
struct piece {
    const struct rkt_clock_burst *bursts;
    size_t count;
    int64_t base_ns;
    int64_t best_width_ns; /* 0 of claims: all of their width is doubt */
    struct rkt_smooth_point *points;
    double *above; /* how far the tube's edges are from the smoothed offset */
    double *below;
    double *growth;      /* of the gap behind each burst, ppb */
    double rates_ppb[2]; /* least and most that every two bursts allow */
    bool is_guaranteed;  /* the tube is made of these as well */
    double rho_ppb;
    uint32_t kappa_permille;
    uint32_t flags;
};

struct solving {
    struct rkt_arena *arena;
    const struct rkt_clock_params *params;
    bool are_claims;
    struct rkt_clock_curve *curve;
    struct rkt_clock_segment *segments;
    size_t segment_limit;
    size_t longest;
};

static int64_t middle_ns(const struct rkt_clock_burst *burst)
{
    return burst->lower_ns + (burst->upper_ns - burst->lower_ns) / 2;
}

static int64_t width_ns(const struct rkt_clock_burst *burst)
{
    return burst->upper_ns - burst->lower_ns;
}

static double seconds_between(const struct rkt_clock_burst *from, const struct rkt_clock_burst *to)
{
    return (double)(to->local_ns - from->local_ns) / NS_PER_S;
}

/* ---- the tube ---- */

/*
 * From the data: the smoothed rate bends; within a gap nobody sees by how much. Over SILENT_NS it
 * may bend by any amount.
 */
static double rho_of(const struct piece *piece)
{
    const struct rkt_smooth_point *points = piece->points;
    double change = 0;

    for (size_t k = 0; k + 2 < piece->count; k++) {
        double seconds = points[k + 1].time_s - points[k].time_s;
        double next_seconds = points[k + 2].time_s - points[k + 1].time_s;
        double slope = (points[k + 1].offset_ns - points[k].offset_ns) / seconds;
        double next = (points[k + 2].offset_ns - points[k + 1].offset_ns) / next_seconds;

        if (fmax(seconds, next_seconds) * NS_PER_S > SILENT_NS)
            next = slope + copysign(fmin(fabs(next - slope), RKT_CLOCK_RHO_MAX_PPB / RHO_CHANGES),
                                    next - slope);
        change = fmax(change, fabs(next - slope));
    }
    return fmax(RHO_LEAST_PPB, RHO_CHANGES * change);
}

/* Between any two bursts the mean rate is within what their intervals allow. */
static void find_rates(struct piece *piece)
{
    double low = -2 * RKT_CLOCK_RATE_UNKNOWN_PPB;
    double high = 2 * RKT_CLOCK_RATE_UNKNOWN_PPB;

    for (size_t i = 0; i < piece->count && high - low > RHO_LEAST_PPB; i++) {
        const struct rkt_clock_burst *from = &piece->bursts[i];

        for (size_t j = piece->count; --j > i && high - low > RHO_LEAST_PPB;) {
            const struct rkt_clock_burst *to = &piece->bursts[j];
            double seconds = seconds_between(from, to);

            low = fmax(low, (double)(to->lower_ns - from->upper_ns) / seconds);
            high = fmin(high, (double)(to->upper_ns - from->lower_ns) / seconds);
        }
    }
    piece->rates_ppb[0] = low;
    piece->rates_ppb[1] = high;
}

/*
 * How far the clock may run from a course of this rate, by every two bursts. What the filter makes
 * of bursts that are few or poor is known less well than it says; where the pairs leave little, it
 * is known well, and where they leave nothing the rate changed.
 */
static double off_rate(const struct piece *piece, double rate_ppb)
{
    if (!piece->is_guaranteed || piece->rates_ppb[1] - piece->rates_ppb[0] <= RHO_LEAST_PPB)
        return 0;
    return piece->rho_ppb + fmax(piece->rates_ppb[1] - rate_ppb, rate_ppb - piece->rates_ppb[0]);
}

/* What the rate is not known by, no more than to that of any quartz; all of that where the course
 * is steeper than two quartzes can be apart. */
static double growth_at(const struct piece *piece, const struct rkt_smooth_point *point)
{
    double rate_ppb = fabs(point->rate_ppb);
    double most_ppb = fmax(rate_ppb + RKT_CLOCK_RATE_UNKNOWN_PPB, 2 * RKT_CLOCK_RATE_UNKNOWN_PPB);
    double growth_ppb = fmin(piece->rho_ppb + RATE_SIGMAS * point->rate_sigma_ppb, most_ppb);

    if (rate_ppb > 2 * RKT_CLOCK_RATE_UNKNOWN_PPB)
        growth_ppb = most_ppb;
    return fmax(growth_ppb, off_rate(piece, point->rate_ppb));
}

/* The same along the straight line to the next point. */
static double growth_behind(const struct piece *piece, const struct rkt_smooth_point *point)
{
    double slope_ppb = (point[1].offset_ns - point->offset_ns) / (point[1].time_s - point->time_s);

    return fmax(fmax(growth_at(piece, point), growth_at(piece, point + 1)),
                off_rate(piece, slope_ppb));
}

/* No further apart at burst k than at its neighbour, but for what opens in the gap between. */
static void reach(struct piece *piece, size_t k, size_t neighbour)
{
    size_t gap = k < neighbour ? k : neighbour;
    double opens = piece->growth[gap] * (piece->points[gap + 1].time_s - piece->points[gap].time_s);

    piece->above[k] = fmin(piece->above[k], piece->above[neighbour] + opens);
    piece->below[k] = fmax(piece->below[k], piece->below[neighbour] - opens);
}

/* Sweeps with intervals that are `narrower_ns` less on each side; false: nothing passes through. */
static bool sweep(struct piece *piece, double narrower_ns)
{
    bool is_open = true;

    for (size_t k = 0; k < piece->count; k++) {
        const struct rkt_smooth_point *point = &piece->points[k];
        const struct rkt_clock_burst *burst = &piece->bursts[k];

        piece->above[k] =
            (double)(burst->upper_ns - piece->base_ns) - narrower_ns - point->offset_ns;
        piece->below[k] =
            (double)(burst->lower_ns - piece->base_ns) + narrower_ns - point->offset_ns;
        if (k + 1 < piece->count)
            piece->growth[k] = growth_behind(piece, point);
        if (k > 0)
            reach(piece, k, k - 1);
    }
    for (size_t k = piece->count; k-- > 0;) {
        if (k + 1 < piece->count)
            reach(piece, k, k + 1);
        is_open = is_open && piece->below[k] <= piece->above[k];
    }
    return is_open;
}

/*
 * The smallest rho that nothing disproves; false: even the largest is, or the smoothed curve bends
 * by more.
 */
static bool find_rho(struct piece *piece, const struct rkt_clock_params *params)
{
    piece->rho_ppb = params->rho_ppb > 0 ? params->rho_ppb : rho_of(piece);
    if (params->rho_ppb > 0)
        piece->flags |= RKT_CLOCK_RHO_GIVEN;
    else if (piece->rho_ppb > RKT_CLOCK_RHO_MAX_PPB)
        return false;
    while (!sweep(piece, 0)) {
        if (piece->rho_ppb >= RKT_CLOCK_RHO_MAX_PPB)
            return false;
        piece->rho_ppb = fmin(2 * piece->rho_ppb, RKT_CLOCK_RHO_MAX_PPB);
        piece->flags |= RKT_CLOCK_RHO_WIDENED;
    }
    return true;
}

/* Leaves the guaranteed tube in above and below: no narrower than that of find_rho, so open. */
static void guarantee(struct piece *piece)
{
    find_rates(piece);
    piece->is_guaranteed = true;
    (void)sweep(piece, 0);
}

/* Leaves the likely tube in above and below. */
static void find_kappa(struct piece *piece, uint32_t kappa_permille)
{
    piece->is_guaranteed = false;
    piece->kappa_permille =
        kappa_permille < KAPPA_ALL_PERMILLE ? kappa_permille : KAPPA_ALL_PERMILLE;
    while (!sweep(piece, (double)(KAPPA_ALL_PERMILLE - piece->kappa_permille) / KAPPA_ALL_PERMILLE *
                             (double)piece->best_width_ns / 2)) {
        piece->kappa_permille += (KAPPA_ALL_PERMILLE - piece->kappa_permille + 3) / 4;
        piece->flags |= RKT_CLOCK_ASYMMETRIC;
    }
}

/*
 * Where the offset jumped, if it did: the gap in which the smoothed rate is furthest from its mean.
 */
static size_t steepest_gap(const struct piece *piece)
{
    const struct rkt_smooth_point *points = piece->points;
    const struct rkt_smooth_point *last = &points[piece->count - 1];
    double mean = (last->offset_ns - points[0].offset_ns) / (last->time_s - points[0].time_s);
    double furthest = -1;
    size_t gap = 0;

    for (size_t k = 0; k + 1 < piece->count; k++) {
        double slope = (points[k + 1].offset_ns - points[k].offset_ns) /
                       (points[k + 1].time_s - points[k].time_s);

        if (fabs(slope - mean) > furthest) {
            furthest = fabs(slope - mean);
            gap = k;
        }
    }
    return gap;
}

/* ---- segments ---- */

static enum rkt_status init_piece(struct solving *solving, struct piece *piece,
                                  uint32_t *noise_index_out, struct rkt_error *err)
{
    piece->base_ns = middle_ns(&piece->bursts[0]);
    piece->best_width_ns = solving->are_claims ? 0 : solving->curve->best_width_ns;
    piece->points = RKT_ARENA_ARRAY(solving->arena, struct rkt_smooth_point, piece->count);
    piece->above = RKT_ARENA_ARRAY(solving->arena, double, piece->count);
    piece->below = RKT_ARENA_ARRAY(solving->arena, double, piece->count);
    piece->growth = RKT_ARENA_ARRAY(solving->arena, double, piece->count);
    if (!piece->points || !piece->above || !piece->below || !piece->growth)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock over %zu bursts", piece->count);
    for (size_t k = 0; k < piece->count; k++)
        piece->points[k] = (struct rkt_smooth_point){
            .time_s = seconds_between(&piece->bursts[0], &piece->bursts[k]),
            .middle_ns = (double)(middle_ns(&piece->bursts[k]) - piece->base_ns),
            .half_ns = (double)(width_ns(&piece->bursts[k]) - piece->best_width_ns) / 2};
    return rkt_clock_smooth(piece->points, piece->count, (double)piece->best_width_ns,
                            solving->arena, noise_index_out, err);
}

/* The likeliest offset where it is within all limits; with it the growth of the gaps is of the
 * straight line between such offsets, no more of the smoothed curve. */
static void set_offsets(const struct piece *piece, struct rkt_clock_vertex *vertices)
{
    double moved_before = 0;

    for (size_t k = 0; k < piece->count; k++) {
        struct rkt_clock_point *at = &vertices[k].at;
        double smooth = piece->points[k].offset_ns;
        double offset = fmin(fmax(piece->points[k].likeliest_ns, smooth + piece->below[k]),
                             smooth + piece->above[k]);
        double moved = offset - smooth;

        vertices[k].local_ns = (int64_t)piece->bursts[k].local_ns;
        at->offset_ns = piece->base_ns + (int64_t)llround(offset);
        at->likely_lower_ns = piece->base_ns + (int64_t)floor(smooth + piece->below[k]);
        at->likely_upper_ns = piece->base_ns + (int64_t)ceil(smooth + piece->above[k]);
        vertices[k].growth.likely_ppb = piece->growth[k];
        if (k > 0) {
            double lean_ppb = fabs(moved - moved_before) /
                              (piece->points[k].time_s - piece->points[k - 1].time_s);

            vertices[k - 1].growth.guaranteed_ppb += lean_ppb;
            vertices[k - 1].growth.likely_ppb += lean_ppb;
        }
        moved_before = moved;
    }
}

static void set_bounds(const struct piece *piece, struct rkt_clock_vertex *vertices)
{
    for (size_t k = 0; k < piece->count; k++) {
        double smooth = piece->points[k].offset_ns;

        vertices[k].at.lower_ns = piece->base_ns + (int64_t)floor(smooth + piece->below[k]);
        vertices[k].at.upper_ns = piece->base_ns + (int64_t)ceil(smooth + piece->above[k]);
        vertices[k].growth.guaranteed_ppb = piece->growth[k];
    }
}

static enum rkt_status add_segment(struct solving *solving, struct piece *piece,
                                   uint32_t noise_index, struct rkt_error *err)
{
    struct rkt_clock_vertex *vertices =
        RKT_ARENA_ARRAY(solving->arena, struct rkt_clock_vertex, piece->count);
    const struct rkt_smooth_point *first = &piece->points[0];
    const struct rkt_smooth_point *last = &piece->points[piece->count - 1];
    struct rkt_clock_curve *curve = solving->curve;
    struct rkt_clock_segment *segment;

    if (!vertices)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock over %zu bursts", piece->count);
    segment = &solving->segments[curve->segment_count++];
    *segment = (struct rkt_clock_segment){.vertices = vertices,
                                          .count = piece->count,
                                          .first_rate_ppb = first->rate_ppb,
                                          .last_rate_ppb = last->rate_ppb};
    guarantee(piece);
    set_bounds(piece, vertices);
    segment->first_growth.guaranteed_ppb = growth_at(piece, first);
    segment->last_growth.guaranteed_ppb = growth_at(piece, last);
    find_kappa(piece, solving->params->kappa_permille);
    set_offsets(piece, vertices);
    segment->first_growth.likely_ppb = growth_at(piece, first);
    segment->last_growth.likely_ppb = growth_at(piece, last);
    curve->flags |= piece->flags;
    if (piece->rho_ppb > curve->rho_ppb)
        curve->rho_ppb = (uint32_t)ceil(piece->rho_ppb);
    if (piece->kappa_permille > curve->kappa_permille)
        curve->kappa_permille = piece->kappa_permille;
    if (piece->count > solving->longest) {
        solving->longest = piece->count;
        curve->noise_index = noise_index;
    }
    return RKT_OK;
}

/* Adds `count` bursts as one segment, or as two where no tube passes through. RKT_END: too many. */
static enum rkt_status solve_piece(struct solving *solving, const struct rkt_clock_burst *bursts,
                                   size_t count, struct rkt_error *err)
{
    struct piece piece = {.bursts = bursts, .count = count};
    uint32_t noise_index = 0;
    enum rkt_status status = init_piece(solving, &piece, &noise_index, err);
    size_t gap;

    if (status != RKT_OK)
        return status;
    if (solving->curve->segment_count >= solving->segment_limit)
        return RKT_END;
    if (find_rho(&piece, solving->params))
        return add_segment(solving, &piece, noise_index, err);
    gap = steepest_gap(&piece);
    status = solve_piece(solving, bursts, gap + 1, err);
    if (status == RKT_OK)
        status = solve_piece(solving, bursts + gap + 1, count - gap - 1, err);
    return status;
}

static bool is_silent(const struct rkt_clock_bursts *bursts)
{
    for (size_t k = 1; k < bursts->count; k++) {
        if ((int64_t)(bursts->items[k].local_ns - bursts->items[k - 1].local_ns) > SILENT_NS)
            return true;
    }
    return false;
}

static enum rkt_status solve_all(struct solving *solving, struct rkt_clock_burst *bursts,
                                 size_t count, struct rkt_error *err)
{
    struct rkt_clock_run *runs = RKT_ARENA_ARRAY(solving->arena, struct rkt_clock_run, count + 1);
    enum rkt_status status = RKT_OK;
    size_t run_count;

    if (!runs)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock over %zu bursts", count);
    run_count = rkt_clock_screen(bursts, count, runs, &solving->curve->bad_count);
    if (solving->curve->bad_count > count / 3)
        return RKT_END;
    for (size_t i = 0; i < run_count && status == RKT_OK; i++)
        status = solve_piece(solving, bursts + runs[i].first, runs[i].count, err);
    return status;
}

enum rkt_status rkt_clock_curve_solve(const struct rkt_clock_bursts *bursts,
                                      const struct rkt_clock_params *params,
                                      struct rkt_arena *arena, struct rkt_clock_curve *curve_out,
                                      struct rkt_error *err)
{
    struct rkt_clock_burst *work =
        RKT_ARENA_ARRAY(arena, struct rkt_clock_burst, bursts->count + 1);
    struct rkt_clock_curve curve = {.best_width_ns = INT64_MAX};
    struct solving solving = {.arena = arena,
                              .params = params,
                              .are_claims = bursts->are_claims,
                              .curve = &curve,
                              .segment_limit = 4 + bursts->count / 50};
    enum rkt_status status;

    solving.segments = RKT_ARENA_ARRAY(arena, struct rkt_clock_segment, solving.segment_limit);
    if (!work || !solving.segments)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock over %zu bursts", bursts->count);
    for (size_t k = 0; k < bursts->count; k++) {
        work[k] = bursts->items[k];
        if (width_ns(&work[k]) < curve.best_width_ns)
            curve.best_width_ns = width_ns(&work[k]);
    }
    status = solve_all(&solving, work, bursts->count, err);
    if (status < RKT_OK)
        return status;
    if (status == RKT_END) {
        curve.flags |= RKT_CLOCK_CONTRADICTORY;
        curve.segment_count = 0;
    }
    if (curve.segment_count > 1)
        curve.flags |= RKT_CLOCK_STEPPED;
    curve.bad_count += bursts->empty_count;
    if (curve.bad_count > 0)
        curve.flags |= RKT_CLOCK_BAD_BURSTS;
    if (is_silent(bursts))
        curve.flags |= RKT_CLOCK_SILENT;
    curve.segments = solving.segments;
    *curve_out = curve;
    return RKT_OK;
}
