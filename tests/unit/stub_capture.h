/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_STUB_CAPTURE_H
#define RKT_TESTS_UNIT_STUB_CAPTURE_H

/*
 * stub_capture - capture.h without a sidecar: the parts of a source that the library hides can be
 * called one by one, and what they push is read in the same process.
 *
 * It stands in for capture.c; link the source under test, intern.c and thread.c with it. Only
 * what a source of NCCL's asks for is there.
 */

#include <stdbool.h>
#include <stddef.h>

#include "agent/capture/capture.h"

/* False: no memory. The region has 8 rings of 4096 events. */
bool stub_capture_start(const struct rkt_capture_config *config);
void stub_capture_stop(void);

/* From now on the capture is off, or on again. */
void stub_capture_turn(bool is_on);

struct rkt_capture *stub_capture(void);

/* Everything pushed since the last call, ring by ring; returns how many. */
size_t stub_capture_drain(struct rkt_event *events_out, size_t max);

#endif
