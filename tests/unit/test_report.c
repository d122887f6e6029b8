/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of made-up runs against tests/data/report; tests/update_golden_reports.sh rewrites
 * these, and the difference is for a person to look at.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/finding.h"
#include "analysis/load.h"
#include "analysis/rank_tables.h"
#include "analysis/report/report.h"
#include "analysis/report/text_format.h"
#include "analysis/stages.h"
#include "fake_job.h"
#include "rkt_test.h"
#include "written_report.h"

#define MS INT64_C(1000000)
#define STEP_NS (100 * MS)
#define PAGE_LINES 60

static void fill_window(struct rkt_window *window)
{
    struct rkt_partition *parts = &window->parts;
    int64_t length_ns = window->end_ns - window->start_ns;
    int64_t comm_ns = parts->overlapped_ns + parts->comm_wait_ns + parts->comm_transfer_ns +
                      parts->comm_unsplit_ns;

    parts->window_ns = length_ns;
    window->compute_ns = parts->compute_ns + parts->overlapped_ns;
    window->comm_ns = comm_ns;
    window->comm_share = (double)comm_ns / (double)length_ns;
    window->exposed_share = (double)(comm_ns - parts->overlapped_ns) / (double)length_ns;
    window->overlap = comm_ns > 0 ? (double)parts->overlapped_ns / (double)comm_ns : (double)NAN;
    window->compute_share = (double)window->compute_ns / (double)length_ns;
    window->gpu_util =
        (double)(window->compute_ns + comm_ns - parts->overlapped_ns) / (double)length_ns;
}

/* A step of 100 ms; `late_ns` more input than usual, which the others wait for. */
static void add_gpu_step(struct fake_run *run, size_t rank, uint64_t number, int64_t late_ns,
                         int64_t waited_ns)
{
    int64_t at = (int64_t)number * STEP_NS;
    struct rkt_step_result *step = fake_add_step(run, rank, at, at + STEP_NS);
    struct rkt_partition *parts = &step->window.parts;
    struct fake_op op = {0xabc, number * 2, 6553600, -1, RKT_NCCL_FUNC_ALLREDUCE};
    uint32_t work;

    parts->compute_ns = 55 * MS;
    parts->overlapped_ns = 12 * MS;
    parts->comm_transfer_ns = 6 * MS;
    parts->copy_ns[RKT_COPY_PART_HTOD] = MS / 2;
    parts->idle_ns[RKT_IDLE_INPUT] = MS + late_ns;
    parts->comm_wait_ns = waited_ns - late_ns;
    parts->idle_ns[RKT_IDLE_HOST] = STEP_NS - rkt_partition_sum(parts);
    fill_window(&step->window);
    step->window.kernel_counts[RKT_WORK_COMPUTE] = 400;
    step->window.kernel_counts[RKT_WORK_COMM] = 2;
    step->backward =
        (struct rkt_backward_overlap){18 * MS, 12 * MS, 6 * MS, RKT_NA, 12.0 / 18, 1 * MS, 0.25, 2};
    fake_add_range(run, rank, RKT_RANGE_INPUT, "next(train_loader)", at, at + MS + late_ns);
    for (int64_t i = 0; i < 2; i++) {
        int64_t start_ns = at + (40 + 30 * i) * MS + (i == 0 ? late_ns : 0);

        op.seq += (uint64_t)i;
        work = fake_add_collective(run, rank, op, start_ns, at + (40 + 30 * i) * MS + 25 * MS);
        run->traces[rank].works[work].step = (uint32_t)number;
        run->traces[rank].works[work].is_bucket = 1;
    }
}

