/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/export/chrome.h"
#include "analysis/report/report.h"
#include "tests/unit/rkt_random.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/store_maker.h"

struct fixture {
    struct store_maker maker;
    struct rkt_analysis *analysis;
    const struct rkt_result *result;
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    store_maker_init(&fx->maker, RKT_PRODUCER_CAPTURE);
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    rkt_analysis_destroy(fx->analysis);
    store_maker_release(&fx->maker);
    free(fx);
    return 0;
}

static void analyse(struct fixture *fx)
{
    const struct rkt_analysis_options options = {0};
    struct rkt_error err;

    assert_rkt_ok(rkt_analysis_create(store_open(&fx->maker), &options, &fx->analysis, &err), err);
    fx->result = rkt_analysis_result(fx->analysis);
}

static uint32_t add_attempt(struct fixture *fx, uint8_t role, int rank, uint64_t pid,
                            uint32_t restart_count)
{
    struct rkt_source_info info = {
        .producer = RKT_PRODUCER_CAPTURE,
        .role = role,
        .gpu_clock = RKT_CLOCK_REALTIME,
        .rank_known = rank >= 0,
        .rank = rank >= 0 ? (uint32_t)rank : 0,
        .world_size = 4,
        .restart_count = restart_count,
        .pid = pid,
    };

    return store_add_source(&fx->maker, info);
}

static uint32_t add_process(struct fixture *fx, uint8_t role, int rank, uint64_t pid)
{
    return add_attempt(fx, role, rank, pid, 0);
}

static void add_kernel(struct fixture *fx, uint32_t source, uint64_t start_ns, uint64_t end_ns)
{
    store_add(&fx->maker, source,
              (struct rkt_event){.kind = RKT_EVENT_KERNEL,
                                 .clock_id = RKT_CLOCK_REALTIME,
                                 .name_id = store_name(&fx->maker, source, "gemm"),
                                 .start_ns = start_ns,
                                 .end_ns = end_ns});
}

/* Of 1,000 ns; a rank without GPU work has its time in MONOTONIC_RAW. */
static void add_step_of(struct fixture *fx, uint32_t source, uint8_t clock_id, uint64_t number,
                        uint64_t start_ns)
{
    store_add(&fx->maker, source,
              (struct rkt_event){.kind = RKT_EVENT_RANGE,
                                 .clock_id = clock_id,
                                 .type = RKT_RANGE_STEP,
                                 .start_ns = start_ns,
                                 .end_ns = start_ns + 1000,
                                 .range = {.value = number}});
}

static void add_step(struct fixture *fx, uint32_t source, uint64_t number, uint64_t start_ns)
{
    add_step_of(fx, source, RKT_CLOCK_REALTIME, number, start_ns);
}

static bool has_note(const struct fixture *fx, const char *part)
{
    for (size_t i = 0; i < fx->result->note_count; i++) {
        if (strstr(fx->result->notes[i].text, part))
            return true;
    }
    return false;
}

static void expect_note(const struct fixture *fx, const char *part)
{
    if (has_note(fx, part))
        return;
    for (size_t i = 0; i < fx->result->note_count; i++)
        print_message("note: %s\n", fx->result->notes[i].text);
    fail_msg("no note says \"%s\"", part);
}

static const struct rkt_end_info EXITED = {.reason = RKT_END_EXITED};

static void ranks_come_by_number_whatever_their_order_in_the_store(void **state)
{
    struct fixture *fx = *state;

    for (int rank = 3; rank >= 0; rank--) {
        uint32_t source = add_process(fx, RKT_ROLE_RANK, rank, 100 + (uint64_t)rank);

        add_kernel(fx, source, 1000, 1100 + 100 * (uint64_t)rank);
        store_end(&fx->maker, source, EXITED);
    }
    analyse(fx);
    assert_int_equal(fx->result->rank_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fx->result->ranks[i].rank, i);
        assert_int_equal(fx->result->ranks[i].run.parts.window_ns, 100 + 100 * i);
        assert_false(fx->result->ranks[i].is_cut_short);
    }
    assert_int_equal(fx->result->expected_rank_count, 4);
    assert_int_equal(fx->result->event_count, 4);
    assert_false(has_note(fx, "missing"));
}

