/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partition against brute force: the test asks it of every single instant, one after the
 * other, and shares no code with the product.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/exposed.h"
#include "analysis/measure.h"
#include "analysis/stages.h"
#include "fake_run.h"
#include "rkt_random.h"
#include "rkt_test.h"

#define UNIT_NS 100ll /* an instant: the 2 us of a device gap are 20 of them */
#define SPAN 500
#define WINDOWS_CHECKED 100000
#define WORKS 24
#define SPANS_MAX 24
#define TILES_MAX 63
#define RECORD_CAP 64 /* of a run: works, calls, ranges, steps */

/* A host record or a state of the device, in units. */
struct span {
    int start;
    int end;
    uint32_t thread_id;
};

struct drawn_work {
    int start;
    int end;
    int launch_start;
    int launch_end; /* -1: no launch record */
    uint32_t thread_id;
    int work_class;
    int copy_part;
    int wait; /* -1: matched nothing */
};

struct drawing {
    struct drawn_work works[WORKS];
    int work_count;
    struct span blocked[SPANS_MAX];
    struct span alloc[SPANS_MAX];
    struct span input[SPANS_MAX];
    int count[3];
    struct rkt_collective collectives[WORKS];
    struct rkt_participant participants[WORKS];
};

static int below(struct rkt_random *random, int limit)
{
    return (int)rkt_random_below(random, (uint64_t)limit);
}

static int compare_works(const void *a, const void *b)
{
    const struct drawn_work *x = a;
    const struct drawn_work *y = b;

    return x->start != y->start ? x->start - y->start : x->end - y->end;
}

static void draw_spans(struct rkt_random *random, struct span *spans, int *count)
{
    *count = below(random, SPANS_MAX / 2);
    for (int i = 0; i < *count; i++) {
        spans[i].start = 1 + below(random, SPAN);
        spans[i].end = spans[i].start + below(random, 30);
        spans[i].thread_id = (uint32_t)below(random, 3); /* 0: unknown, 1: main, 2 */
    }
}

static void draw(struct rkt_random *random, struct drawing *drawing)
{
    memset(drawing, 0, sizeof(*drawing));
    drawing->work_count = 1 + below(random, WORKS);
    for (int i = 0; i < drawing->work_count; i++) {
        struct drawn_work *work = &drawing->works[i];

        work->start = 100 + below(random, SPAN - 100);
        work->end = work->start + below(random, 25);
        work->launch_start = work->start + 5 - below(random, 80);
        work->launch_end = below(random, 8) == 0 ? -1 : work->launch_start + 1 + below(random, 12);
        work->thread_id = 1 + (uint32_t)below(random, 2);
        work->work_class = below(random, 3);
        work->copy_part = below(random, RKT_COPY_PART_COUNT);
        work->wait = below(random, 3) == 0 ? -1 : below(random, work->end - work->start + 1);
    }
    qsort(drawing->works, (size_t)drawing->work_count, sizeof(drawing->works[0]), compare_works);
    draw_spans(random, drawing->blocked, &drawing->count[0]);
    draw_spans(random, drawing->alloc, &drawing->count[1]);
    draw_spans(random, drawing->input, &drawing->count[2]);
}

static uint8_t copy_kind_of(int copy_part)
{
    static const uint8_t kinds[RKT_COPY_PART_COUNT] = {
        RKT_COPY_HTOD, RKT_COPY_DTOH,   RKT_COPY_DTOD,    RKT_COPY_PTOP,
        RKT_COPY_HTOH, RKT_COPY_MEMSET, RKT_COPY_UNKNOWN,
    };

    return kinds[copy_part];
}

