/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sharded_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/codec_write.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_reader.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/sample.h"

int sharded_place_make(void **state)
{
    struct sharded_place *place = calloc(1, sizeof(*place));

    if (!place)
        return -1;
    sample_folder_make(place->folder, sizeof(place->folder));
    sharded_path(place, "timeline.rkt", place->index);
    *state = place;
    return 0;
}

int sharded_place_remove(void **state)
{
    struct sharded_place *place = *state;

    sample_folder_remove(place->folder);
    free(place);
    return 0;
}

void sharded_path(const struct sharded_place *place, const char *name,
                  char path[SHARDED_PATH_BYTES])
{
    (void)snprintf(path, SHARDED_PATH_BYTES, "%s/%s", place->folder, name);
}

void sharded_shard_path(const struct sharded_place *place, uint32_t source,
                        char path[SHARDED_PATH_BYTES])
{
    sharded_path(place, sharded_run_shard(source).file, path);
}

struct rkt_shard_info sharded_run_shard(uint32_t source)
{
    struct rkt_shard_info shard = {.rank = source};

    (void)snprintf(shard.host, sizeof(shard.host), "node%u", source);
    rkt_shard_file_name(sample_run().run_id, source, shard.file);
    return shard;
}

struct rkt_store_writer *sharded_run_create(const char *path, uint64_t run_id, bool is_part)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    run.run_id = run_id;
    run.is_part = is_part;
    unlink(path);
    assert_rkt_ok(rkt_store_writer_create(path, RKT_STORE_LIVE, &run, &writer, &err), err);
    return writer;
}

static void finish(struct rkt_store_writer *writer)
{
    struct rkt_error err;

    assert_rkt_ok(rkt_store_writer_close(writer, &err), err);
    rkt_store_writer_destroy(writer);
}

void sharded_run_write_shard(const char *path, uint64_t run_id, uint32_t source)
{
    struct rkt_store_writer *writer = sharded_run_create(path, run_id, true);

    sample_source_fill(writer, source);
    finish(writer);
}

static enum rkt_status repeat(void *ctx, const uint8_t *frame, size_t frame_bytes,
                              struct rkt_error *err)
{
    struct rkt_frame_head head;

    assert_rkt_ok(rkt_frame_head_decode(frame, frame_bytes, &head, err), *err);
    if (head.kind != RKT_FRAME_SOURCE && head.kind != RKT_FRAME_END)
        return RKT_OK;
    return rkt_store_writer_append(ctx, frame, frame_bytes, err);
}

static void repeat_source(struct rkt_store_writer *index, const char *shard_path)
{
    struct rkt_store_reader *reader;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(shard_path, &reader, &err), err);
    assert_rkt_ok(rkt_store_reader_each_frame(reader, repeat, index, &err), err);
    rkt_store_reader_close(reader);
}

void sharded_run_write(const struct sharded_place *place, uint32_t shard_count)
{
    struct rkt_store_writer *index;
    struct rkt_error err;
    char path[SHARDED_PATH_BYTES];

    index = sharded_run_create(place->index, sample_run().run_id, false);
    for (uint32_t source = 1; source <= shard_count; source++) {
        struct rkt_shard_info shard = sharded_run_shard(source);

        assert_rkt_ok(rkt_store_writer_append_shard(index, &shard, &err), err);
    }
    sample_source_fill(index, 0);
    sample_align_fill(index, 0);
    for (uint32_t source = 1; source <= shard_count; source++) {
        sharded_shard_path(place, source, path);
        sharded_run_write_shard(path, sample_run().run_id, source);
        repeat_source(index, path);
        sample_align_fill(index, source);
    }
    finish(index);
}

/* As rkt_shard_info_encode, without its check. */
static void write_shard_frame(FILE *file, uint32_t seq, const struct rkt_shard_info *shard)
{
    struct rkt_frame_head head = {
        .kind = RKT_FRAME_SHARD, .source = RKT_FRAME_SOURCE_NONE, .seq = seq};
    struct rkt_packer *packer = rkt_packer_create(RKT_PACK_LEVEL_USUAL);
    struct rkt_codec_buf buf;
    struct rkt_bytes frame;
    struct rkt_error err;

    rkt_codec_buf_init(&buf);
    rkt_write_map(&buf, 1);
    rkt_write_uint(&buf, 0);
    rkt_write_bin(&buf, (const uint8_t *)shard->file, strlen(shard->file));
    assert_rkt_ok(
        rkt_pack_frame(packer, &head, (struct rkt_bytes){buf.bytes, buf.len_bytes}, &frame, &err),
        err);
    assert_int_equal(fwrite(frame.at, 1, frame.len_bytes, file), frame.len_bytes);
    rkt_codec_buf_release(&buf);
    rkt_packer_destroy(packer);
}

void sharded_run_name(const char *path, const struct rkt_shard_info *shards, size_t count)
{
    FILE *file;

    rkt_store_writer_destroy(sharded_run_create(path, sample_run().run_id, false));
    file = fopen(path, "abe");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        write_shard_frame(file, (uint32_t)i, &shards[i]);
    assert_int_equal(fclose(file), 0);
}

/* ---- reading ---- */

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

static enum rkt_status count_frame(void *ctx, const uint8_t *frame, size_t frame_bytes,
                                   struct rkt_error *err)
{
    (void)frame;
    (void)frame_bytes;
    (void)err;
    ++*(size_t *)ctx;
    return RKT_OK;
}

void sharded_run_walk(struct rkt_store_reader *reader, struct sharded_outcome *outcome)
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

struct sharded_outcome sharded_run_read_open(struct rkt_store_reader *reader)
{
    struct sharded_outcome outcome = {.source_count = rkt_store_reader_source_count(reader)};
    struct rkt_error err;

    sharded_run_walk(reader, &outcome);
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

struct sharded_outcome sharded_run_read(const char *path)
{
    struct rkt_store_reader *reader;
    struct sharded_outcome outcome;
    struct rkt_error err;

    assert_rkt_ok(rkt_store_reader_open(path, &reader, &err), err);
    outcome = sharded_run_read_open(reader);
    rkt_store_reader_close(reader);
    return outcome;
}
