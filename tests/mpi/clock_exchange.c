/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_exchange - a sidecar's and rank 0's clock code over real MPI, as two processes, where the
 * clock of the second is a fake one and its truth known.
 *
 *   mpirun -np 2 clock_exchange --name TCP --for 10s --period 100ms [--fake [--clocks 10]] [--nap
 *   1ms]
 *                                  [--mark 12 [--p99 1us] [--max 5us]]
 *
 * With more clocks than one the further ones are made afterwards, of the moments at which the one
 * was read: they differ in offset, rate and what changes it, and all have met the same network.
 *
 * Rank 1 prints a row of a table (tests/clocksim/marks.h), before it with --mark those of another
 * (goal.h), beside the limits that are given; those do not judge the run. "not good: " stands
 * before it, the exit code is 1 and stderr says why, where the truth is outside a burst's interval,
 * or outside the guaranteed bound at any moment between the first burst and the last; where the
 * clock was not measured; or where, with naps of 10 ms or more, rank 0 has slept within bursts.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/sidecar/clock_probe.h"
#include "aggregator/clock_answer.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/clock_tree.h"
#include "common/options.h"
#include "common/run_message.h"
#include "common/transport.h"
#include "tests/clocksim/goal.h"
#include "tests/clocksim/random.h"

#define S UINT64_C(1000000000)
#define POINTS 5000u
#define TWO_PI 6.283185307179586
#define ROUNDING_NS 2
/* From here on half of the bursts are narrower than half of such a nap, also on a machine that is
 * busy. */
#define LONG_NAP_NS (S / 100)

/* As a sidecar does (agent/sidecar/sidecar_phases.c). */
#define EDGE_BURSTS 3u
#define START_GAP_NS (3 * S / 10)
#define END_GAP_NS (S / 20)

#define CLOCKS_MAX 100u
#define FIRST_SEED 2001u

/* A quartz that is off by much, and follows the load; zeroed: the machine's clock itself. */
struct fake {
    double offset_ns;
    double rate;
    double wander; /* how far the rate swings */
    double swings; /* in the whole run */
    double phase;
};

/* As one of a server's at its worst. */
static const struct fake USUAL_FAKE = {12345678901.0, 37.5e-6, 0.2e-6, 3, 0};

struct exchange_options {
    const char *name;
    uint32_t clock_count;
    uint32_t mark;
    uint64_t p99_ns;
    uint64_t max_ns;
    uint64_t duration_ns;
    uint64_t period_ns;
    uint64_t nap_ns;
    uint64_t ahead_ns;
    bool is_fake;
};

#define FIELD(name) offsetof(struct exchange_options, name)
static const struct rkt_option OPTIONS[] = {
    {"name", 'n', NULL, RKT_OPTION_STRING, FIELD(name), "TEXT", "run", "first column of the row"},
    {"for", 0, NULL, RKT_OPTION_DURATION, FIELD(duration_ns), "TIME", "10s", "how long"},
    {"period", 0, NULL, RKT_OPTION_DURATION, FIELD(period_ns), "TIME", "100ms",
     "from burst to burst; 0s: as in a run, three at the start, one each ten seconds, three at the "
     "end"},
    {"nap", 0, NULL, RKT_OPTION_DURATION, FIELD(nap_ns), "TIME", "100us",
     "rest between two looks, of both, as in a sidecar's loop"},
    {"ahead", 0, NULL, RKT_OPTION_DURATION, FIELD(ahead_ns), "TIME", "0s",
     "of rank 1's host, whose time namespace shifts its clocks"},
    {"fake", 0, NULL, RKT_OPTION_FLAG, FIELD(is_fake), NULL, NULL,
     "rank 1 reads a clock of another offset, another rate, and one that changes"},
    {"clocks", 0, NULL, RKT_OPTION_U32, FIELD(clock_count), "N", "1",
     "judge by so many of these, 100 at most"},
    {"mark", 0, NULL, RKT_OPTION_U32, FIELD(mark), "N", "0",
     "print figures of this mark of common/doc/clocks.md; 0: none"},
    {"p99", 0, NULL, RKT_OPTION_DURATION, FIELD(p99_ns), "TIME", "0s", "limit of 99 % of errors"},
    {"max", 0, NULL, RKT_OPTION_DURATION, FIELD(max_ns), "TIME", "0s", "limit of all errors"},
};