static void missing_ranks_are_listed(void **state)
{
    struct fixture *fx = *state;
    uint32_t source = add_process(fx, RKT_ROLE_RANK, 1, 100);

    add_kernel(fx, source, 1000, 1100);
    store_end(&fx->maker, source, EXITED);
    analyse(fx);
    expect_note(fx, "3 of 4 ranks are missing (0, 2 to 3)");
}

/* Room, time and lines are by what is there, not by what a source says of itself. */
static void sources_that_lie_about_their_rank_do_no_harm(void **state)
{
    static const struct {
        uint32_t rank;
        uint32_t world_size;
    } CLAIMS[] = {{0, 4}, {UINT32_MAX, UINT32_MAX}, {4000000000, 3}, {0, 1}};
    struct fixture *fx = *state;

    for (size_t i = 0; i < sizeof(CLAIMS) / sizeof(*CLAIMS); i++) {
        struct rkt_source_info info = {.producer = RKT_PRODUCER_CAPTURE,
                                       .gpu_clock = RKT_CLOCK_REALTIME,
                                       .rank_known = true,
                                       .rank = CLAIMS[i].rank,
                                       .local_rank = CLAIMS[i].rank,
                                       .world_size = CLAIMS[i].world_size,
                                       .node = CLAIMS[i].rank};
        uint32_t source = store_add_source(&fx->maker, info);

        add_kernel(fx, source, 1000, 1100);
        store_end(&fx->maker, source, EXITED);
    }
    analyse(fx);
    assert_int_equal(fx->result->rank_count, 3);
    assert_int_equal(fx->result->ranks[2].rank, UINT32_MAX);
    expect_note(fx, "2 processes carried rank 0");
    expect_note(fx, "4294967292 of 4294967295 ranks are missing (1 to 3999999999, 4000000001 to ");
    for (size_t i = 0; i <= RKT_REPORT_FORMAT_COUNT; i++) {
        const struct rkt_report_view page = {0};
        FILE *out = tmpfile();
        struct rkt_error err;

        assert_non_null(out);
        assert_rkt_ok(i < RKT_REPORT_FORMAT_COUNT
                          ? RKT_REPORT_FORMATS[i].write(fx->result, &page, out, &err)
                          : rkt_export_chrome(fx->result, out, &err),
                      err);
        assert_in_range(ftell(out), 100, 100000);
        assert_int_equal(fclose(out), 0);
    }
}

static void helpers_and_further_processes_of_a_rank_are_in_no_number(void **state)
{
    struct fixture *fx = *state;
    uint32_t compiler = add_process(fx, RKT_ROLE_HELPER, 0, 1);
    uint32_t launcher = add_process(fx, RKT_ROLE_RANK, 0, 2);
    uint32_t training = add_process(fx, RKT_ROLE_RANK, 0, 3);

    add_kernel(fx, compiler, 1000, 9000);
    add_kernel(fx, launcher, 1000, 1500);
    add_kernel(fx, launcher, 2000, 2500);
    add_kernel(fx, training, 1000, 1100);
    store_add(&fx->maker, training,
              (struct rkt_event){.kind = RKT_EVENT_COMM,
                                 .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                 .start_ns = 5,
                                 .end_ns = 5,
                                 .comm = {.comm_id = 9, .rank = 0, .rank_count = 4}});
    analyse(fx);
    assert_int_equal(fx->result->rank_count, 1);
    assert_int_equal(fx->result->ranks[0].trace->source.info.pid, 3);
    assert_int_equal(fx->result->ranks[0].run.parts.window_ns, 100);
    expect_note(fx, "1 helper");
    expect_note(fx, "2 processes carried rank 0; process 3 is taken");
}

