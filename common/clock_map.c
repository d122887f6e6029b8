/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_map.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/clock_line.h"

/* An error past this says nothing: 36 years. */
#define SANE_NS_MAX (1ll << 60)

struct rkt_clock_map {
    enum rkt_clock_id rank_clock;
    enum rkt_align_state state;
    struct rkt_clock_line realtime_to_raw;
    struct rkt_clock_line monotonic_to_raw;
    struct rkt_clock_line raw_to_rank; /* empty unless the rank clock is one of the two */
    struct rkt_align_info align;       /* its knots are the map's */
    struct rkt_align_knot *knots;
};

static int64_t clamp_ns(__int128 ns)
{
    return ns > SANE_NS_MAX ? SANE_NS_MAX : ns < -SANE_NS_MAX ? -SANE_NS_MAX : (int64_t)ns;
}

static bool to_raw(const struct rkt_clock_map *map, enum rkt_clock_id clock_id, int64_t ns,
                   int64_t *raw_ns_out, int64_t *error_ns_out)
{
    if (clock_id == RKT_CLOCK_REALTIME)
        return rkt_clock_line_at(&map->realtime_to_raw, ns, raw_ns_out, error_ns_out);
    if (clock_id == RKT_CLOCK_MONOTONIC)
        return rkt_clock_line_at(&map->monotonic_to_raw, ns, raw_ns_out, error_ns_out);
    *raw_ns_out = ns;
    *error_ns_out = 0;
    return clock_id == RKT_CLOCK_MONOTONIC_RAW;
}

static enum rkt_status copy_align(struct rkt_clock_map *map, const struct rkt_align_info *align)
{
    size_t count = 0;

    if (!align)
        return RKT_OK;
    map->knots = calloc(align->knot_count + 1, sizeof(*map->knots));
    if (!map->knots)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < align->knot_count; i++) {
        const struct rkt_align_knot *knot = &align->knots[i];
        bool is_later = count == 0 || knot->local_ns > map->knots[count - 1].local_ns;

        if (knot->local_ns <= RKT_TIME_MAX_NS && is_later &&
            knot->offset_ns > -(int64_t)RKT_TIME_MAX_NS &&
            knot->offset_ns < (int64_t)RKT_TIME_MAX_NS && knot->bound_ns >= 0 &&
            knot->bound_ns <= SANE_NS_MAX && knot->likely_ns >= 0)
            map->knots[count++] = *knot;
    }
    map->align = *align;
    map->align.knots = map->knots;
    map->align.knot_count = count;
    return RKT_OK;
}

/* Knots are in MONOTONIC_RAW: a rank clock that cannot reach it stays unaligned. */
static enum rkt_align_state state_of(const struct rkt_clock_map *map,
                                     const struct rkt_align_info *align)
{
    bool needs_pairs =
        map->rank_clock == RKT_CLOCK_REALTIME || map->rank_clock == RKT_CLOCK_MONOTONIC;

    bool needs_knots;

    if (!align || align->state >= RKT_ALIGN_STATE_COUNT)
        return RKT_ALIGN_UNALIGNED;
    if (needs_pairs && map->raw_to_rank.count == 0)
        return RKT_ALIGN_UNALIGNED;
    needs_knots = align->state == RKT_ALIGN_MEASURED || align->state == RKT_ALIGN_COLLECTIVES;
    if (needs_knots && map->align.knot_count == 0)
        return RKT_ALIGN_UNALIGNED;
    return (enum rkt_align_state)align->state;
}

enum rkt_status rkt_clock_map_create(enum rkt_clock_id rank_clock, const struct rkt_event *pairs,
                                     size_t pair_count, const struct rkt_align_info *align,
                                     struct rkt_clock_map **map_out, struct rkt_error *err)
{
    struct rkt_clock_map *map = calloc(1, sizeof(*map));

    if (!map)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock map");
    map->rank_clock = rank_clock;
    if (rkt_clock_line_init(&map->realtime_to_raw, RKT_CLOCK_REALTIME, false, pairs, pair_count) !=
            RKT_OK ||
        rkt_clock_line_init(&map->monotonic_to_raw, RKT_CLOCK_MONOTONIC, false, pairs,
                            pair_count) != RKT_OK ||
        copy_align(map, align) != RKT_OK)
        goto out_of_memory;
    if ((rank_clock == RKT_CLOCK_REALTIME || rank_clock == RKT_CLOCK_MONOTONIC) &&
        rkt_clock_line_init(&map->raw_to_rank, rank_clock, true, pairs, pair_count) != RKT_OK)
        goto out_of_memory;
    map->state = state_of(map, align);
    *map_out = map;
    return RKT_OK;

out_of_memory:
    rkt_clock_map_destroy(map);
    return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a clock map of %zu pairs", pair_count);
}

void rkt_clock_map_destroy(struct rkt_clock_map *map)
{
    if (!map)
        return;
    rkt_clock_line_release(&map->realtime_to_raw);
    rkt_clock_line_release(&map->monotonic_to_raw);
    rkt_clock_line_release(&map->raw_to_rank);
    free(map->knots);
    free(map);
}