static const struct rkt_command COMMAND = {
    .name = "clock_exchange",
    .usage = "mpirun -np 2 clock_exchange [options]",
    .summary = "Measure a clock whose truth is known.",
    .options = OPTIONS,
    .option_count = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

struct program {
    struct exchange_options options;
    struct rkt_transport *transport;
    uint64_t start_ns;           /* of the machine's clock */
    struct fake fake;            /* the clock that rank 1 reads */
    struct rkt_event *exchanges; /* by it */
    size_t exchange_count;
    size_t exchange_cap;
};

static void must(enum rkt_status status, const struct rkt_error *err)
{
    if (status == RKT_OK)
        return;
    (void)fprintf(stderr, "clock_exchange: %s\n", err->text);
    exit(1);
}

/* ---- the clock of rank 1, and its truth ---- */

static struct fake fake_of(uint32_t number)
{
    struct sim_random random = sim_random_of(FIRST_SEED + number, 14);
    struct fake fake = USUAL_FAKE;

    if (number == 0)
        return fake;
    fake.offset_ns = sim_random_uniform(&random, 1e9, 50e9);
    fake.rate = sim_random_uniform(&random, -50e-6, 50e-6);
    fake.wander = sim_random_uniform(&random, 0.02e-6, 0.2e-6);
    fake.swings = sim_random_uniform(&random, 1, 4);
    fake.phase = sim_random_uniform(&random, 0, TWO_PI);
    return fake;
}

/* How far it is ahead of the machine's clock when that shows `machine_ns`. */
static double shift_ns(const struct program *program, const struct fake *fake, double machine_ns)
{
    double run_ns = machine_ns - (double)program->start_ns;
    double swing_ns =
        fake->swings > 0 ? (double)program->options.duration_ns / fake->swings : INFINITY;

    if (isinf(swing_ns))
        return fake->offset_ns + fake->rate * run_ns;
    return fake->offset_ns + fake->rate * run_ns +
           fake->wander * swing_ns / TWO_PI * sin(TWO_PI * run_ns / swing_ns + fake->phase);
}

static uint64_t read_clock(void *ctx)
{
    const struct program *program = ctx;
    uint64_t machine_ns = rkt_now_raw_ns();

    return machine_ns + (uint64_t)llround(shift_ns(program, &program->fake, (double)machine_ns));
}

/* What the machine's clock shows when this one shows `local_ns`. */
static double machine_ns(const struct program *program, const struct fake *fake, double local_ns)
{
    double machine_ns = local_ns;

    for (int i = 0; i < 8; i++) /* each brings it 20,000 times nearer */
        machine_ns = local_ns - shift_ns(program, fake, machine_ns);
    return machine_ns;
}

/* What it lacks to rank 0's when it shows `local_ns`. */
static double truth_ns(const struct program *program, const struct fake *fake, double local_ns)
{
    return machine_ns(program, fake, local_ns) - local_ns - (double)program->options.ahead_ns;
}

static uint64_t restamped_ns(const struct program *program, const struct fake *fake,
                             uint64_t local_ns)
{
    double at_ns = machine_ns(program, &program->fake, (double)local_ns);

    return (uint64_t)llround(at_ns + shift_ns(program, fake, at_ns));
}

/* ---- measuring ---- */

static void nap(const struct program *program)
{
    const struct timespec pause = {.tv_sec = (time_t)(program->options.nap_ns / S),
                                   .tv_nsec = (long)(program->options.nap_ns % S)};

    (void)rkt_transport_progress(program->transport);
    (void)nanosleep(&pause, NULL);
}

/* Nobody waits for ever for one that is gone. */
static void check_limit(const struct program *program)
{
    if (rkt_now_raw_ns() - program->start_ns < 60 * S + 4 * program->options.duration_ns)
        return;
    (void)fprintf(stderr, "clock_exchange: rank %d: no end\n",
                  rkt_transport_rank(program->transport));
    exit(1);
}

static uint64_t reference_now_ns(void *ctx)
{
    (void)ctx;
    return rkt_now_raw_ns();
}

static void answer(const struct program *program)
{
    struct rkt_clock_answer *side;
    struct rkt_arrival arrival;
    struct rkt_error err = {0};
    bool is_good;

    must(rkt_clock_answer_create(program->transport, reference_now_ns, NULL, &side, &err), &err);
    while (rkt_transport_receive(program->transport, RKT_TAG_CONTROL_UP, &is_good, sizeof(is_good),
                                 &arrival, &err) == RKT_AGAIN) {
        check_limit(program);
        if (!rkt_clock_answer_step(side, &err))
            nap(program);
    }
    rkt_clock_answer_destroy(side);
}

static enum rkt_status keep(void *ctx, const struct rkt_event *exchange, struct rkt_error *err)
{
    struct program *program = ctx;

    if (!rkt_array_reserve((void **)&program->exchanges, &program->exchange_cap,
                           program->exchange_count + 1, sizeof(*exchange)))
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for exchanges");
    program->exchanges[program->exchange_count++] = *exchange;
    return RKT_OK;
}

static void step(const struct program *program, struct rkt_clock_probe *side)
{
    struct rkt_error err = {0};

    check_limit(program);
    if (!rkt_clock_probe_step(side, &err))
        nap(program);
}

static void probe(struct program *program)
{
    struct rkt_clock_probe_config config = {
        .transport = program->transport,
        .seed = 1,
        .clock = read_clock,
        .clock_ctx = program,
        .on_exchange = keep,
        .exchange_ctx = program,
    };
    struct rkt_clock_probe *side;
    struct rkt_error err = {0};

    must(rkt_clock_probe_create(&config, &side, &err), &err);
    if (program->options.period_ns == 0) {
        rkt_clock_probe_schedule(side, EDGE_BURSTS, START_GAP_NS, true);
        while (rkt_now_raw_ns() - program->start_ns < program->options.duration_ns)
            step(program, side);
        rkt_clock_probe_schedule(side, EDGE_BURSTS, END_GAP_NS, false);
    } else {
        rkt_clock_probe_schedule(
            side, (uint32_t)(program->options.duration_ns / program->options.period_ns) + 1,
            program->options.period_ns, false);
    }
    while (!rkt_clock_probe_is_idle(side))
        step(program, side);
    rkt_clock_probe_destroy(side);
}

/* ---- judging ---- */

static bool complain(const char *what, uint64_t got, uint64_t want)
{
    if (got == want)
        return true;
    (void)fprintf(stderr, "clock_exchange: %s: %" PRIu64 ", not %" PRIu64 "\n", what, got, want);
    return false;
}

static int compare_widths(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* What is found out about the clocks of a run. */
struct verdict {
    struct sim_marks marks;
    size_t burst_count;    /* of each clock */
    uint64_t missed_count; /* bursts without the truth */
    bool is_good;
};

/* What holds without assumption; and that both sides were awake within bursts. */
static void check_bursts(const struct program *program, const struct fake *fake,
                         const struct rkt_clock_bursts *bursts, struct verdict *verdict)
{
    int64_t *widths = calloc(bursts->count + 1, sizeof(*widths));
    uint64_t outside_count = 0;
    bool is_awake;

    if (!widths)
        exit(1);
    for (size_t k = 0; k < bursts->count; k++) {
        const struct rkt_clock_burst *burst = &bursts->items[k];
        double truth = truth_ns(program, fake, (double)burst->local_ns);

        widths[k] = burst->upper_ns - burst->lower_ns;
        outside_count += truth < (double)burst->lower_ns - ROUNDING_NS ||
                         truth > (double)burst->upper_ns + ROUNDING_NS;
    }
    qsort(widths, bursts->count, sizeof(*widths), compare_widths);
    is_awake = program->options.nap_ns < LONG_NAP_NS ||
               (uint64_t)widths[bursts->count / 2] < program->options.nap_ns / 2;
    free(widths);
    verdict->missed_count += outside_count;
    verdict->is_good &= complain("bursts without the truth", outside_count, 0);
    verdict->is_good &= complain("bursts that contradict themselves", bursts->empty_count, 0);
    verdict->is_good &= complain("half of the bursts are narrower than half a nap", is_awake, true);
}

static void add_points(const struct program *program, const struct fake *fake,
                       const struct rkt_clock_node *node, const struct rkt_clock_bursts *bursts,
                       const struct rkt_align_info *align, struct sim_marks *marks)
{
    double first_ns = (double)bursts->items[0].local_ns;
    double span_ns = (double)bursts->items[bursts->count - 1].local_ns - first_ns;
    struct rkt_clock_map *map;
    struct rkt_error err = {0};
    struct sim_line line;
    bool has_line = sim_line_make(node->exchanges, node->exchange_count, &line);

    must(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err), &err);
    for (size_t i = 0; i <= POINTS; i++) {
        double local_ns = floor(first_ns + span_ns * (double)i / POINTS);

        sim_marks_add_point(marks, map, has_line ? &line : NULL, local_ns,
                            truth_ns(program, fake, local_ns));
    }
    rkt_clock_map_destroy(map);
}

/* `exchanges`: as this clock stamped them. */
static void judge_clock(const struct program *program, const struct fake *fake,
                        const struct rkt_event *exchanges, struct verdict *verdict)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    const struct rkt_clock_node nodes[2] = {{.source = 0},
                                            {.source = 1,
                                             .clock_group = 1,
                                             .exchanges = exchanges,
                                             .exchange_count = program->exchange_count}};
    const struct rkt_align_info *align;
    struct rkt_clock_bursts bursts;
    struct rkt_clock_tree *tree;
    struct rkt_arena arena;
    struct rkt_error err = {0};

    rkt_arena_init(&arena, (size_t)64 << 20);
    must(rkt_clock_bursts_make(exchanges, program->exchange_count, 0, &arena, &bursts, &err), &err);
    must(rkt_clock_tree_create(nodes, 2, 0, &PARAMS, &tree, &err), &err);
    must(rkt_clock_tree_align(tree, 1, &align, &err), &err);
    check_bursts(program, fake, &bursts, verdict);
    verdict->is_good &= complain("state of the alignment", align->state, RKT_ALIGN_MEASURED);
    if (align->state == RKT_ALIGN_MEASURED && bursts.count > 0)
        add_points(program, fake, &nodes[1], &bursts, align, &verdict->marks);
    verdict->burst_count = bursts.count;
    rkt_clock_tree_destroy(tree);
    rkt_arena_release(&arena);
}

