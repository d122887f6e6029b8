/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/activity.h"
#include "analysis/arrival.h"
#include "analysis/lane.h"
#include "analysis/measure.h"
#include "analysis/time_sort.h"
#include "fake_run.h"
#include "lane_run.h"
#include "rkt_random.h"
#include "rkt_test.h"

struct expected {
    enum rkt_replay_kind kind;
    int64_t own_us;
    uint32_t work;
};

static void assert_lane(const struct fake_run *run, const struct expected *items, size_t count)
{
    const struct rkt_rank_trace *trace = &run->traces[0];

    assert_int_equal(trace->lane_count, count);
    for (size_t i = 0; i < count; i++) {
        if (trace->lane[i].kind != items[i].kind ||
            rkt_lane_own_ns(&trace->lane[i]) != items[i].own_us * US ||
            (items[i].kind != RKT_REPLAY_STEP_END && trace->lane[i].work != items[i].work))
            fail_msg("item %zu: kind %d, own %lld, work %u", i, trace->lane[i].kind,
                     (long long)rkt_lane_own_ns(&trace->lane[i]), trace->lane[i].work);
    }
}

/*
 *     compute    |==0..10==|==10..20==|                    |==55..70==|
 *     AllReduce            |------10..40------|--40..50--|
 */
static void queued_collectives_are_waited_for_from_when_nothing_else_is_left(void **state)
{
    static const struct expected ITEMS[] = {{RKT_REPLAY_POST, 10, 2},
                                            {RKT_REPLAY_POST, 10, 3},
                                            {RKT_REPLAY_JOIN, 0, 3},
                                            {RKT_REPLAY_STEP_END, 20, 0}};
    const struct rkt_step_result *step;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, 10); /* a launch record that comes late does no harm */
    lane_compute(&run, 3, 10, 20);
    (void)lane_all_reduce(&run, 2, 10, 40);
    (void)lane_all_reduce(&run, 4, 40, 50);
    lane_compute(&run, 5, 55, 70);
    step = lane_find(&run, 70);
    assert_lane(&run, ITEMS, 4);
    assert_int_equal(step->own_work_ns, 40 * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_COMPUTE], 35 * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_OTHER], 5 * US); /* until work began again */
    fake_run_release(&run);
}

static void a_host_that_launches_late_holds_itself_up(void **state)
{
    static const struct expected ITEMS[] = {{RKT_REPLAY_POST, 10, 1}, {RKT_REPLAY_STEP_END, 60, 0}};
    const struct rkt_step_result *step;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, 10);
    (void)lane_all_reduce(&run, 2, 10, 40);
    lane_compute(&run, 45, 50,
                 70); /* launched when the AllReduce was over: it did not wait for it */
    step = lane_find(&run, 70);
    assert_lane(&run, ITEMS, 2);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_HOST], 35 * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_LAUNCH], 1 * US);
    fake_run_release(&run);
}

static void a_host_that_waited_for_it_does_not(void **state)
{
    static const struct expected ITEMS[] = {
        {RKT_REPLAY_POST, 10, 1}, {RKT_REPLAY_JOIN, 0, 1}, {RKT_REPLAY_STEP_END, 30, 0}};
    const struct rkt_step_result *step;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, 10);
    (void)lane_all_reduce(&run, 2, 10, 40);
    fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaDeviceSynchronize", 5 * US, 43 * US);
    lane_compute(&run, 45, 50, 70);
    step = lane_find(&run, 70);
    assert_lane(&run, ITEMS, 3);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_SYNC], 5 * US); /* 40 to 45: call and tail */
    fake_run_release(&run);
}

static void copies_between_kernels_are_of_the_lane_and_others_run_beside_it(void **state)
{
    static const struct expected ITEMS[] = {
        {RKT_REPLAY_POST, 10, 1}, {RKT_REPLAY_JOIN, 0, 1}, {RKT_REPLAY_STEP_END, 30, 0}};
    const struct rkt_step_result *step;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, 10);
    (void)lane_all_reduce(&run, 2, 10, 40);
    lane_copy(&run, COPY_STREAM, 3, 20, 30); /* the next batch, while the lane waits */
    lane_copy(&run, STREAM, 4, 40, 50);      /* of the loss, which waits for the AllReduce, too */
    lane_compute(&run, 5, 50, 70);
    step = lane_find(&run, 70);
    assert_lane(&run, ITEMS, 3);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_COPY], 10 * US);
    fake_run_release(&run);
}

