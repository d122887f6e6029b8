/* SPDX-License-Identifier: Apache-2.0 */
/* A run in several files: read as one, and what is said where a file of it is wrong. */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/frame.h"
#include "common/store_files.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define SHARDS 2u
#define PATH_BYTES 512u
#define EVENTS_PER_SOURCE ((size_t)SAMPLE_ROWS * (RKT_EVENT_KIND_COUNT - 1))
/* SOURCE, STRINGS, a batch per kind, END, ALIGN */
#define FRAMES_PER_SOURCE (RKT_EVENT_KIND_COUNT + 3u)

struct fixture {
    char folder[200];
    char index[PATH_BYTES];
};

static int set_up(void **state)
{
    struct fixture *fx = calloc(1, sizeof(*fx));

    if (!fx)
        return -1;
    sample_folder_make(fx->folder, sizeof(fx->folder));
    sharded_run_index_path(fx->folder, fx->index, sizeof(fx->index));
    *state = fx;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fx = *state;

    sample_folder_remove(fx->folder);
    free(fx);
    return 0;
}

static void path_in(const struct fixture *fx, const char *name, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", fx->folder, name);
}

static void shard_path(const struct fixture *fx, uint32_t source, char path[PATH_BYTES])
{
    sharded_run_shard_path(fx->folder, source, path, PATH_BYTES);
}

static uint64_t bytes_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* ---- all that a store gives ---- */

struct walked {
    size_t event_count;
    int last_kind;
};

static enum rkt_status check_batch(void *ctx, const struct rkt_event *events, size_t count,
                                   struct rkt_error *err)
{
    struct walked *walked = ctx;

    (void)err;
    assert_int_equal(count, SAMPLE_ROWS);
    for (size_t row = 0; row < count; row++) {
        struct rkt_event want;

        sample_event((enum rkt_event_kind)events[0].kind, row, &want);
        assert_memory_equal(&events[row], &want, sizeof(want));
    }
    assert_true(events[0].kind > walked->last_kind); /* as the source sent them */
    walked->last_kind = events[0].kind;
    walked->event_count += count;
    return RKT_OK;
}

struct outcome {
    enum rkt_status status;
    struct rkt_store_health health;
    size_t source_count;
    size_t event_count;
    size_t copied_frames;
    char problem[512]; /* of the first shard that has one */
};

static enum rkt_status count_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                   struct rkt_error *err)
{
    (void)frame;
    (void)frame_bytes;
    (void)err;
    ++*(size_t *)ctx;
    return RKT_OK;
}

static void walk_all(struct rkt_store_reader *reader, struct outcome *outcome)
{
    for (size_t i = 0; i < rkt_store_reader_source_count(reader); i++) {
        uint32_t source = rkt_store_reader_source(reader, i)->info.source;
        struct rkt_strtab *tab = rkt_strtab_create();
        struct walked walked = {0};
        struct rkt_error err;

        assert_rkt_ok(rkt_store_reader_walk(reader, source, tab, check_batch, &walked, &err), err);
        outcome->event_count += walked.event_count;
        rkt_strtab_destroy(tab);
    }
}

static struct outcome read_open(struct rkt_store_reader *reader)
{
    struct outcome outcome = {.source_count = rkt_store_reader_source_count(reader)};
    struct rkt_error err;

    walk_all(reader, &outcome);
    assert_rkt_ok(rkt_store_reader_each_frame(reader, count_frame, &outcome.copied_frames, &err),
                  err);
    for (size_t i = rkt_store_reader_shard_count(reader); i-- > 0;) {
        const struct rkt_store_shard *shard = rkt_store_reader_shard(reader, i);

        assert_int_equal(shard->is_read, shard->problem[0] == '\0');
        if (!shard->is_read)
            (void)snprintf(outcome.problem, sizeof(outcome.problem), "%s", shard->problem);
    }
    outcome.health = *rkt_store_reader_health(reader);
    return outcome;
}

static struct outcome read_all(const char *path)
{
    struct rkt_store_reader *reader;
    struct outcome outcome;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    outcome = read_open(reader);
    rkt_store_reader_close(reader);
    return outcome;
}