/* Rank 1 did not come back: the work of its first attempt has nothing to do with the second. */
static void of_a_restarted_job_the_last_attempt_is_taken_for_all_ranks(void **state)
{
    struct fixture *fx = *state;
    uint32_t first = add_attempt(fx, RKT_ROLE_RANK, 0, 10, 0);
    uint32_t gone = add_attempt(fx, RKT_ROLE_RANK, 1, 11, 0);
    uint32_t second = add_attempt(fx, RKT_ROLE_RANK, 0, 12, 1);

    add_kernel(fx, first, 1000, 9000);
    add_kernel(fx, gone, 1000, 9000);
    add_kernel(fx, second, 20000, 20100);
    analyse(fx);
    assert_int_equal(fx->result->rank_count, 1);
    assert_int_equal(fx->result->ranks[0].trace->source.info.pid, 12);
    assert_int_equal(fx->result->ranks[0].run.parts.window_ns, 100);
    expect_note(fx, "of its last attempt, restart 1; 2 processes of earlier attempts");
    expect_note(fx, "3 of 4 ranks are missing (1 to 3)");
    assert_false(has_note(fx, "carried rank"));
}

static void of_processes_without_a_communicator_the_one_with_most_work_is_main(void **state)
{
    struct fixture *fx = *state;
    uint32_t small = add_process(fx, RKT_ROLE_RANK, 0, 2);
    uint32_t large = add_process(fx, RKT_ROLE_RANK, 0, 3);

    add_kernel(fx, small, 1000, 1500);
    add_kernel(fx, large, 1000, 1100);
    add_kernel(fx, large, 1200, 1300);
    analyse(fx);
    assert_int_equal(fx->result->ranks[0].trace->source.info.pid, 3);
}

static void a_process_that_knew_no_rank_gets_the_next_free_one(void **state)
{
    struct fixture *fx = *state;
    uint32_t known = add_process(fx, RKT_ROLE_RANK, 2, 7);
    uint32_t unknown = add_process(fx, RKT_ROLE_RANK, -1, 8);

    add_kernel(fx, known, 1000, 1500);
    add_kernel(fx, unknown, 1000, 1500);
    analyse(fx);
    assert_int_equal(fx->result->rank_count, 2);
    assert_int_equal(fx->result->ranks[1].rank, 3);
    expect_note(fx, "process 8 on an unknown host did not know its rank; it is shown as rank 3");
}

static void add_loss(struct fixture *fx, uint32_t source, uint8_t reason, uint64_t count)
{
    store_add(&fx->maker, source,
              (struct rkt_event){.kind = RKT_EVENT_LOSS,
                                 .type = reason,
                                 .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                 .start_ns = 1,
                                 .end_ns = 1,
                                 .loss = {.count = count}});
}

static void how_a_rank_ended_and_what_it_lost_is_said(void **state)
{
    struct fixture *fx = *state;
    uint32_t killed = add_process(fx, RKT_ROLE_RANK, 0, 2);
    uint32_t silent = add_process(fx, RKT_ROLE_RANK, 1, 3);

    add_kernel(fx, killed, 1000, 1500);
    add_kernel(fx, killed, 0, 1500);
    add_loss(fx, killed, RKT_LOSS_RING_FULL, 42);
    store_end(&fx->maker, killed,
              (struct rkt_end_info){.reason = RKT_END_SIGNALED, .signal_number = 9});
    add_kernel(fx, silent, 1000, 1500);
    analyse(fx);
    assert_true(fx->result->ranks[0].is_cut_short);
    assert_true(fx->result->ranks[1].is_cut_short);
    assert_int_equal(fx->result->loss_count, 42);
    expect_note(fx, "rank 0: ended by signal 9");
    expect_note(fx, "rank 0: 42 records were lost (ring_full)");
    expect_note(fx, "rank 0: 1 records with impossible times");
    expect_note(fx, "rank 1: its records stop without an end");
}

/* Every stage that can lose records has a reason of its own. */
static void each_reason_of_a_loss_is_said(void **state)
{
    struct fixture *fx = *state;
    uint32_t rank = add_process(fx, RKT_ROLE_RANK, 0, 2);
    uint64_t lost_count = 0;
    char said[64];
    uint8_t reason;

    add_kernel(fx, rank, 1000, 1500);
    for (reason = 0; strcmp(rkt_loss_reason_name(reason), "unknown") != 0; reason++) {
        add_loss(fx, rank, reason, 1000u + reason);
        lost_count += reason == RKT_LOSS_NAMES_FULL ? 0 : 1000u + reason;
    }
    assert_true(reason > RKT_LOSS_TOO_MANY_OPEN);
    analyse(fx);
    assert_int_equal(fx->result->loss_count, lost_count);
    for (reason = 0; strcmp(rkt_loss_reason_name(reason), "unknown") != 0; reason++) {
        (void)snprintf(said, sizeof(said), "rank 0: %u records ", 1000u + reason);
        expect_note(fx, said);
    }
}

