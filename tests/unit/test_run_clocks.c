/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two nodes, the second's clock measured well, badly, or not at all: what a timeline's analysis,
 * its report and an export of it say of that. All stamps are right, so that whoever took them for
 * aligned would show it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/export/chrome.h"
#include "analysis/report/report.h"
#include "common/clock.h"
#include "tests/unit/bad_clocks.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/store_maker.h"

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define AHEAD_NS (100 * S) /* rank 1's clock, of true time and of rank 0's */
#define OPS 30u
#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
#define KEEP_BYTES ((uint64_t)64 << 20)

struct run {
    struct store_maker maker;
    struct rkt_analysis *analysis;
    const struct rkt_result *result;
};

/* Node 0 has rank 0, the other all further ones. A kernel every 5 s, all of which end at once; each
 * rank begins its own 1 ms behind the rank before. */
static void add_rank(struct run *run, uint32_t rank, const char *kernel)
{
    uint64_t ahead_ns = rank > 0 ? AHEAD_NS : 0;
    uint32_t source =
        store_add_source(&run->maker, (struct rkt_source_info){.producer = RKT_PRODUCER_CAPTURE,
                                                               .role = RKT_ROLE_RANK,
                                                               .gpu_clock = RKT_CLOCK_MONOTONIC_RAW,
                                                               .rank_known = true,
                                                               .rank = rank,
                                                               .node = rank > 0,
                                                               .world_size = 3,
                                                               .pid = 100 + rank});
    uint32_t name = store_name(&run->maker, source, kernel);

    for (uint64_t k = 0; k < OPS; k++) {
        uint64_t first_ns = (20 + 5 * k) * S + ahead_ns;

        store_add(&run->maker, source,
                  (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                                     .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                     .name_id = name,
                                     .start_ns = first_ns + rank * MS,
                                     .end_ns = first_ns + 9 * MS,
                                     .kernel = {.stream_id = 7}});
    }
    store_end(&run->maker, source, (struct rkt_end_info){.reason = RKT_END_EXITED});
}

static void add_sidecars(struct run *run)
{
    store_maker_init(&run->maker, RKT_PRODUCER_CAPTURE);
    for (uint32_t node = 0; node < 2; node++) {
        struct rkt_source_info info = {
            .producer = RKT_PRODUCER_CAPTURE, .role = RKT_ROLE_SIDECAR, .node = node};

        (void)snprintf(info.boot_id, sizeof(info.boot_id), "boot %u", node);
        (void)snprintf(info.host, sizeof(info.host), "host%u", node);
        (void)store_add_source(&run->maker, info);
    }
}

/* As a run that was cut leaves it: whoever reads it aligns it by what its sidecars recorded. */
static void analyse(struct run *run, size_t rank_count)
{
    static const struct rkt_analysis_options OPTIONS = {.keep_bytes = KEEP_BYTES};
    struct rkt_error err;

    assert_rkt_ok(rkt_analysis_create(store_open(&run->maker), &OPTIONS, &run->analysis, &err),
                  err);
    run->result = rkt_analysis_result(run->analysis);
    assert_int_equal(run->result->rank_count, rank_count);
    assert_int_equal(run->result->collective_count, OPS);
}

static void make_bad_run(struct run *run, const struct bad_clock *bad)
{
    add_sidecars(run);
    for (size_t k = 0; k < bad->count; k++) {
        struct rkt_event exchange = bad_clock_exchange(k, AHEAD_NS, 0, 0);

        bad->spoil(&exchange, k);
        store_add(&run->maker, 1, exchange);
    }
    add_rank(run, 0, ALL_REDUCE);
    add_rank(run, 1, ALL_REDUCE);
    analyse(run, 2);
}

static void release_run(struct run *run)
{
    rkt_analysis_destroy(run->analysis);
    store_maker_release(&run->maker);
}

static void check_has(const struct bad_clock *bad, char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("%s: no '%s' in: %s", bad->what, what, text);
    free(text);
}

typedef enum rkt_status (*write_fn)(const struct rkt_result *result, FILE *out,
                                    struct rkt_error *err);

static enum rkt_status write_text(const struct rkt_result *result, FILE *out, struct rkt_error *err)
{
    return RKT_REPORT_FORMATS[0].write(result, NULL, out, err);
}

static enum rkt_status write_json(const struct rkt_result *result, FILE *out, struct rkt_error *err)
{
    return RKT_REPORT_FORMATS[1].write(result, NULL, out, err);
}

