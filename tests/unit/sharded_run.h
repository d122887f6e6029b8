/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_SHARDED_RUN_H
#define RKT_TESTS_UNIT_SHARDED_RUN_H

/*
 * sharded_run - the sample's sources in several files, as a run with --store sharded leaves them.
 *
 * Source 0 is in the index file, source i (1 to shard_count) in a shard of its own; the index file
 * repeats SOURCE and END of each, and has all ALIGN frames.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/descriptor.h"
#include "common/store_writer.h"

/* Both within `folder`. */
void sharded_run_index_path(const char *folder, char *path, size_t path_bytes);
void sharded_run_shard_path(const char *folder, uint32_t source, char *path, size_t path_bytes);
struct rkt_shard_info sharded_run_shard(uint32_t source);

void sharded_run_write(const char *folder, uint32_t shard_count);

/* One store of the run with this id, closed, with all of `source`. */
void sharded_run_write_shard(const char *path, uint64_t run_id, uint32_t source);

/* RUN and SHARD frames of any names, plain or not, in a file that was not closed. */
void sharded_run_name(const char *path, const struct rkt_shard_info *shards, size_t count);

#endif
