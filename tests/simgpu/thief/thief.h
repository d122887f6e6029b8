/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_THIEF_H
#define SIMGPU_THIEF_H

/*
 * thief - a second CUPTI client, which takes everything from the first as a profiling session of
 * torch.profiler does: its own callbacks, buffers from malloc, the kinds that it wants; at the end
 * a forced flush and those kinds off, for everybody. It frees what it gets, the first client's
 * buffers as well, as CUPTI's own samples do.
 *
 * Threads: start and stop from one thread.
 */

#include <stdbool.h>
#include <stdint.h>

/* False: CUPTI refuses. May be called again after stop. */
bool simgpu_thief_start(void);

/* With `finalizes` also cuptiFinalize, as with TEARDOWN_CUPTI=1. */
void simgpu_thief_stop(bool finalizes);

/* All that it ever got. */
uint64_t simgpu_thief_record_count(void);

#endif
