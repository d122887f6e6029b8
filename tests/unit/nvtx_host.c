/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx_host.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define CORE_COUNT 16u
#define CORE2_COUNT 16u
#define CUDA_COUNT 9u
#define CUDART_COUNT 7u
#define SLOT_COUNT 63u

/* NVTX's tables hold pointers to where each function's address is kept; index 0 is unused. */
static rkt_nvtx_function functions[6][CORE_COUNT];
static rkt_nvtx_function *tables[6][CORE_COUNT];

static int get_table(int module, rkt_nvtx_function ***table_out, unsigned *count_out)
{
    static const unsigned COUNTS[6] = {0, CORE_COUNT, CUDA_COUNT, 0, CUDART_COUNT, CORE2_COUNT};

    if (module < 0 || module > 5 || COUNTS[module] == 0)
        return 0;
    for (unsigned i = 1; i < COUNTS[module]; i++)
        tables[module][i] = &functions[module][i];
    *table_out = tables[module];
    *count_out = COUNTS[module];
    return 1;
}

static const void *get_export(uint32_t which)
{
    static const struct rkt_nvtx_export_callbacks callbacks = {sizeof(callbacks), get_table};

    return which == RKT_NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

static void *entry_point(const char *name)
{
    void *handle = dlopen(RKT_TEST_LIBRARY, RTLD_LAZY);
    void *address = handle ? dlsym(handle, name) : NULL;

    if (!address)
        abort();
    return address;
}

#define TAKE(member, module, index) \
    memcpy(&host->member, &functions[module][index], sizeof(host->member))

static void take_core(struct nvtx_host *host)
{
    TAKE(mark_ex, RKT_NVTX_CORE, RKT_NVTX_MARK_EX);
    TAKE(mark_a, RKT_NVTX_CORE, RKT_NVTX_MARK_A);
    TAKE(mark_w, RKT_NVTX_CORE, RKT_NVTX_MARK_W);
    TAKE(start_ex, RKT_NVTX_CORE, RKT_NVTX_START_EX);
    TAKE(start_a, RKT_NVTX_CORE, RKT_NVTX_START_A);
    TAKE(start_w, RKT_NVTX_CORE, RKT_NVTX_START_W);
    TAKE(end, RKT_NVTX_CORE, RKT_NVTX_END);
    TAKE(push_ex, RKT_NVTX_CORE, RKT_NVTX_PUSH_EX);
    TAKE(push_a, RKT_NVTX_CORE, RKT_NVTX_PUSH_A);
    TAKE(push_w, RKT_NVTX_CORE, RKT_NVTX_PUSH_W);
    TAKE(pop, RKT_NVTX_CORE, RKT_NVTX_POP);
    TAKE(name_category_a, RKT_NVTX_CORE, RKT_NVTX_NAME_CATEGORY_A);
    TAKE(name_category_w, RKT_NVTX_CORE, RKT_NVTX_NAME_CATEGORY_W);
    TAKE(name_thread_a, RKT_NVTX_CORE, RKT_NVTX_NAME_THREAD_A);
    TAKE(name_thread_w, RKT_NVTX_CORE, RKT_NVTX_NAME_THREAD_W);
    TAKE(name_cudevice_a, RKT_NVTX_CUDA, RKT_NVTX_NAME_CUDEVICE_A);
    TAKE(name_custream_a, RKT_NVTX_CUDA, RKT_NVTX_NAME_CUSTREAM_A);
    TAKE(name_cudadevice_w, RKT_NVTX_CUDART, RKT_NVTX_NAME_CUDADEVICE_W);
}

static void take_domains(struct nvtx_host *host)
{
    TAKE(domain_mark, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_MARK);
    TAKE(domain_start, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_START);
    TAKE(domain_end, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_END);
    TAKE(domain_push, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_PUSH);
    TAKE(domain_pop, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_POP);
    TAKE(resource_create, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_RESOURCE_CREATE);
    TAKE(domain_name_category_a, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_NAME_CATEGORY_A);
    TAKE(domain_name_category_w, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_NAME_CATEGORY_W);
    TAKE(register_string_a, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_REGISTER_STRING_A);
    TAKE(register_string_w, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_REGISTER_STRING_W);
    TAKE(domain_create_a, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_CREATE_A);
    TAKE(domain_create_w, RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_CREATE_W);
}

int nvtx_host_load(struct nvtx_host *host)
{
    int (*initialize)(rkt_nvtx_get_export);
    int result;

    *(void **)&initialize = entry_point("InitializeInjectionNvtx2");
    memset(functions, 0, sizeof(functions));
    result = initialize(get_export);
    take_core(host);
    take_domains(host);
    return result;
}

int nvtx_host_load_payload(struct nvtx_host *host)
{
    static intptr_t slots[SLOT_COUNT];
    struct rkt_nvtx_segment segment = {.slot_count = SLOT_COUNT, .slots = slots};
    struct rkt_nvtx_extension extension = {.nvtx_version = 3,
                                           .bytes = sizeof(extension),
                                           .module_id = RKT_NVTX_EXTENSION_PAYLOAD,
                                           .compat_id = 0x0103,
                                           .segment_count = 1,
                                           .segments = &segment};
    int (*initialize)(struct rkt_nvtx_extension *);
    int result;

    *(void **)&initialize = entry_point("InitializeInjectionNvtxExtension");
    result = initialize(&extension);
    memcpy(&host->schema_register, &slots[RKT_NVTX_SCHEMA_REGISTER], sizeof(host->schema_register));
    memcpy(&host->enum_register, &slots[RKT_NVTX_ENUM_REGISTER], sizeof(host->enum_register));
    memcpy(&host->mark_payload, &slots[RKT_NVTX_MARK_PAYLOAD], sizeof(host->mark_payload));
    memcpy(&host->push_payload, &slots[RKT_NVTX_PUSH_PAYLOAD], sizeof(host->push_payload));
    memcpy(&host->pop_payload, &slots[RKT_NVTX_POP_PAYLOAD], sizeof(host->pop_payload));
    memcpy(&host->start_payload, &slots[RKT_NVTX_START_PAYLOAD], sizeof(host->start_payload));
    memcpy(&host->end_payload, &slots[RKT_NVTX_END_PAYLOAD], sizeof(host->end_payload));
    return result;
}

struct rkt_nvtx_attributes nvtx_ascii(const char *text)
{
    return (struct rkt_nvtx_attributes){.version = 3,
                                        .bytes = sizeof(struct rkt_nvtx_attributes),
                                        .message_type = RKT_NVTX_MESSAGE_ASCII,
                                        .message.ascii = text};
}

struct rkt_nvtx_attributes nvtx_registered(const void *string)
{
    return (struct rkt_nvtx_attributes){.version = 3,
                                        .bytes = sizeof(struct rkt_nvtx_attributes),
                                        .message_type = RKT_NVTX_MESSAGE_REGISTERED,
                                        .message.registered = string};
}
