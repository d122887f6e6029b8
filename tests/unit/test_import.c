/* SPDX-License-Identifier: Apache-2.0 */
/* Many files into one store: ranks, refusals, and that nothing half-written stays. */
#include "import_place.h"
#include "rkt_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "analysis/import/import.h"
#include "analysis/import/rank_of_file.h"
#include "common/store_reader.h"

#define EVENT                                                                                 \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2," \
    "\"args\":{}}"
#define LATER /* begins inside EVENT */                                                       \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":2," \
    "\"args\":{}}"
#define NO_RANK "{\"schemaVersion\":1,\"traceEvents\":[" EVENT "]}"
#define RANK(n) "{\"distributedInfo\":{\"rank\":" #n "},\"traceEvents\":[" EVENT "]}"

/* The import fails, its text holds `words`, and no output is there. */
static void assert_refused(const struct rkt_place *place, const char *words)
{
    struct rkt_import_report report;
    struct rkt_error err = {0};

    if (rkt_import_place(place, &report, &err) == RKT_OK)
        fail_msg("an import is not refused: %s", words);
    if (!strstr(err.text, words) || strchr(err.text, '\n'))
        fail_msg("\"%s\" has no \"%s\"", err.text, words);
    assert_int_not_equal(access(place->output, F_OK), 0);
}

static void a_wrong_input_is_refused_in_one_line_and_leaves_nothing(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } INPUTS[] = {
        {"", "is empty"},
        {"hello", "is no JSON"},
        {"{\"name\": \"x\"}", "no traceEvents"},
        {"[1, 2, 3]", "no event that can be read"},
        {"[{\"a\": 1}, {\"b\": 2}]", "nothing in it is an event"},
    };
    struct rkt_place *place = *state;

    for (size_t i = 0; i < sizeof(INPUTS) / sizeof(INPUTS[0]); i++) {
        place->count = 0;
        rkt_add_file(place, "a.json", INPUTS[i].text);
        assert_refused(place, INPUTS[i].words);
        assert_refused(place, "a.json: "); /* the file is named */
    }
}

static void a_missing_input_is_refused(void **state)
{
    struct rkt_place *place = *state;

    place->list[place->count++] = "/nowhere/at/all.json";
    assert_refused(place, "/nowhere/at/all.json: cannot open");
}

static void two_traces_of_one_rank_are_refused_with_both_names(void **state)
{
    struct rkt_place *place = *state;

    rkt_add_file(place, "a.json", RANK(3));
    rkt_add_file(place, "b.json", RANK(1));
    rkt_add_file(place, "c.json", "{\"distributedInfo\":{\"rank\":3},\"traceEvents\":[" LATER "]}");
    assert_refused(place, "two traces of rank 3 overlap by 1.000 us");
    assert_refused(place, "a.json");
    assert_refused(place, "c.json");
}

static void an_output_that_exists_or_is_an_input_is_refused(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_options options = {
        .paths = place->list, .path_count = 1, .output = place->output};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "a.json", RANK(0));
    rkt_add_file(place, "b.json", "precious");
    options.output = place->list[1];
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "exists"));
    options.output = place->list[0];
    options.overwrite = true;
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_INVALID);
    assert_non_null(strstr(err.text, "input"));
    options.output = "/nowhere/out.rkt";
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/out.rkt"));
    options.output = place->folder;
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_INVALID);
}

static void ranks_come_from_the_file_then_its_name_then_the_order(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "x.json", NO_RANK);
    rkt_add_file(place, "run-rank2-trace.json", NO_RANK);
    rkt_add_file(place, "rank7.json", RANK(0)); /* what the file says is stronger */
    rkt_add_file(place, "y.json", NO_RANK);
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_int_equal(report.file_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(report.files[i].rank, i);
    assert_string_equal(report.files[0].rank_source, "distributedInfo");
    assert_string_equal(report.files[1].rank_source, "order");
    assert_non_null(strstr(report.files[1].path, "x.json"));
    assert_non_null(strstr(report.files[1].note, "no rank"));
    assert_string_equal(report.files[2].rank_source, "file name");
    assert_string_equal(report.files[3].rank_source, "order");
    rkt_import_report_release(&report);
}

