/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/clock_gap.h"

#include "fake_run.h"
#include "rkt_test.h"

#define COMM 0xc0ffeeu

/* Two ranks: starts 0 and 1000, and ends as given; whose second clock has that bound. */
static void match(struct fake_run *run, enum rkt_nccl_func func, int64_t bound_ns,
                  int64_t end_spread_ns)
{
    struct fake_op op = {.comm_id = COMM, .count = 8, .peer = 0, .func = func};

    fake_run_init(run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(run, r, COMM, (int32_t)r, 2);
        fake_add_collective(run, r, op, r == 1 ? 1000 : 0, r == 1 ? 3000 + end_spread_ns : 3000);
    }
    run->result.ranks[1].bound_ns = bound_ns;
    fake_match(run);
    rkt_summarise_clocks(&run->result);
}

static void a_difference_that_is_not_above_the_gap_is_not_told(void **state)
{
    (void)state;
    assert_false(rkt_clock_gap_tells(10, 10));
    assert_true(rkt_clock_gap_tells(11, 10));
    assert_false(rkt_clock_gap_tells(-10, 10));
    assert_true(rkt_clock_gap_tells(-11, 10));
    assert_false(rkt_clock_gap_tells(1 << 30, RKT_NA)); /* nobody knows what the clocks are off */
    assert_false(rkt_clock_gap_tells(RKT_NA, 10));
    assert_true(rkt_clock_gap_blurs(10, 10));
    assert_true(rkt_clock_gap_blurs(10, RKT_NA));
    assert_false(rkt_clock_gap_blurs(11, 10));
    assert_false(rkt_clock_gap_blurs(0, 0));       /* on one clock none is none */
    assert_false(rkt_clock_gap_blurs(RKT_NA, 10)); /* there is nothing to blur */
}

static void the_gap_of_two_ranks_is_both_bounds_together(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    run.result.ranks[1].bound_ns = 300;
    run.result.ranks[2].bound_ns = 50;
    run.result.ranks[3].bound_ns = -1;
    assert_int_equal(rkt_clock_gap_ns(&run.result, 1, 2), 350);
    assert_int_equal(rkt_clock_gap_ns(&run.result, 0, 1), 300);
    assert_int_equal(rkt_clock_gap_ns(&run.result, 1, 1), 0);
    assert_true(rkt_clock_gap_ns(&run.result, 0, 3) == RKT_NA);
    run.result.ranks[2].bound_ns = INT64_MAX;
    assert_true(rkt_clock_gap_ns(&run.result, 1, 2) == INT64_MAX);
    fake_run_release(&run);
}

static void of_the_two_waits_the_one_that_is_off_by_less_counts(void **state)
{
    static const struct {
        const char *what;
        enum rkt_nccl_func func;
        int64_t bound_ns, end_spread_ns, want_ns; /* of rank 0; its clocked wait is 1000 */
    } CASES[] = {
        {"one clock", RKT_NCCL_FUNC_ALLREDUCE, 0, 60, 1000},
        {"ends known to be as far apart as clocks are off", RKT_NCCL_FUNC_ALLREDUCE, 30, 60, 1000},
        {"ends that may be nearer than that", RKT_NCCL_FUNC_ALLREDUCE, 31, 60, 940},
        {"no bound", RKT_NCCL_FUNC_ALLREDUCE, -1, 60, 940},
        {"who waits for whom, no bound", RKT_NCCL_FUNC_BROADCAST, -1, 60, 940},
        {"who waits for whom, the transfer longer than the gap", RKT_NCCL_FUNC_BROADCAST, 2000, 60,
         0},
        {"who waits for whom, the gap longer", RKT_NCCL_FUNC_BROADCAST, 2061, 60, 940},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_collective *collective;
        struct fake_run run;
        int64_t wait_ns;

        match(&run, CASES[i].func, CASES[i].bound_ns, CASES[i].end_spread_ns);
        collective = &run.result.collectives[0];
        wait_ns = rkt_clock_gap_wait_ns(collective, &collective->participants[0]);
        if (wait_ns != CASES[i].want_ns)
            fail_msg("%s: the wait is %lld", CASES[i].what, (long long)wait_ns);
        fake_run_release(&run);
    }
}

static void a_run_says_what_its_clocks_may_be_off(void **state)
{
    struct fake_run run;

    (void)state;
    match(&run, RKT_NCCL_FUNC_ALLREDUCE, 30, 60);
    assert_int_equal(run.result.collectives[0].clock_gap_ns, 30);
    assert_int_equal(run.result.clock.gap_ns, 30);
    assert_int_equal(run.result.clock.clocked_count, 1);
    assert_int_equal(run.result.clock.wait_gap_ns, 30);
    fake_run_release(&run);

    match(&run, RKT_NCCL_FUNC_ALLREDUCE, 31, 60);
    assert_int_equal(run.result.clock.gap_ns, 31);
    assert_int_equal(run.result.clock.clocked_count, 0);
    assert_int_equal(run.result.clock.wait_gap_ns, 0); /* no wait rests on it */
    fake_run_release(&run);

    match(&run, RKT_NCCL_FUNC_ALLREDUCE, -1, 60);
    assert_true(run.result.clock.gap_ns == RKT_NA);
    assert_true(run.result.collectives[0].clock_gap_ns == RKT_NA);
    fake_run_release(&run);
}

