/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_made.h"
#include "rkt_test.h"

/* metrics.md: gradients at 0-10 and 10-20, AllReduces 10-40 and 40-50. */
static void queued_collectives_wait_for_each_other_and_not_for_the_rank(void **state)
{
    static const struct timed_item LANE[2][3] = {
        {POST(10, 0), POST(10, 2), STEP_END(0)},
        {POST(10, 1), POST(10, 3), STEP_END(0)},
    };
    static const uint32_t BEFORE[] = {0, 1};
    struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
    int64_t ends[2];

    (void)state;
    made_add_all(&made, NULL, 30);
    made_add_all(&made, BEFORE, 10);
    made_add_items(&made, 0, LANE[0], 3);
    made_add_items(&made, 1, LANE[1], 3);
    made_lay_out(&made);
    made_run(&made, ends);
    assert_int_equal(ends[0], 50);
    assert_int_equal(ends[1], 50);
    made.inputs.transfer_ns = NULL;
    made_run(&made, ends);
    assert_int_equal(ends[0], 20); /* T_inst */
}

static void the_last_to_post_holds_the_others_up_at_their_joins(void **state)
{
    static const struct timed_item LANE[2][3] = {
        {POST(10, 0), JOIN(5, 0), STEP_END(7)},
        {POST(100, 1), JOIN(5, 1), STEP_END(7)},
    };
    struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
    int64_t ends[2];

    (void)state;
    made_add_all(&made, NULL, 20);
    made_add_items(&made, 0, LANE[0], 3);
    made_add_items(&made, 1, LANE[1], 3);
    made_lay_out(&made);
    made_run(&made, ends);
    assert_int_equal(ends[0], 127);
    assert_int_equal(ends[1], 127);
    for (size_t i = 0; i < 6; i++)
        made.other_ns[i] = made.own_ns[i % 3]; /* as rank 0 */
    made.is_other[1] = true;
    made.inputs.other_ns = made.other_ns;
    made.inputs.is_other = made.is_other;
    made_run(&made, ends);
    assert_int_equal(ends[0], 37);
    assert_int_equal(ends[1], 37);
}

static void who_does_not_take_waits_for_nobody_and_who_does_not_give_holds_nobody_up(void **state)
{
    static const struct rkt_replay_part BROADCAST[] = {
        {.rank = 0, .before = RKT_REPLAY_NONE, .gives = true},
        {.rank = 1, .before = RKT_REPLAY_NONE, .takes = true},
        {.rank = 2, .before = RKT_REPLAY_NONE, .takes = true},
    };
    struct made made = {.graph = {.rank_count = 3, .step_count = 1}};
    int64_t ends[3];

    (void)state;
    (void)made_add_event(&made, BROADCAST, 3, 10);
    for (uint32_t r = 0; r < 3; r++) {
        const struct timed_item lane[] = {POST(r == 0   ? 50
                                               : r == 1 ? 5
                                                        : 90,
                                               r),
                                          JOIN(0, r), STEP_END(0)};

        made_add_items(&made, r, lane, 3);
    }
    made_lay_out(&made);
    made_run(&made, ends);
    assert_int_equal(ends[0], 60);
    assert_int_equal(ends[1], 60);
    assert_int_equal(ends[2], 100);
}

static void a_lane_goes_on_from_step_to_step(void **state)
{
    static const struct timed_item FAST[] = {STEP_END(10), STEP_END(10), POST(10, 0), JOIN(0, 0),
                                             STEP_END(0)};
    static const struct timed_item SLOW[] = {STEP_END(30), STEP_END(30), POST(30, 1), JOIN(0, 1),
                                             STEP_END(0)};
    struct made made = {.graph = {.rank_count = 2, .step_count = 3}, .start_ns = {100, 105}};
    int64_t ends[6];

    (void)state;
    made_add_all(&made, NULL, 1);
    made_add_items(&made, 0, FAST, 5);
    made_add_items(&made, 1, SLOW, 5);
    made_lay_out(&made);
    made_run(&made, ends);
    assert_int_equal(ends[0], 110);
    assert_int_equal(ends[1], 135);
    assert_int_equal(ends[2], 120);
    assert_int_equal(ends[3], 165);
    assert_int_equal(ends[4], 196); /* ran ahead, and waits now */
    assert_int_equal(ends[5], 196);
}

