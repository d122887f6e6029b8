/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti_buffer.h"

#include <string.h>

#include "tests/simgpu/cupti/layout.h"

#define KINDS_MAX 64u

/* A real library knows its own sizes without a search. */
static size_t record_bytes[KINDS_MAX];

void cupti_buffer_init(struct cupti_buffer *buffer, uint32_t version)
{
    buffer->version = version;
    buffer->used_bytes = 0;
    for (uint32_t kind = 0; kind < KINDS_MAX; kind++)
        record_bytes[kind] = sim_record_bytes(version, kind);
}

void *cupti_buffer_add(struct cupti_buffer *buffer, CUpti_ActivityKind kind, size_t known_bytes)
{
    size_t bytes = sim_record_bytes(buffer->version, kind);
    uint8_t *record = buffer->bytes + buffer->used_bytes;

    if (bytes == 0 || buffer->used_bytes + bytes > sizeof(buffer->bytes))
        return NULL;
    memset(record, 0xEE, bytes);
    memset(record, 0, known_bytes < bytes ? known_bytes : bytes);
    ((CUpti_Activity *)(void *)record)->kind = kind;
    buffer->used_bytes += bytes;
    return record;
}

CUptiResult cupti_buffer_next(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    uint8_t *next = bytes;

    if (*record)
        next = (uint8_t *)*record + record_bytes[(uint32_t)(*record)->kind % KINDS_MAX];
    if (next >= bytes + valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}
