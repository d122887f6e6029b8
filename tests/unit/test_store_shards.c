/* SPDX-License-Identifier: Apache-2.0 */
/* A run in several files, read as one: whole, cut, and while it grows. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/frame.h"
#include "common/store_files.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define SHARDS 2u

static void expect_whole(const char *path, uint32_t shard_count)
{
    struct sharded_outcome outcome = sharded_run_read(path);
    size_t sources = shard_count + 1;

    assert_string_equal(outcome.problem, "");
    assert_int_equal(outcome.source_count, sources);
    assert_int_equal(outcome.event_count, sources * SHARDED_EVENTS);
    assert_int_equal(outcome.health.frame_count, sources * SHARDED_FRAMES);
    assert_int_equal(outcome.copied_frames, sources * SHARDED_FRAMES);
    assert_int_equal(outcome.health.seq_gap_count, 0);
    assert_int_equal(outcome.health.damaged_frames, 0);
    assert_int_equal(outcome.health.unknown_frames, 0);
    assert_int_equal(outcome.health.skipped_bytes, 0);
    assert_int_equal(outcome.health.shard_count, shard_count);
    assert_int_equal(outcome.health.unread_shard_count, 0);
    assert_true(outcome.health.has_trailer);
}

/* ---- whole runs ---- */

static void a_sharded_run_reads_as_one_file(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    uint64_t file_bytes = 0;
    struct rkt_error err;

    sharded_run_write(place, SHARDS);
    expect_whole(place->index, SHARDS);
    assert_rkt_ok(rkt_store_reader_open(place->folder, &reader, &err), err);
    sample_expect_run(rkt_store_reader_run(reader));
    for (size_t i = 0; i < SHARDS + 1; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);

        sample_expect_source(&source->info);
        assert_int_equal(source->end.event_count, SHARDED_EVENTS);
        assert_int_equal(source->align.knot_count, 2);
        file_bytes += sample_file_bytes(rkt_store_reader_path(reader, i));
    }
    assert_null(rkt_store_reader_path(reader, SHARDS + 1));
    assert_int_equal(rkt_store_reader_health(reader)->file_bytes, file_bytes);
    assert_string_equal(rkt_store_reader_shard(reader, 1)->info.host, "node2");
    assert_int_equal(rkt_store_reader_shard(reader, 1)->info.rank, 2);
    assert_true(rkt_store_reader_shard(reader, 1)->has_trailer);
    rkt_store_reader_close(reader);
}

static void a_renamed_index_and_a_link_to_it_find_their_shards(void **state)
{
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];
    char elsewhere[200];
    char link[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_path(place, "timeline.1.rkt", path);
    assert_int_equal(rename(place->index, path), 0);
    expect_whole(path, SHARDS);
    sample_folder_make(elsewhere, sizeof(elsewhere));
    (void)snprintf(link, sizeof(link), "%s/link.rkt", elsewhere);
    assert_int_equal(symlink(path, link), 0);
    expect_whole(link, SHARDS);
    sample_folder_remove(elsewhere);
}

static void a_shard_is_a_store_that_says_it_is_a_part(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    sharded_run_write(place, SHARDS);
    sharded_shard_path(place, 1, path);
    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    assert_true(rkt_store_reader_run(reader)->is_part);
    assert_true(rkt_store_reader_health(reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(reader)->shard_count, 0);
    assert_int_equal(rkt_store_reader_source_count(reader), 1);
    assert_int_equal(sharded_run_read_open(reader).event_count, SHARDED_EVENTS);
    rkt_store_reader_close(reader);
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    assert_false(rkt_store_reader_run(reader)->is_part);
    rkt_store_reader_close(reader);
}

static void more_shards_than_descriptors_are_read(void **state)
{
    const uint32_t shard_count = 2 * RKT_STORE_OPEN_FILES_MAX;
    struct sharded_place *place = *state;
    struct rlimit old;
    struct rlimit low;

    sharded_run_write(place, shard_count);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){RKT_STORE_OPEN_FILES_MAX / 2, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    expect_whole(place->index, shard_count);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    expect_whole(place->index, shard_count);
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 4096; fd++) {
        struct stat st;

        count += fstat(fd, &st) == 0;
    }
    return count;
}

