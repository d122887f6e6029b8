/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_smooth.h"

#include <math.h>

#define ROUNDS 5
#define JITTER 0.01 /* of the narrowest burst */
#define INSIDE_SIGMAS 1.5
/* How far bursts are trusted to tell the rate: less than the likeliest course trusts them. */
#define DOUBTFUL_SIGMAS 5.0
#define DOUBTFUL_JITTERS 3.0
/* Of ways that are slow alike. */
#define ALIKE_JITTERS 5.0 /* no middle is trusted further than that; below, h is all there is */
#define ALIKE_WIDTHS 0.25 /* nor one of a larger h than so much of the narrowest width */
#define RARE 0.05         /* so many are off by anything up to h all the same */
#define RARE_SIGMAS 3.0

static const double SHARES[] = {1, 0.3, 0.1};
#define SHARE_COUNT (sizeof(SHARES) / sizeof(SHARES[0]))

const double rkt_clock_noises[RKT_CLOCK_NOISE_COUNT] = {0.5, 2, 8, 32};

/* What a point is taken to measure in this round. */
struct measured {
    double offset_ns;
    double variance;
};

struct smoothing {
    struct rkt_smooth_point *points;
    size_t count;
    double jitter_variance;
    double share;         /* of h that middles are off by, */
    double alike_most_ns; /* up to this h */
    struct measured *measured;
    struct rkt_clock_filter *before; /* the filter at each point, before it is measured */
    struct rkt_clock_filter *after;
};

static double square(double value)
{
    return value * value;
}

/* The middle may be off by all of h. */
static double wide_variance(const struct smoothing *smoothing, const struct rkt_smooth_point *point)
{
    return smoothing->jitter_variance + square(point->half_ns);
}

/* Or by the share of it. */
static double alike_variance(const struct smoothing *smoothing,
                             const struct rkt_smooth_point *point)
{
    double least_ns = ALIKE_JITTERS * sqrt(smoothing->jitter_variance);
    double half_ns = fmin(point->half_ns, fmax(smoothing->share * point->half_ns, least_ns));

    if (point->half_ns > smoothing->alike_most_ns)
        return wide_variance(smoothing, point);
    return smoothing->jitter_variance + square(half_ns);
}

static void measure_first(struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++) {
        const struct rkt_smooth_point *point = &smoothing->points[i];

        smoothing->measured[i].offset_ns = point->middle_ns;
        smoothing->measured[i].variance = wide_variance(smoothing, point);
    }
}

/* What is further off the curve than the share of h explains is one of the rare ones. */
static void measure_alike(struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++) {
        const struct rkt_smooth_point *point = &smoothing->points[i];
        double variance = alike_variance(smoothing, point);

        if (fabs(point->likeliest_ns - point->middle_ns) > RARE_SIGMAS * sqrt(variance))
            variance = wide_variance(smoothing, point);
        smoothing->measured[i].offset_ns = point->middle_ns;
        smoothing->measured[i].variance = variance;
    }
}

static void measure_again(struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++) {
        const struct rkt_smooth_point *point = &smoothing->points[i];
        struct measured *measured = &smoothing->measured[i];
        double off = point->offset_ns - point->middle_ns;

        measured->offset_ns = point->middle_ns;
        measured->variance = smoothing->jitter_variance;
        if (fabs(off) <= point->half_ns)
            measured->variance += square(INSIDE_SIGMAS * point->half_ns);
        else
            measured->offset_ns += copysign(point->half_ns, off);
    }
}

/* For how well the rate is known; the course was made of what is likelier. */
static void measure_doubtfully(struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++) {
        smoothing->measured[i].variance = square(DOUBTFUL_JITTERS) * smoothing->jitter_variance +
                                          square(DOUBTFUL_SIGMAS * smoothing->points[i].half_ns);
    }
}