static void analyse(struct fake_run *run)
{
    struct rkt_error err;

    fake_match(run);
    assert_rkt_ok(rkt_find_straggler(&run->result, &run->arena, &err), err);
    assert_rkt_ok(rkt_find_last_arriver(&run->result, &err), err);
    assert_rkt_ok(rkt_summarise(&run->result, &run->arena, &err), err);
    for (size_t r = 0; r < run->result.rank_count; r++)
        assert_rkt_ok(rkt_rank_tables_make(&run->result.ranks[r], &run->arena,
                                           &run->result.ranks[r].tables, &err),
                      err);
    assert_rkt_ok(rkt_join_tables(&run->result, &run->arena, &err), err);
    assert_rkt_ok(rkt_find_findings(&run->result, &run->arena, &err), err);
}

/* Four ranks on two hosts of which rank 1 is 8 ms late, records were lost and rank 3 was killed. */
static void make_straggling_run(struct fake_run *run, size_t rank_count, uint64_t step_count)
{
    fake_run_init(run, rank_count);
    run->info.producer = RKT_PRODUCER_CAPTURE;
    (void)snprintf(run->info.command, sizeof(run->info.command), "python train.py --epochs 1");
    (void)snprintf(run->info.host, sizeof(run->info.host), "node0");
    (void)snprintf(run->info.version, sizeof(run->info.version), "0.1.0");
    run->result.event_count = 123456;
    for (size_t r = 0; r < rank_count; r++) {
        struct rkt_rank_result *rank = &run->result.ranks[r];
        struct rkt_source_info *info = &run->traces[r].source.info;

        (void)snprintf(info->host, sizeof(info->host), "node%zu", r / 2);
        info->node = (uint32_t)(r / 2);
        info->local_rank = (uint32_t)(r % 2);
        info->pid = 4000 + r;
        rank->align_state = r < 2 ? RKT_ALIGN_REFERENCE : RKT_ALIGN_MEASURED;
        rank->bound_ns = r < 2 ? 0 : 9500;
        rank->likely_ns = r < 2 ? 0 : 3900;
        rank->step_source = RKT_STEPS_MARKS;
        rank->phase_source = RKT_PHASES_THREAD_NAME;
        fake_add_comm(run, r, 0xabc, (int32_t)r, (uint32_t)rank_count);
        for (uint64_t i = 0; i < step_count; i++)
            add_gpu_step(run, r, i, r == 1 ? 8 * MS : 0, 8 * MS);
        rank->run = rank->steps[0].window;
        rank->run.start_ns = 0;
        rank->run.end_ns = (int64_t)step_count * STEP_NS;
        fill_window(&rank->run);
    }
    analyse(run);
}

static void make_damaged_run(struct fake_run *run)
{
    struct rkt_error err;

    make_straggling_run(run, 4, 6);
    run->health.has_trailer = false;
    run->health.damaged_frames = 1;
    run->health.skipped_bytes = 4096;
    run->health.shard_count = 7;
    run->health.unread_shard_count = 1;
    run->traces[2].losses[RKT_LOSS_RING_FULL] = 120;
    run->traces[2].left_out_count = 3;
    run->result.loss_count = 123;
    run->result.ranks[3].is_cut_short = true;
    run->traces[3].source.end.reason = RKT_END_SIGNALED;
    run->traces[3].source.end.signal_number = 9;
    run->traces[3].source.has_end = true;
    assert_rkt_ok(rkt_load_notes(&run->result, &run->arena, &err), err);
}

