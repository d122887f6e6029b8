/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/cupti/layout.h"

#include <cupti.h>

/* Of one kind the newest first. */
static const struct {
    uint32_t kind;
    uint32_t since;
    size_t bytes;
} ROWS[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, SIM_CUPTI_13_3, 232},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, SIM_CUPTI_13_1, 224},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, SIM_CUPTI_13_0, 216},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, SIM_CUPTI_12_0, 208},
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0, 200},
    {CUPTI_ACTIVITY_KIND_MEMCPY, SIM_CUPTI_12_8, 96},
    {CUPTI_ACTIVITY_KIND_MEMCPY, 0, 88},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, 0, 96},
    {CUPTI_ACTIVITY_KIND_MEMSET, 0, 88},
    {CUPTI_ACTIVITY_KIND_MEMORY2, SIM_CUPTI_12_6, 128},
    {CUPTI_ACTIVITY_KIND_MEMORY2, 0, 120},
    {CUPTI_ACTIVITY_KIND_DRIVER, 0, 40},
    {CUPTI_ACTIVITY_KIND_RUNTIME, 0, 40},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, SIM_CUPTI_12_8, 56},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0, 40},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, SIM_CUPTI_12_4, 56},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, SIM_CUPTI_12_2, 48},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, 0, 40},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, SIM_CUPTI_12_3, 56},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0, 48},
};

size_t sim_record_bytes(uint32_t version, uint32_t kind)
{
    if (kind == CUPTI_ACTIVITY_KIND_KERNEL) /* the same record */
        kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        if (ROWS[i].kind == kind && version >= ROWS[i].since)
            return ROWS[i].bytes;
    return 0;
}