static void a_store_without_ranks_is_a_result_with_a_note(void **state)
{
    struct fixture *fx = *state;

    analyse(fx);
    assert_int_equal(fx->result->rank_count, 0);
    expect_note(fx, "no training process");
}

static void outside_is_what_lies_before_and_after_the_steps(void **state)
{
    struct fixture *fx = *state;
    uint32_t source = add_process(fx, RKT_ROLE_RANK, 0, 2);
    const struct rkt_rank_result *rank;
    int64_t sum_ns;

    add_kernel(fx, source, 1000, 1500);
    add_kernel(fx, source, 3100, 3500);
    add_kernel(fx, source, 4200, 4300);
    add_kernel(fx, source, 6000, 6100);
    for (uint64_t i = 0; i < 2; i++)
        add_step(fx, source, i, 3000 + 1000 * i);
    analyse(fx);
    rank = &fx->result->ranks[0];
    assert_int_equal(rank->step_count, 2);
    assert_int_equal(rank->run.parts.window_ns, 5100);
    assert_int_equal(rank->steps[0].window.parts.window_ns, 500);
    assert_int_equal(rank->steps[1].window.parts.window_ns, 800);
    assert_int_equal(rank->outside.parts.window_ns, 2000 + 1800);
    assert_int_equal(rank->outside.parts.compute_ns, 500 + 100);
    assert_int_equal(rank->outside.kernel_counts[RKT_WORK_COMPUTE], 2);
    sum_ns = rank->outside.parts.window_ns;
    for (size_t i = 0; i < rank->step_count; i++)
        sum_ns += rank->steps[i].window.parts.window_ns;
    assert_int_equal(sum_ns, rank->run.parts.window_ns); /* they tile the run */
}

/* As when a sidecar dies before the first GPU records of its rank were sent. */
static void a_rank_without_gpu_work_is_in_no_sum_of_those_with(void **state)
{
    struct fixture *fx = *state;
    const struct rkt_summary *summary;

    for (int rank = 0; rank < 3; rank++) {
        uint32_t source = add_process(fx, RKT_ROLE_RANK, rank, 2 + (uint64_t)rank);

        for (uint64_t i = 0; i < 3; i++) {
            add_step(fx, source, i, 1000 + 1000 * i);
            if (rank != 1)
                add_kernel(fx, source, 1100 + 1000 * i, 1600 + 1000 * i);
        }
    }
    analyse(fx);
    summary = &fx->result->summary;
    assert_int_equal(fx->result->rank_count, 3);
    assert_true(fx->result->ranks[1].is_set_apart);
    assert_false(summary->is_host_view);
    assert_int_equal(rkt_partition_sum(&summary->parts), summary->parts_rank_ns);
    assert_int_equal(summary->parts.compute_ns, 2 * 3 * 500);
    expect_note(fx, "1 of 3 ranks recorded no GPU work");
}

