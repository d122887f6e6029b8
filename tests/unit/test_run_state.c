/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include "aggregator/run_state.h"

#define S UINT64_C(1000000000)

static int make_state(void **state)
{
    struct rkt_run_state *run = rkt_run_state_create(3, 100 * S);

    assert_non_null(run);
    for (int rank = 0; rank < 3; rank++)
        rkt_run_state_joined(run, rank);
    *state = run;
    return 0;
}

static int drop_state(void **state)
{
    rkt_run_state_destroy(*state);
    return 0;
}

static void run_is_over_when_all_have_flushed(void **state)
{
    for (int rank = 0; rank < 3; rank++) {
        assert_false(rkt_run_state_is_over(*state, 100 * S));
        rkt_run_state_flushed(*state, rank);
    }
    assert_true(rkt_run_state_is_over(*state, 100 * S));
    assert_int_equal(rkt_run_state_lost_count(*state), 0);
}

static void silent_rank_is_lost_once_it_is_all_that_is_waited_for(void **state)
{
    rkt_run_state_flushed(*state, 0);
    rkt_run_state_flushed(*state, 1);
    assert_false(rkt_run_state_is_over(*state, 105 * S));
    assert_true(rkt_run_state_is_over(*state, 105 * S + 1));
    assert_int_equal(rkt_run_state_of(*state, 2), RKT_PEER_LOST);
    assert_int_equal(rkt_run_state_lost_count(*state), 1);
}

static void nobody_is_lost_while_another_rank_still_runs(void **state)
{
    rkt_run_state_flushed(*state, 0);
    for (uint64_t t = 101; t < 200; t++) {
        rkt_run_state_heard(*state, 1, t * S);
        assert_false(rkt_run_state_is_over(*state, t * S));
    }
    assert_int_equal(rkt_run_state_of(*state, 2), RKT_PEER_JOINED);
    rkt_run_state_heard(*state, 2, 199 * S); /* it was only held up */
    rkt_run_state_flushed(*state, 1);
    rkt_run_state_flushed(*state, 2);
    assert_true(rkt_run_state_is_over(*state, 200 * S));
    assert_int_equal(rkt_run_state_lost_count(*state), 0);
}

static void heartbeats_keep_a_slow_rank(void **state)
{
    rkt_run_state_flushed(*state, 0);
    rkt_run_state_flushed(*state, 1);
    for (uint64_t t = 101; t < 150; t++) {
        rkt_run_state_heard(*state, 2, t * S);
        assert_false(rkt_run_state_is_over(*state, t * S + S));
    }
}

static void lost_rank_that_speaks_again_stays_lost(void **state)
{
    rkt_run_state_flushed(*state, 0);
    rkt_run_state_flushed(*state, 1);
    assert_true(rkt_run_state_is_over(*state, 200 * S));
    rkt_run_state_heard(*state, 2, 200 * S);
    rkt_run_state_flushed(*state, 2);
    assert_int_equal(rkt_run_state_of(*state, 2), RKT_PEER_LOST);
}

static void rank_that_never_said_hello_is_waited_for_and_then_lost(void **state)
{
    struct rkt_run_state *run = rkt_run_state_create(2, 0);

    (void)state;
    rkt_run_state_joined(run, 0);
    rkt_run_state_flushed(run, 0);
    assert_false(rkt_run_state_is_over(run, 4 * S));
    assert_true(rkt_run_state_is_over(run, 6 * S));
    assert_int_equal(rkt_run_state_of(run, 1), RKT_PEER_LOST);
    rkt_run_state_destroy(run);
}

static void first_failure_counts(void **state)
{
    int32_t code = 0;

    assert_int_equal(rkt_run_state_first_failed(*state, &code), -1);
    assert_int_equal(code, 0);
    assert_true(rkt_run_state_failed(*state, 2, 7));
    assert_false(rkt_run_state_failed(*state, 1, 9));
    assert_int_equal(rkt_run_state_first_failed(*state, &code), 2);
    assert_int_equal(code, 7);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_state, drop_state)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run_is_over_when_all_have_flushed),
        CASE(silent_rank_is_lost_once_it_is_all_that_is_waited_for),
        CASE(nobody_is_lost_while_another_rank_still_runs),
        CASE(heartbeats_keep_a_slow_rank),
        CASE(lost_rank_that_speaks_again_stays_lost),
        CASE(rank_that_never_said_hello_is_waited_for_and_then_lost),
        CASE(first_failure_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