static void judge_clocks(const struct program *program, struct verdict *verdict)
{
    struct rkt_event *made = calloc(program->exchange_count + 1, sizeof(*made));

    if (!made)
        exit(1);
    judge_clock(program, &program->fake, program->exchanges, verdict);
    for (uint32_t n = 1; n < program->options.clock_count; n++) {
        struct fake fake = fake_of(n);

        for (size_t i = 0; i < program->exchange_count; i++) {
            made[i] = program->exchanges[i];
            made[i].start_ns = restamped_ns(program, &fake, made[i].start_ns);
            made[i].end_ns = restamped_ns(program, &fake, made[i].end_ns);
        }
        judge_clock(program, &fake, made, verdict);
    }
    free(made);
}

static void tell_zero(const struct program *program, const char *what, uint64_t count)
{
    const struct sim_figure figure = {.mark = program->options.mark,
                                      .of = program->options.name,
                                      .what = what,
                                      .value = (double)count,
                                      .line = (double)NAN,
                                      .constant = (double)NAN};

    sim_figure_print(&figure);
}

static void tell_figures(const struct program *program, struct verdict *verdict)
{
    const struct exchange_options *options = &program->options;
    struct sim_figure figure = {.mark = options->mark, .of = options->name};

    if (options->p99_ns > 0) {
        figure.what = "error p99, us";
        figure.most = (double)options->p99_ns / 1000;
        sim_figure_set_errors(&figure, 0.99, &verdict->marks);
        sim_figure_print(&figure);
    }
    if (options->max_ns > 0) {
        figure.what = "error max, us";
        figure.most = (double)options->max_ns / 1000;
        sim_figure_set_errors(&figure, 1, &verdict->marks);
        sim_figure_print(&figure);
    }
    tell_zero(program, "bursts without the truth", verdict->missed_count);
    tell_zero(program, "points outside the bound", verdict->marks.outside_count);
}

