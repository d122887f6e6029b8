/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_path.h"

#include <math.h>

#include "common/clock_path_parts.h"
#include "common/clock_smooth.h"

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t likely_of(const struct rkt_clock_point *point)
{
    return max_ns(point->likely_upper_ns - point->offset_ns,
                  point->offset_ns - point->likely_lower_ns);
}

/* ---- knots ---- */

/* Of the lines of offset and bound, here and where they are read. */
#define ROUNDING_NS 2

/* Linear between two knots, rounded to what is less. */
static int64_t line_ns(int64_t left_ns, int64_t right_ns, int64_t after_ns, int64_t length_ns)
{
    return left_ns + (int64_t)((__int128)(right_ns - left_ns) * after_ns / length_ns);
}

/* At a time between two knots the path may say more than their line does: then lift the line. */
static void lift(struct rkt_align_knot *left, const struct rkt_clock_path *path, int64_t local_ns)
{
    struct rkt_align_knot *right = left + 1;
    int64_t length_ns = (int64_t)(right->local_ns - left->local_ns);
    int64_t after_ns = local_ns - (int64_t)left->local_ns;
    struct rkt_clock_point point;
    int64_t bound_ns, likely_ns;

    if (!rkt_clock_path_at(path, local_ns, &point))
        return;
    point.offset_ns = line_ns(left->offset_ns, right->offset_ns, after_ns, length_ns);
    bound_ns = rkt_clock_point_bound_ns(&point) + ROUNDING_NS -
               line_ns(left->bound_ns, right->bound_ns, after_ns, length_ns);
    likely_ns = likely_of(&point) + ROUNDING_NS -
                line_ns(left->likely_ns, right->likely_ns, after_ns, length_ns);
    left->bound_ns += max_ns(bound_ns, 0);
    right->bound_ns += max_ns(bound_ns, 0);
    left->likely_ns += max_ns(likely_ns, 0);
    right->likely_ns += max_ns(likely_ns, 0);
}

static void lift_all(struct rkt_align_knot *knots, size_t count, const struct rkt_clock_path *path,
                     const struct rkt_clock_times *bends)
{
    size_t left = 0;

    for (size_t i = 0; i < bends->count; i++) {
        int64_t local_ns = bends->items[i];

        while (left + 2 < count && (int64_t)knots[left + 1].local_ns <= local_ns)
            left++;
        if (left + 1 < count && local_ns > (int64_t)knots[left].local_ns &&
            local_ns < (int64_t)knots[left + 1].local_ns)
            lift(&knots[left], path, local_ns);
    }
    /* what was lifted for one moment is so at others, too: but never past what is guaranteed */
    for (size_t i = 0; i < count; i++)
        knots[i].likely_ns = min_ns(knots[i].likely_ns, knots[i].bound_ns);
}

static size_t make_knots(const struct rkt_clock_path *path, const struct rkt_clock_times *grid,
                         struct rkt_align_knot *knots)
{
    size_t count = 0;

    for (size_t i = 0; i < grid->count && count < RKT_ALIGN_KNOTS_MAX; i++) {
        struct rkt_clock_point point;

        if (rkt_clock_path_at(path, grid->items[i], &point))
            knots[count++] =
                (struct rkt_align_knot){.local_ns = (uint64_t)grid->items[i],
                                        .offset_ns = point.offset_ns,
                                        .bound_ns = rkt_clock_point_bound_ns(&point) + ROUNDING_NS,
                                        .likely_ns = likely_of(&point) + ROUNDING_NS};
    }
    return count;
}

/* ---- what else an alignment says ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void add_curve(struct rkt_align_info *align, const struct rkt_clock_curve *curve)
{
    align->flags |= curve->flags;
    align->rho_ppb = max_u32(align->rho_ppb, curve->rho_ppb);
    align->kappa_permille = max_u32(align->kappa_permille, curve->kappa_permille);
    align->noise_ppt =
        max_u32(align->noise_ppt, (uint32_t)(1000 * rkt_clock_noises[curve->noise_index]));
}

/* ---- what hosts claim of true time ---- */

/* Claims of a good clock do none of that. */
#define CLAIM_FLAGS_WRONG (RKT_CLOCK_STEPPED | RKT_CLOCK_BAD_BURSTS | RKT_CLOCK_CONTRADICTORY)

enum claim_verdict {
    CLAIM_USELESS, /* wider than what was measured, everywhere */
    CLAIM_GOOD,
    CLAIM_WRONG,
};