/* Returns the log-likelihood of all. */
static double run_forward(const struct smoothing *smoothing, double noise)
{
    const struct rkt_smooth_point *points = smoothing->points;
    struct rkt_clock_filter filter;
    double likelihood = 0;

    for (size_t i = 0; i < smoothing->count; i++) {
        const struct measured *measured = &smoothing->measured[i];

        if (i == 0) {
            rkt_clock_filter_init(&filter, measured->offset_ns, measured->variance);
        } else {
            rkt_clock_filter_predict(&filter, points[i].time_s - points[i - 1].time_s, noise);
            smoothing->before[i] = filter;
            likelihood += rkt_clock_filter_update(&filter, measured->offset_ns, measured->variance);
        }
        smoothing->after[i] = filter;
    }
    return likelihood;
}

static uint32_t likeliest_noise(const struct smoothing *smoothing)
{
    double best = -(double)INFINITY;
    uint32_t best_index = 0;

    for (uint32_t i = 0; i < RKT_CLOCK_NOISE_COUNT; i++) {
        double likelihood = run_forward(smoothing, rkt_clock_noises[i]);

        if (likelihood > best) {
            best = likelihood;
            best_index = i;
        }
    }
    return best_index;
}

/* Measures by the share or by all of h, as is likelier. Returns the log-likelihood. */
static double take_likelier(const struct smoothing *smoothing, size_t i,
                            struct rkt_clock_filter *filter)
{
    const struct rkt_smooth_point *point = &smoothing->points[i];
    struct measured *measured = &smoothing->measured[i];
    struct rkt_clock_filter as_rare = *filter;
    double alike = alike_variance(smoothing, point);
    double wide = wide_variance(smoothing, point);
    double usual = rkt_clock_filter_update(filter, measured->offset_ns, alike) + log(1 - RARE);
    double rare = rkt_clock_filter_update(&as_rare, measured->offset_ns, wide) + log(RARE);

    measured->variance = usual < rare ? wide : alike;
    if (usual < rare)
        *filter = as_rare;
    return fmax(usual, rare);
}

/* As run_forward; leaves each burst measured as is likelier. */
static double run_alike(const struct smoothing *smoothing, double noise)
{
    const struct rkt_smooth_point *points = smoothing->points;
    struct rkt_clock_filter filter;
    double likelihood = 0;

    rkt_clock_filter_init(&filter, points[0].middle_ns, wide_variance(smoothing, &points[0]));
    for (size_t i = 1; i < smoothing->count; i++) {
        rkt_clock_filter_predict(&filter, points[i].time_s - points[i - 1].time_s, noise);
        likelihood += take_likelier(smoothing, i, &filter);
    }
    return likelihood;
}

/* Leaves each burst measured as is likelier. */
static void find_share(struct smoothing *smoothing, double noise)
{
    double best_share = SHARES[0];
    double best;

    measure_first(smoothing);
    best = run_forward(smoothing, noise);
    for (size_t i = 1; i < SHARE_COUNT; i++) {
        double likelihood;

        smoothing->share = SHARES[i];
        likelihood = run_alike(smoothing, noise);
        if (likelihood > best) {
            best = likelihood;
            best_share = SHARES[i];
        }
    }
    smoothing->share = best_share;
    if (best_share < SHARES[0])
        (void)run_alike(smoothing, noise);
}

/*
 * One step back: `now` from the filter there, `predicted` from it for the next, and the next
 * smoothed.
 */
static struct rkt_clock_filter step_back(const struct rkt_clock_filter *now,
                                         const struct rkt_clock_filter *predicted,
                                         const struct rkt_clock_filter *next, double seconds)
{
    double determinant =
        predicted->var_offset * predicted->var_rate - predicted->cov * predicted->cov;
    /* P F' */
    double a = now->var_offset + now->cov * seconds;
    double b = now->cov;
    double c = now->cov + now->var_rate * seconds;
    double d = now->var_rate;
    /* C = P F' P+^-1 */
    double c00 = (a * predicted->var_rate - b * predicted->cov) / determinant;
    double c01 = (b * predicted->var_offset - a * predicted->cov) / determinant;
    double c10 = (c * predicted->var_rate - d * predicted->cov) / determinant;
    double c11 = (d * predicted->var_offset - c * predicted->cov) / determinant;
    double offset = next->offset_ns - predicted->offset_ns;
    double rate = next->rate_ppb - predicted->rate_ppb;
    double oo = next->var_offset - predicted->var_offset;
    double or = next->cov - predicted->cov;
    double rr = next->var_rate - predicted->var_rate;

    return (struct rkt_clock_filter){
        .offset_ns = now->offset_ns + c00 * offset + c01 * rate,
        .rate_ppb = now->rate_ppb + c10 * offset + c11 * rate,
        .var_offset = now->var_offset + c00 * c00 * oo + 2 * c00 * c01 * or +c01 * c01 * rr,
        .cov = now->cov + c00 * c10 * oo + (c00 * c11 + c01 * c10) * or +c01 * c11 * rr,
        .var_rate = now->var_rate + c10 * c10 * oo + 2 * c10 * c11 * or +c11 * c11 * rr,
    };
}

