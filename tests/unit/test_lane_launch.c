/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/lane.h"
#include "analysis/time_sort.h"
#include "lane_run.h"
#include "rkt_test.h"

/*
 *     launches    1    15          35        60 (before: in a blocking call from 42 to 55)
 *     compute     |==2..20==|==20..30==|        |==38..50==|           |==65..70==|
 *     marks                                  P 36           E                       E
 */
static void a_host_is_where_it_launched_last(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    (void)fake_add_step(&run, 0, 0, 50 * US);
    (void)fake_add_step(&run, 0, 50 * US, 70 * US);
    lane_compute(&run, 1, 2, 20);
    lane_compute(&run, 15, 20, 30);
    lane_compute(&run, 35, 38, 50);
    (void)lane_all_reduce(&run, 35, 37, 45); /* ready when it is launched, at 36 */
    lane_compute(&run, 60, 65, 70);
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaDeviceSynchronize", 42 * US, 55 * US);
    for (size_t i = 0; i < 4; i++)
        run.traces[0].works[i].step = 0;
    run.traces[0].works[4].step = 1;
    assert_int_equal(
        rkt_time_sort(run.traces[0].works, 5, sizeof(struct rkt_work), RKT_BY_START_END), RKT_OK);
    (void)lane_find(&run, 70);
    assert_int_equal(run.traces[0].lane_count, 3);
    /* nothing is known of where the host was before; at 36 it had launched the AllReduce */
    assert_int_equal(run.traces[0].lane[0].host.bound_ns, RKT_REPLAY_UNKNOWN);
    assert_int_equal(run.traces[0].lane[0].host.lead_ns, 0);
    /* the third kernel: launched 1 us before the AllReduce was, at least 1 us ahead, and 12 us
     * long */
    assert_lane_host(&run, 1, (struct rkt_replay_host){.bound_ns = -1 + 1 + 12, .lead_ns = 14}, 0);
    /* the last: 24 us after, of which it worked 11, 5 us ahead; it waited until 5 us after the item
     * before */
    assert_lane_host(&run, 2,
                     (struct rkt_replay_host){.bound_ns = 11 + 5 - 15 + 20,
                                              .own_ns = 11,
                                              .lead_ns = 10,
                                              .wait_ns = 5 + 5,
                                              .wait_back = 1},
                     0);
    fake_run_release(&run);
}

/* metrics.md, "Own work": a step of 10, and one of 6 that is launched 24 after it. */
static void what_a_host_does_between_two_launches_bounds_its_lane(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    (void)fake_add_step(&run, 0, 0, 13 * US);
    (void)fake_add_step(&run, 0, 13 * US, 33 * US);
    lane_compute(&run, 0, 0, 1); /* before the first work nothing is known of the host */
    lane_compute(&run, 1, 3, 13);
    lane_compute(&run, 25, 27, 33);
    run.traces[0].works[0].step = run.traces[0].works[1].step = 0;
    run.traces[0].works[2].step = 1;
    (void)lane_find(&run, 33);
    assert_int_equal(run.traces[0].lane_count, 2);
    assert_int_equal(rkt_lane_own_ns(&run.traces[0].lane[1]), 20 * US);
    /* of the idle time 1 is from the launch's end to the kernel's start, which is no host's */
    assert_lane_host(
        &run, 1, (struct rkt_replay_host){.bound_ns = 24 + 2 + 6, .own_ns = 24, .lead_ns = 33 - 25},
        13);
    fake_run_release(&run);
}

/* Steps that end so, the works in order one in each. */
static void end_steps_at(struct fake_run *run, const int64_t *ends_us, size_t count)
{
    int64_t start_us = 0;

    for (size_t s = 0; s < count; s++) {
        (void)fake_add_step(run, 0, start_us * US, ends_us[s] * US);
        run->traces[0].works[s].step = (uint32_t)s;
        start_us = ends_us[s];
    }
}

/*
 * The third launch returns late, while the second kernel runs:
 *
 *     host        |1 ||3 ||5 --- its queue is full --- |    |22|
 *     compute      |2..4||=======4..40=======||==40..50==||==50..60==|
 */
