/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/clock.h"

#include <math.h>
#include <stdlib.h>

#include "common/array.h"
#include "tests/clocksim/random.h"

#define GRID_S 1.0
#define OCTAVES 10
#define TWO_PI 6.283185307179586
#define SLEW_PIECE_S 300.0
/* Readings stay positive: clocks are up to a quarter of an hour apart. */
#define FIRST_NS 1e12
#define APART_NS 9e11
/* On top of what a double still tells from one ns to the next. */
#define REALTIME_NS UINT64_C(1700000000000000000)

/* From then on REALTIME is slewed at another rate. */
struct turn {
    double at_s; /* of RAW since the start, by which the kernel slews */
    double ns;   /* REALTIME - RAW there, without steps */
    double slew_ppb;
};

struct sim_clock {
    struct sim_clock_model model;
    size_t grid_count;
    double *phase_ns;   /* what noise has added by each grid point; linear in between */
    struct turn *turns; /* of REALTIME, by time; the first at 0 */
    size_t turn_count;
    size_t turn_cap;
    double first_ns;
    double real_first_ns;
    double skew_ppb;
    double warm_up_ppb;
    double warm_up_s;
    double load_ppb;
    double load_period_s;
    double load_phase;
};

struct sim_clock_model sim_clock_model_usual(void)
{
    return (struct sim_clock_model){.duration_s = 3600,
                                    .skew_ppm = 15,
                                    .wander = 1,
                                    .walk_ppb = 1,
                                    .flicker_ppb = 1,
                                    .warm_up_ppm = {0.1, 0.8},
                                    .load_ppm = {0.03, 0.2}};
}

/* Flicker: octaves of noise that relax after 1, 2, 4 ... s, each of the same power. */
static void make_phase(struct sim_clock *clock, struct sim_random *random)
{
    double wander = clock->model.wander;
    double octaves[OCTAVES] = {0};
    double walk_ppb = 0, phase_ns = 0;

    for (size_t i = 0; i < clock->grid_count; i++) {
        double rate_ppb = walk_ppb / 2;

        clock->phase_ns[i] = phase_ns;
        for (int k = 0; k < OCTAVES; k++) {
            double keeps = exp(-GRID_S / (double)(1 << k));

            octaves[k] = octaves[k] * keeps + sqrt(1 - keeps * keeps) * wander *
                                                  clock->model.flicker_ppb *
                                                  sim_random_normal(random);
            rate_ppb += octaves[k];
        }
        walk_ppb += wander * clock->model.walk_ppb * sqrt(GRID_S) * sim_random_normal(random);
        phase_ns += (rate_ppb + walk_ppb / 2) * GRID_S;
    }
}

/* ntpd: for minutes on end the clock is driven at a rate that it found, up to the limit. */
static void make_turns(struct sim_clock *clock, struct sim_random *random)
{
    struct turn turn = {0};

    while (turn.at_s <= clock->model.duration_s) {
        double left_s = sim_random_exponential(random, SLEW_PIECE_S);

        turn.slew_ppb =
            1000 * sim_random_uniform(random, -clock->model.slew_ppm, clock->model.slew_ppm);
        if (!rkt_array_reserve((void **)&clock->turns, &clock->turn_cap, clock->turn_count + 1,
                               sizeof(*clock->turns)))
            abort();
        clock->turns[clock->turn_count++] = turn;
        turn.at_s += left_s;
        turn.ns += turn.slew_ppb * left_s;
    }
}

