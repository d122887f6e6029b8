/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_path.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock_smooth.h"

/* How fast two clocks' difference can change, for reading one a little off its time. */
#define RATE_MAX_PPM 200
#define PPM 1000000

/* Times of the node's clock; grows in the arena's memory that was counted before. */
struct times {
    int64_t *items;
    size_t count;
};

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t bound_of(const struct rkt_clock_point *point)
{
    return max_ns(point->upper_ns - point->offset_ns, point->offset_ns - point->lower_ns);
}

static int64_t likely_of(const struct rkt_clock_point *point)
{
    return max_ns(point->likely_upper_ns - point->offset_ns,
                  point->offset_ns - point->likely_lower_ns);
}

/* `to` from one clock on, `next` from the clock that it leads to. */
static void add_hop(struct rkt_clock_point *to, const struct rkt_clock_point *next)
{
    int64_t slack_ns = bound_of(to) / PPM * RATE_MAX_PPM + 1;

    to->offset_ns += next->offset_ns;
    to->lower_ns += next->lower_ns - slack_ns;
    to->upper_ns += next->upper_ns + slack_ns;
    to->likely_lower_ns += next->likely_lower_ns - slack_ns;
    to->likely_upper_ns += next->likely_upper_ns + slack_ns;
}

static bool along_hops(const struct rkt_clock_path *path, int64_t local_ns,
                       struct rkt_clock_point *point_out)
{
    struct rkt_clock_point sum = {0};

    for (size_t i = 0; i < path->hop_count; i++) {
        struct rkt_clock_point hop;

        if (!rkt_clock_curve_at(path->hops[i], local_ns + sum.offset_ns, &hop))
            return false;
        if (i == 0)
            sum = hop;
        else
            add_hop(&sum, &hop);
    }
    *point_out = sum;
    return true;
}

/* From here on an offset over hops that nobody measures any more is no match for a direct one. */
#define FAR_WIDER 4

static int64_t estimate_of(const struct rkt_clock_point *hops, const struct rkt_clock_point *direct)
{
    bool is_far =
        (hops->upper_ns - hops->lower_ns) / FAR_WIDER > direct->upper_ns - direct->lower_ns;

    return is_far ? direct->offset_ns : hops->offset_ns;
}

/* What both say; where they contradict each other, all that either says. */
static void intersect(struct rkt_clock_point *point, const struct rkt_clock_point *other)
{
    struct rkt_clock_point both = *point;
    int64_t estimate_ns = estimate_of(point, other);

    both.lower_ns = max_ns(point->lower_ns, other->lower_ns);
    both.upper_ns = min_ns(point->upper_ns, other->upper_ns);
    if (both.lower_ns > both.upper_ns) {
        both.lower_ns = min_ns(point->lower_ns, other->lower_ns);
        both.upper_ns = max_ns(point->upper_ns, other->upper_ns);
    }
    both.likely_lower_ns = max_ns(point->likely_lower_ns, other->likely_lower_ns);
    both.likely_upper_ns = min_ns(point->likely_upper_ns, other->likely_upper_ns);
    if (both.likely_lower_ns > both.likely_upper_ns) {
        both.likely_lower_ns = both.lower_ns;
        both.likely_upper_ns = both.upper_ns;
    }
    both.offset_ns = min_ns(max_ns(estimate_ns, both.lower_ns), both.upper_ns);
    *point = both;
}

bool rkt_clock_path_at(const struct rkt_clock_path *path, int64_t local_ns,
                       struct rkt_clock_point *point_out)
{
    struct rkt_clock_point direct;
    bool has_hops = path->hop_count > 0 && along_hops(path, local_ns, point_out);

    if (!path->direct || !rkt_clock_curve_at(path->direct, local_ns, &direct))
        return has_hops;
    if (has_hops)
        intersect(point_out, &direct);
    else
        *point_out = direct;
    return true;
}

/* ---- where knots stand, and where curves bend ---- */

static size_t vertex_count(const struct rkt_clock_curve *curve)
{
    size_t count = 0;

    for (size_t s = 0; s < curve->segment_count; s++)
        count += curve->segments[s].count;
    return count;
}

/* The node's time at which the clock that hop `hop` starts from showed `ns`. */
static int64_t node_time_ns(const struct rkt_clock_path *path, size_t hop, int64_t ns)
{
    struct rkt_clock_path before = {.hop_count = hop};
    int64_t local_ns = ns;

    for (size_t i = 0; i < hop; i++)
        before.hops[i] = path->hops[i];
    for (int round = 0; round < 3 && hop > 0; round++) { /* offsets change by some ppm only */
        struct rkt_clock_point point;

        if (along_hops(&before, local_ns, &point))
            local_ns = ns - point.offset_ns;
    }
    return local_ns;
}

