/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_OPEN_EVENTS_H
#define RKT_CAPTURE_OPEN_EVENTS_H

/*
 * open_events - events that have begun and may end on another thread.
 *
 * A handle names one use of one slot: a late or doubled end finds nothing.
 *
 * Threads: any. Memory: all of it is taken in create. Full: begin returns 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/event.h"

#define RKT_OPEN_EVENTS_MAX 1024u /* DDP has some tens of buckets in a step */

struct rkt_open_events;

struct rkt_open_events *rkt_open_events_create(void); /* NULL when memory is out */
void rkt_open_events_destroy(struct rkt_open_events *open);

/* The handle, 0 when RKT_OPEN_EVENTS_MAX are open. It has its upper bit clear. */
uint64_t rkt_open_events_begin(struct rkt_open_events *open, const struct rkt_event *event);

/* Take the event out; false when no event is open under this handle. */
bool rkt_open_events_end(struct rkt_open_events *open, uint64_t handle,
                         struct rkt_event *event_out);

/* Take any out that is open, as begun but not ended; false when there is none left. */
bool rkt_open_events_take(struct rkt_open_events *open, struct rkt_event *event_out);

#endif
