/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_line.h"

#include <stdlib.h>

#include "common/checked.h"

/* The fastest that NTP slews a clock (adjtimex), hence the error that grows past the pairs. */
#define SLEW_MAX_PPM 500
#define PPM 1000000
/* Steps back that are told apart, times two. */
#define TWICES_MAX 256u
/* An error past this says nothing: 36 years. */
#define SANE_NS_MAX (1ll << 60)

/* y(x) = x + d, d linear between points; `error_ns` is that of the piece to the next point. */
struct rkt_clock_line_point {
    int64_t x_ns;
    int64_t d_ns;
    int64_t half_ns; /* half the width of the pair's bracket */
    int64_t error_ns;
    /* of readings left out on the way to the pair after it; -1: there were none, or it is not
     * known */
    int64_t line_ns;
    int64_t line_to_ns; /* x of that pair */
    int64_t back_ns; /* as far the clock may have been set back in that piece, beside the twices */
};

/* Readings of a clock that was set back, some of which it gave twice. */
struct rkt_clock_line_twice {
    int64_t from_ns; /* x */
    int64_t to_ns;
    int64_t error_ns; /* how far it was set back */
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
    const struct rkt_clock_line_point *p = a;
    const struct rkt_clock_line_point *q = b;

    return (p->x_ns > q->x_ns) - (p->x_ns < q->x_ns);
}

static int64_t change_ns(const struct rkt_clock_line *line, size_t k)
{
    return clamp_ns((__int128)line->points[k + 1].d_ns - line->points[k].d_ns);
}

/* How long piece k took. */
static int64_t raw_length_ns(const struct rkt_clock_line *line, size_t k)
{
    int64_t length_ns = line->points[k + 1].x_ns - line->points[k].x_ns;

    return line->is_from_raw ? length_ns
                             : abs_ns(clamp_ns((__int128)length_ns + change_ns(line, k)));
}

/* How far piece k bends from its neighbour's slope: 0 where the clock ran evenly. */
static int64_t bend_ns(const struct rkt_clock_line *line, size_t k, size_t neighbour)
{
    const struct rkt_clock_line_point *p = line->points;
    int64_t length_ns = p[k + 1].x_ns - p[k].x_ns;
    int64_t neighbour_ns = p[neighbour + 1].x_ns - p[neighbour].x_ns;
    int64_t expected_ns;

    if (neighbour_ns <= 0) /* not of points that are all different: it would tell nothing */
        return SANE_NS_MAX;
    expected_ns = scale_ns(p[neighbour + 1].d_ns - p[neighbour].d_ns, length_ns, neighbour_ns);
    return abs_ns(clamp_ns((__int128)p[k + 1].d_ns - p[k].d_ns - expected_ns));
}

/* Whether readings tell what the clock did inside piece k; not if a step back has mixed up the
 * pairs. */
static bool has_readings(const struct rkt_clock_line *line, size_t k)
{
    const struct rkt_clock_line_point *p = &line->points[k];

    return p->line_ns >= 0 && p->line_to_ns == p[1].x_ns;
}

/* Where older versions may have left out readings, and do not say what these show. */
static int64_t left_out_ns(const struct rkt_clock_line *line, size_t k)
{
    int64_t length_ns = line->points[k + 1].x_ns - line->points[k].x_ns;

    return length_ns > RKT_CLOCK_PAIR_GAP_NS && !has_readings(line, k) ? RKT_CLOCK_PAIR_LINE_NS : 0;
}

/* More than one gap between readings. */
static bool is_long(const struct rkt_clock_line *line, size_t k)
{
    return has_readings(line, k) || left_out_ns(line, k) > 0;
}

/* By so much brackets alone may make piece k differ from its neighbour, and pairs that were left
 * out. */
static int64_t unsure_ns(const struct rkt_clock_line *line, size_t k)
{
    return clamp_ns((__int128)line->points[k].half_ns + line->points[k + 1].half_ns +
                    left_out_ns(line, k));
}

