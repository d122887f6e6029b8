/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_SOURCE_H
#define RKT_CAPTURE_CUPTI_SOURCE_H

/*
 * cupti_source - GPU work and the calls that caused it, from CUPTI's activity records.
 *
 * Starts in InitializeInjection, which the driver calls inside cuInit. Uses the first form of
 * the activity interface and no subscriber, so that it stays out of other tools' way as far
 * as that goes. Where there is no GPU it stays off without a word.
 *
 * Threads: CUPTI asks for buffers on the job's threads and gives them back on its own, where
 *          they are converted at once, since names of kernels may not live longer. Our own
 *          thread flushes about once a second and watches the sidecar's socket.
 * Waiting: conversion waits for room in its ring, up to a limit per buffer, since CUPTI's
 *          threads and ours may; the job's threads never do.
 * Lost:    CUPTI's dropped records and records with unusable stamps go out as LOSS events.
 */

#include <stdbool.h>

#include "agent/capture/capture.h"

struct rkt_cupti_source;

/* Takes nothing from the system yet. NULL when memory is out. */
struct rkt_cupti_source *rkt_cupti_source_create(void);
/* Only one that was never started. NULL is fine. */
void rkt_cupti_source_destroy(struct rkt_cupti_source *source);

/* Once; later calls do nothing. */
void rkt_cupti_source_start(struct rkt_cupti_source *source, struct rkt_capture *capture);

/*
 * At exit: stop, and convert what CUPTI still holds. False when it did not get through in
 * time, so that records may be missing.
 */
bool rkt_cupti_source_stop(struct rkt_cupti_source *source);

/* Whether it records GPU work, and has its thread. */
bool rkt_cupti_source_is_on(const struct rkt_cupti_source *source);

/*
 * Whether GPU work is to be recorded; at the beginning it is. Any thread of the job, but not inside
 * a callback of CUPTI's; the last call counts. Waits for nobody: a call returns before CUPTI has
 * followed only if another thread is just switching. What was launched before a close is recorded.
 * A closed time is no loss and no gap. False where no GPU work is recorded either way.
 */
bool rkt_cupti_source_set_open(struct rkt_cupti_source *source, bool is_open);

/*
 * The number by which records know a stream (a CUstream) of the current context. Any thread of the
 * job. False where CUPTI is off, or does not know the stream.
 */
bool rkt_cupti_source_stream_id(struct rkt_cupti_source *source, void *stream, uint32_t *id_out);

#endif
