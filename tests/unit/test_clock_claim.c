/* SPDX-License-Identifier: Apache-2.0 */
/* What a node claims of true time, of a kernel that is the test's: adjtimex(2) by the linker. */
#include "rkt_test.h"

#include <errno.h>
#include <sys/timex.h>

#include "agent/sidecar/clock_claim.h"
#include "common/clock.h"

#define S UINT64_C(1000000000)
#define FIRST_NS (1000 * S)
#define BOUND_NS 250

static struct timex kernel;
static bool is_refused;

int __wrap_adjtimex(struct timex *state);
int __wrap_adjtimex(struct timex *state)
{
    if (is_refused) {
        errno = EPERM;
        return -1;
    }
    *state = kernel;
    return TIME_OK;
}

static int set_up(void **state)
{
    (void)state;
    kernel = (struct timex){.tick = 10000, .status = STA_NANO};
    is_refused = false;
    return 0;
}

static struct rkt_clock_claimant claimant_of(uint64_t bound_ns)
{
    return (struct rkt_clock_claimant){.bound_ns = bound_ns};
}

/*
 * Looks so many times, a second apart, from `now_ns` on; returns how many claims there were. A
 * daemon that steers sets the largest error to 0 each second; else the kernel adds to it.
 */
static size_t look(struct rkt_clock_claimant *claimant, uint64_t *now_ns, size_t times,
                   bool has_daemon)
{
    struct rkt_event claim;
    size_t count = 0;

    for (size_t i = 0; i < times; i++) {
        kernel.maxerror = has_daemon ? 0 : kernel.maxerror + 500;
        count += rkt_clock_claimant_step(claimant, *now_ns, &claim);
        *now_ns += RKT_CLOCK_CLAIM_EVERY_NS + S / 1000;
    }
    return count;
}

static void a_claim_is_the_bound_around_realtime(void **state)
{
    struct rkt_clock_claimant claimant = claimant_of(BOUND_NS);
    struct rkt_event claim = {0};
    uint64_t now_ns = FIRST_NS, before_ns, real_ns;

    (void)state;
    (void)look(&claimant, &now_ns, 3, true);
    before_ns = rkt_now_raw_ns();
    real_ns = rkt_now_real_ns();
    assert_true(rkt_clock_claimant_step(&claimant, now_ns, &claim));
    assert_int_equal(claim.kind, RKT_EVENT_CLOCK_TRUE);
    assert_int_equal(claim.clock_id, RKT_CLOCK_MONOTONIC_RAW);
    assert_true(claim.start_ns >= before_ns && claim.end_ns >= claim.start_ns);
    assert_true(claim.end_ns <= rkt_now_raw_ns());
    assert_int_equal(claim.clock_true.latest_ns - claim.clock_true.earliest_ns, 2 * BOUND_NS);
    assert_true(claim.clock_true.earliest_ns + BOUND_NS >= real_ns);
    assert_true(claim.clock_true.earliest_ns + BOUND_NS <= rkt_now_real_ns());
}

static void nothing_is_claimed_unasked(void **state)
{
    struct rkt_clock_claimant claimant = claimant_of(0);
    uint64_t now_ns = FIRST_NS;

    (void)state;
    assert_int_equal(look(&claimant, &now_ns, 10, true), 0);
}

/* The first looks cannot know: within a second the kernel alone may add nothing. */
static void each_second_there_is_one_while_a_daemon_steers(void **state)
{
    struct rkt_clock_claimant claimant = claimant_of(BOUND_NS);
    struct rkt_event claim;
    uint64_t now_ns = FIRST_NS;

    (void)state;
    assert_int_equal(look(&claimant, &now_ns, 12, true), 10);
    now_ns -= S / 2; /* too early */
    assert_false(rkt_clock_claimant_step(&claimant, now_ns, &claim));
}

static void a_daemon_that_is_dead_is_noticed(void **state)
{
    struct rkt_clock_claimant claimant = claimant_of(BOUND_NS);
    uint64_t now_ns = FIRST_NS;

    (void)state;
    (void)look(&claimant, &now_ns, 5, true);
    assert_in_range(look(&claimant, &now_ns, 100, false), RKT_CLOCK_CLAIM_STALE_NS / S - 2,
                    RKT_CLOCK_CLAIM_STALE_NS / S);
    assert_in_range(look(&claimant, &now_ns, 4, true), 3, 4); /* it is back */
}

/* The kernel's seconds are not ours: it may count one more, or one less, between two looks. */
static void a_kernel_that_counts_alone_is_nobody_who_steers(void **state)
{
    struct rkt_clock_claimant claimant = claimant_of(BOUND_NS);
    struct rkt_event claim;

    (void)state;
    for (uint64_t k = 0; k < 1000; k++) {
        kernel.maxerror = (long)(k * 1001 / 1000 * 500); /* by looks that are 1.001 s apart */
        assert_false(rkt_clock_claimant_step(&claimant, FIRST_NS + k * 1001 * (S / 1000), &claim));
    }
}

static void nothing_is_claimed_of_a_clock_that_is_not_good(void **state)
{
    static const struct {
        const char *what;
        int status;
        long offset;
        bool is_refused;
        size_t want;
    } CASES[] = {
        {"a good one", STA_NANO, 0, false, 5},
        {"nobody steers", STA_NANO | STA_UNSYNC, 0, false, 0},
        {"as much as the bound to be corrected", STA_NANO, -BOUND_NS, false, 5},
        {"more", STA_NANO, -BOUND_NS - 1, false, 0},
        {"more, in us", 0, 1, false, 0},
        {"the kernel does not say", STA_NANO, 0, true, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct rkt_clock_claimant claimant = claimant_of(BOUND_NS);
        uint64_t now_ns = FIRST_NS;
        size_t got;

        (void)look(&claimant, &now_ns, 3, true);
        kernel.status = CASES[i].status;
        kernel.offset = CASES[i].offset;
        is_refused = CASES[i].is_refused;
        got = look(&claimant, &now_ns, 5, true);
        is_refused = false;
        if (got != CASES[i].want)
            fail_msg("%s: %zu claims, not %zu", CASES[i].what, got, CASES[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_claim_is_the_bound_around_realtime, set_up),
        cmocka_unit_test_setup(nothing_is_claimed_unasked, set_up),
        cmocka_unit_test_setup(each_second_there_is_one_while_a_daemon_steers, set_up),
        cmocka_unit_test_setup(a_daemon_that_is_dead_is_noticed, set_up),
        cmocka_unit_test_setup(a_kernel_that_counts_alone_is_nobody_who_steers, set_up),
        cmocka_unit_test_setup(nothing_is_claimed_of_a_clock_that_is_not_good, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
