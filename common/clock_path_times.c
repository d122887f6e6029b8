/* SPDX-License-Identifier: Apache-2.0 */
/* Where an alignment needs knots, and where what it has to hold bends. */
#include <math.h>
#include <stdlib.h>

#include "common/clock_path_parts.h"

static size_t vertex_count(const struct rkt_clock_curve *curve)
{
    size_t count = 0;

    for (size_t s = 0; s < curve->segment_count; s++)
        count += curve->segments[s].count;
    return count;
}

#define ROUNDS 3 /* offsets change by some ppm only */

int64_t rkt_clock_path_node_time_ns(const struct rkt_clock_path *path, size_t hop, int64_t ns)
{
    struct rkt_clock_path before = {.hop_count = hop};
    int64_t local_ns = ns;

    for (size_t i = 0; i < hop; i++)
        before.hops[i] = path->hops[i];
    for (int round = 0; round < ROUNDS && hop > 0; round++) {
        struct rkt_clock_point point;

        if (rkt_clock_path_way_at(&before, RKT_CLOCK_WAY_HOPS, local_ns, &point))
            local_ns = ns - point.offset_ns;
    }
    return local_ns;
}

/* No hop starts from the reference; but its claims are by its own clock. */
#define OF_REFERENCE SIZE_MAX

static int64_t time_ns(const struct rkt_clock_path *path, size_t hop, int64_t ns)
{
    int64_t local_ns = ns;

    if (hop != OF_REFERENCE)
        return rkt_clock_path_node_time_ns(path, hop, ns);
    for (int round = 0; round < ROUNDS; round++) {
        struct rkt_clock_point point;

        if (rkt_clock_path_way_at(path, RKT_CLOCK_WAY_MEASURED, local_ns, &point))
            local_ns = ns - point.offset_ns;
    }
    return local_ns;
}

static void add_time(struct rkt_clock_times *times, int64_t ns)
{
    if (ns >= 0)
        times->items[times->count++] = ns;
}

static void add_vertices(struct rkt_clock_times *times, const struct rkt_clock_curve *curve)
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

/* Claims are many, and each says about the same: of them some get knots, and where they come and
 * go. */
#define CLAIM_KNOT_NS INT64_C(5000000000)
static void add_claims(struct rkt_clock_times *times, const struct rkt_clock_path *path,
                       const struct rkt_clock_curve *curve, size_t hop)
{
    for (size_t s = 0; s < curve->segment_count; s++) {
        const struct rkt_clock_vertex *vertices = curve->segments[s].vertices;
        size_t last = curve->segments[s].count - 1, taken = 0;

        for (size_t k = 0; k <= last; k++) {
            if (k > 0 && k < last &&
                vertices[k].local_ns - vertices[taken].local_ns < CLAIM_KNOT_NS &&
                vertices[k + 1].local_ns - vertices[k].local_ns < CLAIM_KNOT_NS)
                continue;
            taken = k;
            add_time(times, time_ns(path, hop, vertices[k].local_ns));
        }
    }
}

