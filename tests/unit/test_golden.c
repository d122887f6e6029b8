/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that released versions wrote, in tests/data/wire: every later build must read them.
 * tests/update_golden.sh runs this program with --write to make those of a new version.
 */
#include "tests/unit/rkt_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/batch_span.h"
#include "common/codec.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_index.h"
#include "common/store_reader.h"
#include "tests/unit/sample.h"

#define FRAMES_MAX 64u

static const char WIRE_FOLDER[] = RKT_SOURCE_DIR "/tests/data/wire";
/* The last one is this build's. */
static const struct version {
    const char *name;
    int kind_count;  /* RKT_EVENT_KIND_COUNT of then */
    bool has_shards; /* and a run's id */
    bool has_likely; /* bounds, and what else an alignment says of itself */
    bool has_inputs; /* of operators */
    bool has_spans;
    bool has_lines; /* of clock pairs */
} VERSIONS[] = {
    {"v1.0", RKT_EVENT_LOSS + 1, false, false, false, false, false},
    {"v1.1", RKT_EVENT_DEVICE + 1, false, false, false, false, false},
    {"v1.2", RKT_EVENT_DEVICE + 1, true, false, false, false, false},
    {"v1.3", RKT_EVENT_CLOCK_STATE + 1, true, true, false, false, false},
    {"v1.4", RKT_EVENT_CLOCK_STATE + 1, true, true, true, false, false},
    {"v1.5", RKT_EVENT_CLOCK_STATE + 1, true, true, true, true, false},
    {"v1.6", RKT_EVENT_CLOCK_TRUE + 1, true, true, true, true, false},
    {"v1.7", RKT_EVENT_CLOCK_TRUE + 1, true, true, true, true, false},
    {"v1.8", RKT_EVENT_CLOCK_TRUE + 1, true, true, true, true, true},
};
#define VERSION_COUNT (sizeof(VERSIONS) / sizeof(VERSIONS[0]))
#define NEWEST (&VERSIONS[VERSION_COUNT - 1])

/* One frame of a golden file, unpacked. */
struct golden {
    uint8_t *bytes;
    size_t len_bytes;
    struct rkt_frame_head head;
    struct rkt_packer *packer;
    struct rkt_bytes raw;
};

static void open_golden(const struct version *version, const char *what, struct golden *golden)
{
    struct rkt_error err;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s-%s.bin", WIRE_FOLDER, version->name, what);
    golden->bytes = sample_file_read(path, &golden->len_bytes);
    golden->packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    assert_rkt_ok(rkt_frame_head_decode(golden->bytes, golden->len_bytes, &golden->head, &err),
                  err);
    assert_int_equal(golden->len_bytes, RKT_FRAME_HEAD_BYTES + golden->head.packed_bytes);
    assert_rkt_ok(
        rkt_frame_payload_check(&golden->head, golden->bytes + RKT_FRAME_HEAD_BYTES, &err), err);
    assert_rkt_ok(rkt_unpack_payload(golden->packer, &golden->head,
                                     golden->bytes + RKT_FRAME_HEAD_BYTES, &golden->raw, &err),
                  err);
}

static void close_golden(struct golden *golden)
{
    free(golden->bytes);
    rkt_packer_destroy(golden->packer);
}

static void events_name(char *name, size_t name_bytes, int kind)
{
    snprintf(name, name_bytes, "events-%s", rkt_event_kind_name((enum rkt_event_kind)kind));
}

/* ---- the sample store of this build, frame by frame ---- */

struct sample_frames {
    char folder[200];
    char path[256];
    uint8_t *bytes;
    size_t len_bytes;
    size_t starts[FRAMES_MAX + 1];
    struct rkt_frame_head heads[FRAMES_MAX];
    size_t count;
};

static void read_frames(struct sample_frames *frames)
{
    size_t at = 0;

    frames->bytes = sample_file_read(frames->path, &frames->len_bytes);
    while (at < frames->len_bytes) {
        struct rkt_frame_head *head = &frames->heads[frames->count];
        struct rkt_error err;

        assert_true(frames->count < FRAMES_MAX);
        assert_rkt_ok(rkt_frame_head_decode(frames->bytes + at, frames->len_bytes - at, head, &err),
                      err);
        frames->starts[frames->count++] = at;
        at += RKT_FRAME_HEAD_BYTES + head->packed_bytes;
    }
    frames->starts[frames->count] = at;
}

