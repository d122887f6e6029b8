/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of files: which of them belong together, which are missing, which are of another job. */
#include "import_place.h"
#include "rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/store_reader.h"

#define BASE 1759300074000000000LL

/* A trace of `count` kernels of 2 us, one every 10 us from ts on. */
static const char *trace_of(const char *head, long long ts, int count, const char *tail)
{
    static char text[65536];
    int used = snprintf(text, sizeof(text), "{\"schemaVersion\":1,%s\"traceEvents\":[", head);

    for (int i = 0; i < count; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
                         "\"ts\":%lld,\"dur\":2,\"args\":{\"correlation\":%d}}",
                         i > 0 ? "," : "", ts + (long long)i * 10, i + 1);
    (void)snprintf(text + used, sizeof(text) - (size_t)used, "]%s}", tail);
    return text;
}

static const char *of_rank(int rank, int world, long long ts)
{
    char head[96];

    (void)snprintf(head, sizeof(head), "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},", rank,
                   world);
    return trace_of(head, ts, 3, ",\"baseTimeNanoseconds\":1759300074000000000");
}

struct walk {
    uint64_t kinds[RKT_EVENT_KIND_COUNT];
    uint64_t edges[2]; /* stamps of the last CLOSED and OPENED */
    uint64_t last_start_ns;
    uint32_t correlations; /* sum of their kernels' ids: 1 + 2 + 3 + ... when none is used twice */
};

static enum rkt_status take(void *ctx, const struct rkt_event *events, size_t count,
                            struct rkt_error *err)
{
    struct walk *walk = ctx;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        walk->kinds[events[i].kind]++;
        if (events[i].kind == RKT_EVENT_WINDOW)
            walk->edges[events[i].type] = events[i].start_ns;
        if (events[i].kind == RKT_EVENT_KERNEL) {
            walk->last_start_ns = events[i].start_ns;
            walk->correlations += events[i].correlation_id;
        }
    }
    return RKT_OK;
}

static struct walk walk_source(const char *path, size_t position)
{
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    struct walk walk = {{0}, {0}, 0, 0};

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    assert_true(position < rkt_store_reader_source_count(reader));
    assert_rkt_ok(rkt_store_reader_walk(reader,
                                        rkt_store_reader_source(reader, position)->info.source,
                                        NULL, take, &walk, &err),
                  err);
    rkt_store_reader_close(reader);
    return walk;
}

static void windows_of_one_rank_become_one_source_with_a_gap(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    struct walk walk;

    rkt_add_file(place, "step_20.json", of_rank(0, 1, 5000)); /* the later one comes first */
    rkt_add_file(place, "step_10.json", of_rank(0, 1, 1000));
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_string_equal(report.files[0].path, place->list[1]);
    assert_non_null(
        strstr(report.files[1].note, "another window of rank 0, 3.978 ms behind step_10.json"));
    rkt_import_report_release(&report);
    walk = walk_source(place->output, 0);
    assert_int_equal(walk.kinds[RKT_EVENT_KERNEL], 6);
    assert_int_equal(walk.kinds[RKT_EVENT_WINDOW], 2);
    assert_int_equal(walk.edges[RKT_WINDOW_CLOSED], 1022000);
    assert_int_equal(walk.edges[RKT_WINDOW_OPENED], 5000000);
    assert_int_equal(walk.correlations, 1 + 2 + 3 + 4 + 5 + 6); /* both files count from 1 */
}

static void windows_with_other_bases_are_put_on_the_first_ones(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    struct walk walk;

    rkt_add_file(place, "rank0-a.json", of_rank(0, 1, 1000));
    rkt_add_file(place, "rank0-b.json",
                 trace_of("\"distributedInfo\":{\"rank\":0},", 10, 1,
                          ",\"baseTimeNanoseconds\":1759300074000090000"));
    place->count = 2;
    /* b begins at 10 us + 90 us = 100 us of a's base: before a */
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_non_null(strstr(report.files[0].path, "rank0-b"));
    assert_int_equal(report.files[0].first_ns, BASE + 100000);
    assert_int_equal(report.files[1].first_ns, BASE + 1000000);
    rkt_import_report_release(&report);
    walk = walk_source(place->output, 0);
    assert_int_equal(walk.last_start_ns, 1020000 - 90000); /* on b's base */
}

