/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_LANE_RUN_H
#define RKT_TESTS_UNIT_LANE_RUN_H

/*
 * lane_run - the lane of rank 0 of a fake_run, in microseconds.
 *
 * A launch takes 1 us.
 */

#include "analysis/replay.h"
#include "fake_run.h"

#define US INT64_C(1000)
#define STREAM 7
#define COPY_STREAM 9

void lane_compute(struct fake_run *run, int64_t launch_us, int64_t start_us, int64_t end_us);
void lane_copy(struct fake_run *run, uint32_t stream_id, int64_t launch_us, int64_t start_us,
               int64_t end_us);
/* Returns the index of the work. */
uint32_t lane_all_reduce(struct fake_run *run, int64_t launch_us, int64_t start_us, int64_t end_us);

/* Finds the lane. Where no step was added everything is in one from 0 on, with a window of
 * end_us. */
const struct rkt_step_result *lane_find(struct fake_run *run, int64_t end_us);

/* The item's part of what the replay lets the host hold up; us. */
void assert_lane_host(const struct fake_run *run, size_t at, struct rkt_replay_host want_us,
                      int64_t idle_us);

#endif
