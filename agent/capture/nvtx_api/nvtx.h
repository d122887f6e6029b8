/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_API_NVTX_H
#define RKT_CAPTURE_NVTX_API_NVTX_H

/*
 * nvtx - what NVTX 3 shows to a tool: its tables of functions, and what it passes to them.
 *
 * The part of NVTX's interface that is used, in our own words, as its headers may be absent. A
 * test compares it with nvtx3/ where that is there.
 *
 * Every library that uses NVTX carries a copy of it. With its first call a copy loads the library
 * that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, and, for the payload
 * extension, InitializeInjectionNvtxExtension. There a tool puts its functions into that copy's
 * tables; a table's other entries do nothing. 0 from either: that copy never calls anyone.
 */

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* ---- what a program passes ---- */

enum rkt_nvtx_message_type {
    RKT_NVTX_MESSAGE_ASCII = 1,
    RKT_NVTX_MESSAGE_UNICODE = 2,
    RKT_NVTX_MESSAGE_REGISTERED = 3,
};

union rkt_nvtx_message {
    const char *ascii;
    const wchar_t *unicode;
    const void *registered; /* what the tool gave for the string */
};

enum rkt_nvtx_payload_type {
    RKT_NVTX_PAYLOAD_UINT64 = 1,
    RKT_NVTX_PAYLOAD_INT64 = 2,
    RKT_NVTX_PAYLOAD_DOUBLE = 3,
    RKT_NVTX_PAYLOAD_UINT32 = 4,
    RKT_NVTX_PAYLOAD_INT32 = 5,
    RKT_NVTX_PAYLOAD_FLOAT = 6,
};
#define RKT_NVTX_PAYLOAD_EXTENDED ((int32_t)0xDFBD0009u) /* the value is a pointer to records */

struct rkt_nvtx_payload_data {
    uint64_t schema_id;
    size_t bytes; /* SIZE_MAX: as the schema says */
    const void *data;
};

union rkt_nvtx_value {
    uint64_t u64;
    int64_t i64;
    double f64;
    uint32_t u32;
    int32_t i32;
    float f32;
    const struct rkt_nvtx_payload_data *records;
};

struct rkt_nvtx_attributes {
    uint16_t version;
    uint16_t bytes; /* of this struct, as the program knows it */
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t record_count; /* of an extended payload */
    union rkt_nvtx_value payload;
    int32_t message_type;
    union rkt_nvtx_message message;
};

enum rkt_nvtx_resource_type {
    RKT_NVTX_RESOURCE_THREAD_NATIVE = 1 << 16 | 3, /* gettid */
    RKT_NVTX_RESOURCE_CUDA_DEVICE = 4 << 16 | 1,
    RKT_NVTX_RESOURCE_CUDA_STREAM = 4 << 16 | 3,
    RKT_NVTX_RESOURCE_CUDART_DEVICE = 5 << 16 | 0,
    RKT_NVTX_RESOURCE_CUDART_STREAM = 5 << 16 | 1,
};

struct rkt_nvtx_resource {
    uint16_t version;
    uint16_t bytes;
    int32_t type; /* enum rkt_nvtx_resource_type, or others */
    union {
        void *pointer;
        uint64_t number;
    } id;
    int32_t message_type;
    union rkt_nvtx_message message;
};

/* ---- payload schemas ---- */

enum rkt_nvtx_schema_field { /* bits of rkt_nvtx_schema.fields: which members are set */
    RKT_NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
    RKT_NVTX_SCHEMA_HAS_ENTRY_COUNT = 1 << 5,
    RKT_NVTX_SCHEMA_HAS_BYTES = 1 << 6,
    RKT_NVTX_SCHEMA_HAS_ID = 1 << 8,
};
#define RKT_NVTX_ENUM_HAS_ID (1 << 5)
#define RKT_NVTX_FIRST_DYNAMIC_ID ((uint64_t)1 << 32) /* ids that a tool gives */

enum rkt_nvtx_entry_type { /* the numbers that are read; there are more */
    RKT_NVTX_ENTRY_INT = 5,
    RKT_NVTX_ENTRY_UINT = 6,
    RKT_NVTX_ENTRY_LONG = 7,
    RKT_NVTX_ENTRY_ULONG = 8,
    RKT_NVTX_ENTRY_LONGLONG = 9,
    RKT_NVTX_ENTRY_ULONGLONG = 10,
    RKT_NVTX_ENTRY_INT32 = 15,
    RKT_NVTX_ENTRY_UINT32 = 16,
    RKT_NVTX_ENTRY_INT64 = 17,
    RKT_NVTX_ENTRY_UINT64 = 18,
    RKT_NVTX_ENTRY_SIZE = 22,
};

struct rkt_nvtx_schema_entry {
    uint64_t flags; /* 0: a plain value */
    uint64_t type;
    const char *name;
    const char *description;
    uint64_t detail;
    uint64_t offset; /* in bytes; 0 behind the first: where its alignment puts it */
    const void *semantics;
    const void *reserved;
};

