/* SPDX-License-Identifier: Apache-2.0 */
/* A rank whose clock is off is found by collectives that cannot have been as they are stamped. */
#include "tests/unit/rkt_test.h"

#include "analysis/clock_check.h"
#include "common/event.h"

#define RANKS 8u
#define OPS 60u
#define US INT64_C(1000)
#define TAIL_NS (15 * US)

struct fixture {
    struct rkt_rank_result ranks[RANKS];
    struct rkt_participant parts[OPS][RANKS];
    struct rkt_collective ops[OPS];
    struct rkt_result result;
};

/* All end 15 us after the last one began, which is another rank each time. */
static void make(struct fixture *f, uint8_t func, int64_t bound_ns)
{
    *f = (struct fixture){.result = {.ranks = f->ranks,
                                     .rank_count = RANKS,
                                     .collectives = f->ops,
                                     .collective_count = OPS}};
    for (uint32_t r = 0; r < RANKS; r++)
        f->ranks[r].bound_ns = bound_ns;
    for (uint32_t i = 0; i < OPS; i++) {
        f->ops[i] = (struct rkt_collective){
            .func = func, .participants = f->parts[i], .participant_count = RANKS};
        for (uint32_t r = 0; r < RANKS; r++)
            f->parts[i][r] = (struct rkt_participant){
                .rank = r,
                .job_start_ns = (int64_t)i * 1000000 - (r == i % RANKS ? 0 : 300 + 7 * (int64_t)r),
                .job_end_ns = (int64_t)i * 1000000 + TAIL_NS};
    }
}

static void shift(struct fixture *f, uint32_t rank, int64_t off_ns)
{
    for (uint32_t i = 0; i < OPS; i++) {
        f->parts[i][rank].job_start_ns += off_ns;
        f->parts[i][rank].job_end_ns += off_ns;
    }
}

/* The likely bound of all at all times. */
static void expect(struct fixture *f, int64_t likely_ns)
{
    for (uint32_t i = 0; i < OPS; i++) {
        for (uint32_t r = 0; r < RANKS; r++)
            f->parts[i][r].likely_ns = (uint32_t)likely_ns;
    }
}

static struct rkt_clock_check check(const struct fixture *f)
{
    struct rkt_clock_check check;
    struct rkt_error err;

    assert_rkt_ok(rkt_check_clocks(&f->result, &check, &err), err);
    return check;
}

static void a_rank_is_named_whose_clock_is_off_by_more_than_the_tail(void **state)
{
    static const struct {
        const char *what;
        int64_t off_ns;
        bool is_seen;
    } CASES[] = {
        {"right", 0, false},
        {"10 us ahead: below the tail", 10 * US, false},
        {"10 us behind: likewise", -10 * US, false},
        {"20 us ahead", 20 * US, true},
        {"20 us behind", -20 * US, true},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        struct rkt_clock_check got;
        struct fixture f;

        make(&f, RKT_NCCL_FUNC_ALLREDUCE, 1 * US);
        shift(&f, 5, CASES[c].off_ns);
        got = check(&f);
        assert_int_equal(got.checked_count, OPS);
        if ((got.proven.count > 0) != CASES[c].is_seen ||
            (got.proven.rank == 5) != CASES[c].is_seen || got.proven.rank_count != got.proven.count)
            fail_msg("%s: %zu broken, rank %u", CASES[c].what, got.proven.count, got.proven.rank);
    }
}

static void what_the_bounds_of_the_two_ranks_explain_is_no_proof(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLTOALL, 2 * US);
    shift(&f, 5, TAIL_NS + 4 * US);
    assert_int_equal(check(&f).proven.count, 0);
    shift(&f, 5, 1);
    assert_true(check(&f).proven.count > 0);
    f.ranks[5].bound_ns = 3 * US;
    assert_int_equal(check(&f).proven.count, 0);
}

static void two_ranks_alone_are_both_suspect(void **state)
{
    struct fixture f;
    struct rkt_clock_check got;

    (void)state;
    make(&f, RKT_NCCL_FUNC_BARRIER, 0);
    for (uint32_t i = 0; i < OPS; i++)
        f.ops[i].participant_count = 2;
    shift(&f, 1, 40 * US);
    got = check(&f);
    assert_int_equal(got.proven.count, OPS);
    assert_int_equal(got.proven.rank, RKT_INDEX_NONE);
}

