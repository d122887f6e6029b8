/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simgpu/thief/thief.h"

#include <cupti.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BUFFER_BYTES (4u << 20)

static const CUpti_ActivityKind KINDS[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
};
#define KIND_COUNT (sizeof(KINDS) / sizeof(KINDS[0]))

static _Atomic uint64_t record_count;

static void requested(uint8_t **buffer, size_t *bytes, size_t *record_max)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *record_max = 0;
}

static void completed(CUcontext context, uint32_t stream_id, uint8_t *buffer, size_t bytes,
                      size_t valid_bytes)
{
    CUpti_Activity *record = NULL;

    (void)context;
    (void)stream_id;
    (void)bytes;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
        atomic_fetch_add_explicit(&record_count, 1, memory_order_relaxed);
    free(buffer);
}

bool simgpu_thief_start(void)
{
    if (cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS)
        return false;
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (cuptiActivityEnable(KINDS[i]) != CUPTI_SUCCESS)
            return false;
    return true;
}

void simgpu_thief_stop(bool finalizes)
{
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (size_t i = 0; i < KIND_COUNT; i++)
        cuptiActivityDisable(KINDS[i]);
    if (finalizes)
        cuptiFinalize();
}

uint64_t simgpu_thief_record_count(void)
{
    return atomic_load_explicit(&record_count, memory_order_relaxed);
}
