/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wait_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/clock_gap.h"
#include "fake_run.h"
#include "rkt_test.h"

#define COMM 0xc0ffeeu
#define US INT64_C(1000)
#define S INT64_C(1000000000)
#define RANKS 5

/* What clocks and ranks do to the stamps of one of them. */
struct twist {
    uint32_t rank;
    int64_t ahead_ns;
    int64_t drift_ppb;
    int64_t late_ns; /* it begins so much later, which all wait for */
};

/* `count` AllReduces in `span_ns`, to which anybody may come last, whose ends are up to 2 us
 * apart. */
static void make(struct fake_run *run, size_t count, int64_t span_ns, int64_t bound_ns,
                 const struct twist *twist)
{
    uint32_t seed = 7;

    fake_run_init(run, RANKS);
    for (size_t r = 0; r < RANKS; r++) {
        fake_add_comm(run, r, COMM, (int32_t)r, RANKS);
        run->result.ranks[r].bound_ns = r == 0 ? 0 : bound_ns;
    }
    for (size_t k = 0; k < count; k++) {
        int64_t at_ns = 1 * S + (int64_t)k * span_ns / (int64_t)count;
        struct fake_op op = {COMM, k, 8, -1, RKT_NCCL_FUNC_ALLREDUCE};

        for (uint32_t r = 0; r < RANKS; r++) {
            bool is_it = r == twist->rank;
            int64_t off_ns =
                is_it ? twist->ahead_ns + (at_ns - 1 * S) / 1000000 * twist->drift_ppb / 1000 : 0;
            int64_t start_ns = at_ns + (is_it ? twist->late_ns : 0);
            int64_t end_ns = at_ns + 500 * US;

            seed = seed * 1664525u + 1013904223u;
            start_ns += seed / 65536 % 100 * US;
            end_ns += seed / 256 % 2000;
            fake_add_collective(run, r, op, start_ns + off_ns, end_ns + off_ns);
        }
    }
    fake_match(run);
    rkt_summarise_clocks(&run->result);
}

static void check(struct fake_run *run)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_check_waits(&run->result, &err), err);
    assert_rkt_ok(rkt_note_wait_check(&run->result, &run->arena, &err), err);
}

static bool says(const struct fake_run *run, const char *part)
{
    for (size_t i = 0; i < run->result.note_count; i++) {
        if (strstr(run->result.notes[i].text, part) != NULL)
            return true;
    }
    return false;
}

static void a_clock_that_is_off_is_found_and_a_late_rank_is_not_taken_for_one(void **state)
{
    static const struct {
        const char *what;
        struct twist twist;
        int64_t bound_ns;
        size_t count;
        bool is_off;
    } CASES[] = {
        {"all is well", {.rank = 2}, 10 * US, 30, false},
        {"ahead by more than the bounds", {.rank = 2, .ahead_ns = 60 * US}, 10 * US, 30, true},
        {"behind by more than the bounds", {.rank = 2, .ahead_ns = -60 * US}, 10 * US, 30, true},
        {"ahead within the bounds", {.rank = 2, .ahead_ns = 60 * US}, 35 * US, 30, false},
        {"bounds that nobody knows", {.rank = 2, .ahead_ns = 60 * US}, -1, 30, false},
        {"a rank that is late", {.rank = 2, .late_ns = 300 * US}, 10 * US, 30, false},
        {"too few collectives", {.rank = 2, .ahead_ns = 60 * US}, 10 * US, 8, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct rkt_wait_check *found;
        struct fake_run run;

        make(&run, CASES[i].count, S / 10, CASES[i].bound_ns, &CASES[i].twist);
        check(&run);
        found = &run.result.ranks[2].wait_check;
        if (found->is_off != CASES[i].is_off ||
            says(&run, "rank 2: its waits by the clock and from durations differ by ") !=
                CASES[i].is_off)
            fail_msg("%s: off by %lld", CASES[i].what, (long long)found->offset_ns);
        assert_int_equal(found->count, CASES[i].count);
        assert_true(llabs(found->offset_ns - CASES[i].twist.ahead_ns) <= 2 * US);
        for (size_t r = 0; r < RANKS; r++)
            assert_true(r == 2 || !run.result.ranks[r].wait_check.is_off);
        fake_run_release(&run);
    }
}

static void drift_shows_from_a_second_on(void **state)
{
    static const struct {
        const char *what;
        int64_t drift_ppb, span_ns;
        size_t count;
        bool has_drift, drifts;
    } CASES[] = {
        {"12 ppm in three seconds", 12000, 3 * S, 60, true, true},
        {"-12 ppm in three seconds", -12000, 3 * S, 60, true, true},
        {"none in three seconds", 0, 3 * S, 60, true, false},
        {"12 ppm in less than one", 12000, S, 60, false, false},
        {"12 ppm, too few collectives", 12000, 3 * S, 8, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct twist twist = {.rank = 3, .drift_ppb = CASES[i].drift_ppb};
        const struct rkt_wait_check *found;
        struct fake_run run;

        make(&run, CASES[i].count, CASES[i].span_ns, 10 * US, &twist);
        check(&run);
        found = &run.result.ranks[3].wait_check;
        if (found->has_drift != CASES[i].has_drift ||
            rkt_wait_check_drifts(found) != CASES[i].drifts ||
            says(&run, "rank 3: its stamps drift against rank 0's by ") != CASES[i].drifts)
            fail_msg("%s: %f +- %f", CASES[i].what, found->drift_ppb, found->drift_noise_ppb);
        if (found->has_drift)
            assert_true(fabs(found->drift_ppb - (double)CASES[i].drift_ppb) <=
                        3 * found->drift_noise_ppb + 1);
        assert_false(rkt_wait_check_drifts(&run.result.ranks[0].wait_check));
        fake_run_release(&run);
    }
}

/* What no rank waits for all says nothing of the clocks. */
static void collectives_from_a_root_are_left_out(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 2);
    for (size_t r = 0; r < 2; r++) {
        fake_add_comm(&run, r, COMM, (int32_t)r, 2);
        fake_add_collective(&run, r, (struct fake_op){COMM, 0, 8, 0, RKT_NCCL_FUNC_BROADCAST}, 0,
                            1000);
    }
    fake_match(&run);
    check(&run);
    assert_int_equal(run.result.ranks[0].wait_check.count, 0);
    assert_int_equal(run.result.ranks[1].wait_check.count, 0);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_is_off_is_found_and_a_late_rank_is_not_taken_for_one),
        cmocka_unit_test(drift_shows_from_a_second_on),
        cmocka_unit_test(collectives_from_a_root_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
