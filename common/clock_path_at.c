/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways from a clock to the reference say at a time, alone and together. */
#include "common/clock_path_parts.h"

/* How fast two clocks' difference can change, for reading one a little off its time. */
#define RATE_MAX_PPM 200
#define PPM 1000000

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What a bound on the time of reading makes of what is read. */
static int64_t slack_ns(const struct rkt_clock_point *time)
{
    return rkt_clock_point_bound_ns(time) / (PPM / RATE_MAX_PPM) + 1;
}

/* `to` from one clock on, `next` from the clock that it leads to. */
static void add_hop(struct rkt_clock_point *to, const struct rkt_clock_point *next)
{
    int64_t more_ns = slack_ns(to);

    to->offset_ns += next->offset_ns;
    to->lower_ns += next->lower_ns - more_ns;
    to->upper_ns += next->upper_ns + more_ns;
    to->likely_lower_ns += next->likely_lower_ns - more_ns;
    to->likely_upper_ns += next->likely_upper_ns + more_ns;
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

static bool measured_at(const struct rkt_clock_path *path, int64_t local_ns,
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

/*
 * True time minus the node's clock, less true time minus the reference's at the same moment: when
 * that was by the reference's clock is known from what was measured.
 */
static bool claimed_beside(const struct rkt_clock_path *path, int64_t local_ns,
                           const struct rkt_clock_point *measured,
                           struct rkt_clock_point *point_out)
{
    int64_t more_ns = slack_ns(measured);
    struct rkt_clock_point here, there;

    if (!path->claim || !path->reference_claim ||
        !rkt_clock_curve_at(path->claim, local_ns, &here) ||
        !rkt_clock_curve_at(path->reference_claim, local_ns + measured->offset_ns, &there))
        return false;
    *point_out = (struct rkt_clock_point){
        .offset_ns = here.offset_ns - there.offset_ns,
        .lower_ns = here.lower_ns - there.upper_ns - more_ns,
        .upper_ns = here.upper_ns - there.lower_ns + more_ns,
        .likely_lower_ns = here.likely_lower_ns - there.likely_upper_ns - more_ns,
        .likely_upper_ns = here.likely_upper_ns - there.likely_lower_ns + more_ns,
    };
    return true;
}

bool rkt_clock_path_way_at(const struct rkt_clock_path *path, enum rkt_clock_way way,
                           int64_t local_ns, struct rkt_clock_point *point_out)
{
    struct rkt_clock_point measured;

    switch (way) {
    case RKT_CLOCK_WAY_HOPS:
        return path->hop_count > 0 && along_hops(path, local_ns, point_out);
    case RKT_CLOCK_WAY_DIRECT:
        return path->direct && rkt_clock_curve_at(path->direct, local_ns, point_out);
    case RKT_CLOCK_WAY_MEASURED:
        return measured_at(path, local_ns, point_out);
    case RKT_CLOCK_WAY_CLAIMED:
        return measured_at(path, local_ns, &measured) &&
               claimed_beside(path, local_ns, &measured, point_out);
    case RKT_CLOCK_WAY_COUNT:
        break;
    }
    return false;
}

bool rkt_clock_path_at(const struct rkt_clock_path *path, int64_t local_ns,
                       struct rkt_clock_point *point_out)
{
    struct rkt_clock_point measured, claimed;

    if (!measured_at(path, local_ns, &measured))
        return false;
    *point_out = measured;
    if (claimed_beside(path, local_ns, &measured, &claimed))
        intersect(point_out, &claimed);
    return true;
}
