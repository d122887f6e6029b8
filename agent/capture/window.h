/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_WINDOW_H
#define RKT_CAPTURE_WINDOW_H

/*
 * window - switches the sources of this process on and off, as schedule and orders say.
 *
 *     step begins, flush thread, marks -> [window] -> cupti_source, nccl_source; WINDOW events
 *
 * While it is closed CUPTI's kinds are off, NCCL is asked for nothing, and ranges, marks and
 * buckets that end then are not kept. Steps are: windows are given in them.
 *
 * Switching takes CUPTI some milliseconds, in the step that begins; each edge is an event with that
 * step's start. What was launched while it was open is kept, whenever its record comes.
 *
 * Threads: begin_step by the thread that marks; tick by the flush thread; look and is_tracing by
 *          any. begin_step waits while tick switches, which is once in a process without steps.
 * Memory:  taken in create.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture/window_rule.h"
#include "common/event.h"

struct rkt_capture;
struct rkt_window;

/* NULL when memory is out. */
struct rkt_window *rkt_window_create(const struct rkt_capture_config *config);
void rkt_window_destroy(struct rkt_window *window); /* NULL is fine */

/* Before the first source starts: one that starts closed is told so, and it is said as an event. */
void rkt_window_start(struct rkt_capture *capture);

/* A step begins at now_ns (MONOTONIC_RAW). Cheap where no edge is. */
void rkt_window_begin_step(struct rkt_capture *capture, const struct rkt_window_step *step,
                           uint64_t now_ns);

/* In every mark and range: the same where there is no flush thread, as there is no GPU. */
void rkt_window_look(struct rkt_capture *capture);

/* About once a second: where no steps are marked, orders hold at once. */
void rkt_window_tick(struct rkt_capture *capture);

/* Whether what happens now is recorded; true in a warm-up too. */
bool rkt_window_is_tracing(const struct rkt_window *window);

/* rkt_threads_stamp where the window is open; elsewhere the event gets its thread, and is not
 * kept. */
bool rkt_window_stamp(struct rkt_capture *capture, struct rkt_event *event);

#endif