static void a_launch_that_takes_long_while_the_lane_works_waits_for_its_queue(void **state)
{
    static const int64_t ENDS_US[] = {4, 40, 50, 60};
    static const struct {
        const char *what;
        int64_t length_us;
        int64_t second_end_us; /* idle from then on */
        struct rkt_replay_host last;
    } CASES[] = {
        /* from 5 to 22 the host works; the shortest lead is 1, and the last kernel takes 10 */
        {"as short as the others", 1, 40, {.bound_ns = 17 + 1 + 10, .own_ns = 17, .lead_ns = 38}},
        {"twice as long and 2 us", 4, 40, {.bound_ns = 17 + 1 + 10, .own_ns = 17, .lead_ns = 38}},
        /* it waits from 6 on, for what the lane did last before it went on: the first step */
        {"and more",
         5,
         40,
         {.bound_ns = 13 + 1 + 10, .own_ns = 13, .lead_ns = 38, .wait_ns = 22 - 4, .wait_back = 3}},
        {"very long",
         16,
         40,
         {.bound_ns = 2 + 1 + 10, .own_ns = 2, .lead_ns = 38, .wait_ns = 22 - 4, .wait_back = 3}},
        {"with nothing to wait for", 16, 5, {.bound_ns = 17 + 1 + 10, .own_ns = 17, .lead_ns = 38}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;

        print_message("%s\n", CASES[i].what);
        fake_run_init(&run, 1);
        lane_compute(&run, 1, 2, 4);
        lane_compute(&run, 3, 4, CASES[i].second_end_us);
        lane_compute(&run, 5, 40, 50);
        lane_compute(&run, 22, 50, 60);
        run.traces[0].works[2].launch_end_ns = (5 + CASES[i].length_us) * US;
        end_steps_at(&run, ENDS_US, 4);
        (void)lane_find(&run, 60);
        assert_int_equal(run.traces[0].lane_count, 4);
        assert_lane_host(&run, 3, CASES[i].last, 0);
        fake_run_release(&run);
    }
}

/* A kernel could have begun so soon after its launch, had the device been free. */
static void the_least_lead_is_that_of_a_launch_and_no_less_than_nothing(void **state)
{
    static const int64_t ENDS_US[] = {30, 40, 50};
    struct fake_run run;

    (void)state;
    /* all kernels begin long after: a launch takes 1 us, so that is it */
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 20, 30);
    lane_compute(&run, 21, 30, 40);
    lane_compute(&run, 23, 40, 50);
    end_steps_at(&run, ENDS_US, 3);
    (void)lane_find(&run, 50);
    assert_lane_host(
        &run, 2, (struct rkt_replay_host){.bound_ns = 2 + 1 + 10, .own_ns = 2, .lead_ns = 27}, 0);
    fake_run_release(&run);

    /* stamps that say that a kernel began before its launch are no lead */
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 20, 30);
    lane_compute(&run, 33, 30, 40);
    lane_compute(&run, 35, 40, 50);
    end_steps_at(&run, ENDS_US, 3);
    (void)lane_find(&run, 50);
    assert_lane_host(
        &run, 2, (struct rkt_replay_host){.bound_ns = 2 + 1 + 10, .own_ns = 2, .lead_ns = 15}, 0);
    fake_run_release(&run);
}

/*
 *     host        |1|4 |     |14|       (Python)       |30: AllReduce|33|
 *     compute      |2..3||5..10| |16..20|         idle                |35..40|
 *     marks                 E 10                     P 31                   E 40
 */
static void idle_time_up_to_a_post_goes_with_its_host(void **state)
{
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    (void)fake_add_step(&run, 0, 0, 10 * US);
    (void)fake_add_step(&run, 0, 10 * US, 40 * US);
    lane_compute(&run, 1, 2, 3);
    lane_compute(&run, 4, 5, 10);
    lane_compute(&run, 14, 16, 20);
    (void)lane_all_reduce(&run, 30, 32, 34);
    lane_compute(&run, 33, 35, 40);
    for (size_t i = 0; i < 5; i++)
        run.traces[0].works[i].step = i < 2 ? 0 : 1;
    (void)lane_find(&run, 40);
    assert_int_equal(run.traces[0].lane[1].kind, RKT_REPLAY_POST);
    assert_int_equal(rkt_lane_own_ns(&run.traces[0].lane[1]), 21 * US);
    /* 5 before the second kernel (1 of its lead is not the host's), 11 after it */
    assert_lane_host(&run, 1, (struct rkt_replay_host){.bound_ns = 31 - 4, .own_ns = 31 - 4},
                     5 + 11);
    fake_run_release(&run);
}

/* The third step's own work takes two items, of which none is all of it. */
static void work_that_is_split_has_no_bound(void **state)
{
    const int64_t long_us = 5000000;
    const int64_t ends_us[] = {3, 4, 4 + long_us, 14 + long_us};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 2, 3);
    lane_compute(&run, 2, 3, 4);
    lane_compute(&run, 3, 4, 4 + long_us);
    lane_compute(&run, 5, 4 + long_us, 14 + long_us);
    end_steps_at(&run, ends_us, 4);
    (void)lane_find(&run, 14 + long_us);
    assert_int_equal(run.traces[0].lane_count, 5);
    assert_int_equal(run.traces[0].lane[2].kind, RKT_REPLAY_WORK);
    assert_int_equal(run.traces[0].lane[3].host.own_ns, 1 * US);
    assert_int_equal(run.traces[0].lane[3].host.bound_ns, RKT_REPLAY_UNKNOWN);
    assert_int_equal(run.traces[0].lane[4].host.bound_ns, (2 + 1 + 10) * US);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_where_it_launched_last),
        cmocka_unit_test(what_a_host_does_between_two_launches_bounds_its_lane),
        cmocka_unit_test(a_launch_that_takes_long_while_the_lane_works_waits_for_its_queue),
        cmocka_unit_test(the_least_lead_is_that_of_a_launch_and_no_less_than_nothing),
        cmocka_unit_test(idle_time_up_to_a_post_goes_with_its_host),
        cmocka_unit_test(work_that_is_split_has_no_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
