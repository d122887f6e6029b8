/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CUPTI_SAY_H
#define SIMGPU_CUPTI_SAY_H

/* say - the result of a call, kept for cuptiGetLastError of the same thread. */

#include <cupti.h>

CUptiResult sim_say(CUptiResult result);

/* What was said last; forgets it. */
CUptiResult sim_said(void);

#endif
