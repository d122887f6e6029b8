/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's own NVTX headers against ours: their layouts and numbers, and a program that is compiled
 * with them and finds the capture library through NVTX_INJECTION64_PATH. Skipped (77) where they
 * were not found when this was built.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rkt_test.h"

#ifndef RKT_TEST_WITH_NVTX

int main(void)
{
    printf("skipped: built without the headers nvtx3/\n");
    return 77;
}

#else

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>

#include "agent/capture/nvtx_api/nvtx.h"
#include "capture_job.h"

/* ---- layouts and numbers ---- */

struct pair {
    const char *what;
    uint64_t ours;
    uint64_t theirs;
};

#define SIZE(ours, theirs)                               \
    {                                                    \
        "size of " #theirs, sizeof(ours), sizeof(theirs) \
    }
#define FIELD(ours, our_field, theirs, their_field)                                               \
    {                                                                                             \
#theirs "." #their_field, offsetof(struct ours, our_field), offsetof(theirs, their_field) \
    }
#define VALUE(ours, theirs)                           \
    {                                                 \
#theirs, (uint64_t)(ours), (uint64_t)(theirs) \
    }

static const struct pair LAYOUTS[] = {
    SIZE(struct rkt_nvtx_attributes, nvtxEventAttributes_t),
    FIELD(rkt_nvtx_attributes, version, nvtxEventAttributes_t, version),
    FIELD(rkt_nvtx_attributes, bytes, nvtxEventAttributes_t, size),
    FIELD(rkt_nvtx_attributes, category, nvtxEventAttributes_t, category),
    FIELD(rkt_nvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType),
    FIELD(rkt_nvtx_attributes, record_count, nvtxEventAttributes_t, reserved0),
    FIELD(rkt_nvtx_attributes, payload, nvtxEventAttributes_t, payload),
    FIELD(rkt_nvtx_attributes, message_type, nvtxEventAttributes_t, messageType),
    FIELD(rkt_nvtx_attributes, message, nvtxEventAttributes_t, message),
    SIZE(struct rkt_nvtx_resource, nvtxResourceAttributes_t),
    FIELD(rkt_nvtx_resource, bytes, nvtxResourceAttributes_t, size),
    FIELD(rkt_nvtx_resource, type, nvtxResourceAttributes_t, identifierType),
    FIELD(rkt_nvtx_resource, id, nvtxResourceAttributes_t, identifier),
    FIELD(rkt_nvtx_resource, message_type, nvtxResourceAttributes_t, messageType),
    FIELD(rkt_nvtx_resource, message, nvtxResourceAttributes_t, message),
    SIZE(struct rkt_nvtx_payload_data, nvtxPayloadData_t),
    FIELD(rkt_nvtx_payload_data, schema_id, nvtxPayloadData_t, schemaId),
    FIELD(rkt_nvtx_payload_data, bytes, nvtxPayloadData_t, size),
    FIELD(rkt_nvtx_payload_data, data, nvtxPayloadData_t, payload),
    SIZE(struct rkt_nvtx_schema_entry, nvtxPayloadSchemaEntry_t),
    FIELD(rkt_nvtx_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags),
    FIELD(rkt_nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type),
    FIELD(rkt_nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name),
    FIELD(rkt_nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset),
    SIZE(struct rkt_nvtx_schema, nvtxPayloadSchemaAttr_t),
    FIELD(rkt_nvtx_schema, fields, nvtxPayloadSchemaAttr_t, fieldMask),
    FIELD(rkt_nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries),
    FIELD(rkt_nvtx_schema, entry_count, nvtxPayloadSchemaAttr_t, numEntries),
    FIELD(rkt_nvtx_schema, bytes, nvtxPayloadSchemaAttr_t, payloadStaticSize),
    FIELD(rkt_nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId),
    SIZE(struct rkt_nvtx_enum, nvtxPayloadEnumAttr_t),
    FIELD(rkt_nvtx_enum, fields, nvtxPayloadEnumAttr_t, fieldMask),
    FIELD(rkt_nvtx_enum, id, nvtxPayloadEnumAttr_t, schemaId),
    SIZE(struct rkt_nvtx_export_callbacks, NvtxExportTableCallbacks),
    FIELD(rkt_nvtx_export_callbacks, bytes, NvtxExportTableCallbacks, struct_size),
    FIELD(rkt_nvtx_export_callbacks, get_table, NvtxExportTableCallbacks, GetModuleFunctionTable),
    SIZE(struct rkt_nvtx_segment, nvtxExtModuleSegment_t),
    FIELD(rkt_nvtx_segment, slot_count, nvtxExtModuleSegment_t, slotCount),
    FIELD(rkt_nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots),
    SIZE(struct rkt_nvtx_extension, nvtxExtModuleInfo_t),
    FIELD(rkt_nvtx_extension, bytes, nvtxExtModuleInfo_t, structSize),
    FIELD(rkt_nvtx_extension, module_id, nvtxExtModuleInfo_t, moduleId),
    FIELD(rkt_nvtx_extension, compat_id, nvtxExtModuleInfo_t, compatId),
    FIELD(rkt_nvtx_extension, segment_count, nvtxExtModuleInfo_t, segmentsCount),
    FIELD(rkt_nvtx_extension, segments, nvtxExtModuleInfo_t, segments),
};