static void run_back(const struct smoothing *smoothing)
{
    const struct rkt_smooth_point *points = smoothing->points;
    struct rkt_clock_filter *after = smoothing->after;

    for (size_t i = smoothing->count; i-- > 0;) {
        if (i + 1 < smoothing->count)
            after[i] = step_back(&after[i], &smoothing->before[i + 1], &after[i + 1],
                                 points[i + 1].time_s - points[i].time_s);
    }
}

/* As it is measured by now. */
static void run_round(const struct smoothing *smoothing, double noise)
{
    (void)run_forward(smoothing, noise);
    run_back(smoothing);
}

static void take_course(const struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++) {
        smoothing->points[i].offset_ns = smoothing->after[i].offset_ns;
        smoothing->points[i].rate_ppb = smoothing->after[i].rate_ppb;
        smoothing->points[i].likeliest_ns = smoothing->after[i].offset_ns;
    }
}

/* Through bursts that are mostly slow both ways alike, if they are. */
static void find_likeliest(struct smoothing *smoothing, double noise)
{
    find_share(smoothing, noise);
    for (int round = 0; round < ROUNDS && smoothing->share < 1; round++) {
        if (round > 0)
            measure_alike(smoothing);
        run_round(smoothing, noise);
        for (size_t i = 0; i < smoothing->count; i++)
            smoothing->points[i].likeliest_ns = smoothing->after[i].offset_ns;
    }
}

static void take_sigmas(const struct smoothing *smoothing)
{
    for (size_t i = 0; i < smoothing->count; i++)
        smoothing->points[i].rate_sigma_ppb = sqrt(fmax(smoothing->after[i].var_rate, 0));
}

enum rkt_status rkt_clock_smooth(struct rkt_smooth_point *points, size_t count,
                                 double best_width_ns, struct rkt_arena *arena,
                                 uint32_t *noise_index_out, struct rkt_error *err)
{
    double jitter_ns = JITTER * best_width_ns;
    struct smoothing smoothing = {.points = points,
                                  .count = count,
                                  .share = SHARES[0],
                                  .alike_most_ns = ALIKE_WIDTHS * best_width_ns,
                                  .jitter_variance =
                                      jitter_ns * jitter_ns + 1, /* and the step of the clocks */
                                  .measured = RKT_ARENA_ARRAY(arena, struct measured, count),
                                  .before = RKT_ARENA_ARRAY(arena, struct rkt_clock_filter, count),
                                  .after = RKT_ARENA_ARRAY(arena, struct rkt_clock_filter, count)};
    double noise;

    if (!smoothing.measured || !smoothing.before || !smoothing.after)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory to smooth a clock over %zu bursts", count);
    measure_first(&smoothing);
    *noise_index_out = likeliest_noise(&smoothing);
    noise = rkt_clock_noises[*noise_index_out];
    for (int round = 0; round < ROUNDS; round++) {
        if (round > 0)
            measure_again(&smoothing);
        run_round(&smoothing, noise);
        take_course(&smoothing);
    }
    measure_doubtfully(&smoothing);
    run_round(&smoothing, noise);
    take_sigmas(&smoothing);
    if (best_width_ns > 0) /* of claims nothing is known but their limits */
        find_likeliest(&smoothing, noise);
    return RKT_OK;
}
