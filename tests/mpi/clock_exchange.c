/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_exchange - a sidecar's and rank 0's clock code over real MPI, as two processes, where the
 * clock of the second is a fake one and its truth known.
 *
 *   mpirun -np 2 clock_exchange --name TCP --for 10s --period 100ms [--fake] [--nap 1ms]
 *
 * Rank 1 prints a row of a table (tests/clocksim/marks.h). "not good: " stands before it, the exit code is
 * 1 and stderr says why, where the truth is outside a burst's interval, or outside the guaranteed bound at
 * any moment between the first burst and the last; where the clock was not measured; or where, with naps
 * of 10 ms or more, rank 0 has slept within bursts.
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
#include "tests/clocksim/marks.h"

#define S UINT64_C(1000000000)
#define POINTS 5000u
#define TWO_PI 6.283185307179586
#define ROUNDING_NS 2
/* From here on half of the bursts are narrower than half of such a nap, also on a machine that is busy. */
#define LONG_NAP_NS (S / 100)

/* A quartz that is off by much, and follows the load: as one of a server's at its worst. */
#define FAKE_OFFSET_NS 12345678901.0
#define FAKE_RATE 37.5e-6
#define FAKE_WANDER 0.2e-6 /* how far the rate swings */
#define FAKE_SWINGS 3.0    /* in the whole run */

struct exchange_options {
    const char *name;
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
     "from burst to burst"},
    {"nap", 0, NULL, RKT_OPTION_DURATION, FIELD(nap_ns), "TIME", "100us",
     "rest between two looks, of both, as in a sidecar's loop"},
    {"ahead", 0, NULL, RKT_OPTION_DURATION, FIELD(ahead_ns), "TIME", "0s",
     "of rank 1's host, whose time namespace shifts its clocks"},
    {"fake", 0, NULL, RKT_OPTION_FLAG, FIELD(is_fake), NULL, NULL,
     "rank 1 reads a clock of another offset, another rate, and one that changes"},
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
    uint64_t start_ns; /* of the machine's clock */
    struct rkt_event *exchanges;
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

/* How far it is ahead of the machine's clock when that shows `machine_ns`. */
static double shift_ns(const struct program *program, double machine_ns)
{
    double run_ns = machine_ns - (double)program->start_ns;
    double swing_ns = (double)program->options.duration_ns / FAKE_SWINGS;

    if (!program->options.is_fake)
        return 0;
    return FAKE_OFFSET_NS + FAKE_RATE * run_ns +
           FAKE_WANDER * swing_ns / TWO_PI * sin(TWO_PI * run_ns / swing_ns);
}

static uint64_t read_clock(void *ctx)
{
    uint64_t machine_ns = rkt_now_raw_ns();

    return machine_ns + (uint64_t)llround(shift_ns(ctx, (double)machine_ns));
}

