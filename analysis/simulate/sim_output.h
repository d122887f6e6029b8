/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_SIMULATE_SIM_OUTPUT_H
#define RKT_ANALYSIS_SIMULATE_SIM_OUTPUT_H

/*
 * sim_output - the file of a simulated run, or its files.
 *
 * Sharded: what node 0's sidecar would write goes to the index file, each further node's frames to
 * a shard beside it, and its SOURCE and END frames to the index file, too.
 *
 * Nodes come one after the other. Nothing is there under its name before it is whole; after a
 * failure no shard is left behind.
 *
 * Place:   sim_store -> [sim_output] -> store_writer.
 * Threads: one. Memory: two store writers.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/status.h"

struct rkt_sim_output;

/*
 * Node i's shard is shards[i - 1], on loan until destroy; shard_count 0: one file, whatever the
 * nodes. Files that are there are replaced.
 */
enum rkt_status rkt_sim_output_create(const char *path, const struct rkt_run_info *run,
                                      const struct rkt_shard_info *shards, uint32_t shard_count,
                                      struct rkt_sim_output **output_out, struct rkt_error *err);
/* RKT_ERR_INVALID: a file that one of the shards would replace is there. */
enum rkt_status rkt_sim_output_check(const char *path, const struct rkt_shard_info *shards,
                                     uint32_t shard_count, struct rkt_error *err);
/* Without close: nothing that it made is left. NULL is fine. */
void rkt_sim_output_destroy(struct rkt_sim_output *output);

/* From now on frames are this node's: 0, 1, ... */
enum rkt_status rkt_sim_output_begin_node(struct rkt_sim_output *output, uint32_t node,
                                          struct rkt_error *err);
enum rkt_status rkt_sim_output_append(struct rkt_sim_output *output, const uint8_t *frame,
                                      size_t frame_bytes, struct rkt_error *err);
/* To the index file, as rank 0 does at the end, whatever node's source it is. */
enum rkt_status rkt_sim_output_append_align(struct rkt_sim_output *output, uint32_t source,
                                            const struct rkt_align_info *align,
                                            struct rkt_error *err);
enum rkt_status rkt_sim_output_close(struct rkt_sim_output *output, struct rkt_error *err);

#endif
