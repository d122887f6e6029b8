/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_map.h"

#include <stdlib.h>

#include "common/align_at.h"
#include "common/checked.h"

/* The fastest that NTP slews a clock (adjtimex), hence the error that grows past the pairs. */
#define SLEW_MAX_PPM 500
#define PPM 1000000
/* Steps back that are told apart, times two. */
#define TWICES_MAX 256u
/* An error past this says nothing: 36 years. */
#define SANE_NS_MAX (1ll << 60)

/* y(x) = x + d, d linear between points; `error_ns` is that of the piece to the next point. */
struct point {
    int64_t x_ns;
    int64_t d_ns;
    int64_t half_ns; /* half the width of the pair's bracket */
    int64_t error_ns;
    int64_t back_ns; /* as far the clock may have been set back in that piece, beside the twices */
};

/* Readings of a clock that was set back, some of which it gave twice. */
struct twice {
    int64_t from_ns; /* x */
    int64_t to_ns;
    int64_t error_ns; /* how far it was set back */
};

struct line {
    bool is_from_raw;     /* else x is the other clock's */
    struct point *points; /* by x_ns, which are all different */
    size_t count;
    struct twice *twices; /* two beside each step back */
    size_t twice_count;
};

struct rkt_clock_map {
    enum rkt_clock_id rank_clock;
    enum rkt_align_state state;
    struct line realtime_to_raw;
    struct line monotonic_to_raw;
    struct line raw_to_rank;     /* empty unless the rank clock is one of the two */
    struct rkt_align_info align; /* its knots are the map's */
    struct rkt_align_knot *knots;
};