static void expect_whole(const char *path, uint32_t shard_count)
{
    struct outcome outcome = read_all(path);
    size_t sources = shard_count + 1;

    assert_string_equal(outcome.problem, "");
    assert_int_equal(outcome.source_count, sources);
    assert_int_equal(outcome.event_count, sources * EVENTS_PER_SOURCE);
    assert_int_equal(outcome.health.frame_count, sources * FRAMES_PER_SOURCE);
    assert_int_equal(outcome.copied_frames, sources * FRAMES_PER_SOURCE);
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
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    uint64_t file_bytes = 0;
    struct rkt_error err;

    sharded_run_write(fx->folder, SHARDS);
    expect_whole(fx->index, SHARDS);
    assert_rkt_ok(rkt_store_reader_open(fx->folder, &reader, &err), err);
    sample_expect_run(rkt_store_reader_run(reader));
    for (size_t i = 0; i < SHARDS + 1; i++) {
        const struct rkt_store_source *source = rkt_store_reader_source(reader, i);

        sample_expect_source(&source->info);
        assert_int_equal(source->end.event_count, EVENTS_PER_SOURCE);
        assert_int_equal(source->align.knot_count, 2);
        file_bytes += bytes_of(rkt_store_reader_path(reader, i));
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
    struct fixture *fx = *state;
    char path[PATH_BYTES];
    char elsewhere[200];
    char link[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    path_in(fx, "timeline.1.rkt", path);
    assert_int_equal(rename(fx->index, path), 0);
    expect_whole(path, SHARDS);
    sample_folder_make(elsewhere, sizeof(elsewhere));
    (void)snprintf(link, sizeof(link), "%s/link.rkt", elsewhere);
    assert_int_equal(symlink(path, link), 0);
    expect_whole(link, SHARDS);
    sample_folder_remove(elsewhere);
}

static void a_shard_is_a_store_that_says_it_is_a_part(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    assert_true(rkt_store_reader_run(reader)->is_part);
    assert_true(rkt_store_reader_health(reader)->has_trailer);
    assert_int_equal(rkt_store_reader_health(reader)->shard_count, 0);
    assert_int_equal(rkt_store_reader_source_count(reader), 1);
    assert_int_equal(read_open(reader).event_count, EVENTS_PER_SOURCE);
    rkt_store_reader_close(reader);
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    assert_false(rkt_store_reader_run(reader)->is_part);
    rkt_store_reader_close(reader);
}

static void more_shards_than_descriptors_are_read(void **state)
{
    const uint32_t shard_count = 2 * RKT_STORE_OPEN_FILES_MAX;
    struct fixture *fx = *state;
    struct rlimit old;
    struct rlimit low;

    sharded_run_write(fx->folder, shard_count);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){RKT_STORE_OPEN_FILES_MAX / 2, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    expect_whole(fx->index, shard_count);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    expect_whole(fx->index, shard_count);
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
    struct fixture *fx = *state;
    size_t before = open_descriptors();
    struct rkt_store_reader *reader;
    struct rkt_error err;

    sharded_run_write(fx->folder, 2 * RKT_STORE_OPEN_FILES_MAX);
    for (uint32_t source = 1; source < RKT_STORE_OPEN_FILES_MAX;
         source++) { /* none of them stays */
        char path[PATH_BYTES];

        shard_path(fx, source, path);
        assert_int_equal(truncate(path, 0), 0);
    }
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    assert_int_equal(open_descriptors(), before + RKT_STORE_OPEN_FILES_MAX);
    read_open(reader);
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

static struct rkt_store_writer *open_writer(const char *path, bool is_part)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    run.is_part = is_part;
    unlink(path);
    assert_rkt_ok(rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, &err), err);
    return writer;
}

/* Source 1, of `whole`: its first frames in the shard, which has no trailer, as its writer died. */
static void split_source(const struct fixture *fx, const char *whole, uint32_t shard_end,
                         uint32_t overlap)
{
    struct split split = {.shard_end = shard_end, .index_start = shard_end - overlap};
    struct rkt_shard_info shard = sharded_run_shard(1);
    struct rkt_store_reader *reader;
    char path[PATH_BYTES];
    struct rkt_error err;

    shard_path(fx, 1, path);
    split.files[0] = open_writer(path, true);
    split.files[1] = open_writer(fx->index, false);
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
    const uint32_t frames = FRAMES_PER_SOURCE - 1; /* no ALIGN */
    struct fixture *fx = *state;
    char whole[PATH_BYTES];

    path_in(fx, "whole.rkt", whole);
    sharded_run_write_shard(whole, sample_run().run_id, 1);
    for (uint32_t at = 1; at < frames; at++) {
        for (uint32_t overlap = 0; overlap <= at; overlap += 5) {
            struct outcome outcome;

            split_source(fx, whole, at, overlap);
            outcome = read_all(fx->index);
            assert_int_equal(outcome.event_count, EVENTS_PER_SOURCE);
            assert_int_equal(outcome.health.frame_count, frames);
            assert_int_equal(outcome.copied_frames, frames);
            assert_int_equal(outcome.health.seq_gap_count, 0);
            assert_false(outcome.health.has_trailer);
        }
    }
}

/* ---- a shard that is wrong ---- */

/* Of SHARDS shards that of source 1 is left out, for a reason that holds `want`. */
static void expect_left_out(const struct fixture *fx, const char *want)
{
    struct outcome outcome = read_all(fx->index);
    char other[PATH_BYTES];

    if (!strstr(outcome.problem, want))
        fail_msg("no word of '%s': %s", want, outcome.problem);
    assert_int_equal(outcome.health.shard_count, SHARDS);
    assert_int_equal(outcome.health.unread_shard_count, 1);
    /* all of the others, and of source 1 what the index file repeats of it */
    assert_int_equal(outcome.source_count, SHARDS + 1);
    assert_int_equal(outcome.event_count, SHARDS * EVENTS_PER_SOURCE);
    assert_int_equal(outcome.health.frame_count, SHARDS * FRAMES_PER_SOURCE + 3);
    assert_int_equal(outcome.health.seq_gap_count, FRAMES_PER_SOURCE - 3);
    assert_int_equal(outcome.health.damaged_frames, 0);
    assert_int_equal(outcome.health.skipped_bytes, 0);
    shard_path(fx, 2, other);
    assert_int_equal(outcome.health.file_bytes, bytes_of(fx->index) + bytes_of(other));
}

static void a_missing_shard_is_said_and_the_rest_is_read(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    assert_int_equal(unlink(path), 0);
    expect_left_out(fx, "No such file");
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    assert_non_null(strstr(rkt_store_reader_shard(reader, 0)->problem, path));
    sample_expect_source(&rkt_store_reader_source(reader, 1)->info);
    assert_true(rkt_store_reader_source(reader, 1)->has_end);
    rkt_store_reader_close(reader);
}

static void a_renamed_shard_is_missing(void **state)
{
    struct fixture *fx = *state;
    char path[PATH_BYTES];
    char other[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    path_in(fx, "timeline.1.rkt", other);
    assert_int_equal(rename(path, other), 0);
    expect_left_out(fx, "No such file");
}

static void a_shard_of_another_run_is_left_out(void **state)
{
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    assert_int_equal(unlink(path), 0);
    sharded_run_write_shard(path, 77, 1);
    expect_left_out(fx, "another run: its id is 000000000000004d, not 123456789abcdef0");
    assert_int_equal(unlink(path), 0);
    sharded_run_write_shard(path, 0, 1);
    expect_left_out(fx, "another run");
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    shard_path(fx, 2, path);
    assert_string_equal(rkt_store_reader_path(reader, 1), path);
    assert_null(rkt_store_reader_path(reader, 2));
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
    struct fixture *fx = *state;
    char path[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
        sample_file_write(path, (const uint8_t *)CASES[i].bytes, CASES[i].len);
        expect_left_out(fx, CASES[i].want);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_left_out(fx, "not a regular file");
}

/* Rank 0 lost the source, whose leader wrote on; its seq says nothing of when. */
static void the_end_of_a_source_counts_more_than_that_rank_0_made_for_it(void **state)
{
    const struct rkt_end_info lost = {.reason = RKT_END_LOST};
    struct fixture *fx = *state;
    struct rkt_shard_info info = sharded_run_shard(1);
    struct rkt_store_writer *index = open_writer(fx->index, false);
    uint8_t raw[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[PATH_BYTES];
    size_t raw_bytes;

    shard_path(fx, 1, path);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    assert_rkt_ok(rkt_store_writer_append_shard(index, &info, &err), err);
    assert_rkt_ok(rkt_end_info_encode(&lost, raw, sizeof(raw), &raw_bytes, &err), err);
    assert_rkt_ok(rkt_store_writer_append_payload(index, RKT_FRAME_END, 1, raw, raw_bytes, &err),
                  err);
    rkt_store_writer_destroy(index);
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    assert_int_equal(rkt_store_reader_source(reader, 0)->end.reason, RKT_END_SIGNALED);
    assert_int_equal(rkt_store_reader_health(reader)->seq_gap_count, 0);
    rkt_store_reader_close(reader);
}

static void a_shard_of_another_major_version_is_left_out(void **state)
{
    struct fixture *fx = *state;
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t len;

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    bytes = sample_file_read(path, &len);
    bytes[4] = 2;
    rkt_put_u32(bytes + 28, rkt_frame_payload_crc(bytes, 28));
    sample_file_write(path, bytes, len);
    free(bytes);
    expect_left_out(fx, "version 2; this ranktrace reads version 1");
}

/* A folder of that name with a store in it is outside the run's folder. */
static void a_folder_is_no_shard(void **state)
{
    struct fixture *fx = *state;
    char path[PATH_BYTES];
    char inner[PATH_BYTES + 20];

    sharded_run_write(fx->folder, SHARDS);
    shard_path(fx, 1, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(inner, sizeof(inner), "%s/timeline.rkt", path);
    sharded_run_write_shard(inner, sample_run().run_id, 1);
    expect_left_out(fx, "not a regular file");
    assert_int_equal(unlink(inner), 0);
    assert_int_equal(rmdir(path), 0);
}

static void a_file_that_was_read_already_counts_once(void **state)
{
    struct fixture *fx = *state;
    struct rkt_shard_info shards[4];
    struct outcome outcome;
    char path[PATH_BYTES];
    char other[PATH_BYTES];

    shard_path(fx, 1, path);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    shards[0] = sharded_run_shard(1);
    shards[1] = sharded_run_shard(1); /* the same name */
    shards[2] = sharded_run_shard(2); /* another name of the same file */
    shard_path(fx, 2, other);
    assert_int_equal(link(path, other), 0);
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "timeline.rkt"); /* itself */
    sharded_run_name(fx->index, shards, 4);
    outcome = read_all(fx->index);
    assert_int_equal(outcome.event_count, EVENTS_PER_SOURCE);
    assert_int_equal(outcome.health.frame_count, FRAMES_PER_SOURCE - 1);
    assert_int_equal(outcome.health.shard_count, 4);
    assert_int_equal(outcome.health.unread_shard_count, 3);
    assert_non_null(strstr(outcome.problem, "named twice"));
}

static void a_name_that_leads_out_of_the_folder_is_not_read(void **state)
{
    struct fixture *fx = *state;
    char outside[200];
    char path[PATH_BYTES];
    struct rkt_shard_info shards[4] = {{.file = "."}, {.file = ".."}, {.file = ""}};
    struct outcome outcome;

    sample_folder_make(outside, sizeof(outside));
    (void)snprintf(path, sizeof(path), "%s/x.rkt", outside);
    sharded_run_write_shard(path, sample_run().run_id, 1);
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "..%s/x.rkt", strrchr(outside, '/'));
    sharded_run_name(fx->index, shards, 4);
    outcome = read_all(fx->index);
    assert_int_equal(outcome.event_count, 0);
    assert_int_equal(outcome.health.unread_shard_count, 4);
    assert_non_null(strstr(outcome.problem, "leads out of the folder"));
    (void)snprintf(shards[3].file, sizeof(shards[3].file), "%s/x.rkt", outside);
    unlink(fx->index);
    sharded_run_name(fx->index, shards, 4);
    assert_int_equal(read_all(fx->index).event_count, 0);
    sample_folder_remove(outside);
}

static void shards_of_a_shard_are_not_followed(void **state)
{
    struct fixture *fx = *state;
    struct rkt_shard_info inner = sharded_run_shard(2);
    struct rkt_shard_info outer = sharded_run_shard(1);
    struct outcome outcome;
    char path[PATH_BYTES];

    shard_path(fx, 2, path);
    sharded_run_write_shard(path, sample_run().run_id, 2);
    shard_path(fx, 1, path);
    sharded_run_name(path, &inner, 1);
    sharded_run_name(fx->index, &outer, 1);
    outcome = read_all(fx->index);
    assert_int_equal(outcome.source_count, 0);
    assert_int_equal(outcome.health.unread_shard_count, 0);
    assert_int_equal(outcome.health.unknown_frames, 1);
}

static void a_shard_frame_that_is_damaged_costs_that_shard(void **state)
{
    struct fixture *fx = *state;
    struct outcome outcome;
    struct rkt_frame_head head;
    uint8_t *bytes;
    size_t len;

    sharded_run_write(fx->folder, SHARDS);
    bytes = sample_file_read(fx->index, &len);
    assert_rkt_status(rkt_frame_head_decode(bytes, len, &head, NULL), RKT_OK); /* RUN's */
    bytes[2 * RKT_FRAME_HEAD_BYTES + head.packed_bytes + 3] ^= 1;
    sample_file_write(fx->index, bytes, len);
    free(bytes);
    outcome = read_all(fx->index);
    assert_int_equal(outcome.event_count, SHARDS * EVENTS_PER_SOURCE);
    assert_int_equal(outcome.health.damaged_frames, 1);
    assert_int_equal(outcome.health.shard_count, SHARDS);
    assert_int_equal(outcome.health.unread_shard_count, 1);
    assert_int_equal(outcome.health.frame_count, SHARDS * FRAMES_PER_SOURCE + 3);
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
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct outcome outcome;
    struct rkt_error err;
    char path[PATH_BYTES];

    sharded_run_write(fx->folder, SHARDS);
    spoil_run(fx->index);
    shard_path(fx, 2, path);
    spoil_run(path);
    outcome = read_all(fx->index);
    assert_int_equal(outcome.event_count, (SHARDS + 1) * EVENTS_PER_SOURCE);
    assert_int_equal(outcome.health.frame_count, (SHARDS + 1) * FRAMES_PER_SOURCE);
    assert_int_equal(outcome.health.damaged_frames, 2);
    assert_int_equal(outcome.health.unread_shard_count, 0);
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    sample_expect_run(rkt_store_reader_run(reader)); /* as shard 1 has it, which is no part here */
    rkt_store_reader_close(reader);
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
    struct fixture *fx = *state;
    char path[PATH_BYTES];
    uint8_t *bytes;
    size_t len;

    sharded_run_write(fx->folder, 1);
    shard_path(fx, 1, path);
    bytes = sample_file_read(path, &len);
    for (size_t cut = len; cut-- > 0;) {
        struct outcome outcome;

        assert_int_equal(truncate(path, (off_t)cut), 0);
        outcome = read_all(fx->index);
        assert_int_equal(outcome.event_count,
                         EVENTS_PER_SOURCE + SAMPLE_ROWS * batches_before(bytes, cut));
        assert_int_equal(outcome.health.damaged_frames, 0);
        if (outcome.health.unread_shard_count == 0)
            assert_false(outcome.health.has_trailer);
    }
    free(bytes);
}

static void an_index_file_cut_at_any_byte_gives_all_shards_that_it_names(void **state)
{
    struct fixture *fx = *state;
    uint8_t *bytes;
    size_t shards_end = 0;
    size_t len;

    sharded_run_write(fx->folder, 1);
    bytes = sample_file_read(fx->index, &len);
    for (int i = 0; i < 2; i++) { /* RUN, SHARD */
        struct rkt_frame_head head;

        assert_rkt_status(rkt_frame_head_decode(bytes + shards_end, len, &head, NULL), RKT_OK);
        shards_end += RKT_FRAME_HEAD_BYTES + head.packed_bytes;
    }
    for (size_t cut = len; --cut >= shards_end;) {
        struct outcome outcome;

        assert_int_equal(truncate(fx->index, (off_t)cut), 0);
        outcome = read_all(fx->index);
        assert_int_equal(outcome.event_count,
                         EVENTS_PER_SOURCE + SAMPLE_ROWS * batches_before(bytes, cut));
        assert_int_equal(outcome.health.unread_shard_count, 0);
        assert_int_equal(outcome.health.damaged_frames, 0);
        assert_false(outcome.health.has_trailer);
    }
    free(bytes);
}

static void a_sharded_run_is_readable_while_it_grows(void **state)
{
    struct fixture *fx = *state;
    struct rkt_shard_info info = sharded_run_shard(1);
    struct rkt_store_writer *index = open_writer(fx->index, false);
    struct rkt_store_writer *shard;
    struct rkt_store_reader *early;
    struct rkt_error err;
    char path[PATH_BYTES];

    assert_rkt_ok(rkt_store_writer_append_shard(index, &info, &err), err);
    assert_int_equal(read_all(fx->index).health.unread_shard_count, 1); /* named, not there yet */
    shard_path(fx, 1, path);
    shard = open_writer(path, true);
    assert_rkt_ok(rkt_store_reader_open(fx->index, &early, &err), err);
    assert_int_equal(rkt_store_reader_health(early)->unread_shard_count, 0);
    sample_source_fill(shard, 1);
    sample_source_fill(index, 0);
    assert_int_equal(read_open(early).event_count, 0); /* as it was */
    rkt_store_reader_close(early);
    assert_int_equal(read_all(fx->index).event_count, 2 * EVENTS_PER_SOURCE);
    assert_int_equal(read_all(fx->index).health.skipped_bytes, 0);
    rkt_store_writer_destroy(index);
    rkt_store_writer_destroy(shard);
}

static void a_shard_that_is_replaced_while_it_is_read_is_damage(void **state)
{
    const uint32_t shard_count = RKT_STORE_OPEN_FILES_MAX + 8;
    struct fixture *fx = *state;
    struct rkt_store_reader *reader;
    struct outcome outcome;
    struct rkt_error err;
    char path[PATH_BYTES];
    char other[PATH_BYTES];

    sharded_run_write(fx->folder, shard_count);
    assert_rkt_ok(rkt_store_reader_open(fx->index, &reader, &err), err);
    path_in(fx, "other", other);
    sharded_run_write_shard(other, sample_run().run_id, 1);
    shard_path(fx, 1, path); /* the first that was closed again */
    assert_int_equal(rename(other, path), 0);
    outcome = read_open(reader);
    assert_int_equal(outcome.event_count, shard_count * EVENTS_PER_SOURCE);
    assert_true(outcome.health.damaged_frames > 0);
    rkt_store_reader_close(reader);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_sharded_run_reads_as_one_file),
        CASE(a_renamed_index_and_a_link_to_it_find_their_shards),
        CASE(a_shard_is_a_store_that_says_it_is_a_part),
        CASE(more_shards_than_descriptors_are_read),
        CASE(descriptors_in_use_are_bounded_and_given_back),
        CASE(a_source_that_went_on_in_the_index_file_is_whole_and_in_order),
        CASE(a_missing_shard_is_said_and_the_rest_is_read),
        CASE(a_renamed_shard_is_missing),
        CASE(a_shard_of_another_run_is_left_out),
        CASE(the_end_of_a_source_counts_more_than_that_rank_0_made_for_it),
        CASE(a_shard_that_is_no_store_is_left_out),
        CASE(a_shard_of_another_major_version_is_left_out),
        CASE(a_folder_is_no_shard),
        CASE(a_file_that_was_read_already_counts_once),
        CASE(a_name_that_leads_out_of_the_folder_is_not_read),
        CASE(shards_of_a_shard_are_not_followed),
        CASE(a_shard_frame_that_is_damaged_costs_that_shard),
        CASE(a_lost_run_frame_costs_nothing_else),
        CASE(a_shard_cut_at_any_byte_gives_all_whole_frames),
        CASE(an_index_file_cut_at_any_byte_gives_all_shards_that_it_names),
        CASE(a_sharded_run_is_readable_while_it_grows),
        CASE(a_shard_that_is_replaced_while_it_is_read_is_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