static void what_does_not_depend_on_all_proves_nothing(void **state)
{
    static const uint8_t FUNCS[] = {RKT_NCCL_FUNC_UNKNOWN,  RKT_NCCL_FUNC_BROADCAST,
                                    RKT_NCCL_FUNC_REDUCE,   RKT_NCCL_FUNC_GATHER,
                                    RKT_NCCL_FUNC_SCATTER,  RKT_NCCL_FUNC_SEND,
                                    RKT_NCCL_FUNC_SENDRECV, RKT_NCCL_FUNC_RECV};
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < sizeof(FUNCS); i++) {
        make(&f, FUNCS[i], 0);
        shift(&f, 3, 90 * US);
        assert_int_equal(check(&f).checked_count, 0);
        assert_int_equal(check(&f).proven.count, 0);
    }
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 0);
    shift(&f, 3, 90 * US);
    for (uint32_t i = 0; i < OPS; i++)
        f.ops[i].start_spread_ns = RKT_NA; /* clocks without a relation */
    assert_int_equal(check(&f).proven.count, 0);
}

/* Guaranteed are 10 us each, so that 20 us are no proof at a tail of 15; likely are fewer. */
static void an_error_within_the_guaranteed_bounds_is_likely_where_it_is_beyond_the_likely(
    void **state)
{
    static const struct {
        const char *what;
        int64_t off_ns;
        int64_t likely_ns;
        bool is_seen;
    } CASES[] = {
        {"right", 0, 1 * US, false},
        {"14 us ahead: below the tail", 14 * US, 1 * US, false},
        {"20 us ahead", 20 * US, 1 * US, true},
        {"20 us behind", -20 * US, 1 * US, true},
        /* 5 beyond the tail: own 4.5 and those of seven others, 4.5 / sqrt(7), are 4.81 */
        {"20 us ahead, 4.5 likely", 20 * US, 4500, true},
        {"20 us ahead, 4.8 likely: 5.1 together", 20 * US, 4800, false},
    };

    (void)state;
    for (size_t c = 0; c < sizeof(CASES) / sizeof(CASES[0]); c++) {
        struct rkt_clock_check got;
        struct fixture f;

        make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
        expect(&f, CASES[c].likely_ns);
        shift(&f, 5, CASES[c].off_ns);
        got = check(&f);
        assert_int_equal(got.proven.count, 0);
        assert_int_equal(got.judged_count, OPS);
        if ((got.likely.count > 0) != CASES[c].is_seen ||
            (got.likely.rank == 5) != CASES[c].is_seen)
            fail_msg("%s: %zu broken, rank %u", CASES[c].what, got.likely.count, got.likely.rank);
        if (CASES[c].is_seen &&
            (got.off_low_ns > CASES[c].off_ns || got.off_high_ns < CASES[c].off_ns ||
             got.off_high_ns - got.off_low_ns > 2 * TAIL_NS + 10 * US))
            fail_msg("%s: ahead by %lld to %lld ns", CASES[c].what, (long long)got.off_low_ns,
                     (long long)got.off_high_ns);
    }
}

/* Ends are 15 us behind the last start; likely bounds are 3 and 4 us in one, 20 in all others. */
static void the_floor_is_the_shortest_tail_and_both_likely_bounds(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
    expect(&f, 20 * US);
    f.ops[0].participant_count = 2;
    f.parts[0][0].likely_ns = 3 * US;
    f.parts[0][1].likely_ns = 4 * US;
    assert_int_equal(check(&f).floor_ns, TAIL_NS + 7 * US);
    for (uint32_t i = 0; i < OPS; i++)
        f.ops[i].start_spread_ns = RKT_NA;
    assert_int_equal(check(&f).floor_ns, RKT_NA);
}

/* All against the reference, whose own bound is 0: their errors may be one. */
static void the_reference_is_not_outvoted(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
    expect(&f, 6 * US);
    for (uint32_t i = 0; i < OPS; i++)
        f.parts[i][0].likely_ns = 0;
    shift(&f, 0, TAIL_NS + 5 * US);
    assert_int_equal(check(&f).likely.count, 0);
    shift(&f, 0, 2 * US);
    assert_int_equal(check(&f).likely.rank, 0);
}

