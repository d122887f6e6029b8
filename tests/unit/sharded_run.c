/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sharded_run.h"

#include <stdio.h>
#include <string.h>

#include "common/codec_write.h"
#include "common/frame.h"
#include "common/pack.h"
#include "common/store_reader.h"
#include "tests/unit/rkt_test.h"
#include "tests/unit/sample.h"

void sharded_run_index_path(const char *folder, char *path, size_t path_bytes)
{
    (void)snprintf(path, path_bytes, "%s/timeline.rkt", folder);
}

struct rkt_shard_info sharded_run_shard(uint32_t source)
{
    struct rkt_shard_info shard = {.rank = source};

    (void)snprintf(shard.host, sizeof(shard.host), "node%u", source);
    rkt_shard_file_name(sample_run().run_id, source, shard.file);
    return shard;
}

void sharded_run_shard_path(const char *folder, uint32_t source, char *path, size_t path_bytes)
{
    (void)snprintf(path, path_bytes, "%s/%s", folder, sharded_run_shard(source).file);
}

static struct rkt_store_writer *create(const char *path, uint64_t run_id, bool is_part)
{
    struct rkt_run_info run = sample_run();
    struct rkt_store_writer *writer;
    struct rkt_error err;

    run.run_id = run_id;
    run.is_part = is_part;
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
    struct rkt_store_writer *writer = create(path, run_id, true);

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

void sharded_run_write(const char *folder, uint32_t shard_count)
{
    struct rkt_store_writer *index;
    struct rkt_error err;
    char path[512];

    sharded_run_index_path(folder, path, sizeof(path));
    index = create(path, sample_run().run_id, false);
    for (uint32_t source = 1; source <= shard_count; source++) {
        struct rkt_shard_info shard = sharded_run_shard(source);

        assert_rkt_ok(rkt_store_writer_append_shard(index, &shard, &err), err);
    }
    sample_source_fill(index, 0);
    sample_align_fill(index, 0);
    for (uint32_t source = 1; source <= shard_count; source++) {
        sharded_run_shard_path(folder, source, path, sizeof(path));
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

    rkt_store_writer_destroy(create(path, sample_run().run_id, false));
    file = fopen(path, "abe");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        write_shard_frame(file, (uint32_t)i, &shards[i]);
    assert_int_equal(fclose(file), 0);
}
