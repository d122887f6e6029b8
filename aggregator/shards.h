/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_SHARDS_H
#define RKT_AGGREGATOR_SHARDS_H

/*
 * shards - rank 0's part of a sharded run: which leaders have a file of their own.
 *
 * A leader says that its file is there. Rank 0 looks for it beside its own: folders are cached by
 * shared file systems, so for RKT_SHARD_SEEN_NS. It is the same file when its RUN has this run's
 * id. Then it is named in the timeline, and the leader may write; else the leader has to pass on.
 *
 * Threads: one. Time: the caller's. Waiting: for the file system.
 */

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/receiver.h"
#include "aggregator/run_state.h"
#include "common/status.h"
#include "common/transport.h"

#define RKT_SHARD_SEEN_NS UINT64_C(5000000000)

struct rkt_shards;

struct rkt_shards_config {
    struct rkt_transport *transport; /* all on loan until destroy */
    struct rkt_receiver *receiver;
    const struct rkt_run_state *state;
    const int *leaders;     /* by rank */
    const char *store_path; /* of the timeline; copied */
    uint64_t run_id;
};

enum rkt_status rkt_shards_create(const struct rkt_shards_config *config,
                                  struct rkt_shards **shards_out, struct rkt_error *err);
void rkt_shards_destroy(struct rkt_shards *shards); /* NULL is fine */

/* This rank said SHARD_READY; `host` is where it is. */
void rkt_shards_ready(struct rkt_shards *shards, int rank, const char *host, uint64_t now_ns);
/* This rank said SHARD_CLOSED. */
void rkt_shards_closed(struct rkt_shards *shards, int rank, bool is_whole);

/* Look for those that are not seen yet, and answer. */
void rkt_shards_step(struct rkt_shards *shards, uint64_t now_ns);

/* Everything is flushed: ask the leaders that are not lost to close their files. */
void rkt_shards_close(struct rkt_shards *shards);
/* All that were asked have. */
bool rkt_shards_are_closed(const struct rkt_shards *shards);

/* Files that the timeline names, and those of them that have their end. */
int rkt_shards_count(const struct rkt_shards *shards);
int rkt_shards_whole_count(const struct rkt_shards *shards);

#endif