struct sim_clock *sim_clock_create(const struct sim_clock_model *model, uint64_t seed,
                                   uint64_t number)
{
    struct sim_clock *clock = calloc(1, sizeof(*clock));
    struct sim_random random = sim_random_of(seed, 2 * number + 1);

    if (!clock)
        abort();
    clock->model = *model;
    clock->grid_count = (size_t)(model->duration_s / GRID_S) + 3;
    clock->phase_ns = calloc(clock->grid_count, sizeof(*clock->phase_ns));
    if (!clock->phase_ns)
        abort();
    clock->first_ns = FIRST_NS + sim_random_uniform(&random, -APART_NS, APART_NS);
    clock->real_first_ns = sim_random_uniform(&random, -5e6, 5e6) - clock->first_ns;
    clock->skew_ppb = 1000 * model->skew_ppm * sim_random_normal(&random);
    clock->warm_up_ppb = 1000 * model->wander *
                         sim_random_uniform(&random, model->warm_up_ppm[0], model->warm_up_ppm[1]);
    clock->warm_up_s = sim_random_uniform(&random, 200, 500);
    if (sim_random_next(&random) & 1)
        clock->warm_up_ppb = -clock->warm_up_ppb;
    clock->load_ppb =
        1000 * model->wander * sim_random_uniform(&random, model->load_ppm[0], model->load_ppm[1]);
    clock->load_period_s = sim_random_uniform(&random, 300, 1200);
    clock->load_phase = sim_random_uniform(&random, 0, TWO_PI);
    make_phase(clock, &random);
    make_turns(clock, &random);
    return clock;
}

void sim_clock_destroy(struct sim_clock *clock)
{
    if (!clock)
        return;
    free(clock->phase_ns);
    free(clock->turns);
    free(clock);
}

static double on_grid(const double *values, size_t count, double true_s)
{
    double place = true_s / GRID_S;
    size_t i = place < 0 ? 0 : (size_t)place;

    if (i + 2 > count)
        i = count - 2;
    return values[i] + (values[i + 1] - values[i]) * (place - (double)i);
}

static double slewed_ns(const struct sim_clock *clock, double raw_s)
{
    size_t low = 0, high = clock->turn_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (clock->turns[middle].at_s <= raw_s)
            low = middle;
        else
            high = middle;
    }
    return clock->turns[low].ns + clock->turns[low].slew_ppb * (raw_s - clock->turns[low].at_s);
}

static double jumped_ns(const struct sim_jump *jumps, double true_s)
{
    double sum = 0;

    for (int i = 0; i < SIM_JUMPS_MAX && jumps[i].at_s > 0; i++)
        sum += true_s >= jumps[i].at_s ? jumps[i].ns : 0;
    return sum;
}

/* Suspends that lie behind, and the part of one that is under way. */
static double stood_ns(const struct sim_jump *jumps, double true_s)
{
    double sum = 0;

    for (int i = 0; i < SIM_JUMPS_MAX && jumps[i].at_s > 0; i++)
        sum += fmin(fmax((true_s - jumps[i].at_s) * 1e9, 0), jumps[i].ns);
    return sum;
}

double sim_clock_at(const struct sim_clock *clock, double true_s)
{
    double steady_ns = 1e9 * true_s + clock->skew_ppb * true_s;
    double warm_ns = clock->warm_up_ppb * clock->warm_up_s * (1 - exp(-true_s / clock->warm_up_s));
    double angle = TWO_PI / clock->load_period_s;
    double load_ns = clock->load_ppb / angle *
                     (cos(clock->load_phase) - cos(angle * true_s + clock->load_phase));

    return clock->first_ns + steady_ns + warm_ns + load_ns +
           on_grid(clock->phase_ns, clock->grid_count, true_s) -
           stood_ns(clock->model.jumps, true_s);
}

uint64_t sim_clock_raw_ns(const struct sim_clock *clock, double true_s)
{
    return (uint64_t)sim_clock_at(clock, true_s);
}

uint64_t sim_clock_real_ns(const struct sim_clock *clock, double true_s)
{
    double raw_s = (sim_clock_at(clock, true_s) - clock->first_ns) / 1e9;
    double ahead_ns =
        clock->real_first_ns + slewed_ns(clock, raw_s) + jumped_ns(clock->model.steps, true_s);

    return REALTIME_NS + sim_clock_raw_ns(clock, true_s) + (uint64_t)(int64_t)ahead_ns;
}