static void make_folder(struct sample_frames *frames)
{
    memset(frames, 0, sizeof(*frames));
    sample_folder_make(frames->folder, sizeof(frames->folder));
    snprintf(frames->path, sizeof(frames->path), "%s/sample.rkt", frames->folder);
}

static void make_frames(struct sample_frames *frames)
{
    make_folder(frames);
    sample_store_write(frames->path, RKT_STORE_LIVE);
    read_frames(frames);
}

/* RUN and SHARD, in a file that was not closed. */
static void make_shard_frames(struct sample_frames *frames)
{
    struct rkt_run_info run = sample_run();
    struct rkt_shard_info shard = sample_shard();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    make_folder(frames);
    assert_rkt_ok(rkt_store_writer_create(frames->path, RKT_STORE_LIVE, &run, &writer, &err), err);
    assert_rkt_ok(rkt_store_writer_append_shard(writer, &shard, &err), err);
    rkt_store_writer_destroy(writer);
    read_frames(frames);
    assert_int_equal(frames->count, 2);
}

static void free_frames(struct sample_frames *frames)
{
    sample_folder_remove(frames->folder);
    free(frames->bytes);
}

/* The name of a frame's golden file; source 1 repeats source 0 and has none. */
static bool frame_name(const struct sample_frames *frames, size_t i, char *name, size_t name_bytes)
{
    static const char *const NAMES[] = {
        [RKT_FRAME_RUN] = "run",         [RKT_FRAME_SOURCE] = "source",
        [RKT_FRAME_STRINGS] = "strings", [RKT_FRAME_END] = "end",
        [RKT_FRAME_ALIGN] = "align",     [RKT_FRAME_INDEX] = "index",
        [RKT_FRAME_TRAILER] = "trailer", [RKT_FRAME_SPANS] = "spans",
    };
    const struct rkt_frame_head *head = &frames->heads[i];

    if (head->source == 1)
        return false;
    if (rkt_frame_is_of_events(head->kind)) /* after SOURCE and STRINGS, in order of kind */
        events_name(name, name_bytes, (int)head->seq - 1);
    else
        snprintf(name, name_bytes, "%s", NAMES[head->kind]);
    return true;
}

/* ---- tests ---- */

static void read_batches(const struct version *version)
{
    struct rkt_decoder *decoder = rkt_decoder_create();

    for (int kind = 1; kind < version->kind_count; kind++) {
        struct golden golden;
        struct rkt_batch batch;
        struct rkt_error err;
        char name[64];

        events_name(name, sizeof(name), kind);
        open_golden(version, name, &golden);
        assert_true(rkt_frame_is_of_events(golden.head.kind));
        assert_rkt_ok(rkt_decode_events(decoder, golden.raw, &batch, &err), err);
        assert_int_equal(batch.count, SAMPLE_ROWS);
        for (size_t row = 0; row < SAMPLE_ROWS; row++) {
            struct rkt_event want;

            sample_event((enum rkt_event_kind)kind, row, &want);
            if (kind == RKT_EVENT_RANGE && !version->has_inputs)
                want.range.inputs_id = 0;
            if (kind == RKT_EVENT_CLOCK_PAIR && !version->has_lines)
                want.clock_pair.line_us = want.clock_pair.line_ns = 0;
            assert_memory_equal(&batch.events[row], &want, sizeof(want));
        }
        close_golden(&golden);
    }
    rkt_decoder_destroy(decoder);
}

static void frozen_batches_of_every_kind_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_batches(&VERSIONS[i]);
}

static void read_descriptors(const struct version *version)
{
    struct rkt_source_info source;
    struct rkt_run_info run;
    struct golden golden;
    struct rkt_error err;

    open_golden(version, "run", &golden);
    assert_int_equal(golden.head.kind, RKT_FRAME_RUN);
    assert_rkt_ok(rkt_run_info_decode(golden.raw.at, golden.raw.len_bytes, &run, &err), err);
    if (!version->has_shards) {
        assert_int_equal(run.run_id, 0);
        run.run_id = sample_run().run_id;
    }
    sample_expect_run(&run);
    close_golden(&golden);
    open_golden(version, "source", &golden);
    assert_int_equal(golden.head.kind, RKT_FRAME_SOURCE);
    assert_rkt_ok(rkt_source_info_decode(golden.raw.at, golden.raw.len_bytes, &source, &err), err);
    assert_int_equal(source.source, 0);
    sample_expect_source(&source);
    close_golden(&golden);
}