static void work_after_the_twenty_microseconds_did_not_wait(void **state)
{
    static const struct {
        int64_t start_us;
        bool waits;
    } CASES[] = {{40, true}, {59, true}, {60, false}, {61, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;

        fake_run_init(&run, 1);
        lane_compute(&run, 1, 0, 10);
        (void)lane_all_reduce(&run, 2, 10, 40);
        lane_compute(&run, 3, CASES[i].start_us, 90);
        (void)lane_find(&run, 90);
        if (run.traces[0].lane_count != (CASES[i].waits ? 3 : 2))
            fail_msg("start at %lld", (long long)CASES[i].start_us);
        fake_run_release(&run);
    }
}

static void each_step_ends_once_and_work_belongs_to_where_it_was_launched(void **state)
{
    static const struct expected ITEMS[] = {{RKT_REPLAY_POST, 10, 1},
                                            {RKT_REPLAY_STEP_END, 0, 0},
                                            {RKT_REPLAY_JOIN, 0, 1}, /* of the second step */
                                            {RKT_REPLAY_STEP_END, 20, 0},
                                            {RKT_REPLAY_STEP_END, 0, 0}};
    struct rkt_rank_result *rank;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, 10);
    (void)lane_all_reduce(&run, 2, 10, 40);
    lane_compute(&run, 11, 40, 60);
    rank = &run.result.ranks[0];
    (void)fake_add_step(&run, 0, 0, 40 * US);
    (void)fake_add_step(&run, 0, 40 * US, 60 * US);
    (void)fake_add_step(&run, 0, 60 * US, 60 * US); /* nothing was launched in it */
    rank->trace->works[0].step = rank->trace->works[1].step = 0;
    rank->trace->works[2].step = 1;
    (void)lane_find(&run, 0);
    assert_lane(&run, ITEMS, 5);
    assert_int_equal(rank->steps[0].own_work_ns, 10 * US);
    assert_int_equal(rank->steps[1].own_work_ns, 20 * US);
    assert_int_equal(rank->steps[2].own_work_ns, 0);
    fake_run_release(&run);
}

static void assert_long_lane(int64_t long_us)
{
    const struct rkt_step_result *step;
    const struct rkt_lane_item *items;
    struct fake_run run;

    fake_run_init(&run, 1);
    lane_compute(&run, 1, 0, long_us);
    step = lane_find(&run, long_us);
    items = run.traces[0].lane;
    assert_int_equal(run.traces[0].lane_count, 2);
    assert_int_equal(items[0].kind, RKT_REPLAY_WORK);
    assert_int_equal(items[1].kind, RKT_REPLAY_STEP_END);
    assert_int_equal(rkt_lane_own_ns(&items[0]), long_us * US >> 32 << 32);
    assert_int_equal(rkt_lane_own_ns(&items[1]), long_us * US % (INT64_C(1) << 32));
    assert_int_equal(rkt_lane_own_by_ns(&items[0], RKT_CAUSE_COMPUTE) +
                         rkt_lane_own_by_ns(&items[1], RKT_CAUSE_COMPUTE),
                     long_us * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_COMPUTE], long_us * US);
    fake_run_release(&run);
}

/* A lane as long as a damaged stamp makes it is as small as any. */
static void long_work_is_two_items_however_long(void **state)
{
    (void)state;
    assert_long_lane(INT64_C(10000000));
    assert_long_lane(INT64_MAX / US - 100);
}

static void nothing_recorded_is_a_lane_of_nothing(void **state)
{
    static const struct expected ITEMS[] = {{RKT_REPLAY_STEP_END, 0, 0}};
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    run.traces[0].has_gpu = true;
    (void)lane_find(&run, 0);
    assert_lane(&run, ITEMS, 1);
    fake_run_release(&run);
}

/*
 *     main thread  |input 0..10|forward 10..30|backward 30..80, waits 60..80|optimizer 80..90|
 *     buckets                                    |b0 40..55|   |b1 60..75|
 */
