/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of metrics.md, "Findings": windows and tables in, findings out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/finding.h"
#include "analysis/key_table.h"
#include "fake_run.h"
#include "rkt_test.h"

#define MS INT64_C(1000000)
#define STEPS INT64_C(4)

/* Steps of 100 ms on every rank, all computing, until a test says otherwise. */
static void make_run(struct fake_run *run, size_t rank_count)
{
    fake_run_init(run, rank_count);
    for (size_t r = 0; r < rank_count; r++) {
        run->result.ranks[r].step_source = RKT_STEPS_MARKS;
        run->traces[r].has_gpu = true;
        for (int64_t i = 0; i < STEPS; i++) {
            struct rkt_step_result *step =
                fake_add_step(run, r, (int64_t)i * 100 * MS, (int64_t)(i + 1) * 100 * MS);

            step->window.parts.window_ns = step->window.parts.compute_ns = 100 * MS;
        }
        run->result.ranks[r].run = (struct rkt_window){.end_ns = STEPS * 100 * MS};
        run->result.ranks[r].run.parts.window_ns = STEPS * 100 * MS;
    }
    run->result.summary.step_ns = 100 * MS;
    run->result.event_count = 100000;
    run->result.straggler.cause_detail = "";
}

/* So much of every step of a rank is not compute but this part of it. */
static void take(struct fake_run *run, size_t rank, size_t part_offset, int64_t part_ns)
{
    for (int64_t i = 0; i < STEPS; i++) {
        struct rkt_partition *parts = &run->result.ranks[rank].steps[i].window.parts;

        *(int64_t *)(void *)((char *)parts + part_offset) += part_ns;
        parts->compute_ns -= part_ns;
    }
}

#define TAKE(run, rank, part, ns) take(run, rank, offsetof(struct rkt_partition, part), ns)
#define HTOD copy_ns[RKT_COPY_PART_HTOD]
#define IDLE_HOST idle_ns[RKT_IDLE_HOST]
#define IDLE_SYNC idle_ns[RKT_IDLE_SYNC]

static const struct rkt_findings *find(struct fake_run *run)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_find_findings(&run->result, &run->arena, &err), err);
    return run->result.findings;
}

static const struct rkt_finding *find_id(const struct rkt_findings *findings, const char *id)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->items[i].id, id) == 0)
            return &findings->items[i];
    }
    return NULL;
}

static const struct rkt_finding *must_find(const struct rkt_findings *findings, const char *id)
{
    const struct rkt_finding *finding = find_id(findings, id);

    if (!finding)
        fail_msg("no finding %s", id);
    return finding;
}

/* ---- what a fix saves ---- */

static void a_run_that_computes_all_along_has_no_finding(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, 4);
    assert_int_equal(find(&run)->count, 0);
    fake_run_release(&run);
}

/*
 *     rank 0   G 100: C 5, P 10      left 85        saving <= 100 - 85 = 15
 *     rank 1   G 100: C 0, P 30      left 70        saving <= 30
 */
static void no_step_gets_shorter_than_what_a_rank_still_has_to_do(void **state)
{
    const struct rkt_finding *finding;
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    TAKE(&run, 0, comm_wait_ns, 5 * MS);
    TAKE(&run, 0, HTOD, 10 * MS);
    TAKE(&run, 1, HTOD, 30 * MS);
    finding = must_find(find(&run), "exposed_copies");
    assert_int_equal(finding->save_ns, 15 * MS);
    assert_int_equal(finding->loss_ns, 20 * MS);
    assert_true(fabs(finding->save_share - 0.15) < 1e-9);
    fake_run_release(&run);
}

static void no_fix_saves_more_than_the_largest_part(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    TAKE(&run, 0, comm_wait_ns, 50 * MS);
    TAKE(&run, 0, HTOD, 10 * MS);
    TAKE(&run, 1, comm_transfer_ns, 30 * MS);
    TAKE(&run, 1, HTOD, 30 * MS);
    assert_int_equal(must_find(find(&run), "exposed_copies")->save_ns, 30 * MS);
    fake_run_release(&run);
}