static const struct pair NUMBERS[] = {
    VALUE(RKT_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII),
    VALUE(RKT_NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE),
    VALUE(RKT_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED),
    VALUE(RKT_NVTX_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64),
    VALUE(RKT_NVTX_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64),
    VALUE(RKT_NVTX_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32),
    VALUE(RKT_NVTX_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32),
    VALUE(RKT_NVTX_PAYLOAD_EXTENDED, NVTX_PAYLOAD_TYPE_EXT),
    VALUE(RKT_NVTX_RESOURCE_THREAD_NATIVE, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE),
    VALUE(RKT_NVTX_RESOURCE_CUDA_DEVICE, NVTX_RESOURCE_TYPE_CUDA_DEVICE),
    VALUE(RKT_NVTX_RESOURCE_CUDA_STREAM, NVTX_RESOURCE_TYPE_CUDA_STREAM),
    VALUE(RKT_NVTX_RESOURCE_CUDART_DEVICE, NVTX_RESOURCE_TYPE_CUDART_DEVICE),
    VALUE(RKT_NVTX_RESOURCE_CUDART_STREAM, NVTX_RESOURCE_TYPE_CUDART_STREAM),
    VALUE(RKT_NVTX_SCHEMA_HAS_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES),
    VALUE(RKT_NVTX_SCHEMA_HAS_ENTRY_COUNT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES),
    VALUE(RKT_NVTX_SCHEMA_HAS_BYTES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE),
    VALUE(RKT_NVTX_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID),
    VALUE(RKT_NVTX_ENUM_HAS_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID),
    VALUE(RKT_NVTX_FIRST_DYNAMIC_ID, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START),
    VALUE(RKT_NVTX_ENTRY_INT, NVTX_PAYLOAD_ENTRY_TYPE_INT),
    VALUE(RKT_NVTX_ENTRY_UINT, NVTX_PAYLOAD_ENTRY_TYPE_UINT),
    VALUE(RKT_NVTX_ENTRY_LONG, NVTX_PAYLOAD_ENTRY_TYPE_LONG),
    VALUE(RKT_NVTX_ENTRY_ULONG, NVTX_PAYLOAD_ENTRY_TYPE_ULONG),
    VALUE(RKT_NVTX_ENTRY_LONGLONG, NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG),
    VALUE(RKT_NVTX_ENTRY_ULONGLONG, NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG),
    VALUE(RKT_NVTX_ENTRY_INT32, NVTX_PAYLOAD_ENTRY_TYPE_INT32),
    VALUE(RKT_NVTX_ENTRY_UINT32, NVTX_PAYLOAD_ENTRY_TYPE_UINT32),
    VALUE(RKT_NVTX_ENTRY_INT64, NVTX_PAYLOAD_ENTRY_TYPE_INT64),
    VALUE(RKT_NVTX_ENTRY_UINT64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64),
    VALUE(RKT_NVTX_ENTRY_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_SIZE),
    VALUE(RKT_NVTX_CORE, NVTX_CB_MODULE_CORE),
    VALUE(RKT_NVTX_CUDA, NVTX_CB_MODULE_CUDA),
    VALUE(RKT_NVTX_CUDART, NVTX_CB_MODULE_CUDART),
    VALUE(RKT_NVTX_CORE2, NVTX_CB_MODULE_CORE2),
    VALUE(RKT_NVTX_EXPORT_CALLBACKS, NVTX_ETID_CALLBACKS),
    VALUE(RKT_NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx),
    VALUE(RKT_NVTX_MARK_A, NVTX_CBID_CORE_MarkA),
    VALUE(RKT_NVTX_MARK_W, NVTX_CBID_CORE_MarkW),
    VALUE(RKT_NVTX_START_EX, NVTX_CBID_CORE_RangeStartEx),
    VALUE(RKT_NVTX_START_A, NVTX_CBID_CORE_RangeStartA),
    VALUE(RKT_NVTX_START_W, NVTX_CBID_CORE_RangeStartW),
    VALUE(RKT_NVTX_END, NVTX_CBID_CORE_RangeEnd),
    VALUE(RKT_NVTX_PUSH_EX, NVTX_CBID_CORE_RangePushEx),
    VALUE(RKT_NVTX_PUSH_A, NVTX_CBID_CORE_RangePushA),
    VALUE(RKT_NVTX_PUSH_W, NVTX_CBID_CORE_RangePushW),
    VALUE(RKT_NVTX_POP, NVTX_CBID_CORE_RangePop),
    VALUE(RKT_NVTX_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA),
    VALUE(RKT_NVTX_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW),
    VALUE(RKT_NVTX_NAME_THREAD_A, NVTX_CBID_CORE_NameOsThreadA),
    VALUE(RKT_NVTX_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW),
    VALUE(RKT_NVTX_DOMAIN_MARK, NVTX_CBID_CORE2_DomainMarkEx),
    VALUE(RKT_NVTX_DOMAIN_START, NVTX_CBID_CORE2_DomainRangeStartEx),
    VALUE(RKT_NVTX_DOMAIN_END, NVTX_CBID_CORE2_DomainRangeEnd),
    VALUE(RKT_NVTX_DOMAIN_PUSH, NVTX_CBID_CORE2_DomainRangePushEx),
    VALUE(RKT_NVTX_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop),
    VALUE(RKT_NVTX_DOMAIN_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate),
    VALUE(RKT_NVTX_DOMAIN_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA),
    VALUE(RKT_NVTX_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW),
    VALUE(RKT_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA),
    VALUE(RKT_NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW),
    VALUE(RKT_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA),
    VALUE(RKT_NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW),
    VALUE(RKT_NVTX_NAME_CUDEVICE_A, NVTX_CBID_CUDA_NameCuDeviceA),
    VALUE(RKT_NVTX_NAME_CUDEVICE_W, NVTX_CBID_CUDA_NameCuDeviceW),
    VALUE(RKT_NVTX_NAME_CUSTREAM_A, NVTX_CBID_CUDA_NameCuStreamA),
    VALUE(RKT_NVTX_NAME_CUSTREAM_W, NVTX_CBID_CUDA_NameCuStreamW),
    VALUE(RKT_NVTX_NAME_CUDADEVICE_A, NVTX_CBID_CUDART_NameCudaDeviceA),
    VALUE(RKT_NVTX_NAME_CUDADEVICE_W, NVTX_CBID_CUDART_NameCudaDeviceW),
    VALUE(RKT_NVTX_NAME_CUDASTREAM_A, NVTX_CBID_CUDART_NameCudaStreamA),
    VALUE(RKT_NVTX_NAME_CUDASTREAM_W, NVTX_CBID_CUDART_NameCudaStreamW),
    VALUE(RKT_NVTX_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID),
    VALUE(RKT_NVTX_EXTENSION_MAJOR, NVTX_EXT_PAYLOAD_COMPATID >> 8),
    VALUE(RKT_NVTX_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister),
    VALUE(RKT_NVTX_ENUM_REGISTER, NVTX3EXT_CBID_nvtxPayloadEnumRegister),
    VALUE(RKT_NVTX_MARK_PAYLOAD, NVTX3EXT_CBID_nvtxMarkPayload),
    VALUE(RKT_NVTX_PUSH_PAYLOAD, NVTX3EXT_CBID_nvtxRangePushPayload),
    VALUE(RKT_NVTX_POP_PAYLOAD, NVTX3EXT_CBID_nvtxRangePopPayload),
    VALUE(RKT_NVTX_START_PAYLOAD, NVTX3EXT_CBID_nvtxRangeStartPayload),
    VALUE(RKT_NVTX_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload),
    VALUE(RKT_NVTX_NO_LEVEL, NVTX_NO_PUSH_POP_TRACKING),
};

