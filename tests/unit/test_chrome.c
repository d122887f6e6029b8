/* SPDX-License-Identifier: Apache-2.0 */
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/export/chrome.h"
#include "analysis/export/lanes.h"
#include "fake_run.h"
#include "rkt_random.h"

/* The text of an export; the caller frees it. */
static char *export(const struct fake_run *run)
{
    struct rkt_error err = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    for (size_t r = 0; r < run->result.rank_count; r++)
        rkt_rank_trace_count(run->result.ranks[r].trace);
    assert_rkt_ok(rkt_export_chrome(&run->result, out, &err), err);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_has(const char *text, const char *piece)
{
    if (!strstr(text, piece))
        fail_msg("no %s in:\n%s", piece, text);
}

static size_t count_of(const char *text, const char *piece)
{
    size_t count = 0;

    while ((text = strstr(text, piece)) != NULL) {
        count++;
        text++;
    }
    return count;
}

static struct fake_work kernel(const char *name, uint32_t stream, int64_t start_ns, int64_t end_ns)
{
    return (struct fake_work){.work_class = RKT_WORK_COMPUTE,
                              .name = name,
                              .stream_id = stream,
                              .start_ns = start_ns,
                              .end_ns = end_ns};
}

static void ranks_are_processes_from_1_on_and_times_begin_at_the_first_event(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 2);
    snprintf(run.traces[0].source.info.host, sizeof(run.traces[0].source.info.host), "node7");
    (void)fake_add_work(&run, 0, kernel("gemm", 7, 1000001, 1003501));
    (void)fake_add_work(&run, 1, kernel("gemm", 7, 1000500, 1000500));
    text = export(&run);
    assert_has(text, "\"args\": {\"name\": \"rank 0 (node7)\"}");
    assert_has(text, "\"args\": {\"name\": \"rank 1\"}");
    assert_has(text, "\"pid\": 1, \"tid\": 3, \"ts\": 0.000, \"dur\": 3.500, \"name\": \"gemm\"");
    assert_has(text, "\"pid\": 2, \"tid\": 4, \"ts\": 0.499, \"dur\": 0.000, \"name\": \"gemm\"");
    assert_int_equal(count_of(text, "\"pid\": 0"), 0);
    assert_has(text, "\"args\": {\"name\": \"stream 7\"}");
    free(text);
    fake_run_release(&run);
}

static void ranks_without_a_common_clock_begin_at_their_own_first_event(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 2);
    run.result.ranks[1].align_state = RKT_ALIGN_UNALIGNED;
    (void)fake_add_work(&run, 0, kernel("a", 7, 5000000, 5001000));
    (void)fake_add_work(&run, 1, kernel("b", 7, 1000, 2000));
    text = export(&run);
    assert_int_equal(count_of(text, "\"ts\": 0.000"), 2);
    assert_has(text, "clock not aligned");
    free(text);
    fake_run_release(&run);
}

static void names_of_any_bytes_stay_valid_json(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    (void)fake_add_work(&run, 0, kernel("a\"b\\c\nd\xff", 7, 1, 2));
    text = export(&run);
    assert_has(text, "\"name\": \"a\\\"b\\\\c\\nd\\ufffd\"");
    free(text);
    fake_run_release(&run);
}

static void a_launch_and_its_first_kernel_are_joined_by_an_arrow(void **state)
{
    struct fake_run run;
    struct fake_work work = kernel("k", 7, 5000, 6000);
    char *text;

    (void)state;
    fake_run_init(&run, 2);
    work.launch_ns = 1000;
    for (size_t rank = 0; rank < 2; rank++) {
        fake_add_call(&run, rank, RKT_CALL_LAUNCH, "cudaLaunchKernel", 1000, 2000);
        run.traces[rank].calls[0].correlation_id = 9;
        for (int i = 0; i < 2; i++) /* as a graph's launch: two kernels of one call */
            run.traces[rank].works[fake_add_work(&run, rank, work)].correlation_id = 9;
        fake_add_call(&run, rank, RKT_CALL_BLOCKING, "cudaStreamSynchronize", 3000, 4000);
    }
    text = export(&run);
    assert_int_equal(count_of(text, "\"ph\": \"s\""), 2);
    assert_int_equal(count_of(text, "\"ph\": \"f\""), 2);
    assert_int_equal(count_of(text, "\"id\": 1"), 2); /* of rank 0; the other has its own */
    assert_int_equal(count_of(text, "\"id\": 2"), 2);
    free(text);
    fake_run_release(&run);
}

static void br_64_slices_that_overlap_partly_get_tracks_of_their_own(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    for (int i = 0; i < 8; i++) /* BR-26: more than a handful at once */
        (void)fake_add_work(&run, 0, kernel("k", 7, 1000 + i, 2000 + i));
    text = export(&run);
    for (int i = 2; i <= 8; i++) {
        char name[32];

        snprintf(name, sizeof(name), "\"stream 7 (%d)\"", i);
        assert_has(text, name);
    }
    assert_int_equal(count_of(text, "\"ph\": \"X\""), 8);
    free(text);
    fake_run_release(&run);
}

