/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Newest first. From 12 on the name has the major version alone. */
static const char *const LIBRARY_NAMES[] = {
    "libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
    "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
    "libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0",
};

static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} CALLS[] = {
#define CALL(member, name, is_needed)                               \
    {                                                               \
        name, offsetof(struct rkt_cupti_library, member), is_needed \
    }
    CALL(register_callbacks, "cuptiActivityRegisterCallbacks", true),
    CALL(enable, "cuptiActivityEnable", true),
    CALL(disable, "cuptiActivityDisable", true),
    CALL(flush_all, "cuptiActivityFlushAll", true),
    CALL(next_record, "cuptiActivityGetNextRecord", true),
    CALL(dropped_records, "cuptiActivityGetNumDroppedRecords", true),
    CALL(set_thread_id_type, "cuptiSetThreadIdType", false),
    CALL(set_attribute, "cuptiActivitySetAttribute", false),
    CALL(callback_name, "cuptiGetCallbackName", false),
    CALL(enable_runtime_api, "cuptiActivityEnableRuntimeApi", false),
    CALL(enable_driver_api, "cuptiActivityEnableDriverApi", false),
#undef CALL
};

static void *open_first(int flags)
{
    for (size_t i = 0; i < COUNT(LIBRARY_NAMES); i++) {
        void *handle = dlopen(LIBRARY_NAMES[i], flags);

        if (handle)
            return handle;
    }
    return NULL;
}

bool rkt_cupti_library_open(struct rkt_cupti_library *library_out, const char **why_out)
{
    struct rkt_cupti_library library = {0};
    void *handle = open_first(RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (!handle)
        handle = open_first(RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *why_out = "no libcupti.so was found";
        return false;
    }
    for (size_t i = 0; i < COUNT(CALLS); i++) {
        void *address = dlsym(handle, CALLS[i].name);

        if (!address && CALLS[i].is_needed) {
            *why_out = "libcupti.so is too old";
            return false;
        }
        memcpy((char *)&library + CALLS[i].offset, &address, sizeof(address));
    }
    *library_out = library;
    return true;
}

bool rkt_cupti_library_set_options(const struct rkt_cupti_library *library)
{
    uint8_t is_zeroed = 1;
    size_t value_bytes = sizeof(is_zeroed);

    /* Else CUPTI zeroes each buffer, on the thread that launches. */
    if (library->set_attribute)
        (void)library->set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &value_bytes,
                                     &is_zeroed);
    return library->set_thread_id_type &&
           library->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) == CUPTI_SUCCESS;
}