static char *written(const struct run *run, write_fn write)
{
    char *text = NULL;
    size_t len_bytes = 0;
    FILE *out = open_memstream(&text, &len_bytes);
    struct rkt_error err;

    assert_non_null(out);
    assert_rkt_ok(write(run->result, out, &err), err);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* No number compares the clocks, and nothing is drawn on one axis. */
static void check_unaligned(const struct run *run, const struct bad_clock *bad)
{
    const struct rkt_rank_result *rank = &run->result->ranks[1];

    assert_int_equal(rank->bound_ns, -1);
    assert_int_equal(run->result->clock.gap_ns, RKT_NA);
    assert_int_equal(run->result->clock.clocked_count, 0);
    assert_int_equal(run->result->clock_check.checked_count, 0);
    for (size_t c = 0; c < OPS; c++) {
        const struct rkt_collective *collective = &run->result->collectives[c];

        if (collective->is_clocked || collective->start_spread_ns != RKT_NA ||
            collective->end_spread_ns != RKT_NA || collective->clock_gap_ns != RKT_NA ||
            collective->participants[0].wait_ns != RKT_NA ||
            collective->participants[0].clock_free_wait_ns != (int64_t)MS)
            fail_msg("%s: collective %zu is told by clocks", bad->what, c);
    }
    check_has(bad, written(run, write_text),
              "clock: rank 1 is not aligned; between ranks only durations are compared");
    check_has(bad, written(run, write_json), "\"align_state\": \"unaligned\"");
    check_has(bad, written(run, rkt_export_chrome),
              "clock not aligned: shown from its own first event");
}

/* A bound that the truth does not leave: rank 1 came 1 ms later, and they left at once. */
static void check_measured(const struct run *run, const struct bad_clock *bad)
{
    const struct rkt_rank_result *rank = &run->result->ranks[1];

    assert_true(rank->bound_ns >= 8000);
    for (size_t c = 0; c < OPS; c++) {
        const struct rkt_collective *collective = &run->result->collectives[c];

        if (llabs(collective->start_spread_ns - (int64_t)MS) > rank->bound_ns ||
            collective->end_spread_ns > rank->bound_ns || collective->clock_gap_ns < 8000)
            fail_msg("%s: collective %zu is off by more than the bound", bad->what, c);
    }
    assert_int_equal(run->result->clock_check.proven.count, 0);
    check_has(bad, written(run, write_json), "\"align_state\": \"measured\"");
    check_has(bad, written(run, rkt_export_chrome), "\"clock: measured, +- ");
}

static void a_clock_that_is_not_known_is_told_and_shown_as_such(void **state)
{
    (void)state;
    for (size_t i = 0; i < BAD_CLOCK_COUNT; i++) {
        const struct bad_clock *bad = &bad_clocks[i];
        struct run run = {0};

        make_bad_run(&run, bad);
        if (run.result->ranks[0].align_state != RKT_ALIGN_REFERENCE ||
            run.result->ranks[1].align_state != bad->state ||
            run.result->ranks[1].align_flags != bad->flags)
            fail_msg("%s: state %d, flags %u", bad->what, run.result->ranks[1].align_state,
                     run.result->ranks[1].align_flags);
        if (bad->state == RKT_ALIGN_UNALIGNED)
            check_unaligned(&run, bad);
        else
            check_measured(&run, bad);
        release_run(&run);
    }
}

/* By the clock of their host, of which nobody has to know how far it is off from the
 * reference's. */
static void ranks_of_one_host_are_told_apart_by_its_clock(void **state)
{
    struct run run = {0};

    (void)state;
    add_sidecars(&run);
    for (size_t k = 0; k < BAD_CLOCK_BURSTS; k++)
        store_add(&run.maker, 1, bad_clock_exchange(k, AHEAD_NS, 0, 0));
    add_rank(&run, 0, "gemm");
    add_rank(&run, 1, ALL_REDUCE);
    add_rank(&run, 2, ALL_REDUCE);
    analyse(&run, 3);
    for (uint32_t r = 1; r < 3; r++) {
        assert_int_equal(run.result->ranks[r].align_state, RKT_ALIGN_MEASURED);
        assert_true(run.result->ranks[r].bound_ns >= 8000);
        assert_int_equal(run.result->ranks[r].own_bound_ns, 0);
    }
    for (size_t c = 0; c < OPS; c++) {
        const struct rkt_collective *collective = &run.result->collectives[c];

        assert_int_equal(collective->participant_count, 2);
        assert_int_equal(collective->clock_gap_ns, 0);
        assert_int_equal(collective->start_spread_ns, MS);
        assert_int_equal(collective->end_spread_ns, 0);
        assert_true(collective->is_clocked && collective->last_is_distinguishable);
        assert_int_equal(collective->last_rank, 2);
    }
    assert_true(run.result->clock.gap_ns >= 8000); /* with rank 0 */
    release_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_host_are_told_apart_by_its_clock),
        cmocka_unit_test(a_clock_that_is_not_known_is_told_and_shown_as_such),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