static void add_to_run(struct fake_run *run, struct drawing *drawing)
{
    struct rkt_rank_trace *trace = &run->traces[0];

    for (int i = 0; i < drawing->work_count; i++) {
        const struct drawn_work *drawn = &drawing->works[i];
        uint32_t index = fake_add_work(run, 0,
                                       (struct fake_work){
                                           .work_class = (enum rkt_work_class)drawn->work_class,
                                           .name = "work",
                                           .start_ns = drawn->start * UNIT_NS,
                                           .end_ns = drawn->end * UNIT_NS,
                                       });
        struct rkt_work *work = &trace->works[index];

        work->copy_kind = copy_kind_of(drawn->copy_part);
        if (drawn->launch_end >= 0) {
            work->launch_start_ns = drawn->launch_start * UNIT_NS;
            work->launch_end_ns = drawn->launch_end * UNIT_NS;
            work->launch_thread_id = drawn->thread_id;
        }
        if (drawn->work_class != RKT_WORK_COMM || drawn->wait < 0)
            continue;
        work->collective = (uint32_t)i;
        drawing->participants[i] = (struct rkt_participant){
            .rank = 0,
            .work = index,
            .wait_ns = i % 2 ? drawn->wait * UNIT_NS : 0, /* of clocks that are not good enough */
            .clock_free_wait_ns = i % 2 ? 0 : drawn->wait * UNIT_NS,
        };
        drawing->collectives[i].participants = &drawing->participants[i];
        drawing->collectives[i].is_clocked = i % 2;
        drawing->collectives[i].participant_count = 1;
    }
    run->result.collectives = drawing->collectives;
    run->result.collective_count = WORKS;
    for (int i = 0; i < drawing->count[0] + drawing->count[1]; i++) {
        bool is_blocking = i < drawing->count[0];
        const struct span *span =
            is_blocking ? &drawing->blocked[i] : &drawing->alloc[i - drawing->count[0]];

        fake_add_call(run, 0, is_blocking ? RKT_CALL_BLOCKING : RKT_CALL_ALLOC, "call",
                      span->start * UNIT_NS, span->end * UNIT_NS);
        trace->calls[i].thread_id = span->thread_id;
    }
    for (int i = 0; i < drawing->count[2]; i++) {
        fake_add_range(run, 0, RKT_RANGE_INPUT, "", drawing->input[i].start * UNIT_NS,
                       drawing->input[i].end * UNIT_NS);
        trace->ranges[i].thread_id = drawing->input[i].thread_id;
    }
}

/* ---- brute force ---- */

static bool covers(const struct span *spans, int count, uint32_t thread_id, int at)
{
    for (int i = 0; i < count; i++) {
        if (spans[i].thread_id == thread_id && spans[i].start <= at && at < spans[i].end)
            return true;
    }
    return false;
}

/* The device's part at an instant; RKT_PART_IDLE when nothing runs. */
static int device_part(const struct drawing *drawing, int at)
{
    bool compute = false;
    bool transfer = false;
    bool wait = false;
    bool unsplit = false;
    int copy = RKT_COPY_PART_COUNT;

    for (int i = 0; i < drawing->work_count; i++) {
        const struct drawn_work *work = &drawing->works[i];

        if (at < work->start || at >= work->end)
            continue;
        if (work->work_class == RKT_WORK_COMPUTE)
            compute = true;
        else if (work->work_class == RKT_WORK_COPY)
            copy = work->copy_part < copy ? work->copy_part : copy;
        else if (work->wait < 0)
            unsplit = true;
        else if (at >= work->start + work->wait)
            transfer = true;
        else
            wait = true;
    }
    if (compute)
        return transfer || wait || unsplit ? RKT_PART_OVERLAPPED : RKT_PART_COMPUTE;
    if (transfer || wait || unsplit)
        return transfer ? RKT_PART_COMM_TRANSFER
               : wait   ? RKT_PART_COMM_WAIT
                        : RKT_PART_COMM_UNSPLIT;
    return copy < RKT_COPY_PART_COUNT ? RKT_PART_COPY + copy : RKT_PART_IDLE;
}

/* Last stretch of instants covered for a thread that began before `before`: its [start, end). */
static void last_entered(const struct drawing *drawing, uint32_t thread_id, int before, int *start,
                         int *end)
{
    for (int at = before - 1; at > 0; at--) {
        int until = at;

        if (!covers(drawing->blocked, drawing->count[0], thread_id, at) ||
            covers(drawing->blocked, drawing->count[0], thread_id, at - 1))
            continue;
        while (covers(drawing->blocked, drawing->count[0], thread_id, until))
            until++;
        if (at > *start) {
            *start = at;
            *end = until;
        }
        return;
    }
}

static int host_cause(const struct drawing *drawing, uint32_t thread_id, int at)
{
    if (covers(drawing->blocked, drawing->count[0], thread_id, at) ||
        covers(drawing->blocked, drawing->count[0], 0, at))
        return RKT_IDLE_SYNC;
    if (covers(drawing->alloc, drawing->count[1], thread_id, at) ||
        covers(drawing->alloc, drawing->count[1], 0, at))
        return RKT_IDLE_ALLOC;
    if (covers(drawing->input, drawing->count[2], thread_id, at) ||
        covers(drawing->input, drawing->count[2], 1, at) ||
        covers(drawing->input, drawing->count[2], 0, at))
        return RKT_IDLE_INPUT;
    return RKT_IDLE_HOST;
}