static enum claim_verdict judge_at(const struct rkt_clock_path *path, int64_t local_ns)
{
    struct rkt_clock_point measured, claimed;

    if (!rkt_clock_path_way_at(path, RKT_CLOCK_WAY_MEASURED, local_ns, &measured) ||
        !rkt_clock_path_way_at(path, RKT_CLOCK_WAY_CLAIMED, local_ns, &claimed))
        return CLAIM_USELESS;
    if (claimed.lower_ns > measured.upper_ns || claimed.upper_ns < measured.lower_ns)
        return CLAIM_WRONG;
    return claimed.lower_ns > measured.lower_ns || claimed.upper_ns < measured.upper_ns
               ? CLAIM_GOOD
               : CLAIM_USELESS;
}

static enum claim_verdict worse(enum claim_verdict a, enum claim_verdict b)
{
    return a > b ? a : b;
}

/* Narrower, one by one, than what was measured is somewhere. Others are not worth a judgement. */
static bool are_narrow(const struct rkt_clock_path *path, const struct rkt_clock_times *grid)
{
    int64_t claimed_ns = path->claim->best_width_ns / 2 + path->reference_claim->best_width_ns / 2;
    bool is_any = false;

    for (size_t i = 0; i < grid->count && !is_any; i++) {
        struct rkt_clock_point measured;

        is_any = rkt_clock_path_way_at(path, RKT_CLOCK_WAY_MEASURED, grid->items[i], &measured) &&
                 claimed_ns < rkt_clock_point_bound_ns(&measured);
    }
    return is_any;
}

static enum claim_verdict judge_claims(const struct rkt_clock_path *path,
                                       const struct rkt_clock_times *grid)
{
    enum claim_verdict worst = CLAIM_USELESS;

    if (!path->claim || !path->reference_claim || !are_narrow(path, grid))
        return CLAIM_USELESS;
    if ((path->claim->flags | path->reference_claim->flags) & CLAIM_FLAGS_WRONG)
        return CLAIM_WRONG;
    for (size_t i = 0; i < grid->count; i++)
        worst = worse(worst, judge_at(path, grid->items[i]));
    for (size_t s = 0; s < path->claim->segment_count; s++) {
        for (size_t k = 0; k < path->claim->segments[s].count; k++)
            worst = worse(worst, judge_at(path, path->claim->segments[s].vertices[k].local_ns));
    }
    return worst;
}

/* Takes the claims off the path if they do not help, and says in the alignment what became of
 * them. */
static bool use_claims(struct rkt_clock_path *path, struct rkt_arena *arena,
                       struct rkt_clock_times *grid, struct rkt_align_info *align)
{
    enum claim_verdict verdict = judge_claims(path, grid);

    if (verdict == CLAIM_GOOD) {
        align->flags |= RKT_CLOCK_CLAIM_USED;
        align->rho_ppb = max_u32(align->rho_ppb, path->claim->rho_ppb);
        align->rho_ppb = max_u32(align->rho_ppb, path->reference_claim->rho_ppb);
        return true;
    }
    if (verdict == CLAIM_WRONG)
        align->flags |= RKT_CLOCK_CLAIM_WRONG;
    if (!path->claim)
        return true;
    path->claim = NULL;
    return rkt_clock_path_grid(path, arena, grid);
}

/* ---- outside all bursts ---- */

/* Nobody measured for longer than some bursts that failed. */
#define LONG_NS INT64_C(60000000000)

/* What a curve does outside its bursts. */
struct ends {
    double first_rate_ppb;
    double last_rate_ppb;
    double growth_ppb;
};

/* Of curves one behind the other; `way` -1: from there to here. */
static void add_ends(struct ends *ends, const struct rkt_clock_curve *curve, int way)
{
    const struct rkt_clock_segment *first, *last;

    if (curve->segment_count == 0)
        return;
    first = &curve->segments[0];
    last = &curve->segments[curve->segment_count - 1];
    ends->first_rate_ppb += way * first->first_rate_ppb;
    ends->last_rate_ppb += way * last->last_rate_ppb;
    ends->growth_ppb +=
        fmax(first->first_growth.guaranteed_ppb, last->last_growth.guaranteed_ppb) + 1;
}

/* Of both ways: an edge that comes from the one bound leaves at the other's rate. */
static void widen_ends(struct ends *ends, const struct ends *other)
{
    ends->growth_ppb = fmax(ends->growth_ppb, other->growth_ppb) +
                       fmax(fabs(other->first_rate_ppb - ends->first_rate_ppb),
                            fabs(other->last_rate_ppb - ends->last_rate_ppb));
}

