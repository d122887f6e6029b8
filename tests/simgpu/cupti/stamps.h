/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STAMPS_H
#define SIMGPU_CUPTI_STAMPS_H

/*
 * stamps - the times inside records: CLOCK_REALTIME, as on Linux, or the clock of the client.
 *
 * A client's clock is asked for when the record is written, for a time that has passed: it is
 * taken to run as fast as CLOCK_REALTIME. Each registration after the first one spoils the times
 * of the next record of device work, as in NVIDIA's library.
 *
 * Threads: all calls from any thread.
 */

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t sim_stamp_now_ns(void); /* CLOCK_REALTIME */

/* What a record says for a moment in CLOCK_REALTIME. */
uint64_t sim_stamp_of(uint64_t realtime_ns);

/* NULL: none. */
void sim_stamp_set_client(CUpti_TimestampCallbackFunc client);

/* What a record of device work says, with all that is wrong (settings.h). */
void sim_stamp_work(bool is_in_graph, uint64_t *start_ns, uint64_t *end_ns);

/* The kinds that need device buffers are all off: their pool is full again. */
void sim_stamp_refill_pool(void);

#endif