static bool judge(const struct program *program)
{
    struct verdict verdict = {.is_good = true};

    judge_clocks(program, &verdict);
    verdict.is_good &= complain("points outside the bound", verdict.marks.outside_count, 0);
    if (program->options.mark > 0)
        tell_figures(program, &verdict);
    if (verdict.marks.point_count > 0) {
        printf("%s", verdict.is_good ? "" : "not good: ");
        sim_marks_print(&verdict.marks, program->options.name);
        printf(" %zu | %.1f |\n", verdict.burst_count,
               (double)program->exchange_count / (double)verdict.burst_count);
        (void)fflush(stdout);
    }
    sim_marks_release(&verdict.marks);
    return verdict.is_good;
}

/* ---- the end ---- */

/* What the other side sent before it was done: nobody goes into MPI_Finalize with messages on their
 * way. */
static void take_rest(const struct program *program, enum rkt_tag tag)
{
    uint8_t buf[RKT_CLOCK_MESSAGE_BYTES_MAX];
    struct rkt_arrival arrival;

    while (rkt_transport_receive(program->transport, tag, buf, sizeof(buf), &arrival, NULL) ==
           RKT_OK) {
    }
}

static void say_done(const struct program *program, bool is_good)
{
    struct rkt_error err = {0};
    int peer = 1 - rkt_transport_rank(program->transport);

    must(rkt_transport_send(program->transport, peer, RKT_TAG_CONTROL_UP, &is_good, sizeof(is_good),
                            &err),
         &err);
}

