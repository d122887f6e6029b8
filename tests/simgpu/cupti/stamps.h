/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_STAMPS_H
#define SIMGPU_CUPTI_STAMPS_H

/* stamps - the clock that records are stamped with: CLOCK_REALTIME, as on Linux. */

#include <stdint.h>

uint64_t sim_stamp_now_ns(void);

#endif