static void a_copy_is_skipped_and_named(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "rank0.json", of_rank(0, 1, 1000));
    rkt_add_file(place, "rank0-again.json", of_rank(0, 1, 1000));
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_true(report.files[1].is_skipped);
    assert_non_null(strstr(report.files[1].note, "rank0.json: a copy"));
    rkt_import_report_release(&report);
    assert_int_equal(walk_source(place->output, 0).kinds[RKT_EVENT_KERNEL], 3);
}

/* The same stamp on another base, or of another event, is another moment: nothing is skipped. */
static void windows_that_begin_at_the_same_stamp_are_no_copies(void **state)
{
    static const char *const BASES[] = {
        ",\"baseTimeNanoseconds\":1759300074000000000",
        ",\"baseTimeNanoseconds\":1759300075000000000",
    };
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};

    for (int behind = 0; behind < 2; behind++) {
        char head[128];

        place->count = 0;
        for (int i = 0; i < 2; i++) {
            (void)snprintf(head, sizeof(head), "\"distributedInfo\":{\"rank\":0}%s,",
                           behind ? "" : BASES[i]);
            rkt_add_file(place, i == 0 ? "first.json" : "second.json",
                         trace_of(head, 1000, 100, behind ? BASES[i] : ""));
        }
        assert_rkt_ok(rkt_import_place(place, &report, &err), err);
        assert_false(report.files[1].is_skipped);
        assert_int_equal(report.files[1].first_ns - report.files[0].first_ns, 1000000000);
        rkt_import_report_release(&report);
        assert_int_equal(walk_source(place->output, 0).kinds[RKT_EVENT_KERNEL], 200);
        (void)unlink(place->output);
    }
}

/* Files that begin at one moment with other events are two traces of a rank, not one twice. */
static void another_first_event_is_no_copy(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    char *text = strdup(of_rank(0, 1, 1000));

    rkt_add_file(place, "a.json", of_rank(0, 1, 1000));
    assert_non_null(text);
    strstr(text, "\"k\"")[1] = 'q';
    rkt_add_file(place, "b.json", text);
    assert_rkt_status(rkt_import_place(place, &report, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "two traces of rank 0 overlap"));
    free(text);
}

/* Names of threads bear the same stamp in every file of some writers. */
static void names_with_a_time_make_no_copies(void **state)
{
    static const char NAMED[] = "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[{\"ph\":\"M\","
                                "\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":"
                                "{\"name\":\"main\"}},%s";
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    char text[1024];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof(text), NAMED,
                       strchr(trace_of("", 5000 - i * 4000, 3, ""), '[') + 1);
        rkt_add_file(place, i == 0 ? "later.json" : "earlier.json", text);
    }
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_false(report.files[1].is_skipped);
    rkt_import_report_release(&report);
    assert_int_equal(walk_source(place->output, 0).kinds[RKT_EVENT_KERNEL], 6);
}

static void of_a_cut_file_and_the_whole_one_the_whole_one_is_read(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    const char *text;

    text = trace_of("\"distributedInfo\":{\"rank\":0},", 1000, 100,
                    ",\"baseTimeNanoseconds\":1759300074000000000");
    rkt_add_bytes(place, "a-cut.json", text, strlen(text) * 2 / 3); /* its base is lost */
    rkt_add_file(place, "b-whole.json", text);
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_non_null(strstr(report.files[0].path, "b-whole.json"));
    assert_false(report.files[0].is_damaged);
    assert_true(report.files[1].is_skipped);
    if (!strstr(report.files[1].note, "b-whole.json and is shorter"))
        fail_msg("%s", report.files[1].note);
    rkt_import_report_release(&report);
    assert_int_equal(walk_source(place->output, 0).kinds[RKT_EVENT_KERNEL], 100);
}

