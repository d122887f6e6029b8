/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_CUPTI_LIBRARY_H
#define RKT_CAPTURE_CUPTI_LIBRARY_H

/*
 * cupti_library - CUPTI as it is found at run time; nothing is linked against it.
 *
 * The library that the process has mapped already goes first (PyTorch brings its own), then
 * the newest name that the loader finds. It is never unloaded.
 */

#include <cupti.h>
#include <stdbool.h>

/* __typeof__ holds each pointer to the header's own declaration. */
struct rkt_cupti_library {
    __typeof__(&cuptiActivityRegisterCallbacks) register_callbacks;
    __typeof__(&cuptiActivityEnable) enable;
    __typeof__(&cuptiActivityDisable) disable;
    __typeof__(&cuptiActivityFlushAll) flush_all;
    __typeof__(&cuptiActivityGetNextRecord) next_record;
    __typeof__(&cuptiActivityGetNumDroppedRecords) dropped_records;

    /* NULL where the library is too old */
    __typeof__(&cuptiSetThreadIdType) set_thread_id_type;
    __typeof__(&cuptiActivitySetAttribute) set_attribute;
    __typeof__(&cuptiGetCallbackName) callback_name;
    __typeof__(&cuptiActivityEnableRuntimeApi) enable_runtime_api;
    __typeof__(&cuptiActivityEnableDriverApi) enable_driver_api;
    __typeof__(&cuptiGetStreamIdEx) stream_id;
};

/* False, with the reason, where there is no CUPTI, or one that lacks a call we cannot do
 * without. */
bool rkt_cupti_library_open(struct rkt_cupti_library *library_out, const char **why_out);

/* Before register_callbacks. Whether records will have the thread ids of gettid. */
bool rkt_cupti_library_set_options(const struct rkt_cupti_library *library);

#endif
