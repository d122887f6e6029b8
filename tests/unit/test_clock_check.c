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
        if ((got.broken_count > 0) != CASES[c].is_seen || (got.rank == 5) != CASES[c].is_seen ||
            got.rank_count != got.broken_count)
            fail_msg("%s: %zu broken, rank %u", CASES[c].what, got.broken_count, got.rank);
    }
}

static void what_the_bounds_of_the_two_ranks_explain_is_no_proof(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, RKT_NCCL_FUNC_ALLTOALL, 2 * US);
    shift(&f, 5, TAIL_NS + 4 * US);
    assert_int_equal(check(&f).broken_count, 0);
    shift(&f, 5, 1);
    assert_true(check(&f).broken_count > 0);
    f.ranks[5].bound_ns = 3 * US;
    assert_int_equal(check(&f).broken_count, 0);
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
    assert_int_equal(got.broken_count, OPS);
    assert_int_equal(got.rank, RKT_INDEX_NONE);
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
        assert_int_equal(check(&f).broken_count, 0);
    }
    make(&f, RKT_NCCL_FUNC_ALLREDUCE, 0);
    shift(&f, 3, 90 * US);
    for (uint32_t i = 0; i < OPS; i++)
        f.ops[i].start_spread_ns = RKT_NA; /* clocks without a relation */
    assert_int_equal(check(&f).broken_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_is_named_whose_clock_is_off_by_more_than_the_tail),
        cmocka_unit_test(what_the_bounds_of_the_two_ranks_explain_is_no_proof),
        cmocka_unit_test(two_ranks_alone_are_both_suspect),
        cmocka_unit_test(what_does_not_depend_on_all_proves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