static void make_host_run(struct fake_run *run)
{
    fake_run_init(run, 2);
    (void)snprintf(run->info.command, sizeof(run->info.command), "python tr\xc3\xa4in.py");
    run->result.event_count = 480;
    for (size_t r = 0; r < 2; r++) {
        struct rkt_rank_result *rank = &run->result.ranks[r];

        rank->step_source = RKT_STEPS_MARKS;
        rank->phase_source = RKT_PHASES_MARKS;
        for (int64_t i = 0; i < 4; i++) {
            int64_t late_ns = r == 1 ? 20 * MS : 0;
            struct rkt_step_result *step = fake_add_step(run, r, i * STEP_NS, (i + 1) * STEP_NS);
            struct rkt_window *window = &step->window;

            window->is_host_view = true;
            window->host = (struct rkt_host_partition){STEP_NS,           10 * MS,          50 * MS,
                                                       35 * MS - late_ns, 2 * MS + late_ns, 3 * MS};
            window->compute_ns = 60 * MS;
            window->comm_ns = 45 * MS - late_ns;
            window->copy_ns = RKT_NA;
            window->comm_share = (double)window->comm_ns / STEP_NS;
            window->exposed_share = (double)window->host.comm_ns / STEP_NS;
            window->overlap = 10.0 * MS / (double)window->comm_ns;
            window->compute_share = 0.6;
            window->gpu_util = (double)NAN;
            step->backward = (struct rkt_backward_overlap){45 * MS, 10 * MS, 30 * MS, RKT_NA,
                                                           0.22,    RKT_NA,  NAN,     1};
            fake_add_bucket(run, r, (uint64_t)i, 0, i * STEP_NS + 40 * MS + late_ns,
                            i * STEP_NS + 85 * MS);
        }
        rank->run = rank->steps[0].window;
        rank->run.end_ns = 4 * STEP_NS;
    }
    analyse(run);
}

/* Samples of a rank's GPU in every step. */
static void add_samples(struct fake_run *run, size_t rank, uint64_t step_count, uint64_t mhz,
                        uint64_t reasons)
{
    const struct rkt_event_device device = {.uuid_high = 0x1122334455667788,
                                            .uuid_low = 0x99aabbccddeeff00 + rank,
                                            .pci_bus = (uint16_t)(0x10 + rank)};

    run->traces[rank].gpu.devices[0] = device;
    run->traces[rank].gpu.device_count = 1;
    fake_add_counter(run, rank, RKT_COUNTER_SM_CLOCK_MAX, 0, 0, 1980);
    for (int64_t i = 0; i < (int64_t)step_count; i++) {
        int64_t at = i * STEP_NS + 50 * MS;

        fake_add_counter(run, rank, RKT_COUNTER_SM_ACTIVE, at - STEP_NS, at, 3100);
        fake_add_counter(run, rank, RKT_COUNTER_TENSOR_ACTIVE, at - STEP_NS, at, 1250);
        fake_add_counter(run, rank, RKT_COUNTER_GPU_BUSY, at, at, 9900);
        fake_add_counter(run, rank, RKT_COUNTER_SM_CLOCK, at, at, mhz);
        fake_add_counter(run, rank, RKT_COUNTER_POWER, at, at, 512345);
        fake_add_counter(run, rank, RKT_COUNTER_TEMPERATURE, at, at, 60 + (uint64_t)i);
        fake_add_counter(run, rank, RKT_COUNTER_THROTTLE_REASONS, at, at, reasons);
    }
}

/* As the straggling run, but rank 1 computes 15 ms longer, and its GPU is throttled. */
static void make_throttled_run(struct fake_run *run)
{
    struct rkt_error err;

    make_straggling_run(run, 3, 6);
    for (size_t r = 0; r < 3; r++) {
        for (size_t i = 0; i < 6; i++) {
            struct rkt_partition *parts = &run->result.ranks[r].steps[i].window.parts;

            if (r == 1) {
                parts->compute_ns += parts->idle_ns[RKT_IDLE_INPUT] - MS;
                parts->idle_ns[RKT_IDLE_INPUT] = MS;
            }
        }
        add_samples(run, r, 6, r == 1 ? 1485 : 1980,
                    r == 1 ? RKT_THROTTLE_HW_THERMAL | RKT_THROTTLE_HW_SLOWDOWN : 0);
    }
    analyse(run);
    assert_rkt_ok(rkt_find_gpu_use(&run->result, &run->arena, &err), err);
}

