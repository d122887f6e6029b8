/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_inject - the functions by which NVTX finds and calls us (NVTX_INJECTION64_PATH).
 *
 * Each library of the job that uses NVTX brings its own copy of NVTX, and each copy calls both
 * entry points once, from whatever thread is first. A 0 from them is no error: the copy then never
 * calls again, so that a job which is not traced pays one test of a pointer per call.
 */
#include "agent/capture/nvtx_source.h"
#include "agent/capture/nvtx_text.h"
#include "agent/capture/window.h"

#define API __attribute__((visibility("default")))
#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static struct rkt_capture *recording(void)
{
    struct rkt_capture *capture = rkt_capture_get(RKT_CAPTURE_NVTX);

    if (capture)
        rkt_window_look(capture);
    return capture;
}

/* Another thread may be about to start capture: then the calls to come will ask again. */
static bool may_record(void)
{
    return recording() || rkt_capture_is_starting();
}

/* ---- what a call says ---- */

/* Numbers are kept as they are; a floating-point payload is not kept. */
static uint64_t integer_payload(const struct rkt_nvtx_attributes *attributes)
{
    switch (attributes->payload_type) {
    case RKT_NVTX_PAYLOAD_UINT64:
    case RKT_NVTX_PAYLOAD_INT64:
        return attributes->payload.u64;
    case RKT_NVTX_PAYLOAD_UINT32:
        return attributes->payload.u32;
    case RKT_NVTX_PAYLOAD_INT32:
        return (uint64_t)(int64_t)attributes->payload.i32;
    default:
        return 0;
    }
}

static struct rkt_nvtx_says of_attributes(const struct rkt_capture *capture, const void *domain,
                                          const struct rkt_nvtx_attributes *attributes)
{
    struct rkt_nvtx_says says = {.domain = rkt_nvtx_id_of(domain)};

    if (!attributes || attributes->bytes < sizeof(*attributes))
        return says; /* of an NVTX that we do not know */
    says.name_id =
        rkt_nvtx_text_of_message(capture->intern, attributes->message_type, attributes->message);
    says.category = attributes->category;
    says.value = integer_payload(attributes);
    if (attributes->payload_type == RKT_NVTX_PAYLOAD_EXTENDED && attributes->record_count > 0) {
        says.records = attributes->payload.records;
        says.record_count = (size_t)attributes->record_count;
    }
    return says;
}

static struct rkt_nvtx_says of_text(const struct rkt_capture *capture, const char *text)
{
    return (struct rkt_nvtx_says){.name_id = rkt_nvtx_text(capture->intern, text)};
}

static struct rkt_nvtx_says of_wide(const struct rkt_capture *capture, const wchar_t *text)
{
    return (struct rkt_nvtx_says){.name_id = rkt_nvtx_text_wide(capture->intern, text)};
}

/* ---- ranges and marks ---- */

static void domain_mark(const void *domain, const struct rkt_nvtx_attributes *attributes)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return;
    says = of_attributes(capture, domain, attributes);
    rkt_nvtx_mark(capture, &says);
}

static void mark_ex(const struct rkt_nvtx_attributes *attributes)
{
    domain_mark(NULL, attributes);
}

static void mark_a(const char *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return;
    says = of_text(capture, text);
    rkt_nvtx_mark(capture, &says);
}

static void mark_w(const wchar_t *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return;
    says = of_wide(capture, text);
    rkt_nvtx_mark(capture, &says);
}

static uint64_t domain_start(const void *domain, const struct rkt_nvtx_attributes *attributes)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return 0;
    says = of_attributes(capture, domain, attributes);
    return rkt_nvtx_start(capture, &says);
}

static uint64_t start_ex(const struct rkt_nvtx_attributes *attributes)
{
    return domain_start(NULL, attributes);
}

static uint64_t start_a(const char *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return 0;
    says = of_text(capture, text);
    return rkt_nvtx_start(capture, &says);
}

static uint64_t start_w(const wchar_t *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return 0;
    says = of_wide(capture, text);
    return rkt_nvtx_start(capture, &says);
}

static void end(uint64_t id)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_end(capture, id);
}

static void domain_end(const void *domain, uint64_t id)
{
    (void)domain;
    end(id);
}