static void descriptors_in_use_are_bounded_and_given_back(void **state)
{
    struct sharded_place *place = *state;
    size_t before = open_descriptors();
    struct rkt_store_reader *reader;
    struct rkt_error err;

    sharded_run_write(place, 2 * RKT_STORE_OPEN_FILES_MAX);
    for (uint32_t source = 1; source < RKT_STORE_OPEN_FILES_MAX;
         source++) { /* none of them stays */
        char path[SHARDED_PATH_BYTES];

        sharded_shard_path(place, source, path);
        assert_int_equal(truncate(path, 0), 0);
    }
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    assert_int_equal(open_descriptors(), before + RKT_STORE_OPEN_FILES_MAX);
    sharded_run_read_open(reader);
    assert_int_equal(open_descriptors(), before + RKT_STORE_OPEN_FILES_MAX);
    rkt_store_reader_close(reader);
    assert_int_equal(open_descriptors(), before);
}

/* ---- one source in two files ---- */

struct split {
    struct rkt_store_writer *files[2]; /* the shard, the index file */
    uint32_t shard_end;                /* the shard has frames up to here */
    uint32_t index_start;              /* the index file those from here on */
};

static enum rkt_status put_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                 struct rkt_error *err)
{
    struct split *split = ctx;
    struct rkt_frame_head head;
    enum rkt_status status = rkt_frame_head_decode(frame, frame_bytes, &head, err);

    if (status == RKT_OK && head.seq < split->shard_end)
        status = rkt_store_writer_append(split->files[0], frame, frame_bytes, err);
    if (status == RKT_OK && head.seq >= split->index_start)
        status = rkt_store_writer_append(split->files[1], frame, frame_bytes, err);
    return status;
}

/* Source 1, of `whole`: its first frames in the shard, which has no trailer, as its writer died. */
static void split_source(const struct sharded_place *place, const char *whole, uint32_t shard_end,
                         uint32_t overlap)
{
    struct split split = {.shard_end = shard_end, .index_start = shard_end - overlap};
    struct rkt_shard_info shard = sharded_run_shard(1);
    struct rkt_store_reader *reader;
    char path[SHARDED_PATH_BYTES];
    struct rkt_error err;

    sharded_shard_path(place, 1, path);
    split.files[0] = sharded_run_create(path, sample_run().run_id, true);
    split.files[1] = sharded_run_create(place->index, sample_run().run_id, false);
    assert_rkt_ok(rkt_store_writer_append_shard(split.files[1], &shard, &err), err);
    assert_rkt_ok(rkt_store_reader_open(whole, &reader, &err), err);
    assert_rkt_ok(rkt_store_reader_each_frame(reader, put_frame, &split, &err), err);
    rkt_store_reader_close(reader);
    rkt_store_writer_destroy(split.files[0]);
    assert_rkt_ok(rkt_store_writer_close(split.files[1], &err), err);
    rkt_store_writer_destroy(split.files[1]);
}

static void a_source_that_went_on_in_the_index_file_is_whole_and_in_order(void **state)
{
    const uint32_t frames = SHARDED_FRAMES - 1; /* no ALIGN */
    struct sharded_place *place = *state;
    char whole[SHARDED_PATH_BYTES];

    sharded_path(place, "whole.rkt", whole);
    sharded_run_write_shard(whole, sample_run().run_id, 1);
    for (uint32_t at = 1; at < frames; at++) {
        for (uint32_t overlap = 0; overlap <= at; overlap += 5) {
            struct sharded_outcome outcome;

            split_source(place, whole, at, overlap);
            outcome = sharded_run_read(place->index);
            assert_int_equal(outcome.event_count, SHARDED_EVENTS);
            assert_int_equal(outcome.health.frame_count, frames);
            assert_int_equal(outcome.copied_frames, frames);
            assert_int_equal(outcome.health.seq_gap_count, 0);
            assert_false(outcome.health.has_trailer);
        }
    }
}

/* ---- cut, growing, replaced ---- */

static size_t batches_before(const uint8_t *bytes, size_t cut)
{
    size_t count = 0;

    for (size_t at = 0; at + RKT_FRAME_HEAD_BYTES <= cut;) {
        struct rkt_frame_head head;

        assert_rkt_status(rkt_frame_head_decode(bytes + at, RKT_FRAME_HEAD_BYTES, &head, NULL),
                          RKT_OK);
        at += RKT_FRAME_HEAD_BYTES + head.packed_bytes;
        count += at <= cut && rkt_frame_is_of_events(head.kind);
    }
    return count;
}

static void a_shard_cut_at_any_byte_gives_all_whole_frames(void **state)
{
    struct sharded_place *place = *state;
    char path[SHARDED_PATH_BYTES];
    uint8_t *bytes;
    size_t len;

    sharded_run_write(place, 1);
    sharded_shard_path(place, 1, path);
    bytes = sample_file_read(path, &len);
    for (size_t cut = len; cut-- > 0;) {
        struct sharded_outcome outcome;

        assert_int_equal(truncate(path, (off_t)cut), 0);
        outcome = sharded_run_read(place->index);
        assert_int_equal(outcome.event_count,
                         SHARDED_EVENTS + SAMPLE_ROWS * batches_before(bytes, cut));
        assert_int_equal(outcome.health.damaged_frames, 0);
        if (outcome.health.unread_shard_count == 0)
            assert_false(outcome.health.has_trailer);
    }
    free(bytes);
}

