/* SPDX-License-Identifier: Apache-2.0 */
/* A run in several files of which one is wrong: that is said, and the rest is read. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define SHARDS 2u

/* ---- a shard that is wrong ---- */

/* Of SHARDS shards that of source 1 is left out, for a reason that holds `want`. */
static void expect_left_out(const struct sharded_place *place, const char *want)
{
    struct sharded_outcome outcome = sharded_run_read(place->index);
    char other[SHARDED_PATH_BYTES];

    if (!strstr(outcome.problem, want))
        fail_msg("no word of '%s': %s", want, outcome.problem);
    assert_int_equal(outcome.health.shard_count, SHARDS);
    assert_int_equal(outcome.health.unread_shard_count, 1);
    /* all of the others, and of source 1 what the index file repeats of it */
    assert_int_equal(outcome.source_count, SHARDS + 1);
    assert_int_equal(outcome.event_count, SHARDS * SHARDED_EVENTS);
    assert_int_equal(outcome.health.frame_count, SHARDS * SHARDED_FRAMES + 3);
    assert_int_equal(outcome.health.seq_gap_count, SHARDED_FRAMES - 3);
    assert_int_equal(outcome.health.damaged_frames, 0);
    assert_int_equal(outcome.health.skipped_bytes, 0);
    sharded_shard_path(place, 2, other);
    assert_int_equal(outcome.health.file_bytes,
                     sample_file_bytes(place->index) + sample_file_bytes(other));
}

static void a_missing_shard_is_said_and_the_rest_is_read(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    assert_int_equal(unlink(path), 0);
    expect_left_out(place, "No such file");
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    assert_non_null(strstr(rkt_store_reader_shard(reader, 0)->problem, path));
    sample_expect_source(&rkt_store_reader_source(reader, 1)->info);
    assert_true(rkt_store_reader_source(reader, 1)->has_end);
    rkt_store_reader_close(reader);
}

static void a_renamed_shard_is_missing(void **state)
{
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];
    char other[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    sharded_path(place, "timeline.1.rkt", other);
    assert_int_equal(rename(path, other), 0);
    expect_left_out(place, "No such file");
}

static void a_shard_of_another_run_is_left_out(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    assert_int_equal(unlink(path), 0);
    sharded_run_write_shard(path, 77, 1);
    expect_left_out(place, "another run: its id is 000000000000004d, not 123456789abcdef0");
    assert_int_equal(unlink(path), 0);
    sharded_run_write_shard(path, 0, 1);
    expect_left_out(place, "another run");
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    sharded_shard_path(place, 2, path);
    assert_string_equal(rkt_store_reader_path(reader, 1), path);
    assert_null(rkt_store_reader_path(reader, 2));
    assert_false(rkt_store_reader_shard(reader, 0)->has_trailer);
    assert_int_equal(rkt_store_reader_shard(reader, 0)->file_bytes, 0);
    rkt_store_reader_close(reader);
}

static void a_shard_that_is_no_store_is_left_out(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *want;
    } CASES[] = {
        {"", 0, "it is empty"},
        {"hello, world", 12, "no ranktrace store"},
        {"RKTF\x01", 5, "no frame of it is whole"},
        {"\x1f\x8b\x08\x00", 4, "gzip"},
    };
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        sample_file_write(path, (const uint8_t *)CASES[i].bytes, CASES[i].len);
        expect_left_out(place, CASES[i].want);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_left_out(place, "not a regular file");
}

/* Rank 0 lost the source, whose leader wrote on; its seq says nothing of when. */
static void the_end_of_a_source_counts_more_than_that_rank_0_made_for_it(void **state)
{
    const struct rkt_end_info lost = {.reason = RKT_END_LOST};
    struct sharded_place *place = *state;
    struct rkt_shard_info info = sharded_run_shard(1);
    struct rkt_store_writer *index = sharded_run_create(place->index, sample_run().run_id, false);
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];
    size_t raw_bytes;

    sharded_shard_path(place, 1, path);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    assert_rkt_ok(rkt_store_writer_append_shard(index, &info, &err), err);
    assert_rkt_ok(rkt_end_info_encode(&lost, raw, sizeof(raw), &raw_bytes, &err), err);
    assert_rkt_ok(rkt_store_writer_append_payload(index, RKT_FRAME_END, 1, raw, raw_bytes, &err),
                  err);
    rkt_store_writer_destroy(index);
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source(reader, 0)->end.reason, RKT_END_SIGNALED);
    assert_int_equal(rkt_store_reader_health(reader)->seq_gap_count, 0);
    rkt_store_reader_close(reader);
}

static void a_shard_of_another_major_version_is_left_out(void **state)
{
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];
    uint8_t *bytes;
    size_t len;

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    bytes = sample_file_read(path, &len);
    bytes[4] = 2;
    rkt_put_u32(bytes + 28, rkt_frame_payload_crc(bytes, 28));
    sample_file_write(path, bytes, len);
    free(bytes);
    expect_left_out(place, "version 2; this ranktrace reads version 1");
}

/* A folder of that name with a store in it is outside the run's folder. */
static void a_folder_is_no_shard(void **state)
{
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];
    char inner[SHARDED_PATH_BYTES + 20];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(inner, sizeof(inner), "%s/timeline.rkt", path);
    sharded_run_write_shard(inner, sample_run().run_id, 1);
    expect_left_out(place, "not a regular file");
    assert_int_equal(unlink(inner), 0);
    assert_int_equal(rmdir(path), 0);
}