static int domain_push(const void *domain, const struct rkt_nvtx_attributes *attributes)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return RKT_NVTX_NO_LEVEL;
    says = of_attributes(capture, domain, attributes);
    return rkt_nvtx_push(capture, &says);
}

static int push_ex(const struct rkt_nvtx_attributes *attributes)
{
    return domain_push(NULL, attributes);
}

static int push_a(const char *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return RKT_NVTX_NO_LEVEL;
    says = of_text(capture, text);
    return rkt_nvtx_push(capture, &says);
}

static int push_w(const wchar_t *text)
{
    struct rkt_capture *capture = recording();
    struct rkt_nvtx_says says;

    if (!capture)
        return RKT_NVTX_NO_LEVEL;
    says = of_wide(capture, text);
    return rkt_nvtx_push(capture, &says);
}

static int domain_pop(const void *domain)
{
    struct rkt_capture *capture = recording();
    const struct rkt_nvtx_says says = {.domain = rkt_nvtx_id_of(domain)};

    return capture ? rkt_nvtx_pop(capture, &says) : RKT_NVTX_NO_LEVEL;
}

static int pop(void)
{
    return domain_pop(NULL);
}

/* ---- domains, strings, categories ---- */

static const void *create_domain(struct rkt_capture *capture, uint32_t name_id)
{
    rkt_nvtx_domain_created(capture, name_id);
    return rkt_nvtx_handle_of(name_id);
}

static const void *domain_create_a(const char *name)
{
    struct rkt_capture *capture = recording();

    return capture ? create_domain(capture, rkt_nvtx_text(capture->intern, name)) : NULL;
}

static const void *domain_create_w(const wchar_t *name)
{
    struct rkt_capture *capture = recording();

    return capture ? create_domain(capture, rkt_nvtx_text_wide(capture->intern, name)) : NULL;
}

static const void *register_string_a(const void *domain, const char *text)
{
    struct rkt_capture *capture = recording();

    (void)domain;
    return capture ? rkt_nvtx_handle_of(rkt_nvtx_text(capture->intern, text)) : NULL;
}

static const void *register_string_w(const void *domain, const wchar_t *text)
{
    struct rkt_capture *capture = recording();

    (void)domain;
    return capture ? rkt_nvtx_handle_of(rkt_nvtx_text_wide(capture->intern, text)) : NULL;
}

static void domain_name_category_a(const void *domain, uint32_t category, const char *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_category(capture, rkt_nvtx_id_of(domain), category,
                               rkt_nvtx_text(capture->intern, name));
}

static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_category(capture, rkt_nvtx_id_of(domain), category,
                               rkt_nvtx_text_wide(capture->intern, name));
}

static void name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}

static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}

/* ---- names of threads, streams and devices ---- */

static void name_object(enum rkt_named_object what, uint64_t object_id, const char *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_object(capture, what, object_id, rkt_nvtx_text(capture->intern, name));
}

static void name_object_wide(enum rkt_named_object what, uint64_t object_id, const wchar_t *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_object(capture, what, object_id, rkt_nvtx_text_wide(capture->intern, name));
}

static void name_thread_a(uint32_t thread_id, const char *name)
{
    name_object(RKT_NAMED_THREAD, thread_id, name);
}

static void name_thread_w(uint32_t thread_id, const wchar_t *name)
{
    name_object_wide(RKT_NAMED_THREAD, thread_id, name);
}

/* A CUdevice is the device's number, as the runtime's is. */
static void name_device_a(int device, const char *name)
{
    if (device >= 0)
        name_object(RKT_NAMED_DEVICE, (uint64_t)device, name);
}

static void name_device_w(int device, const wchar_t *name)
{
    if (device >= 0)
        name_object_wide(RKT_NAMED_DEVICE, (uint64_t)device, name);
}

/* A cudaStream_t is the driver's CUstream. */
static void name_stream_a(void *stream, const char *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_stream(capture, stream, rkt_nvtx_text(capture->intern, name));
}

static void name_stream_w(void *stream, const wchar_t *name)
{
    struct rkt_capture *capture = recording();

    if (capture)
        rkt_nvtx_name_stream(capture, stream, rkt_nvtx_text_wide(capture->intern, name));
}

