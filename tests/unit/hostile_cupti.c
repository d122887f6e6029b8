/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A libcupti that does harm. HOSTILE_CUPTI is the code with which it refuses everything; or "lies":
 * it says yes to all, gives back buffers that it never got, the same one twice, and with sizes
 * that cannot be, walks in circles, and counts more dropped records than there are.
 */

#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t *taken;

static CUptiResult answer(void)
{
    const char *mode = getenv("HOSTILE_CUPTI");

    return mode ? (CUptiResult)strtol(mode, NULL, 10) : CUPTI_SUCCESS; /* "lies" is 0 */
}

EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                  CUpti_BuffersCallbackCompleteFunc completed)
{
    request = requested;
    complete = completed;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    size_t bytes;
    size_t record_count;

    if (answer() == CUPTI_SUCCESS && kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
        request(&taken, &bytes, &record_count);
    return answer();
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    (void)kind;
    return answer();
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    static uint8_t foreign[64];

    (void)flag;
    complete(NULL, 0, foreign, SIZE_MAX, SIZE_MAX);
    complete(NULL, 0, NULL, 0, 100);
    complete(NULL, 0, taken + 8, 1 << 20, 1 << 20);
    complete(NULL, 0, taken, SIZE_MAX, SIZE_MAX);
    complete(NULL, 0, taken, SIZE_MAX, SIZE_MAX);
    return CUPTI_ERROR_UNKNOWN;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
                                              CUpti_Activity **record)
{
    *record = (CUpti_Activity *)(void *)(buffer + (*record ? 0 : validBufferSizeBytes / 2));
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId,
                                                     size_t *dropped)
{
    (void)context;
    (void)streamId;
    *dropped = SIZE_MAX;
    return answer();
}

EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                        const char **name)
{
    (void)domain;
    *name = cbid % 2 ? NULL : "";
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
    *version = UINT32_MAX;
    return CUPTI_SUCCESS;
}