static void a_collective_says_what_it_moved_and_how_long_it_waited(void **state)
{
    struct rkt_participant parts[] = {
        {.rank = 0, .wait_ns = 40, .clock_free_wait_ns = 41, .late_ns = RKT_NA},
        {.rank = 1, .wait_ns = RKT_NA, .late_ns = RKT_NA},
    };
    struct rkt_collective collective = {.comm_id = 0xab,
                                        .seq = 12,
                                        .bytes = 4096,
                                        .func_name = "AllReduce",
                                        .comm_name = "",
                                        .participants = parts,
                                        .participant_count = 2,
                                        .transfer_ns = 60,
                                        .last_rank = 1,
                                        .last_is_distinguishable = true,
                                        .clock_gap_ns = 39,
                                        .busbw_bytes_per_s = 0};
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 2);
    run.result.collectives = &collective;
    run.result.collective_count = 1;
    for (size_t rank = 0; rank < 2; rank++)
        run.traces[rank]
            .works[fake_add_comm_work(&run, rank, "ncclDevKernel_AllReduce", 1000, 1100)]
            .collective = 0;
    text = export(&run);
    assert_has(
        text, "\"collective\": \"AllReduce\", \"comm\": \"0x00000000000000ab\", \"seq\": 12, "
              "\"bytes\": 4096, \"wait_ns\": 40, \"clock_gap_ns\": 39, \"clock_free_wait_ns\": 41, "
              "\"transfer_ns\": 60, \"last_rank\": 1");
    assert_has(text, "\"wait_ns\": null");
    free(text);
    collective.last_is_distinguishable = false;
    collective.clock_gap_ns = 40;
    text = export(&run);
    assert_has(text, "\"wait_ns\": \"not distinguishable\", \"clock_gap_ns\": 40");
    assert_has(text, "\"transfer_ns\": 60, \"last_rank\": \"not distinguishable\"");
    free(text);
    fake_run_release(&run);
}

static void a_process_is_labelled_with_what_its_clock_is_worth(void **state)
{
    static const struct {
        enum rkt_align_state state;
        int64_t bound_ns;
        const char *label;
    } CASES[] = {
        {RKT_ALIGN_COLLECTIVES, 38000, "\"labels\": \"clock: from collectives, +- 38.00 us\""},
        {RKT_ALIGN_WALL_CLOCK, -1, "\"labels\": \"clock: wall clock, +- unknown, cut short\""},
        {RKT_ALIGN_UNALIGNED, -1,
         "\"labels\": \"clock not aligned: shown from its own first event, cut short\""},
    };
    struct fake_run run;

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char *text;

        fake_run_init(&run, 2);
        fake_add_comm_work(&run, 1, "ncclDevKernel_AllReduce", 1000, 1100);
        run.result.ranks[1].align_state = CASES[i].state;
        run.result.ranks[1].bound_ns = CASES[i].bound_ns;
        run.result.ranks[1].is_cut_short = i > 0;
        text = export(&run);
        assert_has(text, CASES[i].label);
        free(text);
        fake_run_release(&run);
    }
}

static void steps_ranges_and_marks_are_shown(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    run.result.ranks[0].step_source = RKT_STEPS_MARKS;
    (void)fake_add_step(&run, 0, 1000, 9000);
    fake_add_range(&run, 0, RKT_RANGE_FORWARD, "", 1000, 4000);
    fake_add_range(&run, 0, RKT_RANGE_MARK, "here", 2000, 2000);
    text = export(&run);
    assert_has(text, "\"name\": \"step 0\"");
    assert_has(text, "\"cat\": \"forward\"");
    assert_has(text, "\"ph\": \"i\", \"cat\": \"mark\"");
    free(text);
    fake_run_release(&run);
}

static void samples_are_counters_with_name_and_unit(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 2);
    (void)fake_add_work(&run, 0, kernel("gemm", 7, 1000000, 1003500));
    (void)fake_add_work(&run, 1, kernel("gemm", 7, 1000000, 1003500));
    fake_add_counter(&run, 1, RKT_COUNTER_SM_ACTIVE, 999000, 1002000, 3125);
    fake_add_counter(&run, 1, RKT_COUNTER_POWER, 1002000, 1002000, 512500);
    fake_add_counter(&run, 1, RKT_COUNTER_THROTTLE_REASONS, 1002000, 1002000,
                     RKT_THROTTLE_HW_THERMAL | RKT_THROTTLE_IDLE);
    text = export(&run);
    assert_has(text,
               "{\"ph\": \"C\", \"cat\": \"gpu\", \"name\": \"GPU 0 SM active (%)\", \"pid\": 2, "
               "\"tid\": 0, \"ts\": 0.000, \"args\": {\"%\": 31.25}}");
    assert_has(text, "\"name\": \"GPU 0 power (W)\", \"pid\": 2, \"tid\": 0, \"ts\": 3.000, "
                     "\"args\": {\"W\": 512.5}");
    assert_has(text, "\"name\": \"GPU 0 throttled by\"");
    assert_has(text, "\"power cap\": 0");
    assert_has(text, "\"thermal (hardware)\": 1");
    assert_int_equal(count_of(text, "\"ph\": \"C\""), 3);
    assert_int_equal(count_of(text, "\"pid\": 1, \"tid\": 0, \"ts\""), 0);
    free(text);
    fake_run_release(&run);
}

