/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CUPTI_H
#define RKT_CUPTI_H

/*
 * cupti.h - the part of the CUPTI activity interface that this project uses, for machines
 * without the toolkit. Same names, values and layouts as there, nothing more; the test
 * abi_conformance holds every line of it against the toolkit's own headers where there
 * are any. Calls are in cupti_calls.h, callback ids in cupti_cbid.h,
 * values in cupti_values.h, records in cupti_records.h.
 */

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_cbid.h"
#include "cupti_values.h"

typedef uint32_t CUpti_CallbackId;
typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;

#include "cupti_records.h"

typedef struct {
    size_t structSize;
    const char *subscriberName;
    char *oldSubscriberName;
    size_t oldSubscriberSize;
} CUpti_SubscriberParams;

/* What a callback of domain DRIVER_API or RUNTIME_API is told. */
typedef struct {
    CUpti_ApiCallbackSite callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue;
    const char *symbolName;
    CUcontext context;
    uint32_t contextUid;
    uint64_t *correlationData;
    uint32_t correlationId;
} CUpti_CallbackData;

#include "cupti_calls.h"

#endif
