/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_ANALYSIS_IDLE_H
#define RKT_ANALYSIS_IDLE_H

/*
 * idle - why the device had nothing to do (metrics.md, "Idle").
 *
 * Place:   activity asks for each gap in order of time; the answer is exact pieces.
 * Threads: one at a time. Memory: its own.
 */

#include "analysis/rank_trace.h"
#include "analysis/result.h"
#include "common/status.h"

struct rkt_idle;

/* The trace stays for as long as the object. */
enum rkt_status rkt_idle_create(const struct rkt_rank_trace *trace, struct rkt_idle **idle_out,
                                struct rkt_error *err);
void rkt_idle_destroy(struct rkt_idle *idle); /* NULL is fine */

/* The next gap may be any: for another walk from the start. */
void rkt_idle_rewind(struct rkt_idle *idle);

/* Takes a piece of the gap; pieces come in order and tile it. */
typedef enum rkt_status (*rkt_idle_piece_fn)(void *ctx, int64_t start_ns, int64_t end_ns,
                                             enum rkt_idle_cause cause);

/* Splits the gap [start, end) before `next`, the work that ends it. Gaps come in order of time. */
enum rkt_status rkt_idle_split(struct rkt_idle *idle, int64_t start_ns, int64_t end_ns,
                               const struct rkt_work *next, rkt_idle_piece_fn fn, void *ctx);

#endif
