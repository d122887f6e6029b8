/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose frames lie behind 4 GiB and more. The file is sparse: what lies before them is a
 * row of frames of the largest size, of a kind of a later version, whose payloads are holes.
 */
#include "tests/unit/rkt_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/store_reader.h"
#include "tests/unit/sample.h"
#include "tests/unit/sharded_run.h"

#define LARGE_KIND 99u
#define LARGE_SOURCE 7u
#define LARGE_BYTES ((uint64_t)RKT_FRAME_HEAD_BYTES + RKT_FRAME_PACKED_BYTES_MAX)
/* Past 2^32 at the first frame of the sample, and with 200 more at its second source. */
#define LARGE_FRAMES 130u
#define FRAMES_MAX 400u

struct file {
    int fd;
    uint64_t end;
    struct rkt_store_entry entries[FRAMES_MAX];
    size_t count;
};

static void put(struct file *file, const uint8_t *bytes, size_t len_bytes)
{
    assert_int_equal(pwrite(file->fd, bytes, len_bytes, (off_t)file->end), len_bytes);
    file->end += len_bytes;
}

static void remember(struct file *file, const struct rkt_frame_head *head, uint64_t offset)
{
    assert_true(file->count < FRAMES_MAX);
    file->entries[file->count++] = (struct rkt_store_entry){
        .offset = offset,
        .source = head->source,
        .seq = head->seq,
        .frame_bytes = RKT_FRAME_HEAD_BYTES + head->packed_bytes,
        .kind = head->kind,
    };
}

/* The crc of a payload that is all zeros: a good frame, were it read. */
static uint32_t crc_of_hole(void)
{
    uint8_t *zeros = calloc(1, RKT_FRAME_PACKED_BYTES_MAX);
    uint32_t crc;

    assert_non_null(zeros);
    crc = rkt_frame_payload_crc(zeros, RKT_FRAME_PACKED_BYTES_MAX);
    free(zeros);
    return crc;
}

static void put_large(struct file *file, uint32_t first_seq, uint32_t count)
{
    struct rkt_frame_head head = {
        .kind = LARGE_KIND,
        .source = LARGE_SOURCE,
        .raw_bytes = RKT_FRAME_PACKED_BYTES_MAX,
        .packed_bytes = RKT_FRAME_PACKED_BYTES_MAX,
        .payload_crc = crc_of_hole(),
    };
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];

    for (uint32_t i = 0; i < count; i++) {
        head.seq = first_seq + i;
        rkt_frame_head_encode(&head, bytes);
        remember(file, &head, file->end);
        put(file, bytes, sizeof(bytes));
        file->end += head.packed_bytes;
    }
}

/* The sample's frames, but INDEX and TRAILER; large ones before each source. */
static void put_sample(struct file *file, const uint8_t *bytes, size_t len_bytes)
{
    uint32_t large_seq = 0;

    for (size_t at = 0; at < len_bytes;) {
        struct rkt_frame_head head;
        struct rkt_error err;
        uint32_t frame_bytes;

        assert_rkt_ok(rkt_frame_head_decode(bytes + at, len_bytes - at, &head, &err), err);
        frame_bytes = RKT_FRAME_HEAD_BYTES + head.packed_bytes;
        if (head.kind == RKT_FRAME_INDEX)
            return;
        if (head.kind == RKT_FRAME_SOURCE) {
            put_large(file, large_seq, LARGE_FRAMES);
            large_seq += LARGE_FRAMES;
        }
        remember(file, &head, file->end);
        put(file, bytes + at, frame_bytes);
        at += frame_bytes;
    }
}

static void put_index(struct file *file)
{
    const struct rkt_store_index index = {.entries = file->entries, .entry_count = file->count};
    struct rkt_frame_head head = {.kind = RKT_FRAME_INDEX, .source = RKT_FRAME_SOURCE_NONE};
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_store_trailer trailer = {
        .index_offset = file->end, .frame_count = file->count, .index_count = 1};
    uint8_t bytes[RKT_STORE_TRAILER_BYTES];
    struct rkt_codec_buf raw;
    struct rkt_bytes frame;
    struct rkt_error err;

    rkt_codec_buf_init(&raw);
    assert_rkt_ok(rkt_store_index_encode(&index, &raw, &err), err);
    assert_rkt_ok(
        rkt_pack_frame(packer, &head, (struct rkt_bytes){raw.bytes, raw.len_bytes}, &frame, &err),
        err);
    put(file, frame.at, frame.len_bytes);
    trailer.file_bytes = file->end + RKT_STORE_TRAILER_BYTES;
    rkt_store_trailer_encode(&trailer, bytes);
    put(file, bytes, sizeof(bytes));
    rkt_codec_buf_release(&raw);
    rkt_packer_destroy(packer);
}