/* More than any slew: the clock was set somewhere inside piece k. */
static bool is_stepped(const struct rkt_clock_line *line, size_t k)
{
    return abs_ns(change_ns(line, k)) > ppm_of(raw_length_ns(line, k), SLEW_MAX_PPM);
}

/* Whether piece k, if there is one, tells at which rate its neighbours ran. */
static bool is_witness(const struct rkt_clock_line *line, size_t k)
{
    return k + 1 < line->count && !is_stepped(line, k);
}

/* Whether the pieces that meet in point i, if there are two, show one rate, as far as brackets
 * tell. */
static bool is_even_at(const struct rkt_clock_line *line, size_t i)
{
    return i > 0 && is_witness(line, i - 1) && is_witness(line, i) &&
           (bend_ns(line, i, i - 1) <= unsure_ns(line, i) ||
            bend_ns(line, i - 1, i) <= unsure_ns(line, i - 1));
}

/* Whether three gaps between readings at least are in piece k. */
static bool is_three(const struct rkt_clock_line *line, size_t k)
{
    return has_readings(line, k) && raw_length_ns(line, k) > 2 * RKT_CLOCK_PAIR_GAP_NS;
}

/*
 * Whether piece k shows one rate with readings around it. Two gaps between readings may do so by
 * accident, if the rate changed in both: it takes three in a row. A piece with pairs left out is
 * two at least.
 */
static bool is_confirmed(const struct rkt_clock_line *line, size_t k)
{
    bool is_two = is_long(line, k);
    bool is_before = is_even_at(line, k);
    bool is_behind = is_even_at(line, k + 1);

    if (is_before && (is_two || is_behind || is_long(line, k - 1) || is_even_at(line, k - 1)))
        return true;
    return is_behind && (is_two || is_long(line, k + 1) || is_even_at(line, k + 2));
}

/*
 * How far the truth may be off the straight line inside piece k, beside the brackets.
 *
 * Where readings inside it were left out, they tell. Where those around confirm its rate, what
 * there was is no more than it bends from the neighbour that is free of it: the smaller of the two.
 * Else the rate changed inside, or the clock was stepped. Until it began to do so it ran as in the
 * neighbour before, and from when it ended on as in that behind: at both moments, and so between
 * them, the truth is off by no more than the larger of the two bends. That holds for two changes of
 * the rate, and for a step and one; and if a neighbour has changed, too, by the other.
 *
 * A piece that ends at the height where it began may have changed its rate, too: its own change
 * bounds nothing. In a stepped piece, and where no neighbour tells the rate, all counts that a slew
 * may have hidden of a step. What this cannot see: more than two changes from one reading to the
 * next, or such in three gaps in a row.
 */
static int64_t bent_ns(const struct rkt_clock_line *line, size_t k)
{
    bool is_told_before = k > 0 && is_witness(line, k - 1);
    bool is_told_behind = is_witness(line, k + 1);
    int64_t before_ns, behind_ns;

    if (has_readings(line, k) && (is_three(line, k) || is_confirmed(line, k)))
        return line->points[k].line_ns;
    if (is_stepped(line, k) || (!is_told_before && !is_told_behind))
        return clamp_ns((__int128)abs_ns(change_ns(line, k)) +
                        ppm_of(raw_length_ns(line, k), SLEW_MAX_PPM));
    before_ns = bend_ns(line, k, is_told_before ? k - 1 : k + 1);
    behind_ns = bend_ns(line, k, is_told_behind ? k + 1 : k - 1);
    return left_out_ns(line, k) > 0 || is_confirmed(line, k) ? min_ns(before_ns, behind_ns)
                                                             : max_ns(before_ns, behind_ns);
}