static void a_file_that_was_read_already_counts_once(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_shard_info shards[4];
    struct sharded_outcome outcome;
    char path[SHARDED_PATH_BYTES];
    char other[SHARDED_PATH_BYTES];

    sharded_shard_path(place, 1, path);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    shards[0] = sharded_run_shard(1);
    shards[1] = sharded_run_shard(1); /* the same name */
    shards[2] = sharded_run_shard(2); /* another name of the same file */
    sharded_shard_path(place, 2, other);
    assert_int_equal(link(path, other), 0);
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "timeline.rkt"); /* itself */
    sharded_run_name(place->index, shards, 4);
    outcome = sharded_run_read(place->index);
    assert_int_equal(outcome.event_count, SHARDED_EVENTS);
    assert_int_equal(outcome.health.frame_count, SHARDED_FRAMES - 1);
    assert_int_equal(outcome.health.shard_count, 4);
    assert_int_equal(outcome.health.unread_shard_count, 3);
    assert_non_null(strstr(outcome.problem, "named twice"));
}

static void a_name_that_leads_out_of_the_folder_is_not_read(void **state)
{
    struct sharded_place *place = *state;
    char outside[200];
    char path[SHARDED_PATH_BYTES];
    struct rkt_shard_info shards[4] = {{.file = "."}, {.file = ".."}, {.file = ""}};
    struct sharded_outcome outcome;

    sample_folder_make(outside, sizeof(outside));
    (void)snprintf(path, sizeof(path), "%s/x.rkt", outside);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "..%s/x.rkt", strrchr(outside, '/'));
    sharded_run_name(place->index, shards, 4);
    outcome = sharded_run_read(place->index);
    assert_int_equal(outcome.event_count, 0);
    assert_int_equal(outcome.health.unread_shard_count, 4);
    assert_non_null(strstr(outcome.problem, "leads out of the folder"));
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "%s/x.rkt", outside);
    unlink(place->index);
    sharded_run_name(place->index, shards, 4);
    assert_int_equal(sharded_run_read(place->index).event_count, 0);
    sample_folder_remove(outside);
}

static void shards_of_a_shard_are_not_followed(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_shard_info inner = sharded_run_shard(2);
    struct rkt_shard_info outer = sharded_run_shard(1);
    struct sharded_outcome outcome;
    char path[SHARDED_PATH_BYTES];

    sharded_shard_path(place, 2, path);
    sharded_run_write_shard(path, sample_run().run_id, 2);
    sharded_shard_path(place, 1, path);
    sharded_run_name(path, &inner, 1);
    sharded_run_name(place->index, &outer, 1);
    outcome = sharded_run_read(place->index);
    assert_int_equal(outcome.source_count, 0);
    assert_int_equal(outcome.health.unread_shard_count, 0);
    assert_int_equal(outcome.health.unknown_frames, 1);
}

static void a_shard_frame_that_is_damaged_costs_that_shard(void **state)
{
    struct sharded_place *place = *state;
    struct sharded_outcome outcome;
    struct rkt_frame_head head;
    uint8_t *bytes;
    size_t len;

    sharded_run_write(place, SHARDS);
    bytes = sample_file_read(place->index, &len);
    assert_rkt_status(rkt_frame_head_decode(bytes, len, &head, NULL), RKT_OK); /* RUN's */
    bytes[2 * RKT_FRAME_HEAD_BYTES + head.packed_bytes + 3] ^= 1;
    sample_file_write(place->index, bytes, len);
    free(bytes);
    outcome = sharded_run_read(place->index);
    assert_int_equal(outcome.event_count, SHARDS * SHARDED_EVENTS);
    assert_int_equal(outcome.health.damaged_frames, 1);
    assert_int_equal(outcome.health.shard_count, SHARDS);
    assert_int_equal(outcome.health.unread_shard_count, 1);
    assert_int_equal(outcome.health.frame_count, SHARDS * SHARDED_FRAMES + 3);
}

static void spoil_run(const char *path)
{
    size_t len;
    uint8_t *bytes = sample_file_read(path, &len);

    bytes[RKT_FRAME_HEAD_BYTES + 4] ^= 1;
    sample_file_write(path, bytes, len);
    free(bytes);
}

static void a_lost_run_frame_costs_nothing_else(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    struct sharded_outcome outcome;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    spoil_run(place->index);
    sharded_shard_path(place, 2, path);
    spoil_run(path);
    outcome = sharded_run_read(place->index);
    assert_int_equal(outcome.event_count, (SHARDS + 1) * SHARDED_EVENTS);
    assert_int_equal(outcome.health.frame_count, (SHARDS + 1) * SHARDED_FRAMES);
    assert_int_equal(outcome.health.damaged_frames, 2);
    assert_int_equal(outcome.health.unread_shard_count, 0);
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    sample_expect_run(rkt_store_reader_run(reader)); /* as shard 1 has it, which is no part here */
    rkt_store_reader_close(reader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sharded_place_make, sharded_place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_missing_shard_is_said_and_the_rest_is_read),
        CASE(a_renamed_shard_is_missing),
        CASE(a_shard_of_another_run_is_left_out),
        CASE(a_shard_that_is_no_store_is_left_out),
        CASE(the_end_of_a_source_counts_more_than_that_rank_0_made_for_it),
        CASE(a_shard_of_another_major_version_is_left_out),
        CASE(a_folder_is_no_shard),
        CASE(a_file_that_was_read_already_counts_once),
        CASE(a_name_that_leads_out_of_the_folder_is_not_read),
        CASE(shards_of_a_shard_are_not_followed),
        CASE(a_shard_frame_that_is_damaged_costs_that_shard),
        CASE(a_lost_run_frame_costs_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