/* Returns its size; skips where no file can be so large. */
static uint64_t make_large_store(const struct sharded_place *place)
{
    const off_t size = (off_t)(LARGE_BYTES * LARGE_FRAMES * 2);
    struct file file = {.count = 0};
    uint8_t *bytes;
    size_t len_bytes;

    sample_store_write(place->index, RKT_STORE_LIVE);
    bytes = sample_file_read(place->index, &len_bytes);
    file.fd = open(place->index, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(file.fd >= 0);
    if (ftruncate(file.fd, size) != 0) {
        print_message("no file of %lld bytes can be made here: errno %d\n", (long long)size, errno);
        skip();
    }
    put_sample(&file, bytes, len_bytes);
    put_index(&file);
    assert_int_equal(close(file.fd), 0);
    free(bytes);
    return file.end;
}

static void expect_all(const char *path, bool has_trailer, uint64_t file_bytes)
{
    struct sharded_outcome outcome;
    struct rkt_store_reader *reader;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    memset(&outcome, 0, sizeof(outcome));
    sharded_run_walk(reader, &outcome);
    outcome.health = *rkt_store_reader_health(reader);
    assert_int_equal(rkt_store_reader_source_count(reader), SAMPLE_SOURCES + 1);
    for (size_t i = 0; i < SAMPLE_SOURCES; i++) {
        sample_expect_source(&rkt_store_reader_source(reader, i)->info);
        assert_true(rkt_store_reader_source(reader, i)->has_align);
    }
    assert_int_equal(outcome.event_count, SAMPLE_SOURCES * SHARDED_EVENTS);
    assert_int_equal(outcome.health.file_bytes, file_bytes);
    assert_int_equal(outcome.health.has_trailer, has_trailer);
    assert_int_equal(outcome.health.frame_count, SAMPLE_SOURCES * (SHARDED_FRAMES + LARGE_FRAMES));
    assert_int_equal(outcome.health.unknown_frames, SAMPLE_SOURCES * LARGE_FRAMES);
    assert_int_equal(outcome.health.seq_gap_count, 0);
    assert_int_equal(outcome.health.damaged_frames, 0);
    assert_int_equal(outcome.health.skipped_bytes, 0);
    rkt_store_reader_close(reader);
}

/* Of the first large frame, behind RUN: only a scan looks at it. */
static void spoil_head(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    uint8_t bytes[RKT_FRAME_HEAD_BYTES];
    struct rkt_frame_head run;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    assert_rkt_status(rkt_frame_head_decode(bytes, sizeof(bytes), &run, NULL), RKT_OK);
    assert_int_equal(pwrite(fd, "x", 1, (off_t)RKT_FRAME_HEAD_BYTES + run.packed_bytes), 1);
    assert_int_equal(close(fd), 0);
}

static void frames_behind_4_gib_are_read_by_a_scan(void **state)
{
    const struct sharded_place *place = *state;
    uint64_t bytes = make_large_store(place) - RKT_STORE_TRAILER_BYTES;

    assert_true(bytes > UINT64_C(2) << 32);
    assert_int_equal(truncate(place->index, (off_t)bytes), 0);
    expect_all(place->index, false, bytes);
}

static void frames_behind_4_gib_are_read_by_the_index(void **state)
{
    const struct sharded_place *place = *state;
    uint64_t bytes = make_large_store(place);

    spoil_head(place->index);
    expect_all(place->index, true, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_behind_4_gib_are_read_by_a_scan, sharded_place_make,
                                        sharded_place_remove),
        cmocka_unit_test_setup_teardown(frames_behind_4_gib_are_read_by_the_index,
                                        sharded_place_make, sharded_place_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
