/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a solved curve: between bursts, outside all of them, and between segments. */
#include <math.h>

#include "common/clock_curve.h"

#define NS_PER_S 1e9
/* Further than that a bound says nothing: 36 years. */
#define SANE_NS 0x1p60

const char *rkt_clock_claim_word(uint32_t flags)
{
    if (flags & RKT_CLOCK_CLAIM_WRONG)
        return "left out";
    return flags & RKT_CLOCK_CLAIM_USED ? "used" : "none";
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t grown_ns(double growth_ppb, int64_t distance_ns)
{
    return (int64_t)ceil(fmin(growth_ppb * (double)distance_ns / NS_PER_S, SANE_NS));
}

/* The limits of `from`, carried along to `offset_ns`, opened by what grows within `distance_ns`. */
static struct rkt_clock_point carried(const struct rkt_clock_point *from, int64_t offset_ns,
                                      const struct rkt_clock_growth *growth, int64_t distance_ns)
{
    int64_t moved_ns = offset_ns - from->offset_ns;
    int64_t opens_ns = grown_ns(growth->guaranteed_ppb, distance_ns);
    int64_t likely_ns = grown_ns(growth->likely_ppb, distance_ns);

    return (struct rkt_clock_point){
        .offset_ns = offset_ns,
        .lower_ns = from->lower_ns + moved_ns - opens_ns,
        .upper_ns = from->upper_ns + moved_ns + opens_ns,
        .likely_lower_ns = from->likely_lower_ns + moved_ns - likely_ns,
        .likely_upper_ns = from->likely_upper_ns + moved_ns + likely_ns,
    };
}

static struct rkt_clock_point between(const struct rkt_clock_vertex *left,
                                      const struct rkt_clock_vertex *right, int64_t local_ns)
{
    int64_t length_ns = right->local_ns - left->local_ns;
    int64_t after_ns = local_ns - left->local_ns;
    int64_t rise_ns = right->at.offset_ns - left->at.offset_ns;
    int64_t offset_ns = left->at.offset_ns + (int64_t)((__int128)rise_ns * after_ns / length_ns);
    struct rkt_clock_point a = carried(&left->at, offset_ns, &left->growth, after_ns);
    struct rkt_clock_point b = carried(&right->at, offset_ns, &left->growth, length_ns - after_ns);

    return (struct rkt_clock_point){
        .offset_ns = offset_ns,
        .lower_ns = max_ns(a.lower_ns, b.lower_ns),
        .upper_ns = min_ns(a.upper_ns, b.upper_ns),
        .likely_lower_ns = max_ns(a.likely_lower_ns, b.likely_lower_ns),
        .likely_upper_ns = min_ns(a.likely_upper_ns, b.likely_upper_ns),
    };
}

static struct rkt_clock_point before_segment(const struct rkt_clock_segment *segment,
                                             int64_t local_ns)
{
    const struct rkt_clock_vertex *first = &segment->vertices[0];
    int64_t distance_ns = first->local_ns - local_ns;
    double run = -segment->first_rate_ppb * (double)distance_ns / NS_PER_S;

    return carried(&first->at, first->at.offset_ns + (int64_t)llround(run), &segment->first_growth,
                   distance_ns);
}

static struct rkt_clock_point after_segment(const struct rkt_clock_segment *segment,
                                            int64_t local_ns)
{
    const struct rkt_clock_vertex *last = &segment->vertices[segment->count - 1];
    int64_t distance_ns = local_ns - last->local_ns;
    double run = segment->last_rate_ppb * (double)distance_ns / NS_PER_S;

    return carried(&last->at, last->at.offset_ns + (int64_t)llround(run), &segment->last_growth,
                   distance_ns);
}

/*
 * Somewhere between the two the clock stepped: the offset is that of the nearer, the bounds are of
 * both.
 */
static struct rkt_clock_point between_segments(const struct rkt_clock_segment *left,
                                               const struct rkt_clock_segment *right,
                                               int64_t local_ns)
{
    struct rkt_clock_point a = after_segment(left, local_ns);
    struct rkt_clock_point b = before_segment(right, local_ns);
    int64_t after_ns = local_ns - left->vertices[left->count - 1].local_ns;
    bool is_left = after_ns < right->vertices[0].local_ns - local_ns;

    return (struct rkt_clock_point){
        .offset_ns = is_left ? a.offset_ns : b.offset_ns,
        .lower_ns = min_ns(a.lower_ns, b.lower_ns),
        .upper_ns = max_ns(a.upper_ns, b.upper_ns),
        .likely_lower_ns = min_ns(a.likely_lower_ns, b.likely_lower_ns),
        .likely_upper_ns = max_ns(a.likely_upper_ns, b.likely_upper_ns),
    };
}

static struct rkt_clock_point in_segment(const struct rkt_clock_segment *segment, int64_t local_ns)
{
    const struct rkt_clock_vertex *vertices = segment->vertices;
    size_t low = 0, high = segment->count - 1;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (vertices[middle].local_ns <= local_ns)
            low = middle;
        else
            high = middle - 1;
    }
    if (vertices[low].local_ns == local_ns)
        return vertices[low].at;
    return between(&vertices[low], &vertices[low + 1], local_ns);
}

bool rkt_clock_curve_at(const struct rkt_clock_curve *curve, int64_t local_ns,
                        struct rkt_clock_point *point_out)
{
    const struct rkt_clock_segment *segment;
    size_t next = 0; /* the first segment that ends at or after local_ns */

    if (curve->segment_count == 0)
        return false;
    while (next < curve->segment_count &&
           curve->segments[next].vertices[curve->segments[next].count - 1].local_ns < local_ns)
        next++;
    if (next == curve->segment_count) {
        *point_out = after_segment(&curve->segments[next - 1], local_ns);
        return true;
    }
    segment = &curve->segments[next];
    if (segment->vertices[0].local_ns <= local_ns)
        *point_out = in_segment(segment, local_ns);
    else if (next == 0)
        *point_out = before_segment(segment, local_ns);
    else
        *point_out = between_segments(segment - 1, segment, local_ns);
    return true;
}
