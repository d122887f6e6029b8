/* SPDX-License-Identifier: Apache-2.0 */
#include "common/align_at.h"

#include <stdlib.h>
#include <string.h>

/* What an alignment does not tell: by how much the rate may still change, and two free quartzes. */
#define RATE_CHANGE_PPB 1000
#define RATE_UNKNOWN_PPB 100000
#define PPB 1000000000
/* A bound past this says nothing: 36 years. */
#define SANE_NS_MAX (INT64_C(1) << 60)

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t clamp_ns(__int128 ns)
{
    return ns > SANE_NS_MAX ? SANE_NS_MAX : ns < -SANE_NS_MAX ? -SANE_NS_MAX : (int64_t)ns;
}

/* a * b / c without overflow in between. */
static int64_t scale_ns(int64_t a, int64_t b, int64_t c)
{
    return clamp_ns((__int128)a * b / c);
}

static int64_t line_ns(int64_t left_ns, int64_t right_ns, int64_t after_ns, int64_t length_ns)
{
    return left_ns + scale_ns(right_ns - left_ns, after_ns, length_ns);
}

static void grow(struct rkt_align_point *point, int64_t distance_ns, int64_t ppb)
{
    int64_t grown_ns = scale_ns(distance_ns < 0 ? -distance_ns : distance_ns, ppb, PPB) + 1;

    point->bound_ns = clamp_ns((__int128)point->bound_ns + grown_ns);
    point->likely_ns = clamp_ns((__int128)point->likely_ns + grown_ns);
}

/* Index of the last knot at or before a time; 0 when it is before all. */
static size_t find(const struct rkt_align_info *align, int64_t local_ns)
{
    size_t low = 0, high = align->knot_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if ((int64_t)align->knots[middle].local_ns <= local_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct rkt_align_point point_of(const struct rkt_align_knot *knot)
{
    return (struct rkt_align_point){knot->offset_ns, knot->bound_ns, knot->likely_ns};
}

static struct rkt_align_point between(const struct rkt_align_info *align,
                                      const struct rkt_align_knot *left, int64_t after_ns)
{
    const struct rkt_align_knot *right = left + 1;
    int64_t length_ns = (int64_t)(right->local_ns - left->local_ns);
    struct rkt_align_point point = {line_ns(left->offset_ns, right->offset_ns, after_ns, length_ns),
                                    max_ns(left->bound_ns, right->bound_ns),
                                    max_ns(left->likely_ns, right->likely_ns)};

    if (align->growth_ppb > 0) {
        point.bound_ns = line_ns(left->bound_ns, right->bound_ns, after_ns, length_ns);
        point.likely_ns = line_ns(left->likely_ns, right->likely_ns, after_ns, length_ns);
    }
    return point;
}

/* The reference itself: nothing grows. */
static bool is_exact(const struct rkt_align_info *align)
{
    return align->state == RKT_ALIGN_REFERENCE || align->state == RKT_ALIGN_SAME_HOST;
}

/* Before the first knot (distance below 0) or after the last. */
static struct rkt_align_point outside(const struct rkt_align_info *align, size_t knot,
                                      int64_t distance_ns)
{
    const struct rkt_align_knot *knots = align->knots;
    struct rkt_align_point point = point_of(&knots[knot]);
    size_t piece = knot > 0 ? knot - 1 : 0;

    if (is_exact(align))
        return point;
    if (align->growth_ppb > 0) {
        int32_t rate_ppb = distance_ns < 0 ? align->first_rate_ppb : align->last_rate_ppb;

        point.offset_ns += scale_ns(distance_ns, rate_ppb, PPB);
        grow(&point, distance_ns, align->growth_ppb);
        return point;
    }
    if (align->knot_count == 1) {
        grow(&point, distance_ns, RATE_UNKNOWN_PPB);
        return point;
    }
    point.offset_ns += scale_ns(knots[piece + 1].offset_ns - knots[piece].offset_ns, distance_ns,
                                (int64_t)(knots[piece + 1].local_ns - knots[piece].local_ns));
    grow(&point, distance_ns, RATE_CHANGE_PPB);
    return point;
}

struct rkt_align_point rkt_align_at(const struct rkt_align_info *align, int64_t local_ns)
{
    size_t knot;
    int64_t after_ns;

    if (align->knot_count == 0)
        return (struct rkt_align_point){0};
    knot = find(align, local_ns);
    after_ns = local_ns - (int64_t)align->knots[knot].local_ns;
    if (after_ns == 0)
        return point_of(&align->knots[knot]);
    if (after_ns < 0 || knot + 1 == align->knot_count)
        return outside(align, knot, after_ns);
    return between(align, &align->knots[knot], after_ns);
}

static void take_worst(struct rkt_align_point *worst, struct rkt_align_point point)
{
    worst->bound_ns = max_ns(worst->bound_ns, point.bound_ns);
    worst->likely_ns = max_ns(worst->likely_ns, point.likely_ns);
}

struct rkt_align_point rkt_align_worst(const struct rkt_align_info *align, int64_t start_ns,
                                       int64_t end_ns)
{
    struct rkt_align_point worst = rkt_align_at(align, start_ns);

    take_worst(&worst, rkt_align_at(align, end_ns));
    for (size_t i = 0; i < align->knot_count; i++) {
        int64_t at_ns = (int64_t)align->knots[i].local_ns;

        if (at_ns >= start_ns && at_ns <= end_ns)
            take_worst(&worst, point_of(&align->knots[i]));
    }
    return worst;
}

bool rkt_align_is_same(const struct rkt_align_info *a, const struct rkt_align_info *b)
{
    return a->state == b->state && a->knot_count == b->knot_count && a->knot_count > 0 &&
           memcmp(a->knots, b->knots, a->knot_count * sizeof(*a->knots)) == 0;
}

static bool is_jump(int64_t change_ns, int64_t length_ns)
{
    return (__int128)llabs(change_ns) * PPB > (__int128)length_ns * RKT_ALIGN_JUMP_PPB;
}

int64_t rkt_align_jumps_ns(const struct rkt_align_info *align, int64_t start_ns, int64_t end_ns)
{
    const struct rkt_align_knot *knots = align->knots;
    __int128 sum_ns = 0;

    for (size_t i = 0; i + 1 < align->knot_count; i++) {
        int64_t from_ns = (int64_t)knots[i].local_ns, to_ns = (int64_t)knots[i + 1].local_ns;
        int64_t change_ns = clamp_ns((__int128)knots[i + 1].offset_ns - knots[i].offset_ns);

        if (from_ns <= end_ns && to_ns >= start_ns &&
            is_jump(change_ns, clamp_ns((__int128)to_ns - from_ns)))
            sum_ns += llabs(change_ns);
    }
    return clamp_ns(sum_ns);
}