static void wait_done(const struct program *program)
{
    struct rkt_arrival arrival;
    bool is_good;

    while (rkt_transport_receive(program->transport, RKT_TAG_CONTROL_UP, &is_good, sizeof(is_good),
                                 &arrival, NULL) == RKT_AGAIN) {
        check_limit(program);
        nap(program);
    }
}

/* Both are done; then what either sent has come. */
static void part(const struct program *program, enum rkt_tag tag)
{
    take_rest(program, tag);
    while (rkt_transport_progress(program->transport)) {
        check_limit(program);
        take_rest(program, tag);
    }
}

int main(int argc, char **argv)
{
    struct program program = {0};
    struct rkt_error err = {0};
    int next = 0;
    bool is_good = true;
    enum rkt_status status = rkt_options_parse(&COMMAND, argc, argv, &program.options, &next, &err);

    if (status == RKT_OK && (program.options.clock_count > CLOCKS_MAX ||
                             (program.options.clock_count > 1 && !program.options.is_fake)))
        status = rkt_fail(&err, RKT_ERR_INVALID, "--clocks are fake ones, %u at most", CLOCKS_MAX);
    if (status != RKT_OK)
        return rkt_command_exit(&COMMAND, status, &err);
    must(rkt_transport_mpi_create(&program.transport, &err), &err);
    program.start_ns = rkt_now_raw_ns();
    if (program.options.is_fake)
        program.fake = fake_of(0);
    if (rkt_transport_size(program.transport) != 2) {
        (void)fprintf(stderr, "clock_exchange: mpirun -np 2, please\n");
        return RKT_EXIT_WRONG_USE;
    }
    if (rkt_transport_rank(program.transport) == 0) {
        answer(&program);
        say_done(&program, true);
        part(&program, RKT_TAG_CLOCK_UP);
    } else {
        probe(&program);
        is_good = judge(&program);
        say_done(&program, is_good);
        wait_done(&program);
        part(&program, RKT_TAG_CLOCK_DOWN);
    }
    free(program.exchanges);
    rkt_transport_destroy(program.transport, true);
    return is_good ? 0 : RKT_EXIT_FAILED;
}
