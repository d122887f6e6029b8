/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_SOURCE_H
#define RKT_CAPTURE_NVTX_SOURCE_H

/*
 * nvtx_source - ranges, marks and names that programs and libraries give through NVTX.
 *
 * Place:   NVTX_INJECTION64_PATH -> nvtx_inject -> [nvtx_source] -> ring. A range is a RANGE event
 *          of type NVTX, a mark one of type MARK; domain_id is the domain's name, or
 *          "domain:category" where the category has a name; value is an integer payload, or the
 *          message size of an NCCL call. Names of threads, streams and devices are NAME events.
 * Domains: are told apart by name.
 * Steps:   a range or mark may begin a step (steps.h).
 * Threads: any. Push and pop nest per thread and domain (nvtx_stack.h); start and end may be on
 *          different threads.
 * Memory:  tables of fixed size, taken in create.
 * CUPTI:   NVTX could also be pointed at libcupti, whose handler in CUDA 13.0.0 crashed when it
 *          was called before CUPTI was set up. NVTX loads one library, which is ours, so that code
 *          never runs; where a user points the variable elsewhere, it stays theirs.
 */

#include "agent/capture/capture.h"
#include "agent/capture/nvtx_api/nvtx.h"

/* A range or mark, as the program describes it. */
struct rkt_nvtx_says {
    uint32_t domain; /* its name's id; 0: the default one */
    uint32_t name_id;
    uint32_t category;
    uint64_t value;
    const struct rkt_nvtx_payload_data *records;
    size_t record_count;
};

struct rkt_nvtx_source *rkt_nvtx_source_create(void); /* NULL when memory is out */
/* Only when NVTX never called. NULL is fine. */
void rkt_nvtx_source_destroy(struct rkt_nvtx_source *source);

/* A domain of this name is there. */
void rkt_nvtx_domain_created(struct rkt_capture *capture, uint32_t name_id);
void rkt_nvtx_name_category(struct rkt_capture *capture, uint32_t domain, uint32_t number,
                            uint32_t name_id);

/* What NVTX hands back to the program: the range's level, RKT_NVTX_NO_LEVEL when not kept. */
int rkt_nvtx_push(struct rkt_capture *capture, const struct rkt_nvtx_says *says);
int rkt_nvtx_pop(struct rkt_capture *capture, const struct rkt_nvtx_says *says);

/* The id for end, 0 when it is not kept; end(0) does nothing. */
uint64_t rkt_nvtx_start(struct rkt_capture *capture, const struct rkt_nvtx_says *says);
void rkt_nvtx_end(struct rkt_capture *capture, uint64_t id);

void rkt_nvtx_mark(struct rkt_capture *capture, const struct rkt_nvtx_says *says);

/* A NAME event. */
void rkt_nvtx_name_object(struct rkt_capture *capture, enum rkt_named_object what,
                          uint64_t object_id, uint32_t name_id);

/* Likewise for a stream, by its CUDA handle; nothing where CUPTI does not know it. */
void rkt_nvtx_name_stream(struct rkt_capture *capture, void *stream, uint32_t name_id);

/* Schemas of this domain's payloads. */
uint64_t rkt_nvtx_register_schema(struct rkt_capture *capture, uint32_t domain,
                                  const struct rkt_nvtx_schema *schema);
uint64_t rkt_nvtx_register_enum(struct rkt_capture *capture, const struct rkt_nvtx_enum *list);

/* The process ends: ranges that were started go out as begun but not ended. */
void rkt_nvtx_source_close(struct rkt_capture *capture);

#endif