static void compare(const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].ours != pairs[i].theirs)
            fail_msg("%s: %llu in ours, %llu in theirs", pairs[i].what,
                     (unsigned long long)pairs[i].ours, (unsigned long long)pairs[i].theirs);
    }
}

static void declarations_agree_with_the_headers(void **state)
{
    (void)state;
    compare(LAYOUTS, sizeof(LAYOUTS) / sizeof(LAYOUTS[0]));
    compare(NUMBERS, sizeof(NUMBERS) / sizeof(NUMBERS[0]));
}

/* ---- a program that uses them ---- */

static void must(int is_true)
{
    if (!is_true)
        abort();
}

static void program(void)
{
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                                        .payload.ullValue = 42};
    nvtxDomainHandle_t domain;
    nvtxRangeId_t id;

    setenv("NVTX_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(nvtxRangePushA("outer") == 0);
    domain = nvtxDomainCreateA("library");
    attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    must(nvtxDomainRangePushEx(domain, &attributes) == 0);
    must(nvtxRangePop() == 0);
    must(nvtxDomainRangePop(domain) == 0);
    id = nvtxRangeStartW(L"wide");
    nvtxRangeEnd(id);
    nvtxNameOsThreadA(4711, "worker");
    nvtxNameCudaDeviceA(6, "device six");
    nvtxMarkA("mark");
    must(nvtxDomainIsEnabled(domain) == 1);
    must(nvtxRangePushPayload(domain, NULL, 0) == 0);
    must(nvtxRangePopPayload(domain, NULL, 0) == 0);
    nvtxDomainDestroy(domain);
}

