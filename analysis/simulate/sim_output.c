/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/simulate/sim_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/frame.h"
#include "common/store_writer.h"

struct rkt_sim_output {
    char *path;
    struct rkt_run_info part_run; /* of shards */
    const struct rkt_shard_info *shards;
    uint32_t shard_count;
    struct rkt_store_writer *index;
    struct rkt_store_writer *shard; /* of the node that is written; NULL: node 0 */
    uint32_t closed_count;          /* shards that have their names */
    bool is_closed;
};

/* NULL when memory is out. free(). */
static char *shard_path(const char *index_path, const struct rkt_shard_info *shard)
{
    const char *slash = strrchr(index_path, '/');
    int folder_len = slash ? (int)(slash - index_path) + 1 : 0;
    char *path;

    if (asprintf(&path, "%.*s%s", folder_len, index_path, shard->file) < 0)
        return NULL;
    return path;
}

enum rkt_status rkt_sim_output_check(const char *path, const struct rkt_shard_info *shards,
                                     uint32_t shard_count, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    for (uint32_t i = 0; i < shard_count && status == RKT_OK; i++) {
        char *shard = shard_path(path, &shards[i]);

        if (!shard)
            return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
        if (access(shard, F_OK) == 0)
            status = rkt_fail(err, RKT_ERR_INVALID, "%s exists: --force overwrites it", shard);
        free(shard);
    }
    return status;
}

static enum rkt_status open_index(struct rkt_sim_output *output, const struct rkt_run_info *run,
                                  struct rkt_error *err)
{
    enum rkt_status status;

    if (!output->path)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
    status = rkt_store_writer_create(output->path, RKT_STORE_ATOMIC, run, &output->index, err);
    for (uint32_t i = 0; i < output->shard_count && status == RKT_OK; i++)
        status = rkt_store_writer_append_shard(output->index, &output->shards[i], err);
    return status;
}

enum rkt_status rkt_sim_output_create(const char *path, const struct rkt_run_info *run,
                                      const struct rkt_shard_info *shards, uint32_t shard_count,
                                      struct rkt_sim_output **output_out, struct rkt_error *err)
{
    struct rkt_sim_output *output = calloc(1, sizeof(*output));
    enum rkt_status status;

    if (!output)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for an output");
    output->path = strdup(path);
    output->part_run = *run;
    output->part_run.is_part = true;
    output->shards = shards;
    output->shard_count = shard_count;
    status = open_index(output, run, err);
    if (status != RKT_OK) {
        rkt_sim_output_destroy(output);
        return status;
    }
    *output_out = output;
    return RKT_OK;
}

static void remove_shards(const struct rkt_sim_output *output)
{
    for (uint32_t i = 0; i < output->closed_count; i++) {
        char *path = shard_path(output->path, &output->shards[i]);

        if (path)
            unlink(path);
        free(path);
    }
}

void rkt_sim_output_destroy(struct rkt_sim_output *output)
{
    if (!output)
        return;
    rkt_store_writer_destroy(output->shard);
    rkt_store_writer_destroy(output->index);
    if (!output->is_closed)
        remove_shards(output);
    free(output->path);
    free(output);
}

static enum rkt_status close_shard(struct rkt_sim_output *output, struct rkt_error *err)
{
    enum rkt_status status = RKT_OK;

    if (!output->shard)
        return RKT_OK;
    status = rkt_store_writer_close(output->shard, err);
    rkt_store_writer_destroy(output->shard);
    output->shard = NULL;
    output->closed_count += status == RKT_OK;
    return status;
}

enum rkt_status rkt_sim_output_begin_node(struct rkt_sim_output *output, uint32_t node,
                                          struct rkt_error *err)
{
    enum rkt_status status = close_shard(output, err);
    char *path;

    if (status != RKT_OK || node == 0 || output->shard_count == 0)
        return status;
    path = shard_path(output->path, &output->shards[node - 1]);
    if (!path)
        return rkt_fail(err, RKT_ERR_NOMEM, "no memory for a path");
    status =
        rkt_store_writer_create(path, RKT_STORE_ATOMIC, &output->part_run, &output->shard, err);
    free(path);
    return status;
}

/* As rank 0 does, so that a source whose shard is lost is known. */
static bool is_repeated(const uint8_t *frame, size_t frame_bytes)
{
    struct rkt_frame_head head;

    return rkt_frame_head_decode(frame, frame_bytes, &head, NULL) == RKT_OK &&
           (head.kind == RKT_FRAME_SOURCE || head.kind == RKT_FRAME_END);
}

enum rkt_status rkt_sim_output_append(struct rkt_sim_output *output, const uint8_t *frame,
                                      size_t frame_bytes, struct rkt_error *err)
{
    enum rkt_status status;

    if (!output->shard)
        return rkt_store_writer_append(output->index, frame, frame_bytes, err);
    status = rkt_store_writer_append(output->shard, frame, frame_bytes, err);
    if (status == RKT_OK && is_repeated(frame, frame_bytes))
        status = rkt_store_writer_append(output->index, frame, frame_bytes, err);
    return status;
}

enum rkt_status rkt_sim_output_append_align(struct rkt_sim_output *output, uint32_t source,
                                            const struct rkt_align_info *align,
                                            struct rkt_error *err)
{
    return rkt_store_writer_append_align(output->index, source, align, err);
}

enum rkt_status rkt_sim_output_close(struct rkt_sim_output *output, struct rkt_error *err)
{
    enum rkt_status status = close_shard(output, err);

    if (status == RKT_OK)
        status = rkt_store_writer_close(output->index, err);
    output->is_closed = status == RKT_OK;
    return status;
}