static void without_gpu_records_buckets_and_marks_make_the_lane(void **state)
{
    static const struct expected ITEMS[] = {{RKT_REPLAY_POST, 40, 0},
                                            {RKT_REPLAY_POST, 20, 1},
                                            {RKT_REPLAY_JOIN, 0, 1},
                                            {RKT_REPLAY_STEP_END, 25, 0}};
    const struct rkt_step_result *step;
    struct fake_run run;

    (void)state;
    fake_run_init(&run, 1);
    fake_add_range(&run, 0, RKT_RANGE_INPUT, "", 0, 10 * US);
    fake_add_range(&run, 0, RKT_RANGE_FORWARD, "", 10 * US, 30 * US);
    fake_add_range(&run, 0, RKT_RANGE_BACKWARD, "", 30 * US, 80 * US);
    run.traces[0].ranges[2].value = 37 * US; /* asleep, 15 of it in the wait */
    fake_add_range(&run, 0, RKT_RANGE_COMM_WAIT, "", 60 * US, 80 * US);
    run.traces[0].ranges[3].value = 15 * US;
    fake_add_range(&run, 0, RKT_RANGE_OPTIMIZER, "", 80 * US, 90 * US);
    fake_add_bucket(&run, 0, 0, 0, 40 * US, 55 * US);
    fake_add_bucket(&run, 0, 0, 1, 60 * US, 75 * US);
    step = lane_find(&run, 100);
    assert_lane(&run, ITEMS, 4);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_INPUT], 10 * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_COMPUTE], (60 - 22) * US);
    assert_int_equal(step->own_by_cause_ns[RKT_CAUSE_HOST], (15 + 22) * US); /* 75..80, 90..100 */
    fake_run_release(&run);
}

/* ---- random lanes against brute force of every instant ---- */

#define TICK US
#define TICKS 1200
#define AFTER_TICKS 20
#define WORKS 40
#define RANDOM_RUNS 2000
#define ITEMS_MAX 160u

static void add_random_work(struct rkt_random *random, struct fake_run *run, int64_t start)
{
    int64_t end = start + (int64_t)rkt_random_below(random, 60);
    int64_t launch = (start - (int64_t)rkt_random_below(random, 100));
    uint64_t kind = rkt_random_below(random, 6);

    launch = launch > 0 ? launch : 1;
    if (kind < 3)
        lane_compute(run, launch, start, end);
    else if (kind < 5)
        (void)lane_all_reduce(run, launch, start, end);
    else
        lane_copy(run, rkt_random_below(random, 2) ? STREAM : COPY_STREAM, launch,
                  start * (TICK / US), end * (TICK / US));
}

static bool is_on_lane(const struct rkt_rank_trace *trace, const struct rkt_work *work)
{
    bool has_stream = false;

    for (size_t i = 0; i < trace->work_count; i++)
        has_stream |= trace->works[i].work_class == RKT_WORK_COMPUTE &&
                      trace->works[i].stream_id == work->stream_id;
    return work->end_ns > work->start_ns && work->work_class != RKT_WORK_COMM && has_stream;
}

static void cover(bool *ticks, int64_t start_ns, int64_t end_ns)
{
    for (int64_t t = start_ns / TICK; t < end_ns / TICK; t++)
        ticks[t] = true;
}

/* The instants that lane work `next` had to wait for a comm that ended before it; when that
 * ended. */
static int64_t cover_wait(const struct rkt_rank_trace *trace, size_t next, bool *waits)
{
    const struct rkt_work *work = &trace->works[next];
    const struct rkt_work *found = NULL;
    int64_t gap_ns = 0;
    int64_t ready_ns = 0;

    for (size_t i = 0; i < next; i++) {
        if (is_on_lane(trace, &trace->works[i]) && trace->works[i].end_ns > gap_ns)
            gap_ns = trace->works[i].end_ns;
    }
    for (size_t i = 0; i < trace->work_count; i++) {
        const struct rkt_work *comm = &trace->works[i];

        if (comm->work_class == RKT_WORK_COMM && comm->end_ns <= work->start_ns &&
            comm->end_ns > work->start_ns - AFTER_TICKS * TICK && comm->end_ns > gap_ns &&
            (!found || comm->end_ns >= found->end_ns)) {
            found = comm;
            ready_ns = trace->arrivals[i].ready_ns;
        }
    }
    if (!found || work->launch_start_ns >= found->end_ns)
        return 0;
    cover(waits, ready_ns > gap_ns ? ready_ns : gap_ns, found->end_ns);
    return found->end_ns;
}

