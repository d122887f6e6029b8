/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mark 10: REALTIME is stepped and slewed while RAW runs on, and RAW stands still for a suspend.
 *
 * CUPTI's stamps are in REALTIME. The pairs that a sidecar takes, and keeps some of, map them to
 * RAW; here beside a line through the first pair and the last, and the constant offset of the
 * first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sidecar/clock_pairs.h"
#include "common/array.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/must.h"

#define PAIR_S 0.1
#define TRY_COUNT 5
#define LATE_S 0.02    /* a sidecar that has nothing to do sleeps for so long */
#define READ_NS 33.0   /* from one reading to the next: RAW, REALTIME, RAW */
#define UNEVEN_NS 10.0 /* REALTIME may be read earlier or later in between */
#define JITTER_NS 3.0
#define STAMPS_PER_S 5.0
#define FLAGGED_NS 100 /* a stamp whose told error is more; the mark asks 0.1 us of all others */
#define ROUNDING_NS 2
#define CLOSELY 50 /* stamps from one pair to the next */

static const struct sim_jump STEPS[] = {{600, 5e6}, {1500, -5e6}, {2700, 5e6}};

static struct sim_run_model steered(const struct sim_trial *trial)
{
    struct sim_run_model model =
        sim_run_model_star(trial->is_short ? 3 : 9, sim_net_model_tcp(0.05));

    model.clock.slew_ppm = 500;
    memcpy(model.clock.steps, STEPS, sizeof(STEPS));
    return model;
}

/* ---- RAW ---- */

static size_t count_differing_nodes(const struct sim_run *run, const struct sim_run *other)
{
    size_t count = 0;

    for (size_t n = 0; n < run->model.node_count; n++)
        count += run->nodes[n].kept_count != other->nodes[n].kept_count ||
                 (run->nodes[n].kept_count > 0 &&
                  memcmp(run->nodes[n].kept, other->nodes[n].kept,
                         run->nodes[n].kept_count * sizeof(*run->nodes[n].kept)) != 0);
    return count;
}

/* ---- the map ---- */

struct pairs {
    struct rkt_event *items;
    size_t count;
    size_t cap;
};

/* A machine whose clocks are read beside each other. */
struct reader {
    const struct sim_clock *clock;
    struct sim_random *random;
    double uneven_ns;
};

static struct rkt_event read_pair(const struct reader *reader, double true_s)
{
    double to_real_ns =
        READ_NS + reader->uneven_ns + sim_random_exponential(reader->random, JITTER_NS);
    double to_raw_ns =
        READ_NS - reader->uneven_ns + sim_random_exponential(reader->random, JITTER_NS);
    struct rkt_event pair = {.kind = RKT_EVENT_CLOCK_PAIR, .clock_id = RKT_CLOCK_MONOTONIC_RAW};

    pair.start_ns = sim_clock_raw_ns(reader->clock, true_s);
    pair.clock_pair.realtime_ns = sim_clock_real_ns(reader->clock, true_s + to_real_ns / 1e9);
    pair.clock_pair.monotonic_ns = pair.clock_pair.realtime_ns;
    pair.end_ns = sim_clock_raw_ns(reader->clock, true_s + (to_real_ns + to_raw_ns) / 1e9);
    return pair;
}

/* As clock_pairs takes one: the narrowest of a few. */
static struct rkt_event take_pair(const struct reader *reader, double true_s)
{
    struct rkt_event best = read_pair(reader, true_s);

    for (int i = 1; i < TRY_COUNT; i++) {
        struct rkt_event pair = read_pair(reader, true_s + i * 1e-6);

        if (pair.end_ns - pair.start_ns < best.end_ns - best.start_ns)
            best = pair;
    }
    return best;
}

/* From some moment on, and then as soon as the sidecar looks after it is due: daemons know nothing
 * of that. */