static int64_t abs_ns(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t clamp_ns(__int128 ns)
{
    return ns > SANE_NS_MAX ? SANE_NS_MAX : ns < -SANE_NS_MAX ? -SANE_NS_MAX : (int64_t)ns;
}

/* a * b / c without overflow in between: a day's step times an hour does not fit in 64 bits. */
static int64_t scale_ns(int64_t a, int64_t b, int64_t c)
{
    return clamp_ns((__int128)a * b / c);
}

static int64_t ppm_of(int64_t distance_ns, int64_t ppm)
{
    return scale_ns(distance_ns, ppm, PPM) + 1;
}

/* A reading comes again after so long, where a clock was set back and then runs slow. */
static int64_t regained_ns(int64_t back_ns)
{
    return scale_ns(back_ns, PPM, PPM - SLEW_MAX_PPM) + 1;
}

static uint64_t other_clock_ns(const struct rkt_event *pair, enum rkt_clock_id clock_id)
{
    return clock_id == RKT_CLOCK_REALTIME ? pair->clock_pair.realtime_ns
                                          : pair->clock_pair.monotonic_ns;
}

static int compare_points(const void *a, const void *b)
{
    const struct point *p = a;
    const struct point *q = b;

    return (p->x_ns > q->x_ns) - (p->x_ns < q->x_ns);
}

static int64_t change_ns(const struct line *line, size_t k)
{
    return clamp_ns((__int128)line->points[k + 1].d_ns - line->points[k].d_ns);
}

/* How long piece k took. */
static int64_t raw_length_ns(const struct line *line, size_t k)
{
    int64_t length_ns = line->points[k + 1].x_ns - line->points[k].x_ns;

    return line->is_from_raw ? length_ns
                             : abs_ns(clamp_ns((__int128)length_ns + change_ns(line, k)));
}

/* How far piece k bends from its neighbour's slope: 0 where the clock ran evenly. */
static int64_t bend_ns(const struct line *line, size_t k, size_t neighbour)
{
    const struct point *p = line->points;
    int64_t length_ns = p[k + 1].x_ns - p[k].x_ns;
    int64_t neighbour_ns = p[neighbour + 1].x_ns - p[neighbour].x_ns;
    int64_t expected_ns =
        scale_ns(p[neighbour + 1].d_ns - p[neighbour].d_ns, length_ns, neighbour_ns);

    return abs_ns(clamp_ns((__int128)p[k + 1].d_ns - p[k].d_ns - expected_ns));
}

/* Of pairs that were left out inside piece k, if any can have been. */
static int64_t left_out_ns(const struct line *line, size_t k)
{
    int64_t length_ns = line->points[k + 1].x_ns - line->points[k].x_ns;

    return length_ns > RKT_CLOCK_PAIR_EVERY_NS / 2 * 3 ? RKT_CLOCK_PAIR_LINE_NS : 0;
}

/* More than any slew: the clock was set somewhere inside piece k. */
static bool is_stepped(const struct line *line, size_t k)
{
    return abs_ns(change_ns(line, k)) > ppm_of(raw_length_ns(line, k), SLEW_MAX_PPM);
}

/* Whether piece k, if there is one, tells at which rate its neighbours ran. */
static bool is_witness(const struct line *line, size_t k)
{
    return k + 1 < line->count && !is_stepped(line, k);
}

/*
 * How far the truth may be off the straight line inside piece k, beside the brackets. A change of
 * rate, or a step, somewhere inside it moves the truth by no more than the piece bends from the
 * neighbour that is free of it: hence the smaller of the two. A piece that ends at the height where
 * it began may have changed its rate, too: its own change bounds nothing. In a stepped piece, and
 * where no neighbour tells the rate, all counts that a slew may have hidden of a step.
 * What this cannot see: changes in two neighbours at once.
 */
static int64_t bent_ns(const struct line *line, size_t k)
{
    bool is_told_before = k > 0 && is_witness(line, k - 1);
    bool is_told_behind = is_witness(line, k + 1);

    if (is_stepped(line, k) || (!is_told_before && !is_told_behind))
        return clamp_ns((__int128)abs_ns(change_ns(line, k)) +
                        ppm_of(raw_length_ns(line, k), SLEW_MAX_PPM));
    return min_ns(is_told_before ? bend_ns(line, k, k - 1) : INT64_MAX,
                  is_told_behind ? bend_ns(line, k, k + 1) : INT64_MAX);
}

/* A bend is a step back for all that is known, unless brackets alone may make it. */
static int64_t hidden_back_ns(const struct line *line, size_t k, int64_t bent_ns)
{
    int64_t halves_ns = line->points[k].half_ns + line->points[k + 1].half_ns;

    if (line->is_from_raw || is_stepped(line, k) || bent_ns <= halves_ns + left_out_ns(line, k))
        return 0;
    return regained_ns(clamp_ns((__int128)bent_ns + halves_ns));
}

static void set_errors(struct line *line)
{
    for (size_t k = 0; k + 1 < line->count; k++) {
        struct point *p = line->points;
        int64_t off_ns = bent_ns(line, k);

        p[k].error_ns = clamp_ns((__int128)max_ns(p[k].half_ns, p[k + 1].half_ns) + off_ns +
                                 left_out_ns(line, k));
        p[k].back_ns = hidden_back_ns(line, k, off_ns);
    }
}

/*
 * Readings in [from, to] beside piece k, or at its first point, that may be of the other side of a
 * step back in there: by how much that is off. A bend is 0.1 % of its piece at most, which is less
 * than any neighbour is long.
 */
static int64_t hidden_ns(const struct line *line, size_t k, int64_t from_ns, int64_t to_ns)
{
    const struct point *p = line->points;
    int64_t worst_ns = 0;

    if (k > 0 && from_ns <= p[k].x_ns + p[k - 1].back_ns)
        worst_ns = p[k - 1].back_ns;
    if (from_ns <= p[k].x_ns && to_ns >= p[k].x_ns - p[k].back_ns)
        worst_ns = max_ns(worst_ns, p[k].back_ns);
    if (k + 1 < line->count && to_ns >= p[k + 1].x_ns - p[k + 1].back_ns)
        worst_ns = max_ns(worst_ns, p[k + 1].back_ns);
    return worst_ns;
}

/* More than TWICES_MAX count as one that reaches over all. */
static void add_twice(struct line *line, struct twice twice)
{
    struct twice *first = &line->twices[0];

    if (line->twice_count < TWICES_MAX) {
        line->twices[line->twice_count++] = twice;
        return;
    }
    for (size_t i = 1; i <= line->twice_count; i++) {
        const struct twice *other = i < line->twice_count ? &line->twices[i] : &twice;

        first->from_ns = min_ns(first->from_ns, other->from_ns);
        first->to_ns = max_ns(first->to_ns, other->to_ns);
        first->error_ns = max_ns(first->error_ns, other->error_ns);
    }
    line->twice_count = 1;
}

/*
 * Between two pairs the clock was set back, nobody knows when: as far before the first reading and
 * behind the second as it was set back, a reading may be of either side. Pairs show less than that
 * where the clock was slewed forward as well: by up to 500 ppm of the time between.
 */
static bool add_twices(struct line *line)
{
    line->twices = calloc(TWICES_MAX, sizeof(*line->twices));
    for (size_t i = 1; line->twices && i < line->count; i++) {
        const struct point *p = &line->points[i - 1];
        const struct point *q = &line->points[i];
        int64_t shown_ns = clamp_ns((__int128)q->d_ns - p->d_ns);
        int64_t raw_ns = clamp_ns((__int128)q->x_ns - p->x_ns + shown_ns);
        int64_t halves_ns = clamp_ns((__int128)p->half_ns + q->half_ns);
        int64_t most_raw_ns = clamp_ns((__int128)raw_ns + halves_ns);
        int64_t back_ns;

        if (raw_ns <= 0 || shown_ns <= ppm_of(raw_ns, SLEW_MAX_PPM))
            continue;
        back_ns = regained_ns(
            clamp_ns((__int128)shown_ns + halves_ns + ppm_of(most_raw_ns, SLEW_MAX_PPM)));
        add_twice(line, (struct twice){p->x_ns - back_ns, p->x_ns, back_ns});
        add_twice(line, (struct twice){q->x_ns, q->x_ns + back_ns, back_ns});
    }
    return line->twices != NULL;
}

/* The largest of what was set back where readings in [from, to] may be of either side; steps are few. */
static int64_t twice_ns(const struct line *line, int64_t from_ns, int64_t to_ns)
{
    int64_t worst_ns = 0;

    for (size_t i = 0; i < line->twice_count; i++) {
        if (line->twices[i].from_ns <= to_ns && line->twices[i].to_ns >= from_ns)
            worst_ns = max_ns(worst_ns, line->twices[i].error_ns);
    }
    return worst_ns;
}

/* RAW to `clock_id`, or back; sorted by x, as a clock that was set back has two times for one. */
static enum rkt_status line_init(struct line *line, enum rkt_clock_id clock_id, bool from_raw,
                                 const struct rkt_event *pairs, size_t pair_count)
{
    size_t kept = 0;

    *line = (struct line){.is_from_raw = from_raw,
                          .points = calloc(pair_count ? pair_count : 1, sizeof(*line->points))};
    if (!line->points)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < pair_count; i++) {
        uint64_t other = other_clock_ns(&pairs[i], clock_id);
        uint64_t width = pairs[i].end_ns - pairs[i].start_ns;
        int64_t raw_ns;
        int64_t other_ns;

        if (pairs[i].end_ns > RKT_TIME_MAX_NS || pairs[i].end_ns < pairs[i].start_ns ||
            other == 0 || other > RKT_TIME_MAX_NS)
            continue;
        raw_ns = (int64_t)(pairs[i].start_ns + width / 2);
        other_ns = (int64_t)other;
        line->points[line->count++] = (struct point){
            .x_ns = from_raw ? raw_ns : other_ns,
            .d_ns = from_raw ? other_ns - raw_ns : raw_ns - other_ns,
            .half_ns = (int64_t)(width - width / 2),
        };
    }
    if (!from_raw && !add_twices(line)) /* as long as they are by time */
        return RKT_ERR_NOMEM;           /* the map frees it */
    qsort(line->points, line->count, sizeof(*line->points), compare_points);
    for (size_t i = 0; i < line->count; i++) {
        if (kept == 0 || line->points[i].x_ns != line->points[kept - 1].x_ns)
            line->points[kept++] = line->points[i];
    }
    line->count = kept;
    set_errors(line);
    return RKT_OK;
}