/* Seven ranks of one node are one clock, not seven witnesses. */
static void ranks_that_read_one_clock_are_one(void **state)
{
    uint32_t clocks[RANKS];
    struct rkt_clock_check got;
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
    expect(&f, 4500);
    f.result.clocks = clocks;
    for (uint32_t r = 0; r < RANKS; r++)
        clocks[r] = r == 5 ? 5 : 0;
    shift(&f, 5, 20 * US);
    assert_int_equal(check(&f).likely.count, 0); /* 4.5 twice are 6.4 */
    shift(&f, 5, 2 * US);
    got = check(&f);
    assert_true(got.likely.count > 0);

    /* Two of one node, both off: its clock is named once, by its lowest rank. */
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
    expect(&f, 1 * US);
    f.result.clocks = clocks;
    for (uint32_t r = 0; r < RANKS; r++)
        clocks[r] = r / 2 * 2;
    shift(&f, 4, 20 * US);
    shift(&f, 5, 20 * US);
    got = check(&f);
    assert_int_equal(got.likely.rank, 4);
    assert_in_range(got.off_low_ns, 2 * US, 20 * US);
    assert_in_range(got.off_high_ns, 20 * US, 50 * US);
}

static void a_clock_without_a_likely_bound_is_not_judged(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, -1);
    for (uint32_t r = 0; r < RANKS; r++)
        f.ranks[r].likely_ns = r == 2 ? -1 : 0;
    for (uint32_t i = 0; i < OPS; i++) {
        for (uint32_t r = 0; r < RANKS; r++)
            f.parts[i][r].likely_ns = RKT_LIKELY_UNKNOWN;
    }
    shift(&f, 5, 20 * US);
    assert_int_equal(check(&f).judged_count, 0);
    assert_int_equal(check(&f).proven.rank, 5);
    f.ranks[2].likely_ns = 0;
    assert_int_equal(check(&f).judged_count, OPS);
    for (uint32_t i = 0; i < OPS; i++)
        f.ops[i].confidence = RKT_MATCH_WEAK;
    assert_int_equal(check(&f).judged_count, OPS);
    f.result.unmatched_count = 1;
    assert_int_equal(check(&f).judged_count, 0);
}

/* What is said: a proof is an error, what is likely a warning that says by how much. */
static void each_grade_has_its_note(void **state)
{
    struct rkt_arena arena;
    struct rkt_error err;
    struct fixture f;

    (void)state;
    rkt_arena_init(&arena, 1 << 20);
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 10 * US);
    expect(&f, 1 * US);
    for (uint32_t r = 0; r < RANKS; r++)
        f.ranks[r].rank = r;
    shift(&f, 5, -20 * US);
    f.result.clock_check = check(&f);
    assert_rkt_ok(rkt_note_clock_check(&f.result, &arena, &err), err);
    assert_int_equal(f.result.note_count, 1);
    assert_int_equal(f.result.notes[0].level, 1);
    assert_non_null(strstr(f.result.notes[0].text, "that of rank 5 (in "));
    assert_non_null(strstr(f.result.notes[0].text, "likely behind by "));
    shift(&f, 5, -40 * US);
    f.result.clock_check = check(&f);
    assert_rkt_ok(rkt_note_clock_check(&f.result, &arena, &err), err);
    assert_int_equal(f.result.note_count, 3);
    assert_int_equal(f.result.notes[1].level, 2);
    assert_string_equal(rkt_note_level_name(f.result.notes[1].level), "error");
    assert_non_null(strstr(f.result.notes[1].text, "; rank 5 is suspect in "));
    rkt_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_named_whose_clock_is_off_by_more_than_the_tail),
        cmocka_unit_test(what_the_bounds_of_the_two_ranks_explain_is_no_proof),
        cmocka_unit_test(two_ranks_alone_are_both_suspect),
        cmocka_unit_test(what_does_not_depend_on_all_proves_nothing),
        cmocka_unit_test(
            an_error_within_the_guaranteed_bounds_is_likely_where_it_is_beyond_the_likely),
        cmocka_unit_test(the_floor_is_the_shortest_tail_and_both_likely_bounds),
        cmocka_unit_test(the_reference_is_not_outvoted),
        cmocka_unit_test(ranks_that_read_one_clock_are_one),
        cmocka_unit_test(a_clock_without_a_likely_bound_is_not_judged),
        cmocka_unit_test(each_grade_has_its_note),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