static void take_pairs(const struct reader *reader, double duration_s, struct pairs *pairs)
{
    struct rkt_clock_pairs sidecar = {0};
    double true_s = sim_random_uniform(reader->random, 0, PAIR_S);
    bool is_last;

    do {
        struct rkt_event pair = take_pair(reader, true_s);
        struct rkt_event kept[2];
        size_t count;

        is_last = true_s + PAIR_S + LATE_S >= duration_s;
        count = rkt_clock_pairs_add(&sidecar, &pair, is_last, kept);
        if (!rkt_array_reserve((void **)&pairs->items, &pairs->cap, pairs->count + count,
                               sizeof(*pairs->items)))
            abort();
        memcpy(&pairs->items[pairs->count], kept, count * sizeof(*kept));
        pairs->count += count;
        true_s += PAIR_S + sim_random_uniform(reader->random, 0, LATE_S);
    } while (!is_last);
}

/* Of stamps of REALTIME, in us. */
struct mapped {
    struct sim_series unflagged;
    struct sim_series line;
    struct sim_series constant;
    uint64_t stamp_count;
    uint64_t flagged_count;
    uint64_t broken_count; /* the truth is outside the map's own error */
};

static double ahead_ns(const struct rkt_event *pair)
{
    return (double)(int64_t)(pair->clock_pair.realtime_ns -
                             (pair->start_ns + (pair->end_ns - pair->start_ns) / 2));
}

static void add_simple(struct mapped *mapped, const struct pairs *pairs, uint64_t real_ns,
                       uint64_t raw_ns)
{
    const struct rkt_event *first = &pairs->items[0], *last = &pairs->items[pairs->count - 1];
    double first_ns = ahead_ns(first), last_ns = ahead_ns(last);
    double share = (double)(int64_t)(raw_ns - first->start_ns) /
                   (double)(int64_t)(last->start_ns - first->start_ns);
    double truth_ns = (double)(int64_t)(real_ns - raw_ns);

    sim_series_add(&mapped->constant, fabs(first_ns - truth_ns) / 1000);
    sim_series_add(&mapped->line, fabs(first_ns + share * (last_ns - first_ns) - truth_ns) / 1000);
}

/* What the map makes of a stamp; whether it is flagged. */
static bool add_stamp(struct mapped *mapped, const struct rkt_clock_map *map,
                      const struct sim_clock *clock, double true_s)
{
    uint64_t real_ns = sim_clock_real_ns(clock, true_s);
    int64_t raw_ns = (int64_t)sim_clock_raw_ns(clock, true_s), got_ns = 0, error_ns = 0;
    double off_ns;

    if (!rkt_clock_map_to_rank(map, RKT_CLOCK_REALTIME, (struct rkt_local_time){real_ns}, &got_ns,
                               &error_ns))
        abort();
    off_ns = fabs((double)(got_ns - raw_ns));
    mapped->broken_count += off_ns > (double)(error_ns + ROUNDING_NS);
    if (error_ns <= FLAGGED_NS)
        sim_series_add(&mapped->unflagged, off_ns / 1000);
    return error_ns > FLAGGED_NS;
}

/* When RAW showed that; quartzes are off by less than 1e-3. */
static double true_s_of(const struct sim_clock *clock, uint64_t raw_ns)
{
    double true_s = 0;

    for (int i = 0; i < 4; i++)
        true_s += ((double)raw_ns - sim_clock_at(clock, true_s)) / 1e9;
    return true_s;
}

/* Where pairs were kept one after the other something changed: many stamps there, beyond what is
 * counted as flagged. */
static void look_closely(struct mapped *mapped, const struct rkt_clock_map *map,
                         const struct sim_clock *clock, const struct pairs *pairs,
                         double duration_s)
{
    for (size_t i = 1; i < pairs->count; i++) {
        double from_s = true_s_of(clock, pairs->items[i - 1].start_ns);
        double to_s = true_s_of(clock, pairs->items[i].start_ns);

        for (int k = 0; k <= CLOSELY && to_s - from_s < 2 * PAIR_S; k++)
            (void)add_stamp(mapped, map, clock,
                            fmin(from_s + (to_s - from_s) * k / CLOSELY, duration_s));
    }
}

static void add_clock(struct mapped *mapped, const struct sim_clock *clock, double duration_s,
                      struct sim_random *random)
{
    struct reader reader = {clock, random, sim_random_uniform(random, -UNEVEN_NS, UNEVEN_NS)};
    struct pairs pairs = {0};
    struct rkt_clock_map *map;
    struct rkt_error err;