/*
 *     host    |-8-|l|-8-|l|-8-|l ...        a launch each 8, the kernel 1 later
 *     lane         |=====P  |=====P         works 5, idle 3; the AllReduce takes 20, then both join
 *
 * Without the AllReduce the host is what takes long.
 */
static void a_lane_is_no_faster_than_its_host(void **state)
{
    static const struct timed_item LANE[] = {POST(5, 0), JOIN(0, 0), STEP_END(5), STEP_END(5),
                                             STEP_END(5)};
    static const struct rkt_replay_host HOSTS[] = {
        {.bound_ns = RKT_REPLAY_UNKNOWN, .own_ns = 0, .lead_ns = 6},
        {.bound_ns = RKT_REPLAY_UNKNOWN, .own_ns = 0, .lead_ns = 26},
        {.bound_ns = 8 + 6, .own_ns = 8, .lead_ns = 23},
        {.bound_ns = 8 + 6, .own_ns = 8, .lead_ns = 20},
        /* its queue is full until the first step has ended */
        {.bound_ns = RKT_REPLAY_UNKNOWN, .own_ns = 8, .lead_ns = 6, .wait_ns = 4, .wait_back = 1},
    };
    struct made made = {.graph = {.rank_count = 1, .step_count = 3}};
    int64_t ends[3];

    (void)state;
    made_add_all(&made, NULL, 20);
    made_add_items(&made, 0, LANE, 5);
    made_lay_out(&made);
    made.inputs.hosts = HOSTS;
    made_run(&made, ends);
    assert_int_equal(ends[0], 30); /* the host is at 7, 7 + 14 is earlier */
    assert_int_equal(ends[1], 35);
    assert_int_equal(ends[2], 40);
    made.inputs.transfer_ns = NULL;
    made_run(&made, ends);
    assert_int_equal(ends[0], 13); /* -1 + 14 */
    assert_int_equal(ends[1], 21); /* 7 + 14 */
    assert_int_equal(ends[2], 26);
}

static void what_cannot_run_is_refused(void **state)
{
    static const struct timed_item LANES[][2][4] = {
        /* each joins what the other posts later */
        {{JOIN(0, 0), POST(0, 2), POST(0, 0), STEP_END(0)},
         {JOIN(0, 3), POST(0, 1), POST(0, 3), STEP_END(0)}},
        /* a part that nobody posts */
        {{POST(0, 0), POST(0, 2), WORK(0), STEP_END(0)},
         {POST(0, 1), WORK(0), WORK(0), STEP_END(0)}},
        /* another rank's part, a part twice, no end of the step */
        {{POST(0, 0), POST(0, 1), WORK(0), STEP_END(0)},
         {POST(0, 3), POST(0, 2), WORK(0), STEP_END(0)}},
        {{POST(0, 0), POST(0, 0), POST(0, 2), STEP_END(0)},
         {POST(0, 1), POST(0, 3), WORK(0), STEP_END(0)}},
        {{POST(0, 0), POST(0, 2), WORK(0), WORK(0)},
         {POST(0, 1), POST(0, 3), WORK(0), STEP_END(0)}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(LANES) / sizeof(LANES[0]); i++) {
        struct made made = {.graph = {.rank_count = 2, .step_count = 1}};
        struct rkt_replay *replay = NULL;
        struct rkt_error err;

        made_add_all(&made, NULL, 1);
        made_add_all(&made, NULL, 1);
        made_add_items(&made, 0, LANES[i][0], 4);
        made_add_items(&made, 1, LANES[i][1], 4);
        made_lay_out(&made);
        if (rkt_replay_create(&made.graph, &replay, &err) != RKT_ERR_INVALID)
            fail_msg("case %zu is not refused", i);
        assert_null(replay);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_collectives_wait_for_each_other_and_not_for_the_rank),
        cmocka_unit_test(the_last_to_post_holds_the_others_up_at_their_joins),
        cmocka_unit_test(who_does_not_take_waits_for_nobody_and_who_does_not_give_holds_nobody_up),
        cmocka_unit_test(a_lane_goes_on_from_step_to_step),
        cmocka_unit_test(a_lane_is_no_faster_than_its_host),
        cmocka_unit_test(what_cannot_run_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