static const void *resource_create(const void *domain, const struct rkt_nvtx_resource *resource)
{
    struct rkt_capture *capture = recording();
    uint32_t name_id;

    (void)domain;
    if (!capture || !resource || resource->bytes < sizeof(*resource))
        return NULL;
    name_id = rkt_nvtx_text_of_message(capture->intern, resource->message_type, resource->message);
    switch (resource->type) {
    case RKT_NVTX_RESOURCE_THREAD_NATIVE:
        rkt_nvtx_name_object(capture, RKT_NAMED_THREAD, (uint32_t)resource->id.number, name_id);
        break;
    case RKT_NVTX_RESOURCE_CUDA_DEVICE:
    case RKT_NVTX_RESOURCE_CUDART_DEVICE:
        rkt_nvtx_name_object(capture, RKT_NAMED_DEVICE, (uint32_t)resource->id.number, name_id);
        break;
    case RKT_NVTX_RESOURCE_CUDA_STREAM:
    case RKT_NVTX_RESOURCE_CUDART_STREAM:
        rkt_nvtx_name_stream(capture, resource->id.pointer, name_id);
        break;
    default: /* it stands for nothing that is recorded */
        break;
    }
    return NULL;
}

/* ---- the payload extension ---- */

static uint64_t schema_register(const void *domain, const struct rkt_nvtx_schema *schema)
{
    struct rkt_capture *capture = recording();

    return capture ? rkt_nvtx_register_schema(capture, rkt_nvtx_id_of(domain), schema) : 0;
}

static uint64_t enum_register(const void *domain, const struct rkt_nvtx_enum *list)
{
    struct rkt_capture *capture = recording();

    (void)domain;
    return capture ? rkt_nvtx_register_enum(capture, list) : 0;
}

static struct rkt_nvtx_says of_records(const void *domain,
                                       const struct rkt_nvtx_payload_data *records, size_t count)
{
    return (struct rkt_nvtx_says){
        .domain = rkt_nvtx_id_of(domain), .records = records, .record_count = count};
}

static void mark_payload(const void *domain, const struct rkt_nvtx_payload_data *records,
                         size_t count)
{
    struct rkt_capture *capture = recording();
    const struct rkt_nvtx_says says = of_records(domain, records, count);

    if (capture)
        rkt_nvtx_mark(capture, &says);
}

static int push_payload(const void *domain, const struct rkt_nvtx_payload_data *records,
                        size_t count)
{
    struct rkt_capture *capture = recording();
    const struct rkt_nvtx_says says = of_records(domain, records, count);

    return capture ? rkt_nvtx_push(capture, &says) : RKT_NVTX_NO_LEVEL;
}

static int pop_payload(const void *domain, const struct rkt_nvtx_payload_data *records,
                       size_t count)
{
    struct rkt_capture *capture = recording();
    const struct rkt_nvtx_says says = of_records(domain, records, count);

    return capture ? rkt_nvtx_pop(capture, &says) : RKT_NVTX_NO_LEVEL;
}

static uint64_t start_payload(const void *domain, const struct rkt_nvtx_payload_data *records,
                              size_t count)
{
    struct rkt_capture *capture = recording();
    const struct rkt_nvtx_says says = of_records(domain, records, count);

    return capture ? rkt_nvtx_start(capture, &says) : 0;
}

static void end_payload(const void *domain, uint64_t id,
                        const struct rkt_nvtx_payload_data *records, size_t count)
{
    (void)domain;
    (void)records;
    (void)count;
    end(id);
}

/* ---- the tables ---- */

struct entry {
    enum rkt_nvtx_module module;
    unsigned index;
    rkt_nvtx_function function;
};
#define ENTRY(module, index, function)               \
    {                                                \
        module, index, (rkt_nvtx_function)(function) \
    }