/* What it lacks to rank 0's when it shows `local_ns`. */
static double truth_ns(const struct program *program, double local_ns)
{
    double machine_ns = local_ns;

    for (int i = 0; i < 8; i++) /* each brings it 20,000 times nearer */
        machine_ns = local_ns - shift_ns(program, machine_ns);
    return -(shift_ns(program, machine_ns) + (double)program->options.ahead_ns);
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
    uint64_t burst_count = program->options.duration_ns / program->options.period_ns + 1;
    struct rkt_clock_probe *side;
    struct rkt_error err = {0};

    must(rkt_clock_probe_create(&config, &side, &err), &err);
    rkt_clock_probe_schedule(side, (uint32_t)burst_count, program->options.period_ns, false);
    while (!rkt_clock_probe_is_idle(side)) {
        check_limit(program);
        if (!rkt_clock_probe_step(side, &err))
            nap(program);
    }
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

/* What holds without assumption; and that both sides were awake within bursts. */
static bool check_bursts(const struct program *program, const struct rkt_clock_bursts *bursts)
{
    int64_t *widths = calloc(bursts->count + 1, sizeof(*widths));
    uint64_t outside_count = 0;
    bool is_good, is_awake;

    if (!widths)
        exit(1);
    for (size_t k = 0; k < bursts->count; k++) {
        const struct rkt_clock_burst *burst = &bursts->items[k];
        double truth = truth_ns(program, (double)burst->local_ns);

        widths[k] = burst->upper_ns - burst->lower_ns;
        outside_count += truth < (double)burst->lower_ns - ROUNDING_NS ||
                         truth > (double)burst->upper_ns + ROUNDING_NS;
    }
    qsort(widths, bursts->count, sizeof(*widths), compare_widths);
    is_awake = program->options.nap_ns < LONG_NAP_NS ||
               (uint64_t)widths[bursts->count / 2] < program->options.nap_ns / 2;
    free(widths);
    is_good = complain("bursts without the truth", outside_count, 0);
    is_good &= complain("bursts that contradict themselves", bursts->empty_count, 0);
    return complain("half of the bursts are narrower than half a nap", is_awake, true) && is_good;
}

static void add_points(const struct program *program, const struct rkt_clock_bursts *bursts,
                       const struct rkt_align_info *align, struct sim_marks *marks)
{
    double first_ns = (double)bursts->items[0].local_ns;
    double span_ns = (double)bursts->items[bursts->count - 1].local_ns - first_ns;
    struct rkt_clock_map *map;
    struct rkt_error err = {0};
    struct sim_line line;
    bool has_line = sim_line_make(program->exchanges, program->exchange_count, &line);

    must(rkt_clock_map_create(RKT_CLOCK_MONOTONIC_RAW, NULL, 0, align, &map, &err), &err);
    for (size_t i = 0; i <= POINTS; i++) {
        double local_ns = floor(first_ns + span_ns * (double)i / POINTS);

        sim_marks_add_point(marks, map, has_line ? &line : NULL, local_ns,
                            truth_ns(program, local_ns));
    }
    rkt_clock_map_destroy(map);
}

static bool judge(const struct program *program)
{
    static const struct rkt_clock_params PARAMS = RKT_CLOCK_PARAMS_USUAL;
    const struct rkt_clock_node nodes[2] = {{.source = 0},
                                            {.source = 1,
                                             .clock_group = 1,
                                             .exchanges = program->exchanges,
                                             .exchange_count = program->exchange_count}};
    const struct rkt_align_info *align;
    struct rkt_clock_bursts bursts;
    struct rkt_clock_tree *tree;
    struct sim_marks marks = {0};
    struct rkt_arena arena;
    struct rkt_error err = {0};
    bool is_good;

    rkt_arena_init(&arena, (size_t)64 << 20);
    must(rkt_clock_bursts_make(program->exchanges, program->exchange_count, 0, &arena, &bursts,
                               &err),
         &err);
    must(rkt_clock_tree_create(nodes, 2, 0, &PARAMS, &tree, &err), &err);
    must(rkt_clock_tree_align(tree, 1, &align, &err), &err);
    is_good = check_bursts(program, &bursts);
    is_good &= complain("state of the alignment", align->state, RKT_ALIGN_MEASURED);
    if (align->state == RKT_ALIGN_MEASURED && bursts.count > 0) {
        add_points(program, &bursts, align, &marks);
        is_good &= complain("points outside the bound", marks.outside_count, 0);
        printf("%s", is_good ? "" : "not good: ");
        sim_marks_print(&marks, program->options.name);
        printf(" %zu | %.1f |\n", bursts.count,
               (double)program->exchange_count / (double)bursts.count);
        (void)fflush(stdout);
    }
    sim_marks_release(&marks);
    rkt_clock_tree_destroy(tree);
    rkt_arena_release(&arena);
    return is_good;
}

/* ---- the end ---- */

/* What the other side sent before it was done: nobody goes into MPI_Finalize with messages on their way. */
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

    if (status != RKT_OK)
        return rkt_command_exit(&COMMAND, status, &err);
    must(rkt_transport_mpi_create(&program.transport, &err), &err);
    program.start_ns = rkt_now_raw_ns();
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