static void add_time(struct times *times, int64_t ns)
{
    if (ns >= 0)
        times->items[times->count++] = ns;
}

static void add_vertices(struct times *times, const struct rkt_clock_curve *curve)
{
    for (size_t s = 0; s < curve->segment_count; s++) {
        const struct rkt_clock_segment *segment = &curve->segments[s];

        for (size_t k = 0; k < segment->count; k++) {
            int64_t here_ns = segment->vertices[k].local_ns;

            add_time(times, here_ns);
            if (k + 1 < segment->count)
                add_time(times, here_ns + (segment->vertices[k + 1].local_ns - here_ns) / 2);
        }
    }
}

/* Around a step the bounds open at once, and in the middle the offset changes over. */
#define TIMES_PER_STEP 6u
static void add_steps(struct times *times, const struct rkt_clock_path *path,
                      const struct rkt_clock_curve *curve, size_t hop)
{
    for (size_t s = 0; s + 1 < curve->segment_count; s++) {
        const struct rkt_clock_segment *left = &curve->segments[s];
        int64_t from_ns = node_time_ns(path, hop, left->vertices[left->count - 1].local_ns);
        int64_t to_ns = node_time_ns(path, hop, left[1].vertices[0].local_ns);
        int64_t middle_ns = from_ns + (to_ns - from_ns + 1) / 2;

        add_time(times, from_ns);
        add_time(times, from_ns + 1);
        add_time(times, middle_ns - 1);
        add_time(times, middle_ns);
        add_time(times, to_ns - 1);
        add_time(times, to_ns);
    }
}

/* Where an edge that rises from `left_ns` and one that rises from `right_ns` the other way meet. */
static int64_t peak_ns(const struct rkt_clock_vertex *left, int64_t length_ns, int64_t left_ns,
                       int64_t right_ns)
{
    double half = (double)length_ns / 2;
    double lean =
        left->growth_ppb > 0 ? (double)(right_ns - left_ns) / (2 * left->growth_ppb) * 1e9 : 0;

    return left->local_ns + (int64_t)fmin(fmax(half + lean, 0), (double)length_ns);
}