enum rkt_clock_id rkt_clock_map_rank_clock(const struct rkt_clock_map *map)
{
    return map->rank_clock;
}

enum rkt_align_state rkt_clock_map_state(const struct rkt_clock_map *map)
{
    return map->state;
}

uint32_t rkt_clock_map_flags(const struct rkt_clock_map *map)
{
    return map->align.flags;
}

bool rkt_clock_map_to_rank(const struct rkt_clock_map *map, enum rkt_clock_id clock_id,
                           struct rkt_local_time local, int64_t *rank_ns_out, int64_t *error_ns_out)
{
    int64_t ns = (int64_t)local.ns;
    int64_t error_ns = 0;
    int64_t more_ns = 0;

    if (local.ns > RKT_TIME_MAX_NS)
        return false;
    if (clock_id != map->rank_clock) {
        int64_t raw_ns;

        if (!to_raw(map, clock_id, ns, &raw_ns, &error_ns))
            return false;
        ns = raw_ns;
        if (map->rank_clock != RKT_CLOCK_MONOTONIC_RAW &&
            !rkt_clock_line_at(&map->raw_to_rank, raw_ns, &ns, &more_ns))
            return false;
    }
    if (ns < 0 || ns > (int64_t)RKT_TIME_MAX_NS)
        return false;
    *rank_ns_out = ns;
    if (error_ns_out)
        *error_ns_out = clamp_ns((__int128)error_ns + more_ns);
    return true;
}

bool rkt_clock_map_to_raw(const struct rkt_clock_map *map, int64_t rank_ns, int64_t *raw_ns_out,
                          int64_t *error_ns_out)
{
    *raw_ns_out = rank_ns;
    *error_ns_out = 0;
    return map->raw_to_rank.count == 0 ||
           to_raw(map, map->rank_clock, rank_ns, raw_ns_out, error_ns_out);
}

static bool is_bound_known(const struct rkt_clock_map *map)
{
    return map->state != RKT_ALIGN_UNALIGNED && map->state != RKT_ALIGN_WALL_CLOCK;
}

/* What the alignment says at a rank time; what mapping it to the alignment's clock adds to its
 * bounds. */
static struct rkt_align_point align_at(const struct rkt_clock_map *map, int64_t rank_ns,
                                       int64_t *local_ns_out, int64_t *error_ns_out)
{
    (void)rkt_clock_map_to_raw(map, rank_ns, local_ns_out, error_ns_out);
    return rkt_align_at(&map->align, *local_ns_out);
}

struct rkt_job_time rkt_clock_map_to_job(const struct rkt_clock_map *map, int64_t rank_ns,
                                         int64_t *bound_ns_out)
{
    int64_t local_ns, error_ns;
    struct rkt_align_point point = align_at(map, rank_ns, &local_ns, &error_ns);

    if (bound_ns_out)
        *bound_ns_out = is_bound_known(map) ? clamp_ns((__int128)point.bound_ns + error_ns) : -1;
    return (struct rkt_job_time){local_ns + point.offset_ns};
}

int64_t rkt_clock_map_likely_at(const struct rkt_clock_map *map, int64_t rank_ns)
{
    int64_t local_ns, error_ns;
    struct rkt_align_point point = align_at(map, rank_ns, &local_ns, &error_ns);

    return is_bound_known(map) ? clamp_ns((__int128)point.likely_ns + error_ns) : -1;
}

/* The largest error of mapping the rank clock to RAW over [start, end] of rank time. */
static int64_t worst_map_error(const struct rkt_clock_map *map, int64_t start_ns, int64_t end_ns)
{
    if (map->raw_to_rank.count == 0)
        return 0;
    return rkt_clock_line_worst_error(
        map->rank_clock == RKT_CLOCK_REALTIME ? &map->realtime_to_raw : &map->monotonic_to_raw,
        start_ns, end_ns);
}

/* Both are widest at their points, not always at the same: the sum is on the safe side. */
int64_t rkt_clock_map_worst_bound(const struct rkt_clock_map *map, int64_t start_ns, int64_t end_ns,
                                  int64_t *likely_ns_out)
{
    int64_t error_ns = worst_map_error(map, start_ns, end_ns);
    struct rkt_align_point worst;

    if (!is_bound_known(map)) {
        *likely_ns_out = -1;
        return -1;
    }
    if (map->raw_to_rank.count > 0) {
        int64_t unused_ns = 0;

        (void)to_raw(map, map->rank_clock, start_ns, &start_ns, &unused_ns);
        (void)to_raw(map, map->rank_clock, end_ns, &end_ns, &unused_ns);
    }
    worst = rkt_align_worst(&map->align, start_ns, end_ns);
    *likely_ns_out = clamp_ns((__int128)worst.likely_ns + error_ns);
    return clamp_ns((__int128)worst.bound_ns + error_ns);
}
