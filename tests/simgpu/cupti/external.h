/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_EXTERNAL_H
#define SIMGPU_CUPTI_EXTERNAL_H

/* external - the ids that a client pushes on a thread, and their records beside those of calls. */

#include <stdint.h>

/* One record per kind of id that is pushed on this thread, when EXTERNAL_CORRELATION is on. */
void sim_external_write(uint32_t correlation_id);

#endif