static void the_store_says_which_rank_each_source_is(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    rkt_add_file(place, "x.json", NO_RANK);
    rkt_add_file(place, "y.json", RANK(0));
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    rkt_import_report_release(&report);
    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source_count(reader), 2);
    assert_int_equal(rkt_store_reader_source(reader, 0)->info.rank, 1);
    assert_true(rkt_store_reader_source(reader, 0)->info.rank_known);
    assert_int_equal(rkt_store_reader_source(reader, 1)->info.rank, 0);
    assert_true(rkt_store_reader_source(reader, 0)->has_end);
    assert_int_equal(rkt_store_reader_health(reader)->damaged_frames, 0);
    assert_int_equal(rkt_store_reader_health(reader)->seq_gap_count, 0);
    assert_string_equal(rkt_store_reader_source(reader, 1)->info.file, "y.json");
    rkt_store_reader_close(reader);
}

static void of_a_folder_files_that_are_no_trace_are_skipped_by_name(void **state)
{
    struct rkt_place *place = *state;
    const char *folder = place->folder;
    struct rkt_import_options options = {
        .paths = &folder, .path_count = 1, .output = place->output};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    rkt_add_file(place, "config.json", "{\"lr\": 0.1}");
    rkt_add_file(place, "notes.txt", "hello");
    rkt_add_file(place, "broken.json", "hello");
    rkt_add_file(place, "worker10.json", NO_RANK);
    rkt_add_file(place, "worker9.json", NO_RANK);
    assert_rkt_ok(rkt_import(&options, &report, &err), err);
    assert_int_equal(report.file_count, 4);
    assert_int_equal(report.files[0].rank, 9);
    assert_int_equal(report.files[1].rank, 10);
    assert_true(report.files[2].is_skipped && report.files[3].is_skipped);
    rkt_import_report_release(&report);
}

static void a_folder_without_a_trace_is_refused(void **state)
{
    struct rkt_place *place = *state;
    const char *folder = place->folder;
    struct rkt_import_options options = {
        .paths = &folder, .path_count = 1, .output = place->output};
    struct rkt_import_report report;
    struct rkt_error err = {0};

    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_FORMAT);
    rkt_add_file(place, "config.json", "{\"lr\": 0.1}");
    assert_rkt_status(rkt_import(&options, &report, &err), RKT_ERR_FORMAT);
    assert_non_null(strstr(err.text, "none of its 1 files is a trace"));
}

static void br_15_a_cut_gzip_file_is_kept_as_far_as_it_goes_and_marked(void **state)
{
    struct rkt_place *place = *state;
    static char text[65536];
    static unsigned char packed[65536];
    struct rkt_import_report report;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};
    z_stream zlib = {0};
    size_t used = (size_t)sprintf(text, "{\"distributedInfo\":{\"rank\":4},\"traceEvents\":[");
    size_t packed_bytes;

    for (int i = 0; i < 400; i++)
        used += (size_t)sprintf(text + used,
                                "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,"
                                "\"tid\":7,\"ts\":%d,\"dur\":%d}",
                                i > 0 ? "," : "", i * 7919 % 1009, 100 + i * 31, i * 17 % 23);
    used += (size_t)sprintf(text + used, "]}");
    assert_int_equal(deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    zlib.next_in = (Bytef *)text;
    zlib.avail_in = (uInt)used;
    zlib.next_out = packed;
    zlib.avail_out = sizeof(packed);
    assert_int_equal(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed_bytes = sizeof(packed) - zlib.avail_out;
    deflateEnd(&zlib);

    rkt_add_bytes(place, "cut.json.gz", packed, packed_bytes / 2);
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_true(report.files[0].is_damaged);
    assert_true(report.files[0].fates[RKT_FATE_STORED] > 50 &&
                report.files[0].fates[RKT_FATE_STORED] < 400);
    assert_non_null(strstr(report.files[0].note, "damaged at byte"));
    rkt_import_report_release(&report);
    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source(reader, 0)->info.rank, 4);
    assert_true(rkt_store_reader_source(reader, 0)->end.cut_short);
    rkt_store_reader_close(reader);
    (void)unlink(place->output);

    place->count = 0; /* nothing at all is readable */
    rkt_add_bytes(place, "cut.json.gz", packed, 24);
    assert_refused(place, "damaged at byte 24");
}