    take_pairs(&reader, duration_s, &pairs);
    sim_must(
        rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, pairs.items, pairs.count, NULL, &map, &err),
        &err);
    for (size_t i = 0; i < (size_t)((duration_s - 1) * STAMPS_PER_S); i++) {
        double true_s = 0.2 + ((double)i + sim_random_uniform(random, 0, 1)) / STAMPS_PER_S;

        mapped->stamp_count++;
        mapped->flagged_count += add_stamp(mapped, map, clock, true_s);
        add_simple(mapped, &pairs, sim_clock_real_ns(clock, true_s),
                   sim_clock_raw_ns(clock, true_s));
    }
    look_closely(mapped, map, clock, &pairs, duration_s);
    rkt_clock_map_destroy(map);
    free(pairs.items);
}

static void tell_mapped(const struct sim_trial *trial, struct mapped *mapped)
{
    static const char *const OF = "REALTIME to RAW";

    sim_trial_tell(trial,
                   (struct sim_figure){.mark = 10,
                                       .of = OF,
                                       .what = "error max, unflagged, us",
                                       .value = sim_series_quantile(&mapped->unflagged, 1),
                                       .most = 0.1,
                                       .line = sim_series_quantile(&mapped->line, 1),
                                       .constant = sim_series_quantile(&mapped->constant, 1)});
    sim_trial_at_most(trial, 10, OF, "stamps flagged, %",
                      100 * (double)mapped->flagged_count / (double)mapped->stamp_count, 0.1);
    sim_trial_at_most(trial, 10, OF, "stamps outside their own error", (double)mapped->broken_count,
                      0);
}

void sim_goal_realtime(const struct sim_trial *trial)
{
    struct sim_run_model model = steered(trial), plain = model;
    struct mapped mapped = {0};
    size_t differing = 0;

    plain.clock.slew_ppm = 0;
    memset(plain.clock.steps, 0, sizeof(plain.clock.steps));
    for (uint64_t i = 0; i < trial->seed_count; i++) {
        struct sim_random random = sim_random_of(trial->first_seed + i, 77);
        struct sim_run run, other;

        sim_run_make(&run, &model, trial->first_seed + i);
        sim_run_make(&other, &plain, trial->first_seed + i);
        differing += count_differing_nodes(&run, &other);
        for (size_t n = 0; n < model.node_count; n++)
            add_clock(&mapped, run.nodes[n].clock, model.clock.duration_s, &random);
        sim_run_release(&run);
        sim_run_release(&other);
    }
    sim_trial_at_most(trial, 10, "steps of 5 ms, slews of 500 ppm", "nodes whose RAW is changed",
                      (double)differing, 0);
    tell_mapped(trial, &mapped);
    sim_series_release(&mapped.unflagged);
    sim_series_release(&mapped.line);
    sim_series_release(&mapped.constant);
}

/* ---- a suspend ---- */

void sim_goal_suspend(const struct sim_trial *trial)
{
    static const char *const OF = "one node stands still for 2 s";
    struct sim_run_model model = sim_run_model_star(2, sim_net_model_tcp(0.05));
    struct sim_marks marks = {0};

    model.odd_clock = model.clock;
    model.odd_clock.jumps[0] = (struct sim_jump){1234.5, 2e9};
    sim_trial_run(trial, &model, &marks);
    sim_trial_at_most(trial, 10, OF, "nodes without two segments and the flag",
                      (double)(marks.node_count - marks.stepped_count), 0);
    sim_trial_at_most(trial, 10, OF, "points outside the bound", (double)marks.outside_count, 0);
    sim_trial_tell(trial,
                   (struct sim_figure){.mark = 10,
                                       .of = OF,
                                       .what = "error p99, us",
                                       .value = sim_series_quantile(&marks.ours, 0.99),
                                       .most = 1,
                                       .line = sim_series_quantile(&marks.start_end, 0.99),
                                       .constant = sim_series_quantile(&marks.start_only, 0.99)});
    sim_marks_release(&marks);
}