static void random_lanes_agree_with_every_instant(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_RUNS; seed++) {
        struct rkt_random random = {seed};
        bool computes[TICKS] = {false}, copies[TICKS] = {false}, waits[TICKS] = {false};
        int64_t want[RKT_CAUSE_OTHER + 1] = {0};
        const struct rkt_step_result *step;
        const struct rkt_rank_trace *trace;
        int64_t end_ns = 0, rest_ns;
        struct fake_run run;

        fake_run_init_small(&run, 1, ITEMS_MAX);
        for (int64_t i = 0, at = 0; i < WORKS; i++) {
            at += (int64_t)rkt_random_below(&random, 25);
            add_random_work(&random, &run, at);
        }
        trace = &run.traces[0];
        assert_int_equal(
            rkt_time_sort(trace->works, trace->work_count, sizeof(*trace->works), RKT_BY_START_END),
            RKT_OK);
        step = lane_find(&run, TICKS);
        for (size_t i = 0; i < trace->work_count; i++) {
            const struct rkt_work *work = &trace->works[i];
            int64_t at_ns =
                work->work_class == RKT_WORK_COMM ? trace->arrivals[i].ready_ns : work->end_ns;

            if (work->work_class != RKT_WORK_COMM)
                cover(work->work_class == RKT_WORK_COMPUTE ? computes : copies, work->start_ns,
                      work->end_ns);
            if (work->work_class != RKT_WORK_COPY && at_ns > end_ns)
                end_ns = at_ns;
            at_ns = is_on_lane(trace, work) ? cover_wait(trace, i, waits) : 0;
            end_ns = at_ns > end_ns ? at_ns : end_ns;
        }
        for (int64_t t = 0; t < TICKS && t * TICK < end_ns; t++) {
            int64_t until_ns = (t + 1) * TICK < end_ns ? (t + 1) * TICK : end_ns;
            enum rkt_cause cause = computes[t] ? RKT_CAUSE_COMPUTE
                                   : copies[t] ? RKT_CAUSE_COPY
                                               : RKT_CAUSE_OTHER;

            want[waits[t] ? RKT_CAUSE_NONE : cause] += until_ns - t * TICK;
        }
        rest_ns = step->own_work_ns - step->own_by_cause_ns[RKT_CAUSE_COMPUTE] -
                  step->own_by_cause_ns[RKT_CAUSE_COPY];
        if (step->own_by_cause_ns[RKT_CAUSE_COMPUTE] != want[RKT_CAUSE_COMPUTE] ||
            step->own_by_cause_ns[RKT_CAUSE_COPY] != want[RKT_CAUSE_COPY] ||
            rest_ns != want[RKT_CAUSE_OTHER])
            fail_msg("seed %d: compute %lld, not %lld; copy %lld, not %lld; rest %lld, not %lld",
                     (int)seed, (long long)step->own_by_cause_ns[RKT_CAUSE_COMPUTE],
                     (long long)want[RKT_CAUSE_COMPUTE],
                     (long long)step->own_by_cause_ns[RKT_CAUSE_COPY],
                     (long long)want[RKT_CAUSE_COPY], (long long)rest_ns,
                     (long long)want[RKT_CAUSE_OTHER]);
        fake_run_release(&run);
    }
}