/* Causes of the gap [e, x) before `next`, instant by instant, into parts[]. */
static void split_gap(const struct drawing *drawing, int e, int x, const struct drawn_work *next,
                      int last_gap_end, int *parts)
{
    int entered = -1;
    int returned = -1;
    int lead;

    last_entered(drawing, 0, e, &entered, &returned);
    last_entered(drawing, next->thread_id, e, &entered, &returned);
    lead = entered >= 0 && returned >= last_gap_end ? e - entered : 0;
    for (int at = e; at < x; at++) {
        int cause;

        if (next->launch_end < 0)
            cause = RKT_IDLE_UNKNOWN;
        else if (next->launch_end <= e)
            cause = x - e < 20 ? RKT_IDLE_DEVICE : RKT_IDLE_DEPENDENCY;
        else if (at >= next->launch_start)
            cause = at < next->launch_end ? RKT_IDLE_LAUNCH : RKT_IDLE_DEPENDENCY;
        else
            cause = host_cause(drawing, next->thread_id, at);
        if (cause == RKT_IDLE_HOST && at >= returned && lead > 0) {
            cause = RKT_IDLE_SYNC;
            lead--;
        }
        parts[at] = RKT_PART_IDLE + cause;
    }
}

static const struct drawn_work *find_next(const struct drawing *drawing, int at)
{
    const struct drawn_work *next = NULL;

    for (int i = 0; i < drawing->work_count; i++) {
        const struct drawn_work *work = &drawing->works[i];

        if (work->start == at && work->end > at &&
            (!next || (next->launch_end < 0 && work->launch_end >= 0)))
            next = work;
    }
    return next;
}

/* parts[at] for every instant of the run; what is outside stays -1. */
static void brute_force(const struct drawing *drawing, int *parts, int *start, int *end)
{
    int last_gap_end = -1;

    *start = drawing->works[0].start;
    *end = 0;
    for (int i = 0; i < drawing->work_count; i++)
        *end = drawing->works[i].end > *end ? drawing->works[i].end : *end;
    for (int at = *start; at < *end; at++)
        parts[at] = device_part(drawing, at);
    for (int at = *start; at < *end; at++) {
        int x = at;

        if (parts[at] != RKT_PART_IDLE)
            continue;
        while (x < *end && parts[x] == RKT_PART_IDLE)
            x++;
        if (x < *end) {
            split_gap(drawing, at, x, find_next(drawing, x), last_gap_end, parts);
            last_gap_end = x;
        } else { /* an empty record closes the run */
            for (int k = at; k < x; k++)
                parts[k] = RKT_PART_IDLE + RKT_IDLE_UNKNOWN;
        }
        at = x - 1;
    }
}

static int64_t part_of_window(const struct rkt_partition *parts, int part)
{
    switch (part) {
    case RKT_PART_OVERLAPPED:
        return parts->overlapped_ns;
    case RKT_PART_COMPUTE:
        return parts->compute_ns;
    case RKT_PART_COMM_TRANSFER:
        return parts->comm_transfer_ns;
    case RKT_PART_COMM_WAIT:
        return parts->comm_wait_ns;
    case RKT_PART_COMM_UNSPLIT:
        return parts->comm_unsplit_ns;
    default:
        break;
    }
    return part < RKT_PART_IDLE ? parts->copy_ns[part - RKT_PART_COPY]
                                : parts->idle_ns[part - RKT_PART_IDLE];
}

/* What the stages make of rank 0, whose run and steps have their bounds. `is_thin`: its records are
 * gone before the waits are known. */
static void measure(struct fake_run *run, bool is_thin)
{
    struct rkt_rank_result *rank = &run->result.ranks[0];
    struct rkt_interval_set exposed = {0};
    struct rkt_error err;

    rank->trace->has_gpu = true;
    assert_rkt_ok(rkt_measure_rank(rank, &exposed, &run->arena, &err), err);
    rkt_measure_end(rank);
    rank->exposed = &exposed;
    if (is_thin)
        assert_rkt_ok(rkt_rank_trace_thin(rank->trace, &err), err);
    assert_rkt_ok(rkt_split_exposed(&run->result, &err), err);
    rank->exposed = NULL;
    rkt_interval_set_release(&exposed);
}

static void add_parts(const int *parts, int start, int end, int64_t want_ns[RKT_PART_COUNT])
{
    for (int at = start; at < end; at++)
        want_ns[parts[at]] += UNIT_NS;
}