static void line_release(struct line *line)
{
    free(line->points);
    free(line->twices);
}

/* Index of the last point at or before x; 0 when x is before all. */
static size_t line_find(const struct line *line, int64_t x_ns)
{
    size_t low = 0;
    size_t high = line->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (line->points[middle].x_ns <= x_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/*
 * Beyond the ends the end piece goes on, unless it holds a step. There the clock may be slewed the
 * other way.
 */
static void line_extend(const struct line *line, size_t end, int64_t x_ns, int64_t *d_ns_out,
                        int64_t *error_ns_out)
{
    const struct point *p = line->points;
    size_t piece = end > 0 ? end - 1 : 0;
    int64_t distance_ns = x_ns - p[end].x_ns;
    int64_t gained_ns = 0;

    if (line->count > 1 && !is_stepped(line, piece))
        gained_ns =
            scale_ns(change_ns(line, piece), distance_ns, p[piece + 1].x_ns - p[piece].x_ns);
    *d_ns_out = p[end].d_ns + gained_ns;
    *error_ns_out = clamp_ns((__int128)p[end].half_ns + abs_ns(gained_ns) +
                             ppm_of(abs_ns(distance_ns), SLEW_MAX_PPM));
}

static bool line_map(const struct line *line, int64_t x_ns, int64_t *y_ns_out,
                     int64_t *error_ns_out)
{
    const struct point *p = line->points;
    int64_t d_ns;
    size_t k;

    if (line->count == 0)
        return false;
    k = line_find(line, x_ns);
    if (x_ns == p[k].x_ns) {
        d_ns = p[k].d_ns;
        *error_ns_out = p[k].half_ns;
    } else if (x_ns < p[0].x_ns || k + 1 == line->count) {
        line_extend(line, k, x_ns, &d_ns, error_ns_out);
    } else {
        d_ns = p[k].d_ns +
               scale_ns(p[k + 1].d_ns - p[k].d_ns, x_ns - p[k].x_ns, p[k + 1].x_ns - p[k].x_ns);
        *error_ns_out = p[k].error_ns;
    }
    *error_ns_out = clamp_ns((__int128)*error_ns_out + twice_ns(line, x_ns, x_ns) +
                             hidden_ns(line, k, x_ns, x_ns));
    return rkt_add_i64(x_ns, d_ns, y_ns_out);
}

static bool to_raw(const struct rkt_clock_map *map, enum rkt_clock_id clock_id, int64_t ns,
                   int64_t *raw_ns_out, int64_t *error_ns_out)
{
    if (clock_id == RKT_CLOCK_REALTIME)
        return line_map(&map->realtime_to_raw, ns, raw_ns_out, error_ns_out);
    if (clock_id == RKT_CLOCK_MONOTONIC)
        return line_map(&map->monotonic_to_raw, ns, raw_ns_out, error_ns_out);
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
    if (line_init(&map->realtime_to_raw, RKT_CLOCK_REALTIME, false, pairs, pair_count) != RKT_OK ||
        line_init(&map->monotonic_to_raw, RKT_CLOCK_MONOTONIC, false, pairs, pair_count) !=
            RKT_OK ||
        copy_align(map, align) != RKT_OK)
        goto out_of_memory;
    if ((rank_clock == RKT_CLOCK_REALTIME || rank_clock == RKT_CLOCK_MONOTONIC) &&
        line_init(&map->raw_to_rank, rank_clock, true, pairs, pair_count) != RKT_OK)
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
    line_release(&map->realtime_to_raw);
    line_release(&map->monotonic_to_raw);
    line_release(&map->raw_to_rank);
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
            !line_map(&map->raw_to_rank, raw_ns, &ns, &more_ns))
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

/* What the alignment says at a rank time; what mapping it to the alignment's clock adds to its bounds. */
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
    const struct line *line =
        map->rank_clock == RKT_CLOCK_REALTIME ? &map->realtime_to_raw : &map->monotonic_to_raw;
    int64_t local_ns, worst_ns = 0, error_ns = 0;

    if (map->raw_to_rank.count == 0)
        return 0;
    (void)to_raw(map, map->rank_clock, start_ns, &local_ns, &worst_ns);
    (void)to_raw(map, map->rank_clock, end_ns, &local_ns, &error_ns);
    worst_ns = max_ns(worst_ns, error_ns);
    for (size_t i = 0; i < line->count; i++) {
        const struct point *p = &line->points[i];

        if (p->x_ns < end_ns && (i + 1 == line->count || p[1].x_ns > start_ns))
            worst_ns = max_ns(worst_ns, clamp_ns((__int128)max_ns(p->half_ns, p->error_ns) +
                                                 hidden_ns(line, i, start_ns, end_ns)));
    }
    return clamp_ns((__int128)worst_ns + twice_ns(line, start_ns, end_ns));
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