static const struct entry ENTRIES[] = {
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_MARK_EX, mark_ex),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_MARK_A, mark_a),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_MARK_W, mark_w),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_START_EX, start_ex),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_START_A, start_a),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_START_W, start_w),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_END, end),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_PUSH_EX, push_ex),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_PUSH_A, push_a),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_PUSH_W, push_w),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_POP, pop),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_NAME_CATEGORY_A, name_category_a),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_NAME_CATEGORY_W, name_category_w),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_NAME_THREAD_A, name_thread_a),
    ENTRY(RKT_NVTX_CORE, RKT_NVTX_NAME_THREAD_W, name_thread_w),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_MARK, domain_mark),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_START, domain_start),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_END, domain_end),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_PUSH, domain_push),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_POP, domain_pop),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_RESOURCE_CREATE, resource_create),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_NAME_CATEGORY_A, domain_name_category_a),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_NAME_CATEGORY_W, domain_name_category_w),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_REGISTER_STRING_A, register_string_a),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_REGISTER_STRING_W, register_string_w),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_CREATE_A, domain_create_a),
    ENTRY(RKT_NVTX_CORE2, RKT_NVTX_DOMAIN_CREATE_W, domain_create_w),
    ENTRY(RKT_NVTX_CUDA, RKT_NVTX_NAME_CUDEVICE_A, name_device_a),
    ENTRY(RKT_NVTX_CUDA, RKT_NVTX_NAME_CUDEVICE_W, name_device_w),
    ENTRY(RKT_NVTX_CUDA, RKT_NVTX_NAME_CUSTREAM_A, name_stream_a),
    ENTRY(RKT_NVTX_CUDA, RKT_NVTX_NAME_CUSTREAM_W, name_stream_w),
    ENTRY(RKT_NVTX_CUDART, RKT_NVTX_NAME_CUDASTREAM_A, name_stream_a),
    ENTRY(RKT_NVTX_CUDART, RKT_NVTX_NAME_CUDASTREAM_W, name_stream_w),
    ENTRY(RKT_NVTX_CUDART, RKT_NVTX_NAME_CUDADEVICE_A, name_device_a),
    ENTRY(RKT_NVTX_CUDART, RKT_NVTX_NAME_CUDADEVICE_W, name_device_w),
};

API int InitializeInjectionNvtx2(rkt_nvtx_get_export get_export);
API int InitializeInjectionNvtxExtension(struct rkt_nvtx_extension *extension);

int InitializeInjectionNvtx2(rkt_nvtx_get_export get_export)
{
    const struct rkt_nvtx_export_callbacks *callbacks;

    if (!may_record() || !get_export)
        return 0;
    callbacks = get_export(RKT_NVTX_EXPORT_CALLBACKS);
    if (!callbacks || callbacks->bytes < sizeof(*callbacks) || !callbacks->get_table)
        return 0;
    for (size_t i = 0; i < SIZE(ENTRIES); i++) {
        rkt_nvtx_function **table = NULL;
        unsigned count = 0;

        if (callbacks->get_table((int)ENTRIES[i].module, &table, &count) == 1 && table &&
            ENTRIES[i].index < count && table[ENTRIES[i].index])
            *table[ENTRIES[i].index] = ENTRIES[i].function;
    }
    return 1;
}

/* Of the extensions only payloads concern us; a copy's others do nothing then. */
int InitializeInjectionNvtxExtension(struct rkt_nvtx_extension *extension)
{
    static const struct {
        unsigned slot;
        rkt_nvtx_function function;
    } SLOTS[] = {
        {RKT_NVTX_SCHEMA_REGISTER, (rkt_nvtx_function)schema_register},
        {RKT_NVTX_ENUM_REGISTER, (rkt_nvtx_function)enum_register},
        {RKT_NVTX_MARK_PAYLOAD, (rkt_nvtx_function)mark_payload},
        {RKT_NVTX_PUSH_PAYLOAD, (rkt_nvtx_function)push_payload},
        {RKT_NVTX_POP_PAYLOAD, (rkt_nvtx_function)pop_payload},
        {RKT_NVTX_START_PAYLOAD, (rkt_nvtx_function)start_payload},
        {RKT_NVTX_END_PAYLOAD, (rkt_nvtx_function)end_payload},
    };
    const struct rkt_nvtx_segment *segment;

    if (!may_record() || !extension || extension->bytes < sizeof(*extension) ||
        extension->module_id != RKT_NVTX_EXTENSION_PAYLOAD ||
        extension->compat_id >> 8 != RKT_NVTX_EXTENSION_MAJOR || extension->segment_count == 0 ||
        !extension->segments)
        return 0;
    segment = &extension->segments[0];
    for (size_t i = 0; i < SIZE(SLOTS); i++) {
        if (segment->slots && SLOTS[i].slot < segment->slot_count)
            segment->slots[SLOTS[i].slot] = (intptr_t)SLOTS[i].function;
    }
    return 1;
}
