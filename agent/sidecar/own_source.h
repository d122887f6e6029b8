/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGENT_SIDECAR_OWN_SOURCE_H
#define RKT_AGENT_SIDECAR_OWN_SOURCE_H

/*
 * own_source - what a sidecar records itself: clock pairs, exchanges and states, losses of sending,
 * and what CPU time it takes (on rank 0 the aggregator is in it).
 *
 * Threads: one.
 */

#include <stdint.h>

#include "common/event.h"
#include "common/node_id.h"
#include "common/source_writer.h"
#include "common/status.h"

struct rkt_own_source;

enum rkt_status rkt_own_source_create(uint32_t rank, const struct rkt_node_id *node,
                                      rkt_frame_sink_fn sink, void *sink_ctx,
                                      struct rkt_own_source **own_out, struct rkt_error *err);
void rkt_own_source_destroy(struct rkt_own_source *own); /* NULL is fine */

/* A clock pair or state when one is due, and the load and a flush now and then. */
enum rkt_status rkt_own_source_step(struct rkt_own_source *own, uint64_t now_ns,
                                    struct rkt_error *err);

enum rkt_status rkt_own_source_flush(struct rkt_own_source *own, struct rkt_error *err);

/* ctx is the own source. */
enum rkt_status rkt_own_source_add(void *ctx, const struct rkt_event *event, struct rkt_error *err);

/* A last pair and load, END. */
enum rkt_status rkt_own_source_end(struct rkt_own_source *own, struct rkt_error *err);

#endif