/* Nothing is known: no steps, no clock, collectives that match nothing. */
static void make_bare_run(struct fake_run *run)
{
    fake_run_init(run, 2);
    run->result.expected_rank_count = 3;
    for (size_t r = 0; r < 2; r++) {
        struct rkt_rank_result *rank = &run->result.ranks[r];

        rank->align_state = RKT_ALIGN_UNALIGNED;
        rank->bound_ns = -1;
        rank->likely_ns = -1;
        fake_add_comm_work(run, r, r == 0 ? "ncclKernel_AllReduce(x)" : "ncclKernel_Broadcast(x)",
                           10, 20);
        rank->run = (struct rkt_window){.start_ns = 0, .end_ns = 50 * MS};
        rank->run.parts.comm_unsplit_ns = 10 * MS;
        rank->run.parts.idle_ns[RKT_IDLE_UNKNOWN] = 40 * MS;
        fill_window(&rank->run);
    }
    analyse(run);
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t cap = 0;

    if (in == NULL)
        fail_msg("no %s: run tests/update_golden_reports.sh", path);
    if (getdelim(&text, &cap, '\0', in) < 0)
        fail_msg("%s is empty", path);
    fclose(in);
    return text;
}

static void check_golden(const struct fake_run *run, const char *format, const char *name)
{
    char *got = written_report(run, format);
    char path[512];
    char *want;

    (void)snprintf(path, sizeof(path), "%s/%s.%s", RKT_TEST_REPORTS, name,
                   strcmp(format, "json") == 0 ? "json" : "txt");
    if (getenv("RKT_UPDATE_GOLDEN") != NULL) {
        FILE *out = fopen(path, "wb");

        assert_non_null(out);
        assert_true(fputs(got, out) >= 0);
        assert_int_equal(fclose(out), 0);
    }
    want = read_file(path);
    if (strcmp(got, want) != 0)
        fail_msg("%s is not as expected; the report is now:\n%s", path, got);
    free(want);
    free(got);
}

static void check_page(const struct fake_run *run, const char *what)
{
    char *text = written_report(run, "text");
    size_t lines = 0;

    for (char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        size_t columns = strcspn(at, "\n");

        lines++;
        if (columns > RKT_TEXT_COLUMNS)
            fail_msg("%s: line %zu has %zu columns", what, lines, columns);
        for (size_t i = 0; i < columns; i++) {
            if (at[i] < 0x20 || at[i] > 0x7e)
                fail_msg("%s: line %zu has byte %02x", what, lines, (unsigned char)at[i]);
        }
    }
    if (lines > PAGE_LINES)
        fail_msg("%s: %zu lines", what, lines);
    if (strstr(text, "nan") != NULL || strstr(text, "inf ") != NULL)
        fail_msg("%s: a number is not a number", what);
    free(text);
}

static void reports_are_as_they_were(void **state)
{
    static const struct {
        const char *name;
        void (*make)(struct fake_run *run);
    } CASES[] = {{"damaged", make_damaged_run},
                 {"host_view", make_host_run},
                 {"bare", make_bare_run},
                 {"throttled", make_throttled_run},
                 {"replayed", fake_job_make_run}};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct fake_run run;

        CASES[i].make(&run);
        check_golden(&run, "text", CASES[i].name);
        check_page(&run, CASES[i].name);
        fake_run_release(&run);
    }
}

static void the_line_that_waits_longest_is_named(void **state)
{
    static const struct rkt_sync_line LINES[] = {{"train.py:31", "Tensor.item", 3000000, 6},
                                                 {"train.py:40", "Tensor.cpu", 1000000, 2}};
    struct fake_run run;
    struct rkt_error err;
    char *text;

    (void)state;
    make_straggling_run(&run, 2, 3);
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 3; i++) {
            struct rkt_partition *parts = &run.result.ranks[r].steps[i].window.parts;

            parts->idle_ns[RKT_IDLE_SYNC] = parts->idle_ns[RKT_IDLE_HOST];
            parts->idle_ns[RKT_IDLE_HOST] = 0;
        }
    }
    run.result.ranks[1].sync_lines = LINES;
    run.result.ranks[1].sync_line_count = 2;
    assert_rkt_ok(rkt_find_findings(&run.result, &run.arena, &err), err);
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "in train.py:31"));
    assert_null(strstr(text, "train.py:40"));
    free(text);
    text = written_report(&run, "json");
    assert_non_null(strstr(text, "\"site\": \"train.py:40\""));
    free(text);
    fake_run_release(&run);
}