static void a_full_disk_is_an_error(void **state)
{
    struct fake_run run;
    struct rkt_error err = {0};
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    if (!full)
        skip();
    fake_run_init(&run, 1);
    (void)fake_add_work(&run, 0, kernel("k", 7, 1, 2));
    assert_rkt_status(rkt_export_chrome(&run.result, full, &err), RKT_ERR_IO);
    (void)fclose(full);
    fake_run_release(&run);
}

/* ---- lanes ---- */

struct placed {
    int64_t start_ns;
    int64_t end_ns;
    size_t lane;
};

static int by_start_longest(const void *left, const void *right)
{
    const struct placed *a = left;
    const struct placed *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static bool overlap_partly(const struct placed *a, const struct placed *b)
{
    bool are_apart = a->end_ns <= b->start_ns || b->end_ns <= a->start_ns;
    bool a_holds_b = a->start_ns <= b->start_ns && b->end_ns <= a->end_ns;
    bool b_holds_a = b->start_ns <= a->start_ns && a->end_ns <= b->end_ns;

    return !are_apart && !a_holds_b && !b_holds_a;
}

static void no_two_slices_of_a_lane_overlap_partly(void **state)
{
    struct rkt_random random = {7};
    struct rkt_lanes lanes;

    (void)state;
    rkt_lanes_init(&lanes);
    for (int round = 0; round < 200; round++) {
        struct placed slices[60];
        size_t count = 1 + rkt_random_below(&random, 60);

        for (size_t i = 0; i < count; i++) {
            slices[i].start_ns = (int64_t)rkt_random_below(&random, 50);
            slices[i].end_ns = slices[i].start_ns + (int64_t)rkt_random_below(&random, 20);
        }
        qsort(slices, count, sizeof(slices[0]), by_start_longest);
        rkt_lanes_reset(&lanes);
        for (size_t i = 0; i < count; i++) {
            slices[i].lane = rkt_lanes_place(&lanes, slices[i].start_ns, slices[i].end_ns);
            for (size_t k = 0; k < i; k++) {
                if (slices[k].lane == slices[i].lane && overlap_partly(&slices[k], &slices[i]))
                    fail_msg("round %d: slices %zu and %zu on lane %zu", round, k, i,
                             slices[i].lane);
            }
        }
    }
    rkt_lanes_release(&lanes);
}

static void slices_that_nest_or_follow_stay_on_one_lane(void **state)
{
    static const struct placed NESTED[] = {{0, 100, 0}, {0, 50, 0},  {0, 0, 0},    {10, 50, 0},
                                           {50, 60, 0}, {60, 60, 0}, {60, 100, 0}, {100, 110, 0}};
    struct rkt_lanes lanes;

    (void)state;
    rkt_lanes_init(&lanes);
    for (size_t i = 0; i < sizeof(NESTED) / sizeof(NESTED[0]); i++)
        assert_int_equal(rkt_lanes_place(&lanes, NESTED[i].start_ns, NESTED[i].end_ns), 0);
    rkt_lanes_release(&lanes);
}

static void edges_of_capture_windows_are_instants(void **state)
{
    struct rkt_open_span spans[] = {{INT64_MIN, 2000000, INT64_MIN}, {5000000, INT64_MAX, 4000000}};
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    (void)fake_add_work(&run, 0, kernel("gemm", 7, 1000000, 2000000));
    run.traces[0].has_windows = true;
    run.traces[0].open_spans = spans;
    run.traces[0].open_count = 2;
    text = export(&run);
    assert_int_equal(count_of(text, "\"capture opens\""), 1);
    assert_int_equal(count_of(text, "\"capture closes\""), 1);
    assert_int_equal(count_of(text, "\"ph\": \"i\""), 2);
    free(text);
    fake_run_release(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_processes_from_1_on_and_times_begin_at_the_first_event),
        cmocka_unit_test(edges_of_capture_windows_are_instants),
        cmocka_unit_test(ranks_without_a_common_clock_begin_at_their_own_first_event),
        cmocka_unit_test(names_of_any_bytes_stay_valid_json),
        cmocka_unit_test(a_launch_and_its_first_kernel_are_joined_by_an_arrow),
        cmocka_unit_test(br_64_slices_that_overlap_partly_get_tracks_of_their_own),
        cmocka_unit_test(a_collective_says_what_it_moved_and_how_long_it_waited),
        cmocka_unit_test(a_process_is_labelled_with_what_its_clock_is_worth),
        cmocka_unit_test(steps_ranges_and_marks_are_shown),
        cmocka_unit_test(samples_are_counters_with_name_and_unit),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(no_two_slices_of_a_lane_overlap_partly),
        cmocka_unit_test(slices_that_nest_or_follow_stay_on_one_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
