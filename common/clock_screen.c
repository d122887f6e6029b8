/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock_screen.h"

#include <math.h>
#include <stdbool.h>

#include "common/clock_filter.h"

#define NS_PER_S 1e9
#define NOISE 500.0
#define SIGMAS 4.0
#define SLACK_PPB 5000.0
#define SHORT_COUNT 2u

/* The filter behind the last burst that was taken; `forward`: or before it. */
struct course {
    struct rkt_clock_filter filter;
    struct rkt_clock_burst last;
    int64_t base_ns;
};

static int64_t middle_ns(const struct rkt_clock_burst *burst)
{
    return burst->lower_ns + (burst->upper_ns - burst->lower_ns) / 2;
}

/* That of a truth at the very edge: nothing that its interval allows makes a burst unlikely. */
static double variance_of(const struct rkt_clock_burst *burst)
{
    double half_ns = (double)(burst->upper_ns - burst->lower_ns) / 2;

    return half_ns * half_ns + 1;
}

static void begin(struct course *course, const struct rkt_clock_burst *burst)
{
    course->base_ns = middle_ns(burst);
    course->last = *burst;
    rkt_clock_filter_init(&course->filter, 0, variance_of(burst));
}

/* Backwards in time the rate has the other sign, which the filter need not know. */
static double seconds_to(const struct course *course, const struct rkt_clock_burst *burst)
{
    return fabs((double)(int64_t)(burst->local_ns - course->last.local_ns)) / NS_PER_S;
}

/* How far what was expected is from the burst's interval, and how far it may be. */
struct surprise {
    double off_ns;
    double slack_ns;
};

static struct surprise surprise_of(const struct course *course, const struct rkt_clock_burst *burst)
{
    struct rkt_clock_filter filter = course->filter;
    double seconds = seconds_to(course, burst);
    double below, above;

    rkt_clock_filter_predict(&filter, seconds, NOISE);
    below = (double)(burst->lower_ns - course->base_ns) - filter.offset_ns;
    above = filter.offset_ns - (double)(burst->upper_ns - course->base_ns);
    return (struct surprise){.off_ns = fmax(fmax(below, above), 0),
                             .slack_ns = SIGMAS * sqrt(filter.var_offset) + SLACK_PPB * seconds};
}

static bool is_expected(const struct course *course, const struct rkt_clock_burst *burst)
{
    struct surprise surprise = surprise_of(course, burst);

    return surprise.off_ns <= surprise.slack_ns;
}

/*
 * Of a burst that is not expected: whether the next one is, with no more of a chance than this one
 * had.
 */
static bool is_alone(const struct course *course, const struct rkt_clock_burst *burst)
{
    return surprise_of(course, burst + 1).off_ns <= surprise_of(course, burst).slack_ns / 2;
}

static void take(struct course *course, const struct rkt_clock_burst *burst)
{
    rkt_clock_filter_predict(&course->filter, seconds_to(course, burst), NOISE);
    (void)rkt_clock_filter_update(&course->filter, (double)(middle_ns(burst) - course->base_ns),
                                  variance_of(burst));
    course->last = *burst;
}

/* Keeps at bursts[*kept...] what one quartz can have made, from bursts[*at] on; both move along. */
static void take_run(struct rkt_clock_burst *bursts, size_t count, size_t *at, size_t *kept)
{
    struct course course;

    begin(&course, &bursts[*at]);
    bursts[(*kept)++] = bursts[(*at)++];
    for (; *at < count; (*at)++) {
        if (is_expected(&course, &bursts[*at])) {
            take(&course, &bursts[*at]);
            bursts[(*kept)++] = bursts[*at];
        } else if (*at + 1 == count || !is_alone(&course, &bursts[*at])) {
            break;
        }
    }
}

/* Judges the short run before `run` by that one, from its end back. What is expected joins it. */
static void judge_short(struct rkt_clock_burst *bursts, const struct rkt_clock_run *run_short,
                        struct rkt_clock_run *run)
{
    struct course course;

    begin(&course, &bursts[run->first + run->count - 1]);
    for (size_t i = run->first + run->count - 1; i-- > run->first;)
        take(&course, &bursts[i]);
    for (size_t i = run_short->count; i-- > 0;) {
        struct rkt_clock_burst burst = bursts[run_short->first + i];

        if (!is_expected(&course, &burst))
            continue;
        take(&course, &burst);
        bursts[--run->first] = burst;
        run->count++;
    }
}

/* Short runs before longer ones go into these; one burst alone goes. */
static size_t judge_runs(struct rkt_clock_burst *bursts, struct rkt_clock_run *runs, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_short = runs[i].count <= SHORT_COUNT;

        if (is_short && i + 1 < count && runs[i + 1].count > SHORT_COUNT)
            judge_short(bursts, &runs[i], &runs[i + 1]);
        else if (runs[i].count > 1 || count == 1)
            runs[kept++] = runs[i];
    }
    return kept;
}

size_t rkt_clock_screen(struct rkt_clock_burst *bursts, size_t count, struct rkt_clock_run *runs,
                        size_t *left_out_out)
{
    size_t run_count = 0, at = 0, kept = 0;

    while (at < count) {
        runs[run_count] = (struct rkt_clock_run){.first = kept};
        take_run(bursts, count, &at, &kept);
        runs[run_count].count = kept - runs[run_count].first;
        run_count++;
    }
    run_count = judge_runs(bursts, runs, run_count);
    *left_out_out = count;
    for (size_t i = 0; i < run_count; i++)
        *left_out_out -= runs[i].count;
    return run_count;
}
