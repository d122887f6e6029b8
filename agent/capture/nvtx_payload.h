/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RKT_CAPTURE_NVTX_PAYLOAD_H
#define RKT_CAPTURE_NVTX_PAYLOAD_H

/*
 * nvtx_payload - the fields of NCCL's extended payloads, found by the names in their schemas.
 *
 * A program registers how its records are laid out (nvtxPayloadSchemaRegister) and refers to that
 * by id. Only fields that ranktrace knows by name are kept; their order and place are not assumed,
 * since they differ between releases of NCCL.
 *
 * Threads: any. Memory: a table of fixed size. Full: payloads of further schemas are not read.
 */

#include <stdbool.h>
#include <stdint.h>

#include "agent/capture/nvtx_api/nvtx.h"

enum rkt_nvtx_field {
    RKT_NVTX_FIELD_COMM = 0,
    RKT_NVTX_FIELD_BYTES = 1, /* of the message */
    RKT_NVTX_FIELD_ROOT = 2,
    RKT_NVTX_FIELD_PEER = 3,
    RKT_NVTX_FIELD_RANK_COUNT = 4,
    RKT_NVTX_FIELD_RANK = 5,
    RKT_NVTX_FIELD_COUNT
};

/* What a payload says. */
struct rkt_nvtx_fields {
    uint32_t has; /* bits 1 << enum rkt_nvtx_field */
    uint64_t value[RKT_NVTX_FIELD_COUNT];
};

struct rkt_nvtx_schemas;

struct rkt_nvtx_schemas *rkt_nvtx_schemas_create(void); /* NULL when memory is out */
void rkt_nvtx_schemas_destroy(struct rkt_nvtx_schemas *schemas);

/*
 * The id under which the program will refer to the schema: its own, or a new one. `is_read`: its
 * payloads will be read. `schema` may be NULL.
 */
uint64_t rkt_nvtx_schema_register(struct rkt_nvtx_schemas *schemas,
                                  const struct rkt_nvtx_schema *schema, bool is_read);
uint64_t rkt_nvtx_enum_register(struct rkt_nvtx_schemas *schemas, const struct rkt_nvtx_enum *list);

/* The known fields of `count` records (NULL: none); where several have one, the last counts. */
struct rkt_nvtx_fields rkt_nvtx_payload_read(const struct rkt_nvtx_schemas *schemas,
                                             const struct rkt_nvtx_payload_data *records,
                                             size_t count);

#endif