static void severity_follows_what_a_fix_saves(void **state)
{
    static const struct {
        int64_t part_ns;
        int severity; /* -1: none */
    } CASES[] = {{499999, -1},
                 {500000, RKT_SEVERITY_INFO},
                 {2999999, RKT_SEVERITY_INFO},
                 {3000000, RKT_SEVERITY_WARNING},
                 {9999999, RKT_SEVERITY_WARNING},
                 {10000000, RKT_SEVERITY_SERIOUS}};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_findings *findings;
        struct fake_run run;

        make_run(&run, 2);
        TAKE(&run, 0, IDLE_SYNC, CASES[i].part_ns);
        TAKE(&run, 1, IDLE_SYNC, CASES[i].part_ns);
        findings = find(&run);
        assert_int_equal(findings->count, CASES[i].severity >= 0);
        if (CASES[i].severity >= 0) {
            assert_int_equal(must_find(findings, "hidden_sync")->severity, CASES[i].severity);
            assert_int_equal(findings->count_by_severity[CASES[i].severity], 1);
        }
        fake_run_release(&run);
    }
}

static void worse_findings_come_first(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    make_run(&run, 1);
    TAKE(&run, 0, IDLE_SYNC, 4 * MS);
    TAKE(&run, 0, IDLE_HOST, 20 * MS);
    TAKE(&run, 0, HTOD, 30 * MS);
    findings = find(&run);
    assert_int_equal(findings->count, 3);
    assert_string_equal(findings->items[0].id, "exposed_copies");
    assert_string_equal(findings->items[1].id, "launch_gaps");
    assert_string_equal(findings->items[2].id, "hidden_sync");
    fake_run_release(&run);
}

static void warm_up_is_in_no_finding_but_its_own(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    make_run(&run, 1);
    run.result.ranks[0].steps[0].window.start_ns = -400 * MS; /* far longer than the others */
    run.result.ranks[0].steps[0].window.parts.IDLE_SYNC = 300 * MS;
    findings = find(&run);
    assert_int_equal(findings->count, 1);
    assert_non_null(strstr(must_find(findings, "warm_up")->what, "1 of 4 steps"));
    fake_run_release(&run);
}

/* Without steps the run is one: 400 ms, 20 of them in syncs. */
static void without_steps_the_run_is_one(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, 1);
    run.result.ranks[0].step_count = 0;
    run.result.ranks[0].step_source = RKT_STEPS_WINDOW;
    run.result.summary.step_ns = RKT_NA;
    run.result.ranks[0].run.parts.IDLE_SYNC = 20 * MS;
    assert_int_equal(must_find(find(&run), "hidden_sync")->save_ns, 20 * MS);
    fake_run_release(&run);
}

static void a_run_of_no_length_has_no_finding(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 3);
    findings = find(&run);
    assert_int_equal(findings->count, 0);
    for (size_t i = 0; i < RKT_CLASSIC_COUNT; i++) {
        assert_true(findings->causes[i].loss_ns == RKT_NA);
        assert_true(isnan(findings->causes[i].share));
    }
    fake_run_release(&run);
    fake_run_init(&run, 0);
    assert_int_equal(find(&run)->count, 0);
    fake_run_release(&run);
}

/* ---- stragglers ---- */

/* What the straggler has above the others is its own finding; what all have alike is theirs. */
static void a_stragglers_excess_is_counted_once(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    make_run(&run, 3);
    for (size_t r = 0; r < 3; r++) {
        TAKE(&run, r, IDLE_HOST, r == 1 ? 25 * MS : 5 * MS);
        TAKE(&run, r, comm_wait_ns, r == 1 ? 0 : 20 * MS);
    }
    run.result.straggler = (struct rkt_straggler){.is_found = true,
                                                  .rank = 1,
                                                  .step_count = 4,
                                                  .steps_in_all = 4,
                                                  .gain_ns = RKT_NA,
                                                  .excess_ns = 20 * MS,
                                                  .cause = RKT_CAUSE_HOST,
                                                  .cause_ns = 20 * MS,
                                                  .cause_detail = "save()"};
    findings = find(&run);
    assert_int_equal(must_find(findings, "straggler")->save_ns, 20 * MS);
    assert_non_null(strstr(must_find(findings, "straggler")->what, "Rank 1, in 4 of 4"));
    assert_non_null(strstr(must_find(findings, "straggler")->what, "host: save()"));
    assert_int_equal(must_find(findings, "launch_gaps")->save_ns, 5 * MS);
    assert_int_equal(findings->causes[RKT_CLASSIC_LAUNCH_GAPS].save_ns, 25 * MS);
    assert_null(find_id(findings, "imbalance"));
    run.result.straggler.gain_ns = 15 * MS; /* what the replay says */
    assert_int_equal(must_find(find(&run), "straggler")->save_ns, 15 * MS);
    assert_true(fabs(must_find(run.result.findings, "straggler")->save_share - 0.15) < 1e-9);
    fake_run_release(&run);
}

