/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
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
    CALL(stream_id, "cuptiGetStreamIdEx", false),
#undef CALL
};

static void *open_by_name(int flags)
{
    for (size_t i = 0; i < COUNT(LIBRARY_NAMES); i++) {
        void *handle = dlopen(LIBRARY_NAMES[i], flags);

        if (handle)
            return handle;
    }
    return NULL;
}

/* "libcupti.so.14", and "libcupti-1a2b3c4d.so.12", as a wheel's tools rename it. */
static bool is_cupti(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return strncmp(name, "libcupti.so", 11) == 0 ||
           (strncmp(name, "libcupti-", 9) == 0 && strstr(name, ".so"));
}

/* Nothing is opened in here: the loader's lock is held. */
static int note_path(struct dl_phdr_info *info, size_t info_bytes, void *path)
{
    size_t path_bytes = info->dlpi_name ? strlen(info->dlpi_name) + 1 : 0;

    (void)info_bytes;
    if (path_bytes == 0 || path_bytes > PATH_MAX || !is_cupti(info->dlpi_name))
        return 0;
    memcpy(path, info->dlpi_name, path_bytes);
    return 1;
}

/* What the process has mapped under a name that we do not know. */
static void *open_mapped(void)
{
    char path[PATH_MAX];

    if (dl_iterate_phdr(note_path, path) == 0)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

static void *open_any(void)
{
    void *handle = open_by_name(RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

    if (!handle)
        handle = open_mapped();
    return handle ? handle : open_by_name(RTLD_NOW | RTLD_LOCAL);
}

bool rkt_cupti_library_open(struct rkt_cupti_library *library_out, const char **why_out)
{
    struct rkt_cupti_library library = {0};
    void *handle = open_any();

    if (!handle) {
        *why_out = "no libcupti.so was found; set LD_LIBRARY_PATH to where CUDA or PyTorch has it";
        return false;
    }
    for (size_t i = 0; i < COUNT(CALLS); i++) {
        void *address = dlsym(handle, CALLS[i].name);

        if (!address && CALLS[i].is_needed) {
            *why_out = "libcupti.so is older than CUDA 11";
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