static void a_last_rank_that_does_not_lead_by_the_gap_is_blurred(void **state)
{
    struct fake_run run;

    (void)state;
    match(&run, RKT_NCCL_FUNC_ALLREDUCE, 999, 0);
    assert_true(run.result.collectives[0].last_is_distinguishable);
    assert_false(rkt_clock_gap_blurs_last(&run.result.collectives[0]));
    fake_run_release(&run);

    match(&run, RKT_NCCL_FUNC_ALLREDUCE, 1000, 0);
    assert_false(run.result.collectives[0].last_is_distinguishable);
    assert_true(rkt_clock_gap_blurs_last(&run.result.collectives[0]));
    run.result.collectives[0].expected_count = 3; /* who is not here may be the last */
    assert_false(rkt_clock_gap_blurs_last(&run.result.collectives[0]));
    fake_run_release(&run);
}

/* What a clock is off from the reference's is the same for all that read it. */
static void the_gap_of_two_ranks_of_one_clock_is_that_of_their_mapping(void **state)
{
    static const uint32_t CLOCKS[] = {0, 1, 1, 3};
    static const int64_t BOUNDS[] = {0, 9000, 9100, 9200}, OWN[] = {0, 40, 50, 60};
    static const struct {
        size_t first, last;
        int64_t gap_ns;
    } CASES[] = {{1, 2, 90}, {0, 2, 9100}, {1, 3, 18300}, {0, 3, 18300}, {2, 3, 18300}};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 4);
    run.result.clocks = CLOCKS;
    for (size_t r = 0; r < 4; r++) {
        run.result.ranks[r].bound_ns = BOUNDS[r];
        run.result.ranks[r].own_bound_ns = OWN[r];
    }
    assert_int_equal(rkt_clock_gap_ns(&run.result, 1, 2), 90);
    assert_int_equal(rkt_clock_gap_ns(&run.result, 2, 1), 90);
    assert_int_equal(rkt_clock_gap_ns(&run.result, 1, 3), 18200);
    assert_int_equal(rkt_clock_gap_ns(&run.result, 0, 1), 9000);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_participant parts[4];
        struct rkt_collective collective = {.participants = parts};

        for (size_t r = CASES[i].first; r <= CASES[i].last; r++)
            parts[collective.participant_count++] = (struct rkt_participant){.rank = (uint32_t)r};
        rkt_clock_gap_judge(&run.result, &collective);
        assert_int_equal(collective.clock_gap_ns, CASES[i].gap_ns);
    }
    rkt_summarise_clocks(&run.result);
    assert_int_equal(run.result.clock.gap_ns, 18300);
    run.result.ranks[2].bound_ns = run.result.ranks[2].own_bound_ns = -1;
    assert_true(rkt_clock_gap_ns(&run.result, 1, 2) == RKT_NA);
    fake_run_release(&run);
}

static void ranks_of_one_host_read_one_clock(void **state)
{
    static const struct rkt_align_knot ONE[] = {{5, 70, 9, 9}, {90, 71, 9, 9}};
    static const struct rkt_align_knot SAME[] = {{5, 70, 9, 9}, {90, 71, 9, 9}};
    static const struct rkt_align_knot OTHER[] = {{5, 70, 9, 9}, {90, 72, 9, 9}};
    static const struct {
        const char *what;
        enum rkt_align_state align_state;
        const struct rkt_align_knot *knots;
        uint32_t node; /* its sidecar */
        uint32_t clock;
    } RANKS[] = {
        {"the reference", RKT_ALIGN_REFERENCE, NULL, 0, 0},
        {"measured", RKT_ALIGN_MEASURED, ONE, 1, 1},
        {"measured otherwise", RKT_ALIGN_MEASURED, OTHER, 2, 2},
        {"a sidecar that measured nothing itself", RKT_ALIGN_MEASURED, SAME, 3, 1},
        {"on the reference's host", RKT_ALIGN_SAME_HOST, NULL, 4, 0},
        {"not aligned", RKT_ALIGN_UNALIGNED, NULL, 5, 5},
        {"another that is not", RKT_ALIGN_UNALIGNED, NULL, 6, 6},
        {"with the sidecar of one that is not", RKT_ALIGN_UNALIGNED, NULL, 5, 5},
        {"imported", RKT_ALIGN_REFERENCE, NULL, 0, 8},
        {"imported, too", RKT_ALIGN_SAME_HOST, NULL, 0, 9},
    };
    struct fake_run run;
    struct rkt_error err;

    (void)state;
    fake_run_init(&run, sizeof(RANKS) / sizeof(RANKS[0]));
    for (size_t r = 0; r < run.result.rank_count; r++) {
        struct rkt_store_source *source = &run.traces[r].source;

        run.result.ranks[r].align_state = RANKS[r].align_state;
        source->info.producer = r < 8 ? RKT_PRODUCER_CAPTURE : RKT_PRODUCER_KINETO;
        source->info.node = RANKS[r].node;
        source->align = (struct rkt_align_info){.state = (uint8_t)RANKS[r].align_state,
                                                .knots = RANKS[r].knots,
                                                .knot_count = RANKS[r].knots ? 2 : 0};
    }
    assert_rkt_ok(rkt_clock_gap_find_clocks(&run.result, &run.arena, &err), err);
    for (size_t r = 0; r < run.result.rank_count; r++) {
        if (run.result.clocks[r] != RANKS[r].clock)
            fail_msg("%s: clock %u, not %u", RANKS[r].what, run.result.clocks[r], RANKS[r].clock);
    }
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_that_is_not_above_the_gap_is_not_told),
        cmocka_unit_test(the_gap_of_two_ranks_is_both_bounds_together),
        cmocka_unit_test(the_gap_of_two_ranks_of_one_clock_is_that_of_their_mapping),
        cmocka_unit_test(ranks_of_one_host_read_one_clock),
        cmocka_unit_test(of_the_two_waits_the_one_that_is_off_by_less_counts),
        cmocka_unit_test(a_run_says_what_its_clocks_may_be_off),
        cmocka_unit_test(a_last_rank_that_does_not_lead_by_the_gap_is_blurred),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