static void the_json_report_has_every_number_and_its_unit(void **state)
{
    struct fake_run run;

    (void)state;
    make_straggling_run(&run, 2, 3);
    check_golden(&run, "json", "three_steps");
    fake_run_release(&run);
    make_throttled_run(&run);
    check_golden(&run, "json", "throttled");
    fake_run_release(&run);
    make_bare_run(&run);
    check_golden(&run, "json", "bare");
    fake_run_release(&run);
    fake_job_make_run(&run);
    check_golden(&run, "json", "replayed");
    fake_run_release(&run);
}

static void many_ranks_still_make_one_page(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    make_straggling_run(&run, FAKE_RANKS_MAX, 4);
    check_page(&run, "many ranks");
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "Rank 1 holds the others up"));
    assert_non_null(strstr(text, "ranks between those that wait least and most are left out"));
    free(text);
    fake_run_release(&run);
}

static void the_answer_adds_up_over_all_ranks(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    make_straggling_run(&run, 2, 3);
    run.result.summary.parts = (struct rkt_partition){
        .window_ns = 100, .compute_ns = 40, .overlapped_ns = 10, .comm_wait_ns = 50};
    run.result.summary.parts_rank_ns = 100;
    run.result.summary.compute_share = 0.9; /* the median rank's */
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "Of the ranks' time 50.0% computes. The largest loss is waiting "
                                 "for the last rank to arrive: 50.0%."));
    free(text);
    fake_run_release(&run);
}

/* As of a trace that was cut before most of its GPU work. */
static void steps_of_no_length_have_no_median(void **state)
{
    struct fake_run run;
    struct rkt_error err;
    char *text;

    (void)state;
    make_straggling_run(&run, 2, 3);
    for (size_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < 3; i++)
            run.result.ranks[r].steps[i].window = (struct rkt_window){0};
    }
    assert_rkt_ok(rkt_summarise(&run.result, &run.arena, &err), err);
    assert_int_equal(run.result.summary.step_ns, RKT_NA);
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "median step n/a"));
    free(text);
    fake_run_release(&run);
}

/* Rank 0 with GPU work beside rank 1 in host view: both count in the shares of all. */
static void ranks_with_and_without_gpu_work_add_up(void **state)
{
    struct fake_run run;
    struct rkt_error err;
    char *text;

    (void)state;
    make_host_run(&run);
    for (size_t i = 0; i < 4; i++) {
        struct rkt_window *window = &run.result.ranks[0].steps[i].window;

        window->is_host_view = false;
        window->host = (struct rkt_host_partition){0};
        window->parts.compute_ns = 30 * MS;
        window->parts.idle_ns[RKT_IDLE_INPUT] = 70 * MS;
        fill_window(window);
    }
    assert_rkt_ok(rkt_summarise(&run.result, &run.arena, &err), err);
    check_page(&run, "mixed");
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "Of the ranks' time 45.0% computes. The largest loss is waiting "
                                 "for input data: 46.0%."));
    assert_non_null(strstr(text, "   all   100.0%    40.0%     5.0%     7.5%    46.0%     1.5%"));
    assert_non_null(strstr(text, "host view of the ranks that recorded no GPU work"));
    free(text);
    fake_run_release(&run);
}