/* Around a step the bounds open at once, and in the middle the offset changes over. */
#define TIMES_PER_STEP 6u
static void add_steps(struct rkt_clock_times *times, const struct rkt_clock_path *path,
                      const struct rkt_clock_curve *curve, size_t hop)
{
    for (size_t s = 0; s + 1 < curve->segment_count; s++) {
        const struct rkt_clock_segment *left = &curve->segments[s];
        int64_t from_ns =
            rkt_clock_path_node_time_ns(path, hop, left->vertices[left->count - 1].local_ns);
        int64_t to_ns = rkt_clock_path_node_time_ns(path, hop, left[1].vertices[0].local_ns);
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
static int64_t peak_ns(const struct rkt_clock_vertex *left, int64_t length_ns, double growth_ppb,
                       int64_t left_ns, int64_t right_ns)
{
    double half = (double)length_ns / 2;
    double lean = growth_ppb > 0 ? (double)(right_ns - left_ns) / (2 * growth_ppb) * 1e9 : 0;

    return left->local_ns + (int64_t)fmin(fmax(half + lean, 0), (double)length_ns);
}

#define BENDS_PER_VERTEX 5u
static void add_bends(struct rkt_clock_times *times, const struct rkt_clock_path *path,
                      const struct rkt_clock_curve *curve, size_t hop)
{
    for (size_t s = 0; s < curve->segment_count; s++) {
        const struct rkt_clock_segment *segment = &curve->segments[s];

        for (size_t k = 0; k < segment->count; k++) {
            const struct rkt_clock_vertex *left = &segment->vertices[k];
            const struct rkt_clock_point *a = &left->at, *b = &left[1].at;
            double sure_ppb = left->growth.guaranteed_ppb, likely_ppb = left->growth.likely_ppb;
            int64_t length_ns;

            add_time(times, time_ns(path, hop, left->local_ns));
            if (k + 1 == segment->count)
                break;
            length_ns = left[1].local_ns - left->local_ns;
            const int64_t peaks[] = {
                peak_ns(left, length_ns, sure_ppb, a->upper_ns - a->offset_ns,
                        b->upper_ns - b->offset_ns),
                peak_ns(left, length_ns, sure_ppb, a->offset_ns - a->lower_ns,
                        b->offset_ns - b->lower_ns),
                peak_ns(left, length_ns, likely_ppb, a->likely_upper_ns - a->offset_ns,
                        b->likely_upper_ns - b->offset_ns),
                peak_ns(left, length_ns, likely_ppb, a->offset_ns - a->likely_lower_ns,
                        b->offset_ns - b->likely_lower_ns)};

            for (size_t i = 0; i < BENDS_PER_VERTEX - 1; i++)
                add_time(times, time_ns(path, hop, peaks[i]));
        }
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void sort_times(struct rkt_clock_times *times)
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

static bool init_times(struct rkt_clock_times *times, size_t cap, struct rkt_arena *arena)
{
    times->items = RKT_ARENA_ARRAY(arena, int64_t, cap + 1);
    return times->items != NULL;
}

bool rkt_clock_path_grid(const struct rkt_clock_path *path, struct rkt_arena *arena,
                         struct rkt_clock_times *grid_out)
{
    const struct rkt_clock_curve *main = rkt_clock_path_main_curve(path);
    struct rkt_clock_times grid = {0};
    bool has_both = rkt_clock_path_has_direct_beside(path);
    bool has_claims = path->claim && path->reference_claim;
    size_t cap = 2 * vertex_count(main) + TIMES_PER_STEP * main->segment_count;

    for (size_t i = 0; i < path->hop_count; i++)
        cap += TIMES_PER_STEP * path->hops[i]->segment_count;
    if (path->direct)
        cap += TIMES_PER_STEP * path->direct->segment_count;
    if (has_both)
        cap += 2 * vertex_count(path->direct);
    if (has_claims)
        cap += vertex_count(path->claim) + vertex_count(path->reference_claim);
    if (!init_times(&grid, cap, arena))
        return false;
    add_vertices(&grid, main);
    if (has_both)
        add_vertices(&grid, path->direct);
    if (has_claims) {
        add_claims(&grid, path, path->claim, 0);
        add_claims(&grid, path, path->reference_claim, OF_REFERENCE);
    }
    for (size_t i = 0; i < path->hop_count; i++)
        add_steps(&grid, path, path->hops[i], i);
    if (path->direct)
        add_steps(&grid, path, path->direct, 0);
    sort_times(&grid);
    *grid_out = grid;
    return true;
}

/* Where two straight edges cross between two times, if they do. */
static void add_crossing(struct rkt_clock_times *times, const int64_t at_ns[2], int64_t before_ns,
                         int64_t behind_ns)
{
    double share = (double)before_ns / ((double)before_ns - (double)behind_ns);

    if ((before_ns < 0) != (behind_ns < 0))
        add_time(times, at_ns[0] + (int64_t)(share * (double)(at_ns[1] - at_ns[0])));
}

/* What is in both bounds bends where an edge of the one crosses that of the other. */
#define CROSSINGS_PER_BEND 4u
static void add_crossings(struct rkt_clock_times *crossings, const struct rkt_clock_path *path,
                          const enum rkt_clock_way ways[2], const struct rkt_clock_times *bends)
{
    for (size_t i = 0; i + 1 < bends->count; i++) {
        const int64_t *at_ns = &bends->items[i];
        struct rkt_clock_point a[2], b[2];

        for (int k = 0; k < 2; k++) {
            if (!rkt_clock_path_way_at(path, ways[0], at_ns[k], &a[k]) ||
                !rkt_clock_path_way_at(path, ways[1], at_ns[k], &b[k]))
                return;
        }
        add_crossing(crossings, at_ns, a[0].lower_ns - b[0].lower_ns,
                     a[1].lower_ns - b[1].lower_ns);
        add_crossing(crossings, at_ns, a[0].upper_ns - b[0].upper_ns,
                     a[1].upper_ns - b[1].upper_ns);
        add_crossing(crossings, at_ns, a[0].likely_lower_ns - b[0].likely_lower_ns,
                     a[1].likely_lower_ns - b[1].likely_lower_ns);
        add_crossing(crossings, at_ns, a[0].likely_upper_ns - b[0].likely_upper_ns,
                     a[1].likely_upper_ns - b[1].likely_upper_ns);
    }
}

static bool cross(const struct rkt_clock_path *path, enum rkt_clock_way one,
                  enum rkt_clock_way other, struct rkt_arena *arena, struct rkt_clock_times *bends)
{
    const enum rkt_clock_way ways[2] = {one, other};
    struct rkt_clock_times all = {0};

    if (!init_times(&all, bends->count * (1 + CROSSINGS_PER_BEND), arena))
        return false;
    for (size_t i = 0; i < bends->count; i++)
        add_time(&all, bends->items[i]);
    add_crossings(&all, path, ways, bends);
    sort_times(&all);
    *bends = all;
    return true;
}

bool rkt_clock_path_bends(const struct rkt_clock_path *path, struct rkt_arena *arena,
                          struct rkt_clock_times *bends_out)
{
    size_t cap = path->direct ? BENDS_PER_VERTEX * vertex_count(path->direct) : 0;
    bool has_claims = path->claim && path->reference_claim;
    struct rkt_clock_times bends = {0};

    for (size_t i = 0; i < path->hop_count; i++)
        cap += BENDS_PER_VERTEX * vertex_count(path->hops[i]);
    if (has_claims)
        cap += BENDS_PER_VERTEX * (vertex_count(path->claim) + vertex_count(path->reference_claim));
    if (!init_times(&bends, cap, arena))
        return false;
    for (size_t i = 0; i < path->hop_count; i++)
        add_bends(&bends, path, path->hops[i], i);
    if (path->direct)
        add_bends(&bends, path, path->direct, 0);
    if (has_claims) {
        add_bends(&bends, path, path->claim, 0);
        add_bends(&bends, path, path->reference_claim, OF_REFERENCE);
    }
    sort_times(&bends);
    if (path->direct && path->hop_count > 0 &&
        !cross(path, RKT_CLOCK_WAY_HOPS, RKT_CLOCK_WAY_DIRECT, arena, &bends))
        return false;
    if (has_claims && !cross(path, RKT_CLOCK_WAY_MEASURED, RKT_CLOCK_WAY_CLAIMED, arena, &bends))
        return false;
    *bends_out = bends;
    return true;
}