/* All wait in turn. */
static void waits_for_no_rank_in_particular_are_an_imbalance(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    TAKE(&run, 0, comm_wait_ns, 6 * MS);
    TAKE(&run, 1, comm_wait_ns, 8 * MS);
    assert_int_equal(must_find(find(&run), "imbalance")->save_ns, 6 * MS);
    assert_non_null(strstr(must_find(find(&run), "imbalance")->what,
                           "who comes last is not distinguishable in any collective"));
    run.result.last_arriver =
        (struct rkt_last_arriver){.rank = 1, .last_count = 3, .collective_count = 8};
    assert_non_null(strstr(must_find(find(&run), "imbalance")->what,
                           "the most frequent comes last to 3 of 8 collectives"));
    fake_run_release(&run);
}

/* ---- communication ---- */

static void communication_is_too_much_only_where_it_shows(void **state)
{
    static const struct {
        const char *what;
        int64_t transfer_ns; /* exposed */
        int64_t hidden_ns;
        int64_t wait_ns;
        int severity; /* -1: none */
    } CASES[] = {
        {"little of it", 300000, 10 * MS, 0, -1},
        {"some, not yet too much", 5 * MS, 10 * MS, 0, RKT_SEVERITY_INFO},
        {"exposed over 5 %", 5 * MS + 1, 90 * MS, 0, RKT_SEVERITY_WARNING},
        {"over 20 %, hidden", 300000, 40 * MS, 0, RKT_SEVERITY_INFO},
        {"over 20 %, 80 % hidden", 5 * MS, 20 * MS, 0, RKT_SEVERITY_INFO},
        {"exposed over 10 %", 12 * MS, 10 * MS, 0, RKT_SEVERITY_SERIOUS},
        {"waits are another's", 300000, 10 * MS, 30 * MS, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_finding *finding;
        struct fake_run run;

        make_run(&run, 2);
        for (size_t r = 0; r < 2; r++) {
            TAKE(&run, r, comm_transfer_ns, CASES[i].transfer_ns);
            TAKE(&run, r, overlapped_ns, CASES[i].hidden_ns);
            TAKE(&run, r, comm_wait_ns, CASES[i].wait_ns);
        }
        finding = find_id(find(&run), "communication");
        if ((finding ? (int)finding->severity : -1) != CASES[i].severity)
            fail_msg("%s: severity %d", CASES[i].what, finding ? (int)finding->severity : -1);
        fake_run_release(&run);
    }
}

/* Three communicators of two ranks: 1 ms, 1.1 ms and 5 ms for the same. */
static void a_link_is_slow_beside_its_like(void **state)
{
    static const int64_t TRANSFER_NS[] = {MS, MS + MS / 10, 5 * MS};
    struct rkt_participant parts[3][2];
    struct rkt_collective collectives[12] = {0};
    const struct rkt_finding *finding;
    struct fake_run run;

    (void)state;
    make_run(&run, 6);
    for (size_t i = 0; i < 12; i++) {
        size_t comm = i % 3;

        parts[comm][0] = (struct rkt_participant){.rank = (uint32_t)comm * 2};
        parts[comm][1] = (struct rkt_participant){.rank = (uint32_t)comm * 2 + 1};
        collectives[i] = (struct rkt_collective){.comm_id = 10 + comm,
                                                 .bytes = 1000000,
                                                 .func = RKT_NCCL_FUNC_ALLREDUCE,
                                                 .func_name = "AllReduce",
                                                 .participants = parts[comm],
                                                 .participant_count = 2,
                                                 .expected_count = 2,
                                                 .transfer_ns = TRANSFER_NS[comm],
                                                 .step = (uint32_t)i / 3};
    }
    run.result.collectives = collectives;
    run.result.collective_count = 12;
    finding = must_find(find(&run), "slow_link");
    assert_non_null(strstr(finding->what, "rank 4's communicator takes 5 ms, elsewhere 1 ms"));
    assert_int_equal(finding->save_ns, 4 * MS); /* one of them a step */
    for (size_t i = 0; i < 12; i++)
        collectives[i].bytes = 1000000 + i % 3; /* now they are not alike */
    assert_null(find_id(find(&run), "slow_link"));
    fake_run_release(&run);
}

/* ---- what the tables tell ---- */

static struct rkt_row copies[] = {
    {"HtoD", "pageable to device", 1 << 20, 0, {8, 80 * MS, 8 << 20, 80 * MS, 8, 8}, NULL},
};
static struct rkt_row streams[] = {
    {"main GPU", "stream 7", 0, 0, {500, 80 * MS, 0, 0, 0, 500, 10 * MS, 0, 1, 0, 0, 0, 460}, NULL},
};
static const struct rkt_tables COPY_TABLE = {.of = {[RKT_TABLE_COPIES] = {copies, 1}}};
static const struct rkt_tables STREAM_TABLE = {.of = {[RKT_TABLE_STREAMS] = {streams, 1}}};

static void check_copies(const char *name, int64_t waits, int64_t shared, const char *id,
                         const char *advice)
{
    const struct rkt_finding *finding;
    struct fake_run run;

    make_run(&run, 1);
    copies[0].name = name;
    copies[0].values[RKT_COPY_WAITS] = waits;
    copies[0].values[RKT_COPY_SHARED] = shared;
    run.result.tables = &COPY_TABLE;
    run.result.ranks[0].tables = &COPY_TABLE;
    TAKE(&run, 0, HTOD, 20 * MS);
    finding = must_find(find(&run), id);
    if (!strstr(finding->advice, advice))
        fail_msg("%s: advice is %s", name, finding->advice);
    assert_int_equal(run.result.findings->count, 1);
    fake_run_release(&run);
}

static void pinning_is_advised_only_for_pageable_memory(void **state)
{
    (void)state;
    check_copies("pageable to device", 8, 8, "exposed_copies", "pin_memory=True");
    check_copies("pinned to device", 8, 8, "exposed_copies", "non_blocking=True");
    check_copies("pinned to device", 0, 8, "one_stream", "stream of its own");
    check_copies("pinned to device", 0, 0, "exposed_copies", "prefetch");
}

static void launches_that_all_wait_are_a_setting(void **state)
{
    struct fake_run run;

    (void)state;
    make_run(&run, 1);
    run.result.tables = &STREAM_TABLE;
    assert_int_equal(must_find(find(&run), "launch_blocking")->severity, RKT_SEVERITY_WARNING);
    streams[0].values[RKT_STREAM_BLOCKING] = 440;
    assert_null(find_id(find(&run), "launch_blocking"));
    streams[0].values[RKT_STREAM_BLOCKING] = 460;
    fake_run_release(&run);
}

/* Columns of shapes: steps, shapes, changes. In 20 steps 2 changes are a tenth. */
static void shapes_that_change_are_said_of_operators_or_else_of_kernels(void **state)
{
    struct rkt_row kernels[] = {
        {"compute", "gemm", 0, 0, {20, 20 * MS, 0, 0, 0, 0, 0, 20, 3, 1}, NULL},
        {"compute", "add", 0, 0, {20, 80 * MS, 0, 0, 0, 0, 0, 20, 1, 0}, NULL},
        {"comm", "nccl", 0, 0, {20, 900 * MS, 0, 0, 0, 0, 0, 20, 9, 19}, NULL},
    };
    struct rkt_row operators[] = {
        {"operator", "aten::mm", 0, 0, {20, 0, 15 * MS, 0, 0, 0, 20, 12, 1}, NULL},
        {"operator", "aten::add", 0, 0, {20, 0, 85 * MS, 0, 0, 0, RKT_NA, RKT_NA, RKT_NA}, NULL},
    };
    struct rkt_tables tables = {
        .of = {[RKT_TABLE_KERNELS] = {kernels, 3}, [RKT_TABLE_OPERATORS] = {operators, 2}}};
    const struct rkt_finding *finding;
    struct fake_run run;

    (void)state;
    make_run(&run, 1);
    run.result.tables = &tables;
    assert_null(find_id(find(&run), "changing_shapes"));
    kernels[0].values[RKT_KERNEL_SHAPE_CHANGES] = 2;
    finding = must_find(find(&run), "changing_shapes");
    assert_int_equal(finding->severity, RKT_SEVERITY_INFO);
    assert_non_null(strstr(finding->what, "Kernels that hold 20% of"));
    assert_non_null(strstr(finding->what, "gemm has 3 in 20 steps"));
    operators[0].values[RKT_OPERATOR_SHAPE_CHANGES] = 2;
    finding = must_find(find(&run), "changing_shapes");
    assert_non_null(strstr(finding->what, "Operators that hold 15% of"));
    assert_non_null(strstr(finding->what, "kernels that hold 20% of"));
    assert_non_null(strstr(finding->what, "aten::mm has 12 in 20 steps"));
    operators[0].values[RKT_OPERATOR_SELF_HOST] = MS; /* hardly any of the time */
    finding = must_find(find(&run), "changing_shapes");
    assert_non_null(strstr(finding->what, "Kernels that"));
    fake_run_release(&run);
}

/* ---- the numbers' own limits ---- */

static void what_limits_the_numbers_is_said(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    run.result.loss_count = 10;
    run.result.ranks[1].bound_ns = 999999;
    run.traces[1].overhead_ns = 3 * MS;
    findings = find(&run);
    assert_int_equal(findings->count, 1);
    assert_int_equal(must_find(findings, "lost_records")->severity, RKT_SEVERITY_INFO);
    run.result.loss_count = 2000;
    run.result.ranks[1].bound_ns = 1000001; /* over 1 % of a step */
    run.traces[1].overhead_ns = 20 * MS;    /* 5 % of the run */
    findings = find(&run);
    assert_int_equal(findings->count_by_severity[RKT_SEVERITY_WARNING], 3);
    assert_int_equal(must_find(findings, "lost_records")->severity, RKT_SEVERITY_WARNING);
    assert_non_null(strstr(must_find(findings, "clock")->what, "may be off by 1 ms"));
    assert_non_null(strstr(must_find(findings, "capture_overhead")->what, "5.0%"));
    run.result.ranks[0].align_state = RKT_ALIGN_UNALIGNED;
    assert_non_null(strstr(must_find(find(&run), "clock")->what, "clocks of 1 ranks are not"));
    /* rings are of our own capture: what was wrong in another tool's file is in that file */
    run.traces[0].source.info.producer = RKT_PRODUCER_KINETO;
    assert_non_null(strstr(must_find(find(&run), "lost_records")->advice, "larger rings"));
    run.traces[1].source.info.producer = RKT_PRODUCER_KINETO;
    assert_non_null(strstr(must_find(find(&run), "lost_records")->advice, "merge --check FILE"));
    fake_run_release(&run);
}

/* Two hosts of two ranks. Rank 1 is late by 5 ms of 100; its host's two sidecars take 1 % and 2 %
 * of a core. */
static void what_slows_a_straggler_may_be_the_tracer(void **state)
{
    static const int64_t CPU_MS[] = {4, 8, 40, 40};
    const struct rkt_finding *finding;
    struct rkt_straggler *straggler;
    struct fake_run run;

    (void)state;
    make_run(&run, 4);
    straggler = &run.result.straggler;
    for (size_t r = 0; r < 4; r++) {
        run.traces[r].source.info.node = (uint32_t)r;
        (void)snprintf(run.traces[r].source.info.host, 16, "node%zu", r / 2);
        run.traces[r].sidecar_ns = 400 * MS;
        run.traces[r].sidecar_cpu_ns = CPU_MS[r] * MS;
    }
    assert_null(find_id(find(&run), "tracer_load")); /* nobody waits for it */
    straggler->is_found = true;
    straggler->rank = 1;
    straggler->cause = RKT_CAUSE_HOST;
    straggler->gain_ns = straggler->excess_ns = 5 * MS;
    finding = must_find(find(&run), "tracer_load");
    assert_non_null(strstr(finding->what, "node0, it took 3.0% of a core"));
    assert_int_equal(finding->save_ns, 3 * MS);
    assert_int_equal(finding->severity, RKT_SEVERITY_WARNING);
    straggler->gain_ns = 1 * MS;
    finding = must_find(find(&run), "tracer_load");
    assert_int_equal(finding->save_ns, 1 * MS);
    assert_int_equal(finding->severity, RKT_SEVERITY_INFO);
    straggler->cause = RKT_CAUSE_COMPUTE;
    assert_null(find_id(find(&run), "tracer_load"));
    straggler->cause = RKT_CAUSE_INPUT;
    run.traces[1].source.info.node = 0; /* one sidecar for both: 1 % */
    assert_null(find_id(find(&run), "tracer_load"));
    run.traces[0].sidecar_ns = 0; /* not recorded */
    assert_null(find_id(find(&run), "tracer_load"));
    fake_run_release(&run);
}

static void a_host_view_has_findings_of_its_own(void **state)
{
    const struct rkt_findings *findings;
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        run.traces[r].has_gpu = false;
        for (int64_t i = 0; i < STEPS; i++) {
            struct rkt_window *window = &run.result.ranks[r].steps[i].window;

            window->is_host_view = true;
            window->parts = (struct rkt_partition){0};
            window->host = (struct rkt_host_partition){.window_ns = 100 * MS,
                                                       .compute_ns = 70 * MS,
                                                       .comm_ns = 12 * MS,
                                                       .input_ns = 8 * MS,
                                                       .host_ns = 10 * MS};
        }
    }
    findings = find(&run);
    assert_int_equal(must_find(findings, "communication")->severity, RKT_SEVERITY_SERIOUS);
    assert_int_equal(must_find(findings, "input")->save_ns, 8 * MS);
    assert_int_equal(must_find(findings, "host_code")->save_ns, 10 * MS);
    assert_true(findings->causes[RKT_CLASSIC_COPIES].loss_ns == RKT_NA);
    fake_run_release(&run);
}

