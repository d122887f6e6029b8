/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_COMMON_CODEC_TIME_H
#define RKT_COMMON_CODEC_TIME_H

/*
 * codec_time - starts and ends of a batch as small numbers, and back.
 *
 *     lane   |---row 0---|   |--row 2--||--row 4--|      what is written of row 2: the gap
 *     lane         |----row 1----|         |-row 3-|     behind row 0, and its length
 *
 * GPU work of one stream, and calls of one thread, follow each other closely: what lies between is
 * far smaller than the time since the row before in another stream. All is divided by the
 * largest unit that divides everything: traces in whole microseconds cost as little as they hold.
 *
 * Place:   under the codec; the rule is in common/doc/wire-format.md, START and DURATION.
 * Threads: any; no state. Memory: 8 KiB of stack.
 */

#include <stddef.h>
#include <stdint.h>

#include "common/event.h"

#define RKT_LANE_SLOTS 1024u

/* Events of one kind. Fills both columns, and gives the unit. */
uint64_t rkt_times_encode(const struct rkt_event *events, size_t count, uint64_t *starts_out,
                          uint64_t *durations_out);

/*
 * Sets start_ns and end_ns; all other fields are set. unit 0: the rule of version 1.0, in which a
 * start followed the start of the row before.
 */
void rkt_times_decode(struct rkt_event *events, size_t count, uint64_t base_start_ns,
                      uint64_t unit_ns, const uint64_t *starts, const uint64_t *durations);

#endif