static void br_35_a_file_without_calendar_time_is_said_to_be_on_no_common_clock(void **state)
{
    struct rkt_place *place = *state;
    struct rkt_import_report report;
    struct rkt_store_reader *reader;
    struct rkt_error err = {0};

    rkt_add_file(place, "rank0.json", RANK(0));
    rkt_add_file(place, "rank1.json",
                 "{\"distributedInfo\":{\"rank\":1},\"baseTimeNanoseconds\":1759300074000000000,"
                 "\"traceEvents\":[" EVENT "]}");
    assert_rkt_ok(rkt_import_place(place, &report, &err), err);
    assert_non_null(strstr(report.warning, "1 of 2 files"));
    rkt_import_report_release(&report);
    assert_rkt_ok(rkt_store_reader_open(place->output, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source(reader, 0)->align.state, RKT_ALIGN_UNALIGNED);
    assert_int_equal(rkt_store_reader_source(reader, 1)->align.state, RKT_ALIGN_WALL_CLOCK);
    rkt_store_reader_close(reader);
}

static void ranks_are_read_off_the_usual_names(void **state)
{
    static const struct {
        const char *path;
        int rank; /* -1: none */
    } NAMES[] = {
        {"worker3_step_12.1694128201557.pt.trace.json.gz", 3},
        {"rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34},
        {"Baseline_-_12-11_-_220ff-rank6-chrome-trace.json.gz", 6},
        {"graph_capture_rank_0.1773709742341309550.pt.trace.json.gz", 0},
        {"trace_Rank=12.json", 12},
        {"/a/rank5/trace.json", 5},
        {"/rank1/x/rank2.json", 2},
        {"frank3.json", -1},
        {"nccl_trace_rank_container-node02_5", 5},
        {"nccl_trace_rank_container-node02_17.json.gz", 17},
        {"rank_node.json", -1},
        {"rank1694128201557.json", -1},
        {"host_1074.1694128201557.pt.trace.json", -1},
        {"rank", -1},
        {"rank-", -1},
        {"", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        uint32_t rank = 0;
        bool found = rkt_rank_of_file(NAMES[i].path, &rank);

        if (found != (NAMES[i].rank >= 0) || (found && (int)rank != NAMES[i].rank))
            fail_msg("%s: %d %u", NAMES[i].path, found, rank);
    }
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, rkt_make_place, rkt_remove_place)

static void the_host_is_read_off_the_name_that_holds_the_process(void **state)
{
    static const struct {
        const char *path;
        uint64_t pid;
        const char *host; /* NULL: none */
    } NAMES[] = {
        {"/log/gpu-node07_1074.1694128201557.pt.trace.json.gz", 1074, "gpu-node07"},
        {"a_b_1074.1694128201557.pt.trace.json", 1074, "a_b"},
        {"gpu-node07_1075.1694128201557.pt.trace.json", 1074, NULL},
        {"gpu-node07_1074.json", 1074, NULL},
        {"_1074.1.pt.trace.json", 1074, NULL},
        {"worker0_0.1.pt.trace.json", 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        char host[64] = "";
        bool has_host = rkt_host_of_file(NAMES[i].path, NAMES[i].pid, host, sizeof(host));

        if (has_host != (NAMES[i].host != NULL) || (has_host && strcmp(host, NAMES[i].host) != 0))
            fail_msg("%s: '%s'", NAMES[i].path, host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(a_wrong_input_is_refused_in_one_line_and_leaves_nothing),
        IN_A_PLACE(a_missing_input_is_refused),
        IN_A_PLACE(two_traces_of_one_rank_are_refused_with_both_names),
        IN_A_PLACE(an_output_that_exists_or_is_an_input_is_refused),
        IN_A_PLACE(ranks_come_from_the_file_then_its_name_then_the_order),
        IN_A_PLACE(the_store_says_which_rank_each_source_is),
        IN_A_PLACE(of_a_folder_files_that_are_no_trace_are_skipped_by_name),
        IN_A_PLACE(a_folder_without_a_trace_is_refused),
        IN_A_PLACE(br_15_a_cut_gzip_file_is_kept_as_far_as_it_goes_and_marked),
        IN_A_PLACE(br_35_a_file_without_calendar_time_is_said_to_be_on_no_common_clock),
        cmocka_unit_test(ranks_are_read_off_the_usual_names),
        cmocka_unit_test(the_host_is_read_off_the_name_that_holds_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