/* Held is 10: with 3 of it free that is said, with less it is not. */
static void memory_that_the_allocator_holds_for_nobody_is_info(void **state)
{
    struct rkt_allocator_use uses[] = {{.reserved_bytes = 10 << 20, .gap_bytes = 1 << 20},
                                       {.reserved_bytes = 10 << 20, .gap_bytes = 2 << 20}};
    const struct rkt_finding *finding;
    struct fake_run run;

    (void)state;
    make_run(&run, 2);
    assert_null(find_id(find(&run), "allocator_gap"));
    run.result.ranks[0].allocator = &uses[0];
    run.result.ranks[1].allocator = &uses[1];
    assert_null(find_id(find(&run), "allocator_gap"));
    uses[1].gap_bytes = 3 << 20;
    finding = find_id(find(&run), "allocator_gap");
    assert_non_null(finding);
    assert_int_equal(finding->severity, RKT_SEVERITY_INFO);
    assert_non_null(
        strstr(finding->what, "3.000 MiB that no tensor uses, of up to 10.00 MiB (rank 1)"));
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_computes_all_along_has_no_finding),
        cmocka_unit_test(no_step_gets_shorter_than_what_a_rank_still_has_to_do),
        cmocka_unit_test(no_fix_saves_more_than_the_largest_part),
        cmocka_unit_test(severity_follows_what_a_fix_saves),
        cmocka_unit_test(worse_findings_come_first),
        cmocka_unit_test(warm_up_is_in_no_finding_but_its_own),
        cmocka_unit_test(without_steps_the_run_is_one),
        cmocka_unit_test(a_run_of_no_length_has_no_finding),
        cmocka_unit_test(a_stragglers_excess_is_counted_once),
        cmocka_unit_test(waits_for_no_rank_in_particular_are_an_imbalance),
        cmocka_unit_test(communication_is_too_much_only_where_it_shows),
        cmocka_unit_test(a_link_is_slow_beside_its_like),
        cmocka_unit_test(pinning_is_advised_only_for_pageable_memory),
        cmocka_unit_test(launches_that_all_wait_are_a_setting),
        cmocka_unit_test(shapes_that_change_are_said_of_operators_or_else_of_kernels),
        cmocka_unit_test(what_limits_the_numbers_is_said),
        cmocka_unit_test(what_slows_a_straggler_may_be_the_tracer),
        cmocka_unit_test(a_host_view_has_findings_of_its_own),
        cmocka_unit_test(memory_that_the_allocator_holds_for_nobody_is_info),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
