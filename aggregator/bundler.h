/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_AGGREGATOR_BUNDLER_H
#define RKT_AGGREGATOR_BUNDLER_H

/*
 * bundler - a leader's stream of frames to rank 0, many in a message (common/bundle.h).
 *
 * Place:   relay -> [bundler] -> transport -> receiver of rank 0.
 * Credits: RKT_BUNDLE_CREDITS bundles may be on their way unacknowledged. Meanwhile frames gather
 *          in the next one, so that the busier rank 0 is, the fewer messages it gets.
 * Full:    a bundle of RKT_BUNDLE_FULL_BYTES has no more room; who sends frames has to wait.
 * Threads: one.
 * Memory:  (1 + RKT_BUNDLE_CREDITS) bundles, each of RKT_BUNDLE_FULL_BYTES and a frame at most
 *          (touched as used), and 4 bytes per frame that waits for its acknowledgement.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/transport.h"

#define RKT_BUNDLE_CREDITS 4u

struct rkt_bundler;

/* The transport is on loan until destroy. */
enum rkt_status rkt_bundler_create(struct rkt_transport *transport,
                                   struct rkt_bundler **bundler_out, struct rkt_error *err);
void rkt_bundler_destroy(struct rkt_bundler *bundler); /* NULL is fine */

/* Where the next frame goes, RKT_BUNDLE_FRAME_BYTES_MAX of room; NULL: there is none, wait. */
uint8_t *rkt_bundler_room(struct rkt_bundler *bundler);
/* It is there. Only after room said where. */
void rkt_bundler_add(struct rkt_bundler *bundler, int from, size_t frame_bytes);

/* A copy of a small frame, also where room said that there is none; false: it was left out. */
bool rkt_bundler_put(struct rkt_bundler *bundler, int from, const uint8_t *frame,
                     size_t frame_bytes);

/* Told of each frame that rank 0 has written, in the order they were added. */
typedef void (*rkt_written_fn)(void *ctx, int from);

/* Take acknowledgements and send what credits allow; true when either happened. */
bool rkt_bundler_step(struct rkt_bundler *bundler, rkt_written_fn written, void *ctx);

#endif