static void a_program_with_the_headers_is_traced(void **state)
{
    const struct rkt_event *range;
    struct job job;

    (void)state;
    job_init(&job);
    job_run(&job, program);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    assert_true(job.was_closed);
    assert_int_equal(job_count(&job, RKT_EVENT_RANGE, RKT_RANGE_NVTX, NULL), 4);
    range = job_find(&job, RKT_EVENT_RANGE, "registered");
    assert_non_null(range);
    assert_int_equal(range->range.value, 42);
    assert_string_equal(job_name(&job, range->range.domain_id), "library");
    assert_true(range->end_ns >= job_find(&job, RKT_EVENT_RANGE, "outer")->end_ns);
    assert_non_null(job_find(&job, RKT_EVENT_RANGE, "wide"));
    assert_non_null(job_find(&job, RKT_EVENT_RANGE, "mark"));
    assert_int_equal(job_find(&job, RKT_EVENT_NAME, "worker")->name.object_id, 4711);
    assert_int_equal(job_find(&job, RKT_EVENT_NAME, "device six")->name.object_id, 6);
    job_free(&job);
}

static void untraced_program(void)
{
    setenv("NVTX_INJECTION64_PATH", RKT_TEST_LIBRARY, 1);
    must(nvtxRangePushA("outer") == NVTX_NO_PUSH_POP_TRACKING);
    must(nvtxRangePop() == NVTX_NO_PUSH_POP_TRACKING);
    must(nvtxRangeStartA("range") == 0);
}

static void a_program_that_is_not_watched_goes_on(void **state)
{
    struct job job;

    (void)state;
    job_init(&job);
    job.has_no_variable = true;
    job_run(&job, untraced_program);
    assert_int_equal(job.wait_status, 0);
    assert_string_equal(job.stderr_text, "");
    job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declarations_agree_with_the_headers),
        cmocka_unit_test(a_program_with_the_headers_is_traced),
        cmocka_unit_test(a_program_that_is_not_watched_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