struct rkt_nvtx_schema {
    uint64_t fields;
    const char *name;
    uint64_t type;
    uint64_t flags;
    const struct rkt_nvtx_schema_entry *entries;
    size_t entry_count;
    size_t bytes;
    size_t alignment;
    uint64_t id;
    void *extension;
};

struct rkt_nvtx_enum {
    uint64_t fields;
    const char *name;
    const void *entries;
    size_t entry_count;
    size_t bytes;
    uint64_t id;
    void *extension;
};

/* ---- the tables ---- */

typedef void (*rkt_nvtx_function)(void);

enum rkt_nvtx_module {
    RKT_NVTX_CORE = 1,
    RKT_NVTX_CUDA = 2,
    RKT_NVTX_CUDART = 4,
    RKT_NVTX_CORE2 = 5,
};

#define RKT_NVTX_EXPORT_CALLBACKS 1u

struct rkt_nvtx_export_callbacks {
    size_t bytes;
    /* A table of pointers to where the functions' addresses go; 1 on success. */
    int (*get_table)(int module, rkt_nvtx_function ***table_out, unsigned *count_out);
};

typedef const void *(*rkt_nvtx_get_export)(uint32_t which);

enum rkt_nvtx_core_index {
    RKT_NVTX_MARK_EX = 1,
    RKT_NVTX_MARK_A = 2,
    RKT_NVTX_MARK_W = 3,
    RKT_NVTX_START_EX = 4,
    RKT_NVTX_START_A = 5,
    RKT_NVTX_START_W = 6,
    RKT_NVTX_END = 7,
    RKT_NVTX_PUSH_EX = 8,
    RKT_NVTX_PUSH_A = 9,
    RKT_NVTX_PUSH_W = 10,
    RKT_NVTX_POP = 11,
    RKT_NVTX_NAME_CATEGORY_A = 12,
    RKT_NVTX_NAME_CATEGORY_W = 13,
    RKT_NVTX_NAME_THREAD_A = 14,
    RKT_NVTX_NAME_THREAD_W = 15,
};

enum rkt_nvtx_core2_index {
    RKT_NVTX_DOMAIN_MARK = 1,
    RKT_NVTX_DOMAIN_START = 2,
    RKT_NVTX_DOMAIN_END = 3,
    RKT_NVTX_DOMAIN_PUSH = 4,
    RKT_NVTX_DOMAIN_POP = 5,
    RKT_NVTX_DOMAIN_RESOURCE_CREATE = 6,
    RKT_NVTX_DOMAIN_NAME_CATEGORY_A = 8,
    RKT_NVTX_DOMAIN_NAME_CATEGORY_W = 9,
    RKT_NVTX_DOMAIN_REGISTER_STRING_A = 10,
    RKT_NVTX_DOMAIN_REGISTER_STRING_W = 11,
    RKT_NVTX_DOMAIN_CREATE_A = 12,
    RKT_NVTX_DOMAIN_CREATE_W = 13,
};

enum rkt_nvtx_cuda_index {
    RKT_NVTX_NAME_CUDEVICE_A = 1,
    RKT_NVTX_NAME_CUDEVICE_W = 2,
    RKT_NVTX_NAME_CUSTREAM_A = 5,
    RKT_NVTX_NAME_CUSTREAM_W = 6,
};

enum rkt_nvtx_cudart_index {
    RKT_NVTX_NAME_CUDADEVICE_A = 1,
    RKT_NVTX_NAME_CUDADEVICE_W = 2,
    RKT_NVTX_NAME_CUDASTREAM_A = 3,
    RKT_NVTX_NAME_CUDASTREAM_W = 4,
};

#define RKT_NVTX_EXTENSION_PAYLOAD 2u
#define RKT_NVTX_EXTENSION_MAJOR 1u /* the upper byte of compat_id */

struct rkt_nvtx_segment {
    size_t id;
    size_t slot_count;
    intptr_t *slots; /* functions, by enum rkt_nvtx_payload_index */
};

struct rkt_nvtx_extension {
    uint16_t nvtx_version;
    uint16_t bytes;
    uint16_t module_id;
    uint16_t compat_id;
    size_t segment_count;
    struct rkt_nvtx_segment *segments;
    intptr_t (*get_export)(uint32_t which);
    const void *info;
};

enum rkt_nvtx_payload_index {
    RKT_NVTX_SCHEMA_REGISTER = 0,
    RKT_NVTX_ENUM_REGISTER = 1,
    RKT_NVTX_MARK_PAYLOAD = 2,
    RKT_NVTX_PUSH_PAYLOAD = 3,
    RKT_NVTX_POP_PAYLOAD = 4,
    RKT_NVTX_START_PAYLOAD = 5,
    RKT_NVTX_END_PAYLOAD = 6,
};

#define RKT_NVTX_NO_LEVEL (-2) /* push and pop: nothing is tracked */

#endif