static void frozen_descriptors_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_descriptors(&VERSIONS[i]);
}

static void read_end(const struct version *version)
{
    uint8_t again[RKT_DESCRIPTOR_BYTES_MAX];
    struct rkt_end_info end;
    struct golden golden;
    struct rkt_error err;
    size_t len;

    open_golden(version, "end", &golden);
    assert_int_equal(golden.head.kind, RKT_FRAME_END);
    assert_rkt_ok(rkt_end_info_decode(golden.raw.at, golden.raw.len_bytes, &end, &err), err);
    assert_int_equal(end.reason, RKT_END_SIGNALED);
    assert_true(end.cut_short);
    assert_int_equal(end.exit_code, -1);
    assert_int_equal(end.signal_number, 9);
    assert_int_equal(end.event_count, SAMPLE_ROWS * (unsigned)(version->kind_count - 1));
    assert_int_equal(end.dropped_count, 17);
    assert_rkt_ok(rkt_end_info_encode(&end, again, sizeof(again), &len, &err), err);
    assert_int_equal(len, golden.raw.len_bytes);
    assert_memory_equal(again, golden.raw.at, len);
    close_golden(&golden);
}

static void a_frozen_end_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_end(&VERSIONS[i]);
}

static void a_frozen_shard_is_read(void **state)
{
    struct rkt_shard_info want = sample_shard();

    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct rkt_shard_info shard;
        struct golden golden;
        struct rkt_error err;

        if (!VERSIONS[i].has_shards)
            continue;
        open_golden(&VERSIONS[i], "shard", &golden);
        assert_int_equal(golden.head.kind, RKT_FRAME_SHARD);
        assert_int_equal(golden.head.source, RKT_FRAME_SOURCE_NONE);
        assert_rkt_ok(rkt_shard_info_decode(golden.raw.at, golden.raw.len_bytes, &shard, &err),
                      err);
        assert_string_equal(shard.file, want.file);
        assert_string_equal(shard.host, want.host);
        assert_int_equal(shard.rank, want.rank);
        close_golden(&golden);
    }
}

static void read_alignment(const struct version *version)
{
    struct rkt_align_info want = sample_align(0);
    struct rkt_align_info align;
    struct rkt_arena arena;
    struct golden golden;
    struct rkt_error err;

    rkt_arena_init(&arena, 4096);
    open_golden(version, "align", &golden);
    assert_rkt_ok(rkt_align_info_decode(golden.raw.at, golden.raw.len_bytes, &arena, &align, &err),
                  err);
    assert_int_equal(align.state, want.state);
    assert_int_equal(align.knot_count, want.knot_count);
    for (size_t i = 0; i < want.knot_count; i++) {
        struct rkt_align_knot knot = want.knots[i];

        if (!version->has_likely)
            knot.likely_ns = knot.bound_ns;
        assert_memory_equal(&align.knots[i], &knot, sizeof(knot));
    }
    sample_expect_align_making(&align, version->has_likely);
    close_golden(&golden);
    rkt_arena_release(&arena);
}

static void a_frozen_alignment_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_alignment(&VERSIONS[i]);
}