static void check_window(const struct rkt_window *window, const int64_t want_ns[RKT_PART_COUNT],
                         const char *what, uint32_t seed)
{
    int64_t length_ns = 0;

    for (int part = 0; part < RKT_PART_COUNT; part++) {
        int64_t got_ns = part_of_window(&window->parts, part);

        length_ns += want_ns[part];
        if (got_ns != want_ns[part])
            fail_msg("seed %u, %s: part %d is %lld ns, not %lld", seed, what, part,
                     (long long)got_ns, (long long)want_ns[part]);
    }
    assert_int_equal(window->parts.window_ns, length_ns);
    assert_int_equal(rkt_partition_sum(&window->parts), length_ns);
    assert_int_equal(window->compute_ns, window->parts.overlapped_ns + window->parts.compute_ns);
    assert_int_equal(window->comm_ns, window->parts.overlapped_ns + window->parts.comm_wait_ns +
                                          window->parts.comm_transfer_ns +
                                          window->parts.comm_unsplit_ns);
}

/* A rank with steps that tile the run, but for some time before the first and after the last. */
struct tiles {
    int edges[TILES_MAX + 1];
    int count; /* of steps: from edges[i] to edges[i + 1] */
};

static void draw_tiles(struct rkt_random *random, int start, int end, struct tiles *tiles)
{
    int at = start + below(random, 40);

    tiles->count = 0;
    tiles->edges[0] = at < end ? at : start;
    for (at = tiles->edges[0] + 1 + below(random, 60); at <= end && tiles->count < TILES_MAX;
         at += 1 + below(random, 60))
        tiles->edges[++tiles->count] = at;
    if (tiles->count == 0)
        tiles->edges[++tiles->count] = end;
}

/* How many windows were checked. */
static size_t check_tiles(struct fake_run *run, const int *parts, int start, int end,
                          const struct tiles *tiles, uint32_t seed)
{
    const struct rkt_rank_result *rank = &run->result.ranks[0];
    int64_t run_ns[RKT_PART_COUNT] = {0};
    int64_t outside_ns[RKT_PART_COUNT] = {0};

    add_parts(parts, start, end, run_ns);
    check_window(&rank->run, run_ns, "run", seed);
    add_parts(parts, start, tiles->edges[0], outside_ns);
    add_parts(parts, tiles->edges[tiles->count], end, outside_ns);
    check_window(&rank->outside, outside_ns, "outside", seed);
    for (int i = 0; i < tiles->count; i++) {
        int64_t step_ns[RKT_PART_COUNT] = {0};

        add_parts(parts, tiles->edges[i], tiles->edges[i + 1], step_ns);
        check_window(&rank->steps[i].window, step_ns, "step", seed);
    }
    return (size_t)tiles->count + 2;
}

static void every_instant_has_the_part_that_brute_force_gives_it(void **state)
{
    size_t checked = 0;

    (void)state;
    for (uint32_t seed = 1; checked < WINDOWS_CHECKED; seed++) {
        struct rkt_random random = {seed};
        static struct drawing drawing;
        static struct tiles tiles;
        struct fake_run run;
        int parts[SPAN + 100];
        int start;
        int end;

        draw(&random, &drawing);
        fake_run_init_small(&run, 1, RECORD_CAP);
        add_to_run(&run, &drawing);
        brute_force(&drawing, parts, &start, &end);
        run.result.ranks[0].run.start_ns = start * UNIT_NS;
        run.result.ranks[0].run.end_ns = end * UNIT_NS;
        draw_tiles(&random, start, end, &tiles);
        for (int i = 0; i < tiles.count; i++)
            fake_add_step(&run, 0, tiles.edges[i] * UNIT_NS, tiles.edges[i + 1] * UNIT_NS);
        measure(&run, seed % 2 == 0);
        checked += check_tiles(&run, parts, start, end, &tiles, seed);
        fake_run_release(&run);
    }
}

/* ---- drawn by hand ---- */

static struct rkt_window window_of(struct fake_run *run, int64_t start_ns, int64_t end_ns)
{
    struct rkt_rank_result *rank = &run->result.ranks[0];

    rank->run = (struct rkt_window){.start_ns = start_ns, .end_ns = end_ns};
    rank->step_count = 0;
    fake_add_step(run, 0, start_ns, end_ns);
    measure(run, false);
    return rank->steps[0].window;
}

