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
#include "common/event.h"
#include "common/store_reader.h"
#include "common/store_writer.h"
#include "tests/unit/sample.h"

/* Of each source. */
#define SHARDED_EVENTS ((size_t)SAMPLE_ROWS * (RKT_EVENT_KIND_COUNT - 1))
/* SOURCE, STRINGS, a batch per kind, SPANS, END, ALIGN */
#define SHARDED_FRAMES (RKT_EVENT_KIND_COUNT + 4u)

#define SHARDED_PATH_BYTES 512u

struct sharded_place {
    char folder[200];
    char index[SHARDED_PATH_BYTES];
};

/* set_up and tear_down: *state is a struct sharded_place, whose folder is empty, and goes with
 * it. */
int sharded_place_make(void **state);
int sharded_place_remove(void **state);

/* In the folder: a file of any name; the shard of a source. */
void sharded_path(const struct sharded_place *place, const char *name,
                  char path[SHARDED_PATH_BYTES]);
void sharded_shard_path(const struct sharded_place *place, uint32_t source,
                        char path[SHARDED_PATH_BYTES]);

/* What the index file says of it. */
struct rkt_shard_info sharded_run_shard(uint32_t source);

void sharded_run_write(const struct sharded_place *place, uint32_t shard_count);

/* A LIVE store in place of what was there, without a frame but RUN. */
struct rkt_store_writer *sharded_run_create(const char *path, uint64_t run_id, bool is_part);

/* One store of the run with this id, closed, with all of `source`. */
void sharded_run_write_shard(const char *path, uint64_t run_id, uint32_t source);

/* RUN and SHARD frames of any names, plain or not, in a file that was not closed. */
void sharded_run_name(const char *path, const struct rkt_shard_info *shards, size_t count);

/* What a store gave, all of it read; fails where an event is not the sample's, or out of order. */
struct sharded_outcome {
    struct rkt_store_health health;
    size_t source_count;
    size_t event_count;
    size_t copied_frames;
    char problem[512]; /* of the first shard that has one */
};

struct sharded_outcome sharded_run_read(const char *path);
/* Of all that, the events alone. */
void sharded_run_walk(struct rkt_store_reader *reader, struct sharded_outcome *outcome);
struct sharded_outcome sharded_run_read_open(struct rkt_store_reader *reader);

#endif