/* One batch of each kind, behind SOURCE and STRINGS. */
static void read_spans(const struct version *version)
{
    struct rkt_batch_spans spans = {.count = 0};
    struct golden golden;
    struct rkt_error err;

    open_golden(version, "spans", &golden);
    assert_int_equal(golden.head.kind, RKT_FRAME_SPANS);
    assert_rkt_ok(rkt_batch_spans_decode(golden.raw, &spans, &err), err);
    assert_int_equal(spans.count, version->kind_count - 1);
    for (size_t i = 0; i < spans.count; i++) {
        const struct rkt_batch_span *span = &spans.items[i];
        struct rkt_event events[SAMPLE_ROWS];
        struct rkt_batch_span want;

        for (size_t row = 0; row < SAMPLE_ROWS; row++)
            sample_event((enum rkt_event_kind)(i + 1), row, &events[row]);
        want = rkt_batch_span_of(events, SAMPLE_ROWS);
        assert_int_equal(span->seq, i + 2);
        assert_true(span->frame_bytes > RKT_FRAME_HEAD_BYTES);
        assert_int_equal(span->first_ns, want.first_ns);
        assert_int_equal(span->last_ns, want.last_ns);
        assert_int_equal(span->event_count, want.event_count);
        assert_int_equal(span->kind, want.kind);
        assert_int_equal(span->clock_id, want.clock_id);
    }
    free(spans.items);
    close_golden(&golden);
}

static void frozen_spans_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        if (VERSIONS[i].has_spans)
            read_spans(&VERSIONS[i]);
    }
}

static void read_names(const struct version *version)
{
    struct rkt_strtab *tab = rkt_strtab_create();
    struct golden golden;
    struct rkt_error err;

    open_golden(version, "strings", &golden);
    assert_rkt_ok(rkt_decode_strings(golden.raw, tab, &err), err);
    assert_int_equal(rkt_strtab_count(tab), SAMPLE_NAMES + 1);
    for (size_t i = 0; i < SAMPLE_NAMES; i++)
        assert_string_equal(rkt_strtab_get(tab, (uint32_t)i + 1, NULL), sample_name(i));
    close_golden(&golden);
    rkt_strtab_destroy(tab);
}

static void frozen_names_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_names(&VERSIONS[i]);
}

static void read_store(const struct version *version)
{
    const struct rkt_store_health *health;
    struct rkt_store_reader *reader;
    struct rkt_error err;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s-store.bin", WIRE_FOLDER, version->name);
    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    health = rkt_store_reader_health(reader);
    assert_true(health->has_trailer);
    assert_int_equal(health->skipped_bytes, 0);
    assert_int_equal(health->damaged_frames, 0);
    assert_int_equal(rkt_store_reader_source_count(reader), SAMPLE_SOURCES);
    assert_int_equal(rkt_store_reader_run(reader)->run_id,
                     version->has_shards ? sample_run().run_id : 0);
    assert_string_equal(rkt_store_reader_run(reader)->command, sample_run().command);
    sample_expect_source(&rkt_store_reader_source(reader, 1)->info);
    rkt_store_reader_close(reader);
}

static void a_frozen_store_is_read_by_its_index(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        read_store(&VERSIONS[i]);
}

static void a_frozen_sharded_store_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        const struct rkt_store_health *health;
        struct rkt_store_reader *reader;
        struct rkt_error err;
        char path[512];

        if (!VERSIONS[i].has_shards)
            continue;
        snprintf(path, sizeof(path), "%s/%s-sharded.bin", WIRE_FOLDER, VERSIONS[i].name);
        assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
        health = rkt_store_reader_health(reader);
        assert_true(health->has_trailer);
        assert_int_equal(health->shard_count, 1);
        assert_int_equal(health->unread_shard_count, 0);
        assert_int_equal(health->damaged_frames + health->seq_gap_count, 0);
        assert_int_equal(rkt_store_reader_source_count(reader), SAMPLE_SOURCES);
        assert_true(rkt_store_reader_source(reader, 1)->has_events);
        sample_expect_run(rkt_store_reader_run(reader));
        sample_expect_source(&rkt_store_reader_source(reader, 1)->info);
        rkt_store_reader_close(reader);
    }
}

/* zstd's output may change with its version, so the raw payload is what must be the same. */
static void expect_same_frame(const struct sample_frames *frames, size_t i, const char *name)
{
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    const uint8_t *frame = frames->bytes + frames->starts[i];
    uint8_t head_again[RKT_FRAME_HEAD_BYTES];
    struct golden golden;
    struct rkt_bytes raw;
    struct rkt_error err;

    open_golden(NEWEST, name, &golden);
    rkt_frame_head_encode(&golden.head, head_again);
    assert_memory_equal(head_again, golden.bytes, sizeof(head_again));
    assert_rkt_ok(
        rkt_unpack_payload(packer, &frames->heads[i], frame + RKT_FRAME_HEAD_BYTES, &raw, &err),
        err);
    assert_int_equal(raw.len_bytes, golden.raw.len_bytes);
    assert_memory_equal(raw.at, golden.raw.at, raw.len_bytes);
    assert_memory_equal(frame, golden.bytes, 6);          /* magic, major, kind */
    assert_memory_equal(frame + 8, golden.bytes + 8, 12); /* source, seq, raw size */
    close_golden(&golden);
    rkt_packer_destroy(packer);
}

