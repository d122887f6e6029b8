/* SPDX-License-Identifier: Apache-2.0 */
/* A libcupti from before the activity interface had buffers of the caller's. */
#include <cupti.h>

__attribute__((visibility("default"))) CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = 2;
    return CUPTI_SUCCESS;
}