/* A profiler trace of the CPU alone: steps, but nothing that says what is in them. */
static void steps_with_nothing_inside_are_no_loss(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    run.info.producer = RKT_PRODUCER_KINETO;
    run.result.ranks[0].step_source = RKT_STEPS_ANNOTATION;
    for (int64_t i = 0; i < 3; i++) {
        struct rkt_step_result *step = fake_add_step(&run, 0, i * STEP_NS, (i + 1) * STEP_NS);

        step->window.is_host_view = true;
        step->window.host.window_ns = STEP_NS;
        step->window.host.host_ns = STEP_NS;
    }
    analyse(&run);
    check_page(&run, "nothing inside");
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "Where a step goes is not known"));
    assert_non_null(strstr(text, "ProfilerActivity.CUDA"));
    assert_null(strstr(text, "The largest loss"));
    free(text);
    fake_run_release(&run);
}

/* The same without steps: from where to where is said of what there is. */
static void a_run_of_the_host_alone_goes_from_range_to_range(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    run.result.ranks[0].run = (struct rkt_window){
        .end_ns = STEP_NS,
        .is_host_view = true,
        .host = {.window_ns = STEP_NS, .host_ns = STEP_NS},
    };
    analyse(&run);
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "first to last range: no steps were found"));
    free(text);
    fake_run_release(&run);
}

static void a_run_without_work_says_what_to_do(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 1);
    run.info.producer = RKT_PRODUCER_CAPTURE;
    analyse(&run);
    check_page(&run, "no work");
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "Nothing to measure: no GPU work and no training step"));
    assert_non_null(strstr(text, "Run a command that trains with PyTorch"));
    assert_null(strstr(text, "n/a, no work"));
    assert_null(strstr(text, "NUMBERS"));
    assert_null(strstr(text, "ranktrace export"));
    free(text);
    run.traces[0].has_windows = true;
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "nothing was recorded in the capture windows"));
    assert_non_null(strstr(text, "Check when to record"));
    assert_null(strstr(text, "Run a command that trains"));
    free(text);
    run.traces[0].has_windows = false;
    run.info.producer = RKT_PRODUCER_KINETO;
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "ProfilerActivity.CUDA"));
    free(text);
    fake_run_release(&run);
}

static void a_run_without_any_rank_is_said_so(void **state)
{
    struct fake_run run;
    char *text;

    (void)state;
    fake_run_init(&run, 0);
    analyse(&run);
    text = written_report(&run, "text");
    assert_non_null(strstr(text, "no rank recorded anything"));
    free(text);
    text = written_report(&run, "json");
    assert_non_null(strstr(text, "\"ranks\": []"));
    free(text);
    fake_run_release(&run);
}

static void long_lines_break_at_spaces(void **state)
{
    char *text = NULL;
    size_t len_bytes = 0;
    FILE *out = open_memstream(&text, &len_bytes);
    char word[151];

    (void)state;
    assert_non_null(out);
    memset(word, 'x', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    rkt_text_line(out, "  a %s b", word);
    rkt_text_line(out, "tab\there");
    fclose(out);
    assert_memory_equal(text, "  a\n    x", 9);
    assert_non_null(strstr(text, "\n    xxxx"));
    assert_non_null(strstr(text, "x b\n"));
    assert_non_null(strstr(text, "tab?here\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_as_they_were),
        cmocka_unit_test(the_line_that_waits_longest_is_named),
        cmocka_unit_test(the_json_report_has_every_number_and_its_unit),
        cmocka_unit_test(many_ranks_still_make_one_page),
        cmocka_unit_test(the_answer_adds_up_over_all_ranks),
        cmocka_unit_test(steps_of_no_length_have_no_median),
        cmocka_unit_test(ranks_with_and_without_gpu_work_add_up),
        cmocka_unit_test(steps_with_nothing_inside_are_no_loss),
        cmocka_unit_test(a_run_of_the_host_alone_goes_from_range_to_range),
        cmocka_unit_test(a_run_without_work_says_what_to_do),
        cmocka_unit_test(a_run_without_any_rank_is_said_so),
        cmocka_unit_test(long_lines_break_at_spaces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