static void an_index_file_cut_at_any_byte_gives_all_shards_that_it_names(void **state)
{
    struct sharded_place *place = *state;
    uint8_t *bytes;
    size_t shards_end = 0;
    size_t len;

    sharded_run_write(place, 1);
    bytes = sample_file_read(place->index, &len);
    for (int i = 0; i < 2; i++) { /* RUN, SHARD */
        struct rkt_frame_head head;

        assert_rkt_status(rkt_frame_head_decode(bytes + shards_end, len, &head, NULL), RKT_OK);
        shards_end += RKT_FRAME_HEAD_BYTES + head.packed_bytes;
    }
    for (size_t cut = len; --cut >= shards_end;) {
        struct sharded_outcome outcome;

        assert_int_equal(truncate(place->index, (off_t)cut), 0);
        outcome = sharded_run_read(place->index);
        assert_int_equal(outcome.event_count,
                         SHARDED_EVENTS + SAMPLE_ROWS * batches_before(bytes, cut));
        assert_int_equal(outcome.health.unread_shard_count, 0);
        assert_int_equal(outcome.health.damaged_frames, 0);
        assert_false(outcome.health.has_trailer);
    }
    free(bytes);
}

static void a_sharded_run_is_readable_while_it_grows(void **state)
{
    struct sharded_place *place = *state;
    struct rkt_shard_info info = sharded_run_shard(1);
    struct rkt_store_writer *index = sharded_run_create(place->index, sample_run().run_id, false);
    struct rkt_store_writer *shard;
    struct rkt_store_reader *early;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    assert_rkt_ok(rkt_store_writer_append_shard(index, &info, &err), err);
    assert_int_equal(sharded_run_read(place->index).health.unread_shard_count,
                     1); /* named, not there yet */
    sharded_shard_path(place, 1, path);
    shard = sharded_run_create(path, sample_run().run_id, true);
    assert_rkt_ok(rkt_store_reader_open(place->index, &early, &err), err);
    assert_int_equal(rkt_store_reader_health(early)->unread_shard_count, 0);
    sample_source_fill(shard, 1);
    sample_source_fill(index, 0);
    assert_int_equal(sharded_run_read_open(early).event_count, 0); /* as it was */
    rkt_store_reader_close(early);
    assert_int_equal(sharded_run_read(place->index).event_count, 2 * SHARDED_EVENTS);
    assert_int_equal(sharded_run_read(place->index).health.skipped_bytes, 0);
    rkt_store_writer_destroy(index);
    rkt_store_writer_destroy(shard);
}

static void a_shard_that_is_replaced_while_it_is_read_is_damage(void **state)
{
    const uint32_t shard_count = RKT_STORE_OPEN_FILES_MAX + 8;
    struct sharded_place *place = *state;
    struct rkt_store_reader *reader;
    struct sharded_outcome outcome;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];
    char other[SHARDED_PATH_BYTES];

    sharded_run_write(place, shard_count);
    assert_rkt_ok(rkt_store_reader_open(place->index, &reader, &err), err);
    sharded_path(place, "other", other);
    sharded_run_write_shard(other, sample_run().run_id, 1);
    sharded_shard_path(place, 1, path); /* the first that was closed again */
    assert_int_equal(rename(other, path), 0);
    outcome = sharded_run_read_open(reader);
    assert_int_equal(outcome.event_count, shard_count * SHARDED_EVENTS);
    assert_true(outcome.health.damaged_frames > 0);
    rkt_store_reader_close(reader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, sharded_place_make, sharded_place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sharded_run_reads_as_one_file),
        CASE(a_renamed_index_and_a_link_to_it_find_their_shards),
        CASE(a_shard_is_a_store_that_says_it_is_a_part),
        CASE(more_shards_than_descriptors_are_read),
        CASE(descriptors_in_use_are_bounded_and_given_back),
        CASE(a_source_that_went_on_in_the_index_file_is_whole_and_in_order),
        CASE(a_shard_cut_at_any_byte_gives_all_whole_frames),
        CASE(an_index_file_cut_at_any_byte_gives_all_shards_that_it_names),
        CASE(a_sharded_run_is_readable_while_it_grows),
        CASE(a_shard_that_is_replaced_while_it_is_read_is_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