static void of_files_that_begin_alike_the_one_that_holds_most_is_read(void **state)
{
    static const int COUNTS[] = {10, 300, 40};
    static const char *const NAMES[] = {"a.json", "b.json", "c.json"};
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};

    for (int i = 0; i < 3; i++)
        rkt_add_file(place, NAMES[i],
                     trace_of("\"distributedInfo\":{\"rank\":0},", 1000, COUNTS[i], ""));
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_non_null(strstr(report.files[0].path, "b.json"));
    for (int i = 1; i < 3; i++) {
        assert_true(report.files[i].is_skipped);
        if (!strstr(report.files[i].note, "b.json and is shorter"))
            fail_msg("%s", report.files[i].note);
    }
    rkt_import_report_release(&report);
    assert_int_equal(walk_source(place->output, 0).kinds[RKT_EVENT_KERNEL], 300);
}

/* What differs only behind the first event is no copy, and is not called one. */
static void a_file_as_long_as_another_is_called_what_it_is(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};
    char *text = strdup(of_rank(0, 1, 1000));

    assert_non_null(text);
    rkt_add_file(place, "a.json", text);
    strstr(text, ":1020,")[4] = '1';
    rkt_add_file(place, "b.json", text);
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_true(report.files[1].is_skipped);
    if (!strstr(report.files[1].note, "a.json and is no longer than that"))
        fail_msg("%s", report.files[1].note);
    rkt_import_report_release(&report);
    free(text);
}

static void what_the_caller_says_of_a_rank_is_stronger_than_the_file(void **state)
{
    static const char *const GIVEN[] = {"b.json=7"};
    struct rkt_place *place = *state;
    struct rkt_import_options options = {
        .paths = place->list, .output = place->output, .file_ranks = GIVEN, .file_rank_count = 1};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "a.json", of_rank(3, 8, 1000));
    rkt_add_file(place, "b.json", of_rank(3, 8, 1005)); /* overlaps: not another window */
    options.path_count = place->count;
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.files[0].rank, 3);
    assert_int_equal(report.files[1].rank, 7);
    assert_string_equal(report.files[1].rank_source, "--rank");
    rkt_import_report_release(&report);
}

static void an_expression_finds_the_rank_in_a_path(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_options options = {
        .paths = place->list, .output = place->output, .rank_regex = "proc([0-9]+)_of"};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "proc5_of_8.json", trace_of("", 1000, 2, ""));
    rkt_add_file(place, "proc2_of_8.json", trace_of("", 1000, 2, ""));
    options.path_count = place->count;
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.files[0].rank, 2);
    assert_int_equal(report.files[1].rank, 5);
    rkt_import_report_release(&report);
    (void)unlink(place->output);
    options.rank_regex = "proc(";
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "'proc('"));
}

static void gaps_and_strangers_are_named(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "a.json", of_rank(0, 8, 1000));
    rkt_add_file(place, "b.json", of_rank(1, 8, 1000));
    rkt_add_file(place, "c.json", of_rank(4, 8, 1000));
    rkt_add_file(place, "d.json", of_rank(6, 4, 1000));
    rkt_add_file(place, "e.json", of_rank(7, 8, 900000000));
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    if (!strstr(report.warning, "3 of 8 ranks are not among the files: 2 to 3, 5.") ||
        !strstr(report.warning, "d.json says 4 ranks, others say 8") ||
        !strstr(report.warning, "e.json has no moment in common") ||
        strstr(report.warning, "a.json") || strstr(report.warning, "b.json"))
        fail_msg("%s", report.warning);
    rkt_import_report_release(&report);
}

static void a_list_and_a_pattern_name_files(void **state)
{
    struct rkt_place *place = *state;
    char pattern[96];
    char list[160];
    const char *names[2] = {pattern, list};
    struct rkt_import_options options = {.paths = names, .path_count = 2, .output = place->output};
    struct rkt_import_report report;
    struct rkt_error err = {0};
    char text[512];

    rkt_add_file(place, "rank0.json", of_rank(0, 3, 1000));
    rkt_add_file(place, "rank1.json", of_rank(1, 3, 1000));
    rkt_add_file(place, "other.json", of_rank(2, 3, 1000));
    (void)snprintf(text, sizeof(text), "# by hand\n%s\r\n\n%s\n", place->list[2], place->list[1]);
    rkt_add_file(place, "list.txt", text);
    (void)snprintf(pattern, sizeof(pattern), "%s/rank?.json", place->folder);
    (void)snprintf(list, sizeof(list), "@%s", place->list[3]);
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.file_count, 3); /* rank1.json is named twice */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(report.files[i].rank, i);
    rkt_import_report_release(&report);
}

