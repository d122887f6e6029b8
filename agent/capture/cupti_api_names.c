/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture/cupti_api_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    DRIVER,
    RUNTIME,
    DOMAIN_COUNT
};

struct rkt_cupti_api_names {
    bool is_known; /* the library gives names at all */
    struct {
        bool is_wanted;
        bool is_call;
        uint32_t name_id;
    } call[DOMAIN_COUNT][RKT_CUPTI_CBID_MAX];
};

/* A wanted call begins with one of these, or ends in "Synchronize". */
static const char *const WANTED[] = {
    "cuLaunch",
    "cudaLaunch",
    "cuGraphLaunch",
    "cudaGraphLaunch",
    "cuMemcpy",
    "cudaMemcpy",
    "cuMemset",
    "cudaMemset",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemCreate",
    "cuMemRelease",
    "cuMemMap",
    "cuMemUnmap",
    "cuMemSetAccess",
    "cuMemPoolTrimTo",
    "cuMemHostUnregister",
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaMemPoolTrimTo",
    "cuModuleLoad",
    "cuModuleUnload",
    "cuLibraryLoad",
    "cuGraphInstantiate",
    "cudaGraphInstantiate",
};

static bool ends_in(const char *name, size_t len_bytes, const char *end)
{
    size_t end_bytes = strlen(end);

    return len_bytes >= end_bytes && memcmp(name + len_bytes - end_bytes, end, end_bytes) == 0;
}

/* Without a version at the end: "_v2", "_v7000". */
static size_t cut_version(const char *name, size_t len_bytes)
{
    size_t at = len_bytes;

    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    if (at == len_bytes || !ends_in(name, at, "_v"))
        return len_bytes;
    return at - 2;
}

size_t rkt_cupti_api_name_length(const char *name)
{
    size_t len_bytes = cut_version(name, strlen(name));

    /* cuMemcpyHtoD_v2_ptds has both, in this order; cudaMemcpy_ptds_v7000 in the other. */
    if (ends_in(name, len_bytes, "_ptsz") || ends_in(name, len_bytes, "_ptds"))
        len_bytes = cut_version(name, len_bytes - 5);
    return len_bytes;
}

bool rkt_cupti_api_is_wanted(const char *name, size_t len_bytes)
{
    for (size_t i = 0; i < COUNT(WANTED); i++) {
        if (len_bytes >= strlen(WANTED[i]) && strncmp(name, WANTED[i], strlen(WANTED[i])) == 0)
            return true;
    }
    return ends_in(name, len_bytes, "Synchronize");
}

static CUpti_CallbackDomain domain_of(size_t index)
{
    return index == DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
}

struct rkt_cupti_api_names *rkt_cupti_api_names_create(const struct rkt_cupti_library *library,
                                                       struct rkt_intern *intern)
{
    struct rkt_cupti_api_names *names = calloc(1, sizeof(*names));

    if (!names || !library->callback_name)
        return names;
    for (size_t domain = 0; domain < DOMAIN_COUNT; domain++) {
        for (uint32_t cbid = 1; cbid < RKT_CUPTI_CBID_MAX; cbid++) {
            const char *name = NULL;
            size_t len_bytes;

            if (library->callback_name(domain_of(domain), cbid, &name) != CUPTI_SUCCESS || !name)
                continue;
            names->is_known = true;
            names->call[domain][cbid].is_call = true;
            len_bytes = rkt_cupti_api_name_length(name);
            if (!rkt_cupti_api_is_wanted(name, len_bytes))
                continue;
            names->call[domain][cbid].is_wanted = true;
            names->call[domain][cbid].name_id = rkt_intern_name(intern, name, len_bytes);
        }
    }
    return names;
}

void rkt_cupti_api_names_destroy(struct rkt_cupti_api_names *names)
{
    free(names);
}

bool rkt_cupti_api_names_find(const struct rkt_cupti_api_names *names, CUpti_CallbackDomain domain,
                              uint32_t cbid, uint32_t *name_id_out)
{
    size_t index = domain == CUPTI_CB_DOMAIN_DRIVER_API ? DRIVER : RUNTIME;

    *name_id_out = 0;
    if (!names->is_known || cbid >= RKT_CUPTI_CBID_MAX)
        return true; /* better a record without a name than none */
    *name_id_out = names->call[index][cbid].name_id;
    return names->call[index][cbid].is_wanted;
}

void rkt_cupti_api_names_apply(const struct rkt_cupti_api_names *names,
                               const struct rkt_cupti_library *library)
{
    for (uint32_t cbid = 1; cbid < RKT_CUPTI_CBID_MAX; cbid++) {
        if (library->enable_driver_api && names->call[DRIVER][cbid].is_call &&
            !names->call[DRIVER][cbid].is_wanted)
            (void)library->enable_driver_api(cbid, 0);
        if (library->enable_runtime_api && names->call[RUNTIME][cbid].is_call &&
            !names->call[RUNTIME][cbid].is_wanted)
            (void)library->enable_runtime_api(cbid, 0);
    }
}