/* Rank 1 was recorded from step 1 on: what rank 0 did in step 0 is compared with nothing. */
static void a_step_that_not_all_ranks_recorded_is_not_measured(void **state)
{
    struct fixture *fx = *state;
    const struct rkt_rank_result *rank;

    for (int r = 0; r < 2; r++) {
        uint32_t source = add_process(fx, RKT_ROLE_RANK, r, 2 + (uint64_t)r);

        for (uint64_t i = 0; i < 3; i++) {
            add_step(fx, source, i, 1000 + 1000 * i);
            if (r == 0 || i > 0)
                add_kernel(fx, source, 1100 + 1000 * i, 1600 + 1000 * i);
        }
        if (r == 1)
            store_add(&fx->maker, source,
                      (struct rkt_event){.kind = RKT_EVENT_WINDOW,
                                         .clock_id = RKT_CLOCK_REALTIME,
                                         .type = RKT_WINDOW_OPENED,
                                         .start_ns = 1900,
                                         .end_ns = 1900});
    }
    analyse(fx);
    rank = &fx->result->ranks[0];
    assert_true(rank->steps[0].is_unrecorded);
    assert_int_equal(rank->steps[0].window.parts.window_ns, 0);
    assert_int_equal(rank->steps[0].window.kernel_counts[RKT_WORK_COMPUTE], 0);
    assert_true(isnan(rank->steps[0].window.compute_share));
    assert_int_equal(rank->steps[0].backward.bucket_count, 0);
    assert_true(isnan(rank->steps[0].backward.ratio));
    assert_false(rank->steps[1].is_unrecorded);
    assert_int_equal(rank->steps[1].window.parts.compute_ns, 500);
    assert_int_equal(rank->run.kernel_counts[RKT_WORK_COMPUTE], 3);
    expect_note(fx, "capture windows differ: 1 step");
}

static void ranks_without_gpu_work_share_their_buckets(void **state)
{
    struct fixture *fx = *state;

    for (int r = 0; r < 2; r++) {
        uint32_t source = add_process(fx, RKT_ROLE_RANK, r, 2 + (uint64_t)r);

        for (uint64_t i = 0; i < 3; i++) {
            add_step_of(fx, source, RKT_CLOCK_MONOTONIC_RAW, i, 1000 + 1000 * i);
            store_add(&fx->maker, source,
                      (struct rkt_event){.kind = RKT_EVENT_BUCKET,
                                         .clock_id = RKT_CLOCK_MONOTONIC_RAW,
                                         .start_ns = 1300 + 1000 * i,
                                         .end_ns = 1700 + 1000 * i,
                                         .bucket = {.bytes = 64, .step = i}});
        }
    }
    analyse(fx);
    assert_int_equal(fx->result->collective_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fx->result->collectives[i].participant_count, 2);
    assert_int_equal(fx->result->unmatched_count, 0);
    assert_int_equal(fx->result->ranks[0].steps[1].window.host.comm_ns, 400);
}

/* ---- records that make no sense ---- */

/* Mostly within a small window; now and then 0, enormous or backwards. */
static uint64_t draw_time(struct rkt_random *random)
{
    switch (rkt_random_below(random, 40)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX - rkt_random_below(random, 3);
    case 2:
        return (uint64_t)INT64_MAX - rkt_random_below(random, 1000);
    default:
        return 1000 + rkt_random_below(random, 100000);
    }
}

static struct rkt_event draw_event(struct rkt_random *random)
{
    static const uint8_t kinds[] = {
        RKT_EVENT_KERNEL, RKT_EVENT_KERNEL, RKT_EVENT_MEMCPY, RKT_EVENT_MEMSET,
        RKT_EVENT_SYNC,   RKT_EVENT_API,    RKT_EVENT_API,    RKT_EVENT_NCCL,
        RKT_EVENT_NCCL,   RKT_EVENT_RANGE,  RKT_EVENT_BUCKET, RKT_EVENT_NAME,
        RKT_EVENT_COMM,   RKT_EVENT_SHAPE,  RKT_EVENT_LOSS,   RKT_EVENT_CLOCK_PAIR,
    };
    struct rkt_event event = {
        .kind = kinds[rkt_random_below(random, sizeof(kinds))],
        .clock_id = (uint8_t)(1 + rkt_random_below(random, 3)),
        .type = (uint8_t)rkt_random_below(random, 16),
        .flags = (uint8_t)rkt_random_below(random, 16),
        .name_id = (uint32_t)rkt_random_below(random, 6), /* the last ones are not defined */
        .thread_id = (uint32_t)rkt_random_below(random, 4),
        .correlation_id = (uint32_t)rkt_random_below(random, 12),
        .start_ns = draw_time(random),
    };
    unsigned char *payload = (unsigned char *)&event.kernel;

    event.end_ns = rkt_random_below(random, 8) ? event.start_ns + rkt_random_below(random, 3000)
                                               : draw_time(random);
    for (size_t i = 0; i < sizeof(event.kernel); i++)
        payload[i] = (unsigned char)(rkt_random_below(random, 3) ? 0 : rkt_random_next(random));
    return event;
}