/* In a folder a trace is what begins as one, whatever it is called; else those of its folders. */
static void of_a_folder_the_content_decides(void **state)
{
    struct rkt_place *place = *state;
    const char *folder = place->folder;
    char inner[96];
    struct rkt_import_options options = {
        .paths = &folder, .path_count = 1, .output = place->output};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    (void)snprintf(inner, sizeof(inner), "%s/rank4", place->folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    rkt_add_file(place, "rank4/trace.json", trace_of("", 1000, 1, ""));
    rkt_add_file(place, "notes.txt", "see {trace}");
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.file_count, 1);
    assert_int_equal(report.files[0].rank, 4);
    rkt_import_report_release(&report);
    (void)unlink(place->output);
    rkt_add_file(place, "odd-name.dump", of_rank(9, 0, 1000));
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.file_count, 1);
    assert_int_equal(report.files[0].rank, 9);
    rkt_import_report_release(&report);
    (void)unlink(place->list[0]);
    assert_int_equal(rmdir(inner), 0);
}

static void a_check_reads_all_and_writes_nothing(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_progress progress = {0};
    struct rkt_import_options options = {
        .paths = place->list, .path_count = 1, .progress = &progress};
    struct rkt_import_report report;
    struct rkt_error err = {0};
    char *text = strdup(of_rank(0, 1, 1000));
    size_t bad_at;

    assert_non_null(text);
    bad_at = (size_t)(strstr(text, "{\"ph\"") - text);
    memset(text + bad_at + 20, '"', 3);
    rkt_add_file(place, "a.json", text);
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_true(report.files[0].is_damaged);
    assert_int_equal(report.files[0].read_count, 3);
    assert_int_equal(report.files[0].fates[RKT_FATE_STORED], 2);
    assert_int_equal(report.files[0].place_count, 1);
    assert_int_equal(report.files[0].places[0].position, bad_at);
    assert_int_equal(report.files[0].places[0].count, 1);
    assert_true(progress.total_bytes > 0);
    assert_int_equal(progress.done_bytes, progress.total_bytes);
    rkt_import_report_release(&report);
    free(text);
}

static void many_ranks_are_read_at_once_and_none_is_lost(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_options options = {
        .paths = place->list, .output = place->output, .thread_count = 5};
    struct rkt_import_report report;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    for (int rank = 0; rank < 16; rank++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "r%d.json", rank);
        rkt_add_file(place, name, of_rank(rank, 16, 1000 + rank));
    }
    options.path_count = place->count;
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_string_equal(report.warning, "");
    rkt_import_report_release(&report);
    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source_count(reader), 16);
    assert_int_equal(rkt_store_reader_health(reader)->damaged_frames, 0);
    assert_int_equal(rkt_store_reader_health(reader)->seq_gap_count, 0);
    rkt_store_reader_close(reader);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(walk_source(place->output, i).kinds[RKT_EVENT_KERNEL], 3);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, rkt_make_place, rkt_remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(windows_of_one_rank_become_one_source_with_a_gap),
        IN_A_PLACE(windows_with_other_bases_are_put_on_the_first_ones),
        IN_A_PLACE(a_copy_is_skipped_and_named),
        IN_A_PLACE(windows_that_begin_at_the_same_stamp_are_no_copies),
        IN_A_PLACE(another_first_event_is_no_copy),
        IN_A_PLACE(names_with_a_time_make_no_copies),
        IN_A_PLACE(of_a_cut_file_and_the_whole_one_the_whole_one_is_read),
        IN_A_PLACE(of_files_that_begin_alike_the_one_that_holds_most_is_read),
        IN_A_PLACE(a_file_as_long_as_another_is_called_what_it_is),
        IN_A_PLACE(what_the_caller_says_of_a_rank_is_stronger_than_the_file),
        IN_A_PLACE(an_expression_finds_the_rank_in_a_path),
        IN_A_PLACE(gaps_and_strangers_are_named),
        IN_A_PLACE(a_list_and_a_pattern_name_files),
        IN_A_PLACE(of_a_folder_the_content_decides),
        IN_A_PLACE(a_check_reads_all_and_writes_nothing),
        IN_A_PLACE(many_ranks_are_read_at_once_and_none_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