/* The node's time of the first burst, or the last, of a curve that hop `hop` is or would be. */
static int64_t end_time_ns(const struct rkt_clock_path *path, size_t hop,
                           const struct rkt_clock_curve *curve, bool is_last)
{
    const struct rkt_clock_segment *segment =
        &curve->segments[is_last ? curve->segment_count - 1 : 0];

    return rkt_clock_path_node_time_ns(
        path, hop, segment->vertices[is_last ? segment->count - 1 : 0].local_ns);
}

/* Whether a curve, of hop 0 or direct, goes on for LONG_NS where some hop was not measured any
 * more. */
static bool outlasts_hops(const struct rkt_clock_path *path, const struct rkt_clock_curve *curve,
                          bool is_last)
{
    int64_t sign = is_last ? 1 : -1;
    int64_t curve_ns = sign * end_time_ns(path, 0, curve, is_last);

    for (size_t i = 0; i < path->hop_count; i++) {
        if (curve_ns > sign * end_time_ns(path, i, path->hops[i], is_last) + LONG_NS)
            return true;
    }
    return false;
}

/* Beside hops a direct way is measured rarely, which is no silence; a hop that ends before it
 * is. */
static void set_silence(struct rkt_align_info *align, const struct rkt_clock_path *path)
{
    bool is_silent = false;

    for (size_t i = 0; i < path->hop_count; i++)
        is_silent = is_silent || (path->hops[i]->flags & RKT_CLOCK_SILENT) != 0;
    for (int is_last = 0; is_last < 2; is_last++)
        is_silent = is_silent || outlasts_hops(path, path->direct, is_last) ||
                    outlasts_hops(path, path->hops[0], is_last);
    align->flags =
        is_silent ? align->flags | RKT_CLOCK_SILENT : align->flags & ~(uint32_t)RKT_CLOCK_SILENT;
}

static void set_ends(struct rkt_align_info *align, const struct rkt_clock_path *path)
{
    struct ends hops = {0}, direct = {0}, claimed = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        add_ends(&hops, path->hops[i], 1);
    if (path->direct)
        add_ends(&direct, path->direct, 1);
    if (rkt_clock_path_main_curve(path) == path->direct)
        hops = direct;
    if (rkt_clock_path_has_direct_beside(path)) {
        widen_ends(&hops, &direct);
        if (outlasts_hops(path, path->direct, false))
            hops.first_rate_ppb = direct.first_rate_ppb;
        if (outlasts_hops(path, path->direct, true))
            hops.last_rate_ppb = direct.last_rate_ppb;
    }
    if (path->claim && path->reference_claim) {
        add_ends(&claimed, path->claim, 1);
        add_ends(&claimed, path->reference_claim, -1);
        widen_ends(&hops, &claimed);
    }
    align->first_rate_ppb = (int32_t)lround(hops.first_rate_ppb);
    align->last_rate_ppb = (int32_t)lround(hops.last_rate_ppb);
    align->growth_ppb = (uint32_t)ceil(hops.growth_ppb);
}

enum rkt_status rkt_clock_path_align(const struct rkt_clock_path *path, struct rkt_arena *arena,
                                     struct rkt_align_info *align_out, struct rkt_error *err)
{
    const struct rkt_clock_curve *main = rkt_clock_path_main_curve(path);
    struct rkt_clock_path used = *path;
    struct rkt_align_info align = {.state = RKT_ALIGN_UNALIGNED};
    struct rkt_align_knot *knots;
    struct rkt_clock_times grid = {0}, bends = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        add_curve(&align, path->hops[i]);
    if (path->direct)
        add_curve(&align, path->direct);
    if (rkt_clock_path_has_direct_beside(path))
        set_silence(&align, path);
    if (!main || main->segment_count == 0) {
        *align_out = align;
        return RKT_OK;
    }
    if (!rkt_clock_path_grid(path, arena, &grid) || !use_claims(&used, arena, &grid, &align) ||
        !rkt_clock_path_bends(&used, arena, &bends) ||
        !(knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, grid.count)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an alignment of %zu knots", grid.count);
    align.state = RKT_ALIGN_MEASURED;
    align.knots = knots;
    align.knot_count = make_knots(&used, &grid, knots);
    lift_all(knots, align.knot_count, &used, &bends);
    set_ends(&align, &used);
    *align_out = align;
    return RKT_OK;
}
