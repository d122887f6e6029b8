/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/layout.h"

#include <cupti.h>

struct row {
    uint32_t kind;
    uint16_t bytes_11_8;
    uint16_t bytes_12_0;
    uint16_t bytes_12_8;
    uint16_t bytes_13_0;
};

static const struct row ROWS[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 200, 208, 208, 216},
    {CUPTI_ACTIVITY_KIND_KERNEL, 200, 208, 208, 216},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 88, 88, 96, 96},
    {CUPTI_ACTIVITY_KIND_MEMSET, 88, 88, 88, 88},
    {CUPTI_ACTIVITY_KIND_DRIVER, 40, 40, 40, 40},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 40, 40, 40, 40},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 40, 40, 56, 56},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 40, 40, 56, 56},
};

size_t sim_record_bytes(uint32_t version, uint32_t kind)
{
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        if (ROWS[i].kind != kind)
            continue;
        if (version >= SIM_CUPTI_13_0)
            return ROWS[i].bytes_13_0;
        if (version >= SIM_CUPTI_12_8)
            return ROWS[i].bytes_12_8;
        return version >= SIM_CUPTI_12_0 ? ROWS[i].bytes_12_0 : ROWS[i].bytes_11_8;
    }
    return 0;
}