/* The worked example of analysis/doc/metrics.md, "Partition". */
static void the_worked_example_of_a_partition(void **state)
{
    struct rkt_collective collective = {.is_clocked = true};
    struct rkt_participant participant = {.wait_ns = 300};
    struct rkt_window window;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 0, 400, 0, 0});
    participant.work = fake_add_comm_work(&run, 0, "ncclDevKernel_AllReduce", 200, 900);
    run.traces[0].works[participant.work].collective = 0;
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COPY, "Memcpy HtoD", 8, 800, 1000, 0, 0});
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 1100, 1200, 0, 0});
    collective.participants = &participant;
    collective.participant_count = 1;
    run.result.collectives = &collective;
    run.result.collective_count = 1;
    window = window_of(&run, 0, 1200);
    assert_int_equal(window.parts.compute_ns, 200 + 100);
    assert_int_equal(window.parts.overlapped_ns, 200);
    assert_int_equal(window.parts.comm_wait_ns, 100);
    assert_int_equal(window.parts.comm_transfer_ns, 400);
    assert_int_equal(window.parts.copy_ns[RKT_COPY_PART_HTOD], 100);
    assert_int_equal(window.parts.idle_ns[RKT_IDLE_UNKNOWN], 100);
    assert_true(fabs(window.comm_share - 700.0 / 1200) < 1e-12);
    assert_true(fabs(window.exposed_share - 500.0 / 1200) < 1e-12);
    assert_true(fabs(window.overlap - 200.0 / 700) < 1e-12);
    assert_true(fabs(window.gpu_util - 1000.0 / 1200) < 1e-12);
    assert_true(fabs(window.compute_share - 500.0 / 1200) < 1e-12);
    assert_int_equal(window.kernel_counts[RKT_WORK_COMPUTE], 2);
    assert_int_equal(window.kernel_counts[RKT_WORK_COMM], 1);
    assert_int_equal(window.kernel_counts[RKT_WORK_COPY], 1);
    fake_run_release(&run);
}

static void shares_of_nothing_are_not_numbers(void **state)
{
    struct rkt_window window;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "gemm", 7, 10, 20, 0, 0});
    window = window_of(&run, 10, 20);
    assert_true(isnan(window.overlap)); /* no comm */
    assert_true(!isnan(window.comm_share));
    window = window_of(&run, 20, 20);
    assert_true(isnan(window.comm_share));
    assert_true(isnan(window.gpu_util));
    assert_true(isnan(window.compute_share));
    fake_run_release(&run);
}

static void records_without_length_count_and_take_no_time(void **state)
{
    struct rkt_window window;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1); /* BR-53, BR-54 */
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "a", 7, 0, 100, 0, 0});
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "b", 7, 50, 50, 0, 0});
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMM, "c", 7, 50, 50, 0, 0});
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "d", 7, 100, 100, 0, 0});
    window = window_of(&run, 0, 100);
    assert_int_equal(window.parts.compute_ns, 100);
    assert_int_equal(window.kernel_counts[RKT_WORK_COMPUTE], 3);
    assert_int_equal(window.kernel_counts[RKT_WORK_COMM], 1);
    fake_run_release(&run);
}

static void time_outside_the_run_is_idle_for_unknown_reasons(void **state)
{
    struct rkt_window window;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "a", 7, 50, 100, 0, 0});
    window = window_of(&run, 0, 130);
    assert_int_equal(window.parts.compute_ns, 50);
    assert_int_equal(window.parts.idle_ns[RKT_IDLE_UNKNOWN], 80);
    assert_int_equal(rkt_partition_sum(&window.parts), 130);
    fake_run_release(&run);
}

static void windows_that_do_not_overlap_add_up(void **state)
{
    struct rkt_window sum = {0};
    struct rkt_window part;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COMPUTE, "a", 7, 0, 100, 0, 0});
    fake_add_work(&run, 0, (struct fake_work){RKT_WORK_COPY, "c", 7, 100, 200, 0, 0});
    part = window_of(&run, 0, 50);
    rkt_window_add(&sum, &part);
    part = window_of(&run, 150, 200);
    rkt_window_add(&sum, &part);
    assert_int_equal(sum.parts.window_ns, 100);
    assert_int_equal(sum.compute_ns, 50);
    assert_int_equal(sum.copy_by_kind_ns[RKT_COPY_PART_HTOD], 50);
    assert_true(fabs(sum.compute_share - 0.5) < 1e-12);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instant_has_the_part_that_brute_force_gives_it),
        cmocka_unit_test(the_worked_example_of_a_partition),
        cmocka_unit_test(shares_of_nothing_are_not_numbers),
        cmocka_unit_test(records_without_length_count_and_take_no_time),
        cmocka_unit_test(time_outside_the_run_is_idle_for_unknown_reasons),
        cmocka_unit_test(windows_that_do_not_overlap_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