static void draw_rank(struct fixture *fx, struct rkt_random *random, int rank)
{
    static const char *const names[] = {"ncclDevKernel_AllReduce", "gemm", "cudaLaunchKernel",
                                        "backward"};
    uint32_t source = add_process(fx, RKT_ROLE_RANK, rank, 1 + (uint64_t)rank);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        store_name(&fx->maker, source, names[i]);
    for (uint64_t i = rkt_random_below(random, 300); i > 0; i--)
        store_add(&fx->maker, source, draw_event(random));
}

static void draw_sidecar(struct fixture *fx, struct rkt_random *random)
{
    uint32_t source = add_process(fx, RKT_ROLE_SIDECAR, -1, 99);

    for (uint64_t i = rkt_random_below(random, 40); i > 0; i--) {
        struct rkt_event event = draw_event(random);

        event.kind = rkt_random_below(random, 2) ? RKT_EVENT_CLOCK_PAIR : RKT_EVENT_CLOCK_EXCHANGE;
        event.clock_id = RKT_CLOCK_MONOTONIC_RAW;
        store_add(&fx->maker, source, event);
    }
}

/* How many steps were looked at. */
static size_t expect_exact_sums(const struct rkt_rank_result *rank)
{
    int64_t sum_ns = rank->outside.parts.window_ns;
    bool is_whole = !rank->trace->has_windows; /* all of the run was recorded */

    if (rank->run.is_host_view)
        return 0;
    assert_int_equal(rkt_partition_sum(&rank->run.parts), rank->run.parts.window_ns);
    for (size_t i = 0; i < rank->step_count; i++) {
        assert_int_equal(rkt_partition_sum(&rank->steps[i].window.parts),
                         rank->steps[i].window.parts.window_ns);
        sum_ns += rank->steps[i].window.parts.window_ns;
        is_whole = is_whole && !rank->steps[i].is_unrecorded;
    }
    if (is_whole) {
        assert_int_equal(rank->run.parts.window_ns, rank->run.end_ns - rank->run.start_ns);
        assert_int_equal(sum_ns, rank->run.parts.window_ns);
    }
    return rank->step_count;
}

static void records_that_make_no_sense_still_add_up(void **state)
{
    size_t step_count = 0;

    (void)state;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct rkt_random random = {seed};
        struct fixture fx = {0};

        store_maker_init(&fx.maker, RKT_PRODUCER_CAPTURE);
        for (int rank = 0; rank < 3; rank++)
            draw_rank(&fx, &random, rank);
        if (seed % 2)
            draw_sidecar(&fx, &random);
        analyse(&fx);
        assert_int_equal(fx.result->rank_count, 3);
        for (size_t i = 0; i < 3; i++)
            step_count += expect_exact_sums(&fx.result->ranks[i]);
        rkt_analysis_destroy(fx.analysis);
        store_maker_release(&fx.maker);
    }
    assert_true(step_count > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranks_come_by_number_whatever_their_order_in_the_store),
        TEST(missing_ranks_are_listed),
        TEST(sources_that_lie_about_their_rank_do_no_harm),
        TEST(helpers_and_further_processes_of_a_rank_are_in_no_number),
        TEST(of_a_restarted_job_the_last_attempt_is_taken_for_all_ranks),
        TEST(of_processes_without_a_communicator_the_one_with_most_work_is_main),
        TEST(a_process_that_knew_no_rank_gets_the_next_free_one),
        TEST(how_a_rank_ended_and_what_it_lost_is_said),
        TEST(each_reason_of_a_loss_is_said),
        TEST(a_store_without_ranks_is_a_result_with_a_note),
        TEST(outside_is_what_lies_before_and_after_the_steps),
        TEST(a_rank_without_gpu_work_is_in_no_sum_of_those_with),
        TEST(a_step_that_not_all_ranks_recorded_is_not_measured),
        TEST(ranks_without_gpu_work_share_their_buckets),
        cmocka_unit_test(records_that_make_no_sense_still_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