/* Those change with zstd's version. */
static bool holds_packed_sizes(const struct rkt_frame_head *head)
{
    return head->kind == RKT_FRAME_END || head->kind == RKT_FRAME_SPANS ||
           head->kind == RKT_FRAME_INDEX || head->kind == RKT_FRAME_TRAILER;
}

static void this_build_writes_what_was_frozen(void **state)
{
    struct sample_frames frames;
    size_t compared = 0;

    (void)state;
    make_frames(&frames);
    for (size_t i = 0; i < frames.count; i++) {
        char name[64];

        if (!frame_name(&frames, i, name, sizeof(name)) || holds_packed_sizes(&frames.heads[i]))
            continue;
        expect_same_frame(&frames, i, name);
        compared++;
    }
    free_frames(&frames);
    assert_int_equal(compared, 4 + RKT_EVENT_KIND_COUNT - 1);
    make_shard_frames(&frames);
    expect_same_frame(&frames, 1, "shard");
    free_frames(&frames);
}

/* ---- --write ---- */

static void write_new(const char *folder, const char *name, const uint8_t *bytes, size_t len_bytes)
{
    char path[1024];

    snprintf(path, sizeof(path), "%s/%s-%s.bin", folder, NEWEST->name, name);
    if (access(path, F_OK) == 0) {
        fprintf(stderr, "%s exists: a frozen file is never written again\n", path);
        exit(1);
    }
    sample_file_write(path, bytes, len_bytes);
}

/* Source 0 in the index file, source 1 in the shard. */
static void write_sharded_file(const char *folder, bool is_part)
{
    struct rkt_shard_info shard = {.host = "node02", .rank = 1};
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct sample_frames frames;
    struct rkt_error err;

    run.is_part = is_part;
    make_folder(&frames);
    assert_rkt_ok(rkt_store_writer_create(frames.path, RKT_STORE_LIVE, &run, &writer, &err), err);
    snprintf(shard.file, sizeof(shard.file), "%s-sharded-1.bin", NEWEST->name);
    if (!is_part)
        assert_rkt_ok(rkt_store_writer_append_shard(writer, &shard, &err), err);
    sample_source_fill(writer, is_part);
    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
    read_frames(&frames);
    write_new(folder, is_part ? "sharded-1" : "sharded", frames.bytes, frames.len_bytes);
    free_frames(&frames);
}

static int write_all(const char *folder)
{
    struct sample_frames frames;
    char name[64];

    make_frames(&frames);
    write_new(folder, "store", frames.bytes, frames.len_bytes);
    for (size_t i = 0; i < frames.count; i++) {
        if (frame_name(&frames, i, name, sizeof(name)))
            write_new(folder, name, frames.bytes + frames.starts[i],
                      frames.starts[i + 1] - frames.starts[i]);
    }
    free_frames(&frames);
    make_shard_frames(&frames);
    write_new(folder, "shard", frames.bytes + frames.starts[1],
              frames.len_bytes - frames.starts[1]);
    free_frames(&frames);
    write_sharded_file(folder, false);
    write_sharded_file(folder, true);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frozen_batches_of_every_kind_are_read),
        cmocka_unit_test(frozen_descriptors_are_read),
        cmocka_unit_test(a_frozen_end_is_read),
        cmocka_unit_test(a_frozen_shard_is_read),
        cmocka_unit_test(a_frozen_alignment_is_read),
        cmocka_unit_test(frozen_names_are_read),
        cmocka_unit_test(frozen_spans_are_read),
        cmocka_unit_test(a_frozen_store_is_read_by_its_index),
        cmocka_unit_test(a_frozen_sharded_store_is_read),
        cmocka_unit_test(this_build_writes_what_was_frozen),
    };

    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return write_all(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