/* Replayed with nothing changed, each item of the lane and its host are where they were. */
static void assert_as_it_was(const struct fake_run *run, uint64_t seed)
{
    const struct rkt_rank_trace *trace = &run->traces[0];
    int64_t afters_ns[ITEMS_MAX] = {0};
    int64_t now_ns = run->result.ranks[0].steps[0].window.start_ns;
    int64_t host_ns = 0;
    bool has_host = false;

    assert_true(trace->lane_count <= ITEMS_MAX);
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct rkt_lane_item *item = &trace->lane[i];
        int64_t end_ns = now_ns + rkt_lane_own_ns(item);
        int64_t got_ns = end_ns - item->host_idle_ns;

        if (has_host && item->host.bound_ns != RKT_REPLAY_UNKNOWN &&
            host_ns + item->host.bound_ns > got_ns)
            got_ns = host_ns + item->host.bound_ns;
        /* a post while the lane waits for another collective: not before that is launched */
        if (item->kind == RKT_REPLAY_POST && got_ns > end_ns &&
            got_ns <= trace->arrivals[item->work].ready_ns)
            end_ns = got_ns;
        if (got_ns != end_ns || item->host_idle_ns < 0)
            fail_msg("seed %d: own work of item %zu ends %lld ns late", (int)seed, i,
                     (long long)(got_ns - end_ns));
        if (item->kind == RKT_REPLAY_JOIN && trace->works[item->work].end_ns > end_ns)
            end_ns = trace->works[item->work].end_ns;
        afters_ns[i] = now_ns = end_ns;
        if (item->host.lead_ns == RKT_REPLAY_UNKNOWN)
            continue;
        got_ns = host_ns + item->host.own_ns;
        if (item->host.wait_back > 0 &&
            afters_ns[i - item->host.wait_back] + item->host.wait_ns > got_ns)
            got_ns = afters_ns[i - item->host.wait_back] + item->host.wait_ns;
        host_ns = end_ns - item->host.lead_ns;
        if (has_host && item->host.own_ns != RKT_REPLAY_UNKNOWN && got_ns != host_ns)
            fail_msg("seed %d: the host is %lld ns late at item %zu", (int)seed,
                     (long long)(got_ns - host_ns), i);
        has_host = true;
    }
}

static void random_lanes_and_hosts_replay_as_they_were(void **state)
{
    size_t idle_count = 0, wait_count = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_RUNS; seed++) {
        struct rkt_random random = {seed};
        struct fake_run run;
        int64_t at = 0;

        fake_run_init_small(&run, 1, ITEMS_MAX);
        for (int64_t i = 0; i < WORKS; i++) {
            at += (int64_t)rkt_random_below(&random, 45);
            add_random_work(&random, &run, at);
        }
        for (int64_t i = 0; i < 5; i++) {
            int64_t start_us = i * 200 + (int64_t)rkt_random_below(&random, 100);

            fake_add_call(&run, 0, RKT_CALL_BLOCKING, "cudaStreamSynchronize", start_us * US,
                          (start_us + (int64_t)rkt_random_below(&random, 100)) * US);
        }
        for (size_t i = 0; i < WORKS; i++) /* some launches wait */
            run.traces[0].works[i].launch_end_ns += (int64_t)rkt_random_below(&random, 3) * 9 * US;
        assert_int_equal(
            rkt_time_sort(run.traces[0].works, WORKS, sizeof(struct rkt_work), RKT_BY_START_END),
            RKT_OK);
        (void)lane_find(&run, INT64_C(2) * TICKS);
        assert_as_it_was(&run, seed);
        for (size_t i = 0; i < run.traces[0].lane_count; i++) {
            idle_count += run.traces[0].lane[i].host_idle_ns > 0;
            wait_count += run.traces[0].lane[i].host.wait_back > 0;
        }
        fake_run_release(&run);
    }
    assert_true(idle_count > RANDOM_RUNS && wait_count > RANDOM_RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queued_collectives_are_waited_for_from_when_nothing_else_is_left),
        cmocka_unit_test(a_host_that_launches_late_holds_itself_up),
        cmocka_unit_test(a_host_that_waited_for_it_does_not),
        cmocka_unit_test(copies_between_kernels_are_of_the_lane_and_others_run_beside_it),
        cmocka_unit_test(work_after_the_twenty_microseconds_did_not_wait),
        cmocka_unit_test(each_step_ends_once_and_work_belongs_to_where_it_was_launched),
        cmocka_unit_test(long_work_is_two_items_however_long),
        cmocka_unit_test(nothing_recorded_is_a_lane_of_nothing),
        cmocka_unit_test(without_gpu_records_buckets_and_marks_make_the_lane),
        cmocka_unit_test(random_lanes_agree_with_every_instant),
        cmocka_unit_test(random_lanes_and_hosts_replay_as_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
