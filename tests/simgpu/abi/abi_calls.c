/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The toolkit's declarations of every call, then the project's own. Compiling this file is the
 * test: two declarations of one name that differ are an error.
 */

#include <cupti.h>
#ifdef RKT_ABI_WITH_NCCL
#include <nccl.h>
#endif

#include "agent/capture/cuda_api/include/cuda_calls.h"
#include "agent/capture/cuda_api/include/cupti_calls.h"
#ifdef RKT_ABI_WITH_NCCL
#include "agent/capture/nccl_api/include/nccl_calls.h"
#endif
