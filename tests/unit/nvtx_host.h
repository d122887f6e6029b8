/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_TESTS_UNIT_NVTX_HOST_H
#define RKT_TESTS_UNIT_NVTX_HOST_H

/*
 * nvtx_host - a library's copy of NVTX, played by the test: it finds the tool's entry points in the
 * capture library and calls the functions that the tool put into its tables.
 */

#include "agent/capture/nvtx_api/nvtx.h"

/* One copy's functions; NULL: the tool did not set it. */
struct nvtx_host {
    /* core */
    void (*mark_ex)(const struct rkt_nvtx_attributes *);
    void (*mark_a)(const char *);
    void (*mark_w)(const wchar_t *);
    uint64_t (*start_ex)(const struct rkt_nvtx_attributes *);
    uint64_t (*start_a)(const char *);
    uint64_t (*start_w)(const wchar_t *);
    void (*end)(uint64_t);
    int (*push_ex)(const struct rkt_nvtx_attributes *);
    int (*push_a)(const char *);
    int (*push_w)(const wchar_t *);
    int (*pop)(void);
    void (*name_category_a)(uint32_t, const char *);
    void (*name_category_w)(uint32_t, const wchar_t *);
    void (*name_thread_a)(uint32_t, const char *);
    void (*name_thread_w)(uint32_t, const wchar_t *);

    /* domains */
    void (*domain_mark)(const void *, const struct rkt_nvtx_attributes *);
    uint64_t (*domain_start)(const void *, const struct rkt_nvtx_attributes *);
    void (*domain_end)(const void *, uint64_t);
    int (*domain_push)(const void *, const struct rkt_nvtx_attributes *);
    int (*domain_pop)(const void *);
    const void *(*resource_create)(const void *, const struct rkt_nvtx_resource *);
    void (*domain_name_category_a)(const void *, uint32_t, const char *);
    void (*domain_name_category_w)(const void *, uint32_t, const wchar_t *);
    const void *(*register_string_a)(const void *, const char *);
    const void *(*register_string_w)(const void *, const wchar_t *);
    const void *(*domain_create_a)(const char *);
    const void *(*domain_create_w)(const wchar_t *);

    /* CUDA's driver and runtime */
    void (*name_cudevice_a)(int, const char *);
    void (*name_cudadevice_w)(int, const wchar_t *);
    void (*name_custream_a)(void *, const char *);

    /* payloads */
    uint64_t (*schema_register)(const void *, const struct rkt_nvtx_schema *);
    uint64_t (*enum_register)(const void *, const struct rkt_nvtx_enum *);
    void (*mark_payload)(const void *, const struct rkt_nvtx_payload_data *, size_t);
    int (*push_payload)(const void *, const struct rkt_nvtx_payload_data *, size_t);
    int (*pop_payload)(const void *, const struct rkt_nvtx_payload_data *, size_t);
    uint64_t (*start_payload)(const void *, const struct rkt_nvtx_payload_data *, size_t);
    void (*end_payload)(const void *, uint64_t, const struct rkt_nvtx_payload_data *, size_t);
};

/* As the first NVTX call of a library does; what the entry point returned. */
int nvtx_host_load(struct nvtx_host *host);

/* As the first call of the payload extension does. */
int nvtx_host_load_payload(struct nvtx_host *host);

/* Attributes as a program fills them in. */
struct rkt_nvtx_attributes nvtx_ascii(const char *text);
struct rkt_nvtx_attributes nvtx_registered(const void *string);

#endif