/* A bend is a step back for all that is known, unless brackets alone may make it. */
static int64_t hidden_back_ns(const struct rkt_clock_line *line, size_t k, int64_t bent_ns)
{
    if (line->is_from_raw || is_stepped(line, k) || bent_ns <= unsure_ns(line, k))
        return 0;
    return regained_ns(
        clamp_ns((__int128)bent_ns + line->points[k].half_ns + line->points[k + 1].half_ns));
}

static void set_errors(struct rkt_clock_line *line)
{
    for (size_t k = 0; k + 1 < line->count; k++) {
        struct rkt_clock_line_point *p = line->points;
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
static int64_t hidden_ns(const struct rkt_clock_line *line, size_t k, int64_t from_ns,
                         int64_t to_ns)
{
    const struct rkt_clock_line_point *p = line->points;
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
static void add_twice(struct rkt_clock_line *line, struct rkt_clock_line_twice twice)
{
    struct rkt_clock_line_twice *first = &line->twices[0];

    if (line->twice_count < TWICES_MAX) {
        line->twices[line->twice_count++] = twice;
        return;
    }
    for (size_t i = 1; i <= line->twice_count; i++) {
        const struct rkt_clock_line_twice *other =
            i < line->twice_count ? &line->twices[i] : &twice;

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
static bool add_twices(struct rkt_clock_line *line)
{
    line->twices = calloc(TWICES_MAX, sizeof(*line->twices));
    for (size_t i = 1; line->twices && i < line->count; i++) {
        const struct rkt_clock_line_point *p = &line->points[i - 1];
        const struct rkt_clock_line_point *q = &line->points[i];
        int64_t shown_ns = clamp_ns((__int128)q->d_ns - p->d_ns);
        int64_t raw_ns = clamp_ns((__int128)q->x_ns - p->x_ns + shown_ns);
        int64_t halves_ns = clamp_ns((__int128)p->half_ns + q->half_ns);
        int64_t most_raw_ns = clamp_ns((__int128)raw_ns + halves_ns);
        int64_t back_ns;

        if (raw_ns <= 0 || shown_ns <= ppm_of(raw_ns, SLEW_MAX_PPM))
            continue;
        back_ns = regained_ns(
            clamp_ns((__int128)shown_ns + halves_ns + ppm_of(most_raw_ns, SLEW_MAX_PPM)));
        add_twice(line, (struct rkt_clock_line_twice){p->x_ns - back_ns, p->x_ns, back_ns});
        add_twice(line, (struct rkt_clock_line_twice){q->x_ns, q->x_ns + back_ns, back_ns});
    }
    return line->twices != NULL;
}

/* The largest of what was set back where readings in [from, to] may be of either side; steps are
 * few. */
static int64_t twice_ns(const struct rkt_clock_line *line, int64_t from_ns, int64_t to_ns)
{
    int64_t worst_ns = 0;

    for (size_t i = 0; i < line->twice_count; i++) {
        if (line->twices[i].from_ns <= to_ns && line->twices[i].to_ns >= from_ns)
            worst_ns = max_ns(worst_ns, line->twices[i].error_ns);
    }
    return worst_ns;
}

/* What readings between two pairs show; -1: none do, or there was another pair in between that is
 * lost. */
static int64_t shown_ns(const struct rkt_event *before, const struct rkt_event *pair)
{
    uint64_t apart_us = (pair->start_ns - before->start_ns) / 1000u;

    return pair->clock_pair.line_us > 0 && apart_us == pair->clock_pair.line_us
               ? (int64_t)pair->clock_pair.line_ns
               : -1;
}

static bool is_usable(const struct rkt_event *pair, uint64_t other_ns)
{
    return pair->end_ns <= RKT_TIME_MAX_NS && pair->end_ns >= pair->start_ns && other_ns != 0 &&
           other_ns <= RKT_TIME_MAX_NS;
}

/* `before`: the pair of the point added last; NULL: there is none. */
static void add_point(struct rkt_clock_line *line, const struct rkt_event *before,
                      const struct rkt_event *pair, int64_t other_ns)
{
    uint64_t width_ns = pair->end_ns - pair->start_ns;
    int64_t raw_ns = (int64_t)(pair->start_ns + width_ns / 2);
    struct rkt_clock_line_point *point = &line->points[line->count++];

    *point = (struct rkt_clock_line_point){
        .x_ns = line->is_from_raw ? raw_ns : other_ns,
        .d_ns = line->is_from_raw ? other_ns - raw_ns : raw_ns - other_ns,
        .half_ns = (int64_t)(width_ns - width_ns / 2),
        .line_ns = -1,
    };
    if (before) {
        point[-1].line_ns = shown_ns(before, pair);
        point[-1].line_to_ns = point->x_ns;
    }
}

/* Sorted by x, as a clock that was set back has two times for one. */
enum rkt_status rkt_clock_line_init(struct rkt_clock_line *line, enum rkt_clock_id clock_id,
                                    bool is_from_raw, const struct rkt_event *pairs,
                                    size_t pair_count)
{
    const struct rkt_event *before = NULL;
    size_t kept = 0;

    *line = (struct rkt_clock_line){.is_from_raw = is_from_raw,
                                    .points =
                                        calloc(pair_count ? pair_count : 1, sizeof(*line->points))};
    if (!line->points)
        return RKT_ERR_NOMEM;
    for (size_t i = 0; i < pair_count; i++) {
        uint64_t other_ns = other_clock_ns(&pairs[i], clock_id);

        if (!is_usable(&pairs[i], other_ns))
            continue;
        add_point(line, before, &pairs[i], (int64_t)other_ns);
        before = &pairs[i];
    }
    if (!is_from_raw && !add_twices(line)) /* as long as they are by time */
        return RKT_ERR_NOMEM;              /* the map frees it */
    qsort(line->points, line->count, sizeof(*line->points), compare_points);
    for (size_t i = 0; i < line->count; i++) {
        if (kept == 0 || line->points[i].x_ns != line->points[kept - 1].x_ns)
            line->points[kept++] = line->points[i];
    }
    line->count = kept;
    set_errors(line);
    return RKT_OK;
}

void rkt_clock_line_release(struct rkt_clock_line *line)
{
    free(line->points);
    free(line->twices);
    *line = (struct rkt_clock_line){0};
}

/* Index of the last point at or before x; 0 when x is before all. */
static size_t line_find(const struct rkt_clock_line *line, int64_t x_ns)
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
static void line_extend(const struct rkt_clock_line *line, size_t end, int64_t x_ns,
                        int64_t *d_ns_out, int64_t *error_ns_out)
{
    const struct rkt_clock_line_point *p = line->points;
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

bool rkt_clock_line_at(const struct rkt_clock_line *line, int64_t x_ns, int64_t *y_ns_out,
                       int64_t *error_ns_out)
{
    const struct rkt_clock_line_point *p = line->points;
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

int64_t rkt_clock_line_worst_error(const struct rkt_clock_line *line, int64_t start_ns,
                                   int64_t end_ns)
{
    int64_t y_ns, worst_ns = 0, error_ns = 0;

    (void)rkt_clock_line_at(line, start_ns, &y_ns, &worst_ns);
    (void)rkt_clock_line_at(line, end_ns, &y_ns, &error_ns);
    worst_ns = max_ns(worst_ns, error_ns);
    for (size_t i = 0; i < line->count; i++) {
        const struct rkt_clock_line_point *p = &line->points[i];

        if (p->x_ns < end_ns && (i + 1 == line->count || p[1].x_ns > start_ns))
            worst_ns = max_ns(worst_ns, clamp_ns((__int128)max_ns(p->half_ns, p->error_ns) +
                                                 hidden_ns(line, i, start_ns, end_ns)));
    }
    return clamp_ns((__int128)worst_ns + twice_ns(line, start_ns, end_ns));
}