#define BENDS_PER_VERTEX 5u
static void add_bends(struct times *times, const struct rkt_clock_path *path,
                      const struct rkt_clock_curve *curve, size_t hop)
{
    for (size_t s = 0; s < curve->segment_count; s++) {
        const struct rkt_clock_segment *segment = &curve->segments[s];

        for (size_t k = 0; k < segment->count; k++) {
            const struct rkt_clock_vertex *left = &segment->vertices[k];
            const struct rkt_clock_point *a = &left->at, *b = &left[1].at;
            int64_t length_ns;

            add_time(times, node_time_ns(path, hop, left->local_ns));
            if (k + 1 == segment->count)
                break;
            length_ns = left[1].local_ns - left->local_ns;
            const int64_t peaks[] = {
                peak_ns(left, length_ns, a->upper_ns - a->offset_ns, b->upper_ns - b->offset_ns),
                peak_ns(left, length_ns, a->offset_ns - a->lower_ns, b->offset_ns - b->lower_ns),
                peak_ns(left, length_ns, a->likely_upper_ns - a->offset_ns,
                        b->likely_upper_ns - b->offset_ns),
                peak_ns(left, length_ns, a->offset_ns - a->likely_lower_ns,
                        b->offset_ns - b->likely_lower_ns)};

            for (size_t i = 0; i < BENDS_PER_VERTEX - 1; i++)
                add_time(times, node_time_ns(path, hop, peaks[i]));
        }
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void sort_times(struct times *times)
{
    size_t kept = 0;

    if (times->count > 1)
        qsort(times->items, times->count, sizeof(*times->items), compare_times);
    for (size_t i = 0; i < times->count; i++) {
        if (kept == 0 || times->items[i] != times->items[kept - 1])
            times->items[kept++] = times->items[i];
    }
    times->count = kept;
}

static bool init_times(struct times *times, size_t cap, struct rkt_arena *arena)
{
    times->items = RKT_ARENA_ARRAY(arena, int64_t, cap + 1);
    return times->items != NULL;
}

/* The curve whose bursts get knots, beside those of the direct one. */
static const struct rkt_clock_curve *main_curve(const struct rkt_clock_path *path)
{
    for (size_t i = 0; i < path->hop_count; i++) {
        if (path->hops[i]->segment_count == 0)
            return path->direct;
    }
    return path->hop_count > 0 ? path->hops[0] : path->direct;
}

/* Hops that lead to the reference, and a direct way as well. */
static bool has_direct_beside(const struct rkt_clock_path *path)
{
    return path->direct && path->direct->segment_count > 0 && main_curve(path) != path->direct;
}

static bool make_grid(const struct rkt_clock_path *path, struct rkt_arena *arena,
                      struct times *grid)
{
    const struct rkt_clock_curve *main = main_curve(path);
    bool has_both = has_direct_beside(path);
    size_t cap = 2 * vertex_count(main) + TIMES_PER_STEP * main->segment_count;

    for (size_t i = 0; i < path->hop_count; i++)
        cap += TIMES_PER_STEP * path->hops[i]->segment_count;
    if (path->direct)
        cap += TIMES_PER_STEP * path->direct->segment_count;
    if (has_both)
        cap += 2 * vertex_count(path->direct);
    if (!init_times(grid, cap, arena))
        return false;
    add_vertices(grid, main);
    if (has_both)
        add_vertices(grid, path->direct);
    for (size_t i = 0; i < path->hop_count; i++)
        add_steps(grid, path, path->hops[i], i);
    if (path->direct)
        add_steps(grid, path, path->direct, 0);
    sort_times(grid);
    return true;
}

/* Where two straight edges cross between two times, if they do. */
static void add_crossing(struct times *times, const int64_t at_ns[2], int64_t before_ns,
                         int64_t behind_ns)
{
    double share = (double)before_ns / ((double)before_ns - (double)behind_ns);

    if ((before_ns < 0) != (behind_ns < 0))
        add_time(times, at_ns[0] + (int64_t)(share * (double)(at_ns[1] - at_ns[0])));
}

/* What is in both bounds bends where an edge of the one crosses that of the other. */
#define CROSSINGS_PER_BEND 4u
static void add_crossings(struct times *crossings, const struct rkt_clock_path *path,
                          const struct times *bends)
{
    for (size_t i = 0; i + 1 < bends->count; i++) {
        const int64_t *at_ns = &bends->items[i];
        struct rkt_clock_point hops[2], direct[2];

        for (int k = 0; k < 2; k++) {
            if (!along_hops(path, at_ns[k], &hops[k]) ||
                !rkt_clock_curve_at(path->direct, at_ns[k], &direct[k]))
                return;
        }
        add_crossing(crossings, at_ns, hops[0].lower_ns - direct[0].lower_ns,
                     hops[1].lower_ns - direct[1].lower_ns);
        add_crossing(crossings, at_ns, hops[0].upper_ns - direct[0].upper_ns,
                     hops[1].upper_ns - direct[1].upper_ns);
        add_crossing(crossings, at_ns, hops[0].likely_lower_ns - direct[0].likely_lower_ns,
                     hops[1].likely_lower_ns - direct[1].likely_lower_ns);
        add_crossing(crossings, at_ns, hops[0].likely_upper_ns - direct[0].likely_upper_ns,
                     hops[1].likely_upper_ns - direct[1].likely_upper_ns);
    }
}

static bool make_bends(const struct rkt_clock_path *path, struct rkt_arena *arena,
                       struct times *bends)
{
    bool can_cross = path->direct && path->hop_count > 0;
    size_t cap = path->direct ? BENDS_PER_VERTEX * vertex_count(path->direct) : 0;
    struct times crossings = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        cap += BENDS_PER_VERTEX * vertex_count(path->hops[i]);
    if (!init_times(bends, can_cross ? cap * (1 + CROSSINGS_PER_BEND) : cap, arena) ||
        (can_cross && !init_times(&crossings, cap * CROSSINGS_PER_BEND, arena)))
        return false;
    for (size_t i = 0; i < path->hop_count; i++)
        add_bends(bends, path, path->hops[i], i);
    if (path->direct)
        add_bends(bends, path, path->direct, 0);
    sort_times(bends);
    if (!can_cross)
        return true;
    add_crossings(&crossings, path, bends);
    for (size_t i = 0; i < crossings.count; i++)
        add_time(bends, crossings.items[i]);
    sort_times(bends);
    return true;
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
    bound_ns = bound_of(&point) + ROUNDING_NS -
               line_ns(left->bound_ns, right->bound_ns, after_ns, length_ns);
    likely_ns = likely_of(&point) + ROUNDING_NS -
                line_ns(left->likely_ns, right->likely_ns, after_ns, length_ns);
    left->bound_ns += max_ns(bound_ns, 0);
    right->bound_ns += max_ns(bound_ns, 0);
    left->likely_ns += max_ns(likely_ns, 0);
    right->likely_ns += max_ns(likely_ns, 0);
}

static void lift_all(struct rkt_align_knot *knots, size_t count, const struct rkt_clock_path *path,
                     const struct times *bends)
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
}

static size_t make_knots(const struct rkt_clock_path *path, const struct times *grid,
                         struct rkt_align_knot *knots)
{
    size_t count = 0;

    for (size_t i = 0; i < grid->count && count < RKT_ALIGN_KNOTS_MAX; i++) {
        struct rkt_clock_point point;

        if (rkt_clock_path_at(path, grid->items[i], &point))
            knots[count++] = (struct rkt_align_knot){.local_ns = (uint64_t)grid->items[i],
                                                     .offset_ns = point.offset_ns,
                                                     .bound_ns = bound_of(&point) + ROUNDING_NS,
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

/* Nobody measured for longer than some bursts that failed. */
#define LONG_NS INT64_C(60000000000)

/* What a curve does outside its bursts. */
struct ends {
    double first_rate_ppb;
    double last_rate_ppb;
    double growth_ppb;
};

static void add_ends(struct ends *ends, const struct rkt_clock_curve *curve)
{
    const struct rkt_clock_segment *first, *last;

    if (curve->segment_count == 0)
        return;
    first = &curve->segments[0];
    last = &curve->segments[curve->segment_count - 1];
    ends->first_rate_ppb += first->first_rate_ppb;
    ends->last_rate_ppb += last->last_rate_ppb;
    ends->growth_ppb += fmax(first->first_growth_ppb, last->last_growth_ppb) + 1;
}

/* The node's time of the first burst, or the last, of a curve that hop `hop` is or would be. */
static int64_t end_time_ns(const struct rkt_clock_path *path, size_t hop,
                           const struct rkt_clock_curve *curve, bool is_last)
{
    const struct rkt_clock_segment *segment =
        &curve->segments[is_last ? curve->segment_count - 1 : 0];

    return node_time_ns(path, hop, segment->vertices[is_last ? segment->count - 1 : 0].local_ns);
}

/* Whether a curve, of hop 0 or direct, goes on for LONG_NS where some hop was not measured any more. */
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

/* Beside hops a direct way is measured rarely, which is no silence; a hop that ends before it is. */
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
    struct ends hops = {0}, direct = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        add_ends(&hops, path->hops[i]);
    if (path->direct)
        add_ends(&direct, path->direct);
    if (main_curve(path) == path->direct)
        hops = direct;
    /* an edge that comes from the one bound leaves at the other's rate */
    if (has_direct_beside(path)) {
        hops.growth_ppb = fmax(hops.growth_ppb, direct.growth_ppb) +
                          fmax(fabs(direct.first_rate_ppb - hops.first_rate_ppb),
                               fabs(direct.last_rate_ppb - hops.last_rate_ppb));
        if (outlasts_hops(path, path->direct, false))
            hops.first_rate_ppb = direct.first_rate_ppb;
        if (outlasts_hops(path, path->direct, true))
            hops.last_rate_ppb = direct.last_rate_ppb;
    }
    align->first_rate_ppb = (int32_t)lround(hops.first_rate_ppb);
    align->last_rate_ppb = (int32_t)lround(hops.last_rate_ppb);
    align->growth_ppb = (uint32_t)ceil(hops.growth_ppb);
}

enum rkt_status rkt_clock_path_align(const struct rkt_clock_path *path, struct rkt_arena *arena,
                                     struct rkt_align_info *align_out, struct rkt_error *err)
{
    const struct rkt_clock_curve *main = main_curve(path);
    struct rkt_align_info align = {.state = RKT_ALIGN_UNALIGNED};
    struct rkt_align_knot *knots;
    struct times grid = {0}, bends = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        add_curve(&align, path->hops[i]);
    if (path->direct)
        add_curve(&align, path->direct);
    if (has_direct_beside(path))
        set_silence(&align, path);
    if (!main || main->segment_count == 0) {
        *align_out = align;
        return RKT_OK;
    }
    if (!make_grid(path, arena, &grid) || !make_bends(path, arena, &bends) ||
        !(knots = RKT_ARENA_ARRAY(arena, struct rkt_align_knot, grid.count)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an alignment of %zu knots", grid.count);
    align.state = RKT_ALIGN_MEASURED;
    align.knots = knots;
    align.knot_count = make_knots(path, &grid, knots);
    lift_all(knots, align.knot_count, path, &bends);
    set_ends(&align, path);
    *align_out = align;
    return RKT_OK;
}
